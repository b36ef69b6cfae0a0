/* One file of the cache: see cache_internal.h for what stands in it.
 *
 * A program that is loaded is read twice: here, to be checked, and by the caller, who copies it.
 * That is safe because a file is not changed any more once it has its final name.
 */
#include "runtime/cache_internal.h"

#include "base/checked.h"
#include "base/hash.h"
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char magic[16] = "croft program 1";

typedef struct entry_header {
    char magic[sizeof magic];
    int64_t key_size, program_size;
} entry_header;

enum { CHECKSUM_BYTES = 8, PIECE_BYTES = 16384 };

uint64_t cache_key_hash(const runtime_cache_key *key) {
    uint64_t hash = base_hash_bytes(BASE_HASH_START, key->head, strlen(key->head));
    return base_hash_bytes(hash, key->text, key->text_length);
}

void cache_entry_name(uint64_t hash, char name[RUNTIME_CACHE_NAME_LIMIT]) {
    snprintf(name, RUNTIME_CACHE_NAME_LIMIT, "%016llx.program", (unsigned long long)hash);
}

int64_t cache_entry_size(const runtime_cache_key *key, size_t size) {
    return (int64_t)(sizeof(entry_header) + strlen(key->head) + key->text_length + size +
                     CHECKSUM_BYTES);
}

/* ---- reading ---- */
/* Without O_NONBLOCK, opening a pipe that somebody put there would wait for a writer. */
int cache_entry_open(int directory, const char *name, struct stat *status) {
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && fstat(file, status) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* NULL: it is a file of ours, as long as its header says. */
static const char *check_header(int file, const struct stat *status, entry_header *header) {
    int64_t sum;
    if (!S_ISREG(status->st_mode))
        return "no file";
    if (status->st_uid != geteuid())
        return "somebody else's";
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "writable for others";
    if (!runtime_file_read(file, header, sizeof *header, 0))
        return "cut short";
    if (memcmp(header->magic, magic, sizeof magic) != 0)
        return "of another form";
    if (header->key_size < 0 || header->program_size < 0 ||
        !base_checked_add(header->key_size, header->program_size, &sum) ||
        !base_checked_add(sum, (int64_t)sizeof *header + CHECKSUM_BYTES, &sum) ||
        sum != status->st_size)
        return "of another length than it says";
    return NULL;
}

/* Whether bytes of a key that begin `at` bytes from its beginning are those of `key`. */
static bool piece_is_same(const runtime_cache_key *key, size_t head, int64_t at, const char *bytes,
                          size_t length) {
    size_t from = (size_t)at, of_head = from < head ? head - from : 0;
    of_head = of_head < length ? of_head : length;
    if (memcmp(key->head + (of_head > 0 ? from : 0), bytes, of_head) != 0)
        return false;
    size_t text = from + of_head - head;
    return of_head == length || memcmp(key->text + text, bytes + of_head, length - of_head) == 0;
}

/* Adds the bytes from begin to below end to the checksum. Where these are the key, `checked` is
 * given and gets the hash, and whether they are `key`; else it is NULL. */
static bool read_part(int file, int64_t begin, int64_t end, uint64_t *sum, cache_checked *checked,
                      const runtime_cache_key *key) {
    char bytes[PIECE_BYTES];
    size_t head = key != NULL ? strlen(key->head) : 0;
    for (int64_t at = begin; at < end;) {
        size_t length = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        if (!runtime_file_read(file, bytes, length, at))
            return false;
        *sum = base_hash_bytes(*sum, bytes, length);
        if (checked != NULL)
            checked->hash = base_hash_bytes(checked->hash, bytes, length);
        if (checked != NULL && checked->same)
            checked->same = piece_is_same(key, head, at - begin, bytes, length);
        at += (int64_t)length;
    }
    return true;
}

const char *cache_entry_check(int file, const struct stat *status, const runtime_cache_key *key,
                              cache_checked *checked) {
    entry_header header;
    *checked = (cache_checked){.program.file = file, .hash = BASE_HASH_START};
    const char *fault = check_header(file, status, &header);
    if (fault != NULL)
        return fault;
    int64_t begin = (int64_t)sizeof header, middle = begin + header.key_size;
    int64_t end = middle + header.program_size;
    uint64_t sum = BASE_HASH_START, stored;
    checked->same = key != NULL && (size_t)header.key_size == strlen(key->head) + key->text_length;
    if (!read_part(file, 0, begin, &sum, NULL, NULL) ||
        !read_part(file, begin, middle, &sum, checked, key) ||
        !read_part(file, middle, end, &sum, NULL, NULL) ||
        !runtime_file_read(file, &stored, sizeof stored, end))
        return "cannot be read";
    checked->program.offset = middle;
    checked->program.size = header.program_size;
    return sum == stored ? NULL : "other bytes than were kept";
}

void cache_entry_read_key(int file, char key[RUNTIME_CACHE_HEAD_LIMIT + 1]) {
    entry_header header;
    int64_t size = 0;
    if (runtime_file_read(file, &header, sizeof header, 0) && header.key_size > 0 &&
        memcmp(header.magic, magic, sizeof magic) == 0)
        size =
            header.key_size < RUNTIME_CACHE_HEAD_LIMIT ? header.key_size : RUNTIME_CACHE_HEAD_LIMIT;
    if (size > 0 && !runtime_file_read(file, key, (size_t)size, (int64_t)sizeof header))
        size = 0;
    key[size] = '\0';
}

/* ---- writing ---- */
/* Writes bytes and adds them to the checksum; 0 or an errno. */
static int write_part(int file, const void *bytes, size_t length, uint64_t *sum) {
    *sum = base_hash_bytes(*sum, bytes, length);
    return runtime_file_write(file, bytes, length);
}

int cache_entry_write(int directory, const char *name, const runtime_cache_key *key,
                      const void *program, size_t size) {
    entry_header header = {.key_size = (int64_t)(strlen(key->head) + key->text_length),
                           .program_size = (int64_t)size};
    memcpy(header.magic, magic, sizeof magic);
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    uint64_t sum = BASE_HASH_START, unread = 0;
    int error = write_part(file, &header, sizeof header, &sum);
    if (error == 0)
        error = write_part(file, key->head, strlen(key->head), &sum);
    if (error == 0)
        error = write_part(file, key->text, key->text_length, &sum);
    if (error == 0)
        error = write_part(file, program, size, &sum);
    if (error == 0)
        error = write_part(file, &sum, sizeof sum, &unread);
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error != 0)
        unlinkat(directory, name, 0);
    return error;
}
