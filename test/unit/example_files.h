/* The kernels of examples/, one after the other.
 *
 *     example_files files;
 *     example_files_open(&files);
 *     while (example_files_next(&files))     files.name, files.text until the next
 *         ...
 *     example_files_close(&files);
 */
#ifndef EXAMPLE_FILES_H
#define EXAMPLE_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

typedef struct example_files {
    DIR *folder;
    const char *name;
    char text[1 << 14];
} example_files;

static inline void example_files_open(example_files *files) {
    files->folder = opendir(CROFT_SOURCE_DIR "/examples");
    assert_non_null(files->folder);
}

static inline bool example_files_next(example_files *files) {
    const struct dirent *entry = readdir(files->folder);
    while (entry != NULL && strstr(entry->d_name, ".croft") == NULL)
        entry = readdir(files->folder);
    if (entry == NULL)
        return false;
    char path[1024];
    snprintf(path, sizeof path, CROFT_SOURCE_DIR "/examples/%s", entry->d_name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    files->name = entry->d_name;
    files->text[fread(files->text, 1, sizeof files->text - 1, file)] = '\0';
    fclose(file);
    return true;
}

static inline void example_files_close(example_files *files) {
    closedir(files->folder);
}

#endif
