/* Put before a program by LD_PRELOAD: it sets the locale of the environment, as a host that the
 * library is embedded in may do, and tells the decimal point to the file CROFT_TEST_POINT. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_locale(void) {
    const char *path = getenv("CROFT_TEST_POINT"), *given = setlocale(LC_ALL, "");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%s %.1f\n", given != NULL ? "set" : "refused", 0.5);
    fclose(file);
}
