/* Whole reads and writes: see the header. */
#include "runtime/file.h"

#include <errno.h>
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

int runtime_file_write(int file, const void *bytes, size_t length) {
    const char *from = bytes;
    while (length > 0) {
        ssize_t written = write(file, from, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        from += written;
        length -= (size_t)written;
    }
    return 0;
}
