/* Output files: staging beside, renaming into place. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_TRIES = 1000, LINK_LIMIT = 40 };

static bool output_refuse(base_diagnostics *diagnostics, const char *path, int error) {
    base_location nowhere = {0};
    base_diagnostic *finding =
        base_diagnostics_add(diagnostics, "file-write", nowhere, "%s: cannot write", path);
    finding->found = base_diagnostics_text(diagnostics, "%s", strerror(error));
    return false;
}

/* 0 or an errno. */
static int write_all(int file, const void *bytes, int64_t length) {
    const char *next = bytes;
    while (length > 0) {
        ssize_t written = write(file, next, (size_t)length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        next += written;
        length -= written;
    }
    return 0;
}

/* Writes and closes; 0 or an errno. `sync`: until the data is on the disk, so that a disk that is
 * full or broken says so now. */
static int write_and_close(int file, const cli_output *output, bool sync) {
    int error = 0;
    for (int i = 0; i < output->part_count && error == 0; i++)
        error = write_all(file, output->parts[i].bytes, output->parts[i].length);
    if (error == 0 && sync && fsync(file) != 0 && errno != EINVAL && errno != ENOSYS)
        error = errno;
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

/* Opens a new file in the directory of `path`; its name does not depend on the target's, which may
 * already be as long as a name can be. */
static int create_beside(const char *path, char temporary[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    int directory_length = slash != NULL ? (int)(slash - path) + 1 : 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        int written = snprintf(temporary, PATH_MAX, "%.*s.croft-%ld-%d.tmp", directory_length, path,
                               (long)getpid(), i);
        if (written >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* `directory of base` + `name`, or `name` alone where it is absolute; false when it is too long. */
static bool join_beside(const char *base, const char *name, char joined[PATH_MAX]) {
    const char *slash = name[0] == '/' ? NULL : strrchr(base, '/');
    int length = slash != NULL ? (int)(slash - base) + 1 : 0;
    return snprintf(joined, PATH_MAX, "%.*s%s", length, base, name) < PATH_MAX;
}

/* Follows the link at `path` by one step; 0, or an errno. */
static int follow_link(char path[PATH_MAX]) {
    char target[PATH_MAX], joined[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return errno;
    target[length] = '\0';
    if (!join_beside(path, target, joined))
        return ENAMETOOLONG;
    memcpy(path, joined, strlen(joined) + 1);
    return 0;
}

int cli_output_resolve(const char *path, char resolved[PATH_MAX]) {
    char next[PATH_MAX], directory[PATH_MAX];
    struct stat status;
    if (path[0] == '\0' || snprintf(next, sizeof next, "%s", path) >= PATH_MAX)
        return path[0] == '\0' ? ENOENT : ENAMETOOLONG;
    for (int hops = 0; lstat(next, &status) == 0 && S_ISLNK(status.st_mode); hops++) {
        int error = hops < LINK_LIMIT ? follow_link(next) : ELOOP;
        if (error != 0)
            return error;
    }
    if (stat(next, &status) == 0)
        return realpath(next, resolved) != NULL ? 0 : errno;
    char *slash = strrchr(next, '/');
    const char *name = slash != NULL ? slash + 1 : next;
    if (!join_beside(next, ".", directory) || name[0] == '\0')
        return name[0] == '\0' ? EISDIR : ENAMETOOLONG;
    if (realpath(directory, resolved) == NULL)
        return errno;
    size_t length = strlen(resolved);
    const char *separator = strcmp(resolved, "/") == 0 ? "" : "/";
    int written = snprintf(resolved + length, PATH_MAX - length, "%s%s", separator, name);
    return written < (int)(PATH_MAX - length) ? 0 : ENAMETOOLONG;
}

/* All memory is taken before the file exists: an arena that unwinds leaves no file. */
bool cli_output_stage(cli_output *output, const char *path, const cli_output_part *parts,
                      int part_count, base_diagnostics *diagnostics) {
    *output = (cli_output){.part_count = part_count};
    for (int i = 0; i < part_count; i++)
        output->parts[i] = parts[i];
    struct stat status;
    char target[PATH_MAX];
    int refused = cli_output_resolve(path, target);
    if (refused != 0)
        return output_refuse(diagnostics, path, refused);
    bool exists = stat(target, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return output_refuse(diagnostics, path, EISDIR);
    if (exists && access(target, W_OK) != 0)
        return output_refuse(diagnostics, path, errno);
    bool direct = exists && !S_ISREG(status.st_mode);
    output->path = base_arena_copy(diagnostics->arena, target, strlen(target));
    if (direct)
        return true;
    char *temporary = base_arena_alloc(diagnostics->arena, PATH_MAX);
    int file = create_beside(target, temporary);
    if (file < 0)
        return output_refuse(diagnostics, path, errno);
    output->temporary = temporary;
    if (exists)
        (void)!fchmod(file, status.st_mode & 0777);
    int error = write_and_close(file, output, true);
    if (error == 0)
        return true;
    cli_output_discard(output);
    return output_refuse(diagnostics, path, error);
}

bool cli_output_commit(cli_output *output, base_diagnostics *diagnostics) {
    int error = 0;
    if (output->temporary == NULL) {
        int file = open(output->path, O_WRONLY | O_CLOEXEC);
        error = file < 0 ? errno : write_and_close(file, output, false);
    } else if (rename(output->temporary, output->path) != 0) {
        error = errno;
        cli_output_discard(output);
    }
    const char *path = output->path;
    *output = (cli_output){0};
    return error == 0 || output_refuse(diagnostics, path, error);
}

void cli_output_discard(cli_output *output) {
    if (output->temporary != NULL)
        unlink(output->temporary);
    output->temporary = NULL;
}

bool cli_output_text(const char *path, const char *text, base_diagnostics *diagnostics) {
    if (path == NULL || strcmp(path, "-") == 0) {
        fputs(text, stdout);
        return true;
    }
    cli_output output;
    cli_output_part part = {text, (int64_t)strlen(text)};
    return cli_output_stage(&output, path, &part, 1, diagnostics) &&
           cli_output_commit(&output, diagnostics);
}
