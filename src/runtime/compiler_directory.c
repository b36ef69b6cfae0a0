/* The private directory of one compilation: its source, its library, and whatever else the compiler
 * writes there.
 *
 *     TMPDIR=/full (too little space), /tmp        /tmp/croft-3Fq8Zk/kernel.c, later kernel.so
 *
 * Of the directories for temporary files the first is taken that has space and lets programs be
 * executed. Where none does, the report has the reason for each.
 */
#include "runtime/compiler_internal.h"

#include "runtime/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Space that has to be free: so many bytes, and so many times the source. */
enum { SPACE_LEAST_BYTES = 1 << 22, SPACE_FACTOR = 16, FOLDER_DEPTH_LIMIT = 8 };

/* Why a directory cannot hold a library of this source, or NULL. */
static const char *directory_objection(const char *path, size_t source_length) {
    struct statvfs status;
    if (statvfs(path, &status) != 0)
        return strerror(errno);
    if ((status.f_flag & ST_NOEXEC) != 0)
        return "mounted without permission to execute";
    uint64_t needed = SPACE_LEAST_BYTES + SPACE_FACTOR * (uint64_t)source_length;
    if (status.f_blocks != 0 && (uint64_t)status.f_bavail < needed / (uint64_t)status.f_frsize)
        return "too little space left";
    return NULL;
}

static int write_file(const char *path, const char *bytes, size_t length) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int error = runtime_file_write(file, bytes, length);
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

/* Removes everything in a directory, which it closes; links are removed, not followed. */
static void remove_entries(int directory_file, int depth) {
    DIR *directory = directory_file >= 0 ? fdopendir(directory_file) : NULL;
    if (directory == NULL) {
        if (directory_file >= 0)
            close(directory_file);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const char *name = entry->d_name;
        bool is_self = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (is_self || unlinkat(dirfd(directory), name, 0) == 0 || depth == FOLDER_DEPTH_LIMIT)
            continue;
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        remove_entries(openat(dirfd(directory), name, flags), depth + 1);
        unlinkat(dirfd(directory), name, AT_REMOVEDIR);
    }
    closedir(directory);
}

/* Makes the private directory inside `parent` and writes the source: NULL, or why it cannot. */
static const char *make_inside(const char *parent, const char *source, size_t length,
                               compiler_directory *made) {
    char absolute[PATH_MAX];
    if (realpath(parent, absolute) == NULL)
        return strerror(errno);
    const char *objection = directory_objection(absolute, length);
    if (objection != NULL)
        return objection;
    int written = snprintf(made->path, sizeof made->path, "%s/croft-XXXXXX",
                           strcmp(absolute, "/") == 0 ? "" : absolute);
    if (written >= (int)sizeof made->path)
        return strerror(ENAMETOOLONG);
    if (mkdtemp(made->path) == NULL)
        return strerror(errno);
    snprintf(made->source, sizeof made->source, "%s/kernel.c", made->path);
    snprintf(made->library, sizeof made->library, "%s/kernel.so", made->path);
    int error = write_file(made->source, source, length);
    if (error == 0)
        return NULL;
    compiler_directory_remove(made);
    return strerror(error);
}

runtime_status compiler_directory_make(const runtime_compiler_config *config, const char *source,
                                       size_t length, compiler_directory *made,
                                       runtime_report *report) {
    const char *parents[] = {config->temporary_directory, "/tmp", "/dev/shm", "/var/tmp"};
    runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "no temporary directory can be used:");
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        if (parents[i] == NULL)
            continue;
        const char *reason = make_inside(parents[i], source, length, made);
        if (reason == NULL)
            return runtime_report_set(report, RUNTIME_OK, "%s", "");
        runtime_report_add(report, " %s (%s)", parents[i], reason);
    }
    return report->status;
}

/* The two files go first, without a file descriptor: the process may have none left for reading the
 * directory. What the compiler left beside them goes then. */
void compiler_directory_remove(const compiler_directory *made) {
    unlink(made->source);
    unlink(made->library);
    remove_entries(open(made->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    rmdir(made->path);
}
