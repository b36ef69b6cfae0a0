/* Lines of a key: see the header. */
#include "runtime/program_key.h"

#include "runtime/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The version of what a program and its caller agree on: its functions, their arguments, and what
 * the cache keeps beside it. To be raised by one when that changes while the source text of kernels
 * stays the same, or programs that were kept before would be called wrongly. */
enum { PROGRAM_INTERFACE = 1 };

void runtime_key_add(runtime_key *key, const char *format, ...) {
    size_t room = sizeof key->bytes - key->used;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(key->bytes + key->used, room, format, arguments);
    va_end(arguments);
    if (written < 0 || (size_t)written >= room)
        key->full = true;
    else
        key->used += (size_t)written;
}

bool runtime_key_add_file(runtime_key *key, const char *what, const char *path) {
    char real[PATH_MAX];
    struct stat status;
    size_t begin = key->used;
    if (realpath(path, real) == NULL || stat(real, &status) != 0)
        return false;
    runtime_key_add(key,
                    "%s %s device %llu inode %llu size %lld modified %lld.%09ld changed "
                    "%lld.%09ld\n",
                    what, real, (unsigned long long)status.st_dev,
                    (unsigned long long)status.st_ino, (long long)status.st_size,
                    (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                    (long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    /* The compiler and what it starts may be one file: a line that is there already is dropped. */
    if (!key->full && strstr(key->bytes, key->bytes + begin) != key->bytes + begin) {
        key->used = begin;
        key->bytes[begin] = '\0';
    }
    return true;
}

/* ---- build IDs ---- */

/* What is read of an ELF file of 64 bits: its head, a segment, and a note's head. */
typedef struct elf_head {
    unsigned char magic[4], bits, order, rest[10];
    uint16_t kind, machine;
    uint32_t version;
    uint64_t entry, segments, sections;
    uint32_t flags;
    uint16_t size, segment_size, segment_count, section_size, section_count, names;
} elf_head;

typedef struct elf_segment {
    uint32_t kind, flags;
    uint64_t offset, address, physical, size, memory_size, alignment;
} elf_segment;

typedef struct elf_note {
    uint32_t name_size, size, kind;
    char name[4];
} elf_note;

enum { ELF_BITS_64 = 2, ELF_NOTES = 4, ELF_BUILD_ID = 3, ELF_NOTE_LIMIT = 1 << 16 };

typedef struct build_id {
    unsigned char bytes[64];
    size_t size; /* 0: none */
} build_id;

static uint64_t padded(uint64_t size) {
    return (size + 3) / 4 * 4;
}

static void find_in_notes(int file, const elf_segment *segment, build_id *id) {
    uint64_t at = 0;
    while (segment->size <= ELF_NOTE_LIMIT && at + sizeof(elf_note) <= segment->size) {
        elf_note note;
        uint64_t begin = segment->offset + at;
        if (begin > INT64_MAX - ELF_NOTE_LIMIT ||
            !runtime_file_read(file, &note, sizeof note, (int64_t)begin))
            return;
        if (note.kind == ELF_BUILD_ID && note.name_size == sizeof note.name &&
            memcmp(note.name, "GNU", sizeof note.name) == 0) {
            if (note.size <= sizeof id->bytes &&
                runtime_file_read(file, id->bytes, note.size, (int64_t)(begin + sizeof note)))
                id->size = note.size;
            return;
        }
        at += offsetof(elf_note, name) + padded(note.name_size) + padded(note.size);
    }
}

static void find_build_id(int file, build_id *id) {
    elf_head head;
    if (!runtime_file_read(file, &head, sizeof head, 0) ||
        memcmp(head.magic,
               "\x7f"
               "ELF",
               sizeof head.magic) != 0 ||
        head.bits != ELF_BITS_64 || head.segment_size != sizeof(elf_segment) ||
        head.segments > INT32_MAX)
        return;
    for (int i = 0; i < head.segment_count && id->size == 0; i++) {
        elf_segment segment;
        int64_t at = (int64_t)head.segments + (int64_t)sizeof segment * i;
        if (!runtime_file_read(file, &segment, sizeof segment, at))
            return;
        if (segment.kind == ELF_NOTES)
            find_in_notes(file, &segment, id);
    }
}

bool runtime_key_add_build(runtime_key *key, const char *what, const char *path) {
    build_id id = {.size = 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        find_build_id(file, &id);
        close(file);
    }
    if (id.size == 0)
        return runtime_key_add_file(key, what, path);
    runtime_key_add(key, "%s build ", what);
    for (size_t i = 0; i < id.size; i++)
        runtime_key_add(key, "%02x", id.bytes[i]);
    runtime_key_add(key, "\n");
    return true;
}

bool runtime_key_end(runtime_key *key) {
    struct utsname system;
    if (uname(&system) != 0)
        return false;
    runtime_key_add(key, "interface %d, %s, pointers of %zu bytes\ntext\n", PROGRAM_INTERFACE,
                    system.machine, sizeof(void *));
    return !key->full;
}
