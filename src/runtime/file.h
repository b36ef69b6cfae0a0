/* Reading and writing all of a piece of a file: the system's calls may do a part of it, or be
 * interrupted. */
#ifndef RUNTIME_FILE_H
#define RUNTIME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes from `offset` on, wherever the file's own position is. False: not all of them can be
 * read. */
bool runtime_file_read(int file, void *bytes, size_t length, int64_t offset);
/* Appends at the file's position: 0 or an errno. Where the process may not write so large a file
 * (RLIMIT_FSIZE) it is EFBIG, and no signal comes. */
int runtime_file_write(int file, const void *bytes, size_t length);

#endif
