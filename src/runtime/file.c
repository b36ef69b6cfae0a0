/* Whole reads and writes: see the header. */
#include "runtime/file.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

bool runtime_file_read(int file, void *bytes, size_t length, int64_t offset) {
    char *to = bytes;
    while (length > 0) {
        ssize_t got = pread(file, to, length, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += got;
        length -= (size_t)got;
    }
    return true;
}

static int write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* The system tells a limit on the size of files by SIGXFSZ, which ends a process that does not
 * expect it; it is sent to the writing thread, where it is held back and taken away. */
int runtime_file_write(int file, const void *bytes, size_t length) {
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    int error = write_all(file, bytes, length);
    while (error == EFBIG && !was_pending &&
           sigtimedwait(&limit, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
