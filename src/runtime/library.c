/* Opening shared libraries: see the header. */
#include "runtime/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *candidate(const runtime_library_search *search, int number,
                             char path[PATH_MAX]) {
    int directories = 0;
    if (search->given != NULL && search->given[0] != '\0')
        return number == 0 ? search->given : NULL;
    while (search->directories[directories] != NULL)
        directories++;
    for (int name = 0; search->names[name] != NULL; name++) {
        if (number < (name + 1) * directories) {
            snprintf(path, PATH_MAX, "%s%s", search->directories[number - name * directories],
                     search->names[name]);
            return path;
        }
    }
    return NULL;
}

void *runtime_library_open(const runtime_library_search *search, int *next, char path[PATH_MAX],
                           runtime_report *report) {
    char room[PATH_MAX];
    for (;;) {
        const char *name = candidate(search, (*next)++, room);
        if (name == NULL)
            return NULL;
        snprintf(path, PATH_MAX, "%s", name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library != NULL)
            return library;
        const char *why = dlerror();
        size_t length = strlen(path);
        if (why != NULL && strncmp(why, path, length) == 0 && why[length] == ':')
            why += length + 1 + strspn(why + length + 1, " ");
        runtime_report_add(report, "\n  %s: %s", path, why != NULL ? why : "cannot be loaded");
    }
}

bool runtime_library_function(void *library, const char *symbol, void *function,
                              runtime_report *report) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    if (address == NULL)
        runtime_report_add(report, " has no function %s", symbol);
    return address != NULL;
}
