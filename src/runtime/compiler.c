/* The system C compiler: which one it is, how it is called, and what is compiled or comes from the
 * cache. See the header for the path from text to library.
 *
 *     cc -std=gnu11 -O2 ... TARGET FLAGS EXTRA FLAGS -o PRIVATE/kernel.so PRIVATE/kernel.c -lm
 *
 * A program that is in the cache is copied from there; one that was compiled is kept there once it
 * has been loaded. Loaded is always the file in PRIVATE, for two reasons: nobody else can shorten
 * it while it is mapped into the process, and its name is new. (Of a name that is loaded already
 * dlopen returns the library that it has, even if the file is a new one.)
 *
 * The key of a program is made without starting the compiler. It has the file of the compiler and
 * those that the compiler may start, or be a script for; these are found by their usual names:
 *
 *     compiled by /usr/bin/cc
 *     file /usr/bin/x86_64-linux-gnu-gcc-12 device 65024 inode 1337 size 1277336 modified ...
 *     as /usr/bin/x86_64-linux-gnu-as device ...
 *     flag -std=gnu11 ...
 */
#include "runtime/compiler_internal.h"

#include "runtime/file.h"
#include "runtime/program_key.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENT_LIMIT = 128 };

/* -fno-trapping-math and -fno-math-errno give up traps and errno only: NaN, infinities and signed
 * zeros keep their meaning (tested). */
static const char *const fixed_flags[] = {
    "-std=gnu11",         "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math",
};

static const char *const compiler_names[] = {"cc", "gcc", "clang"};

static const char *const started_names[] = {"as", "ld", "cc", "gcc", "clang"};

static const char default_path[] = "/usr/local/bin:/usr/bin";

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- finding it ---- */
static bool is_executable_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_directories(const char *directories, const char *name, char path[PATH_MAX]) {
    for (const char *entry = directories;; entry++) {
        size_t length = strcspn(entry, ":");
        if (entry[0] == '/' && length < PATH_MAX) {
            int written = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, entry, name);
            if (written < PATH_MAX && is_executable_file(path))
                return true;
        }
        entry += length;
        if (*entry == '\0')
            return false;
    }
}

/* Makes a path absolute but follows no link: some compilers go by the name they are called. */
static bool make_absolute(const char *given, char path[PATH_MAX]) {
    char directory[PATH_MAX] = "";
    if (given[0] != '/' && getcwd(directory, sizeof directory) == NULL)
        return false;
    const char *separator = given[0] == '/' ? "" : "/";
    return snprintf(path, PATH_MAX, "%s%s%s", directory, separator, given) < PATH_MAX;
}

runtime_status runtime_compiler_find(const runtime_compiler_config *config, char path[PATH_MAX],
                                     runtime_report *report) {
    const char *directories = config->path != NULL ? config->path : default_path;
    const char *name = config->compiler;
    if (name != NULL && strchr(name, '/') != NULL) {
        if (make_absolute(name, path) && is_executable_file(path))
            return RUNTIME_OK;
        return runtime_report_set(report, RUNTIME_NO_COMPILER,
                                  "the configured C compiler `%s` is not an executable file", name);
    }
    if (name != NULL) {
        if (name[0] != '\0' && find_in_directories(directories, name, path))
            return RUNTIME_OK;
        return runtime_report_set(report, RUNTIME_NO_COMPILER,
                                  "the configured C compiler `%s` is not in %s", name, directories);
    }
    for (size_t i = 0; i < COUNT(compiler_names); i++) {
        if (find_in_directories(directories, compiler_names[i], path))
            return RUNTIME_OK;
    }
    return runtime_report_set(report, RUNTIME_NO_COMPILER,
                              "no C compiler found: looked for cc, gcc and clang in %s%s",
                              directories[0] != '\0' ? directories : "an empty PATH",
                              config->path == NULL ? " (PATH is not set)" : "");
}

/* ---- calling it ---- */
static bool append_flags(const char *arguments[ARGUMENT_LIMIT], int *count,
                         const char *const *flags) {
    for (; flags != NULL && *flags != NULL; flags++) {
        if (*count >= ARGUMENT_LIMIT - 5) /* -o LIBRARY SOURCE -lm NULL */
            return false;
        arguments[(*count)++] = *flags;
    }
    return true;
}

/* arguments[0] is the compiler, and arguments[1] to arguments[*flags_end - 1] are the flags. */
static bool make_arguments(const char *arguments[ARGUMENT_LIMIT], const char *compiler,
                           const compiler_directory *directory, const char *const *flags,
                           const char *const *extra_flags, int *flags_end) {
    int count = 0;
    arguments[count++] = compiler;
    for (size_t i = 0; i < COUNT(fixed_flags); i++)
        arguments[count++] = fixed_flags[i];
    if (!append_flags(arguments, &count, flags) || !append_flags(arguments, &count, extra_flags))
        return false;
    *flags_end = count;
    arguments[count++] = "-o";
    arguments[count++] = directory->library;
    arguments[count++] = directory->source;
    arguments[count++] = "-lm";
    arguments[count] = NULL;
    return true;
}

/* ---- one program ---- */
typedef struct build {
    const runtime_compiler_config *config;
    const char *arguments[ARGUMENT_LIMIT];
    compiler_directory directory;
    int limit_s;
    int flags_end; /* of the arguments: what follows are files */
    runtime_key key_head;
    runtime_cache_key key;
    void *library; /* NULL: not loaded yet */
} build;

static runtime_status load_library(build *b, runtime_report *report) {
    b->library = dlopen(b->directory.library, RTLD_NOW | RTLD_LOCAL);
    if (b->library != NULL)
        return RUNTIME_OK;
    return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                              "the compiled library cannot be loaded: %s", dlerror());
}

static runtime_status compile_and_load(build *b, runtime_report *report) {
    runtime_status status = compiler_run(b->arguments, &b->directory, b->limit_s, report);
    return status == RUNTIME_OK ? load_library(b, report) : status;
}

/* ---- the same with a cache ---- */
static bool copy_program(const runtime_cache_found *found, const char *path) {
    char bytes[16384];
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = file >= 0;
    for (int64_t at = 0; good && at < found->size; at += (int64_t)sizeof bytes) {
        int64_t left = found->size - at;
        size_t length = left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes;
        good = runtime_file_read(found->file, bytes, length, found->offset + at) &&
               runtime_file_write(file, bytes, length) == 0;
    }
    if (file >= 0 && close(file) != 0)
        good = false;
    return good;
}

/* A program of the cache that cannot be loaded counts as missing; the one that is compiled instead
 * replaces it. */
static bool load_from_cache(build *b, runtime_report *report) {
    runtime_cache_found found;
    runtime_report unread;
    if (!runtime_cache_find(b->config->cache, &b->key, &found))
        return false;
    bool copied = copy_program(&found, b->directory.library);
    close(found.file);
    if (copied && load_library(b, &unread) == RUNTIME_OK) {
        report->from_cache = true;
        return true;
    }
    unlink(b->directory.library);
    return false;
}

static void keep_library(const build *b) {
    struct stat status;
    int file = open(b->directory.library, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            runtime_cache_keep(b->config->cache, &b->key, bytes, size);
            munmap(bytes, size);
        }
    }
    close(file);
}

/* Adds a line for each program that the compiler may start, in every directory where it may find
 * one: which of them it takes is not known. */
static void add_started(runtime_key *key, const char *directories) {
    for (const char *entry = directories;; entry++) {
        int length = (int)strcspn(entry, ":");
        for (size_t i = 0; i < COUNT(started_names); i++) {
            char path[PATH_MAX];
            if (snprintf(path, sizeof path, "%.*s/%s", length, entry, started_names[i]) < PATH_MAX)
                (void)runtime_key_add_file(key, started_names[i], path);
        }
        entry += length;
        if (*entry == '\0')
            return;
    }
}

static bool make_head(const build *b, runtime_key *head) {
    char directories[COMPILER_PATH_LIMIT];
    runtime_key_add(head, "compiled by %s\n", b->arguments[0]);
    if (!runtime_key_add_file(head, "file", b->arguments[0]))
        return false;
    compiler_path_list(b->arguments[0], directories);
    add_started(head, directories);
    for (int i = 1; i < b->flags_end; i++)
        runtime_key_add(head, "flag %s\n", b->arguments[i]);
    return runtime_key_end(head);
}

/* False: the program has no key, so it is not looked for in the cache and not kept there. */
static bool make_key(build *b, const char *source, size_t length) {
    if (b->config->cache == NULL || b->config->extra_flags != NULL)
        return false;
    b->key = (runtime_cache_key){.head = b->key_head.bytes, .text = source, .text_length = length};
    return make_head(b, &b->key_head);
}

/* Whether the compiler is still the one of the key: one that was replaced meanwhile may have made
 * the program. */
static bool is_key_true(const build *b) {
    runtime_key now = {0};
    return make_head(b, &now) && strcmp(now.bytes, b->key_head.bytes) == 0;
}

static runtime_status take_or_compile(build *b, runtime_report *report) {
    if (load_from_cache(b, report))
        return RUNTIME_OK;
    int lock = runtime_cache_lock(b->config->cache, &b->key, b->limit_s);
    runtime_status status = RUNTIME_OK;
    if (!load_from_cache(b, report)) {
        status = compile_and_load(b, report);
        if (status == RUNTIME_OK && is_key_true(b))
            keep_library(b);
    }
    runtime_cache_unlock(lock);
    return status;
}

runtime_status runtime_compiler_build(const runtime_compiler_config *config, const char *source,
                                      size_t length, const char *const *flags, void **library,
                                      runtime_report *report) {
    char compiler[PATH_MAX];
    build b = {.config = config,
               .limit_s =
                   config->time_limit_s > 0 ? config->time_limit_s : RUNTIME_COMPILER_DEFAULT_S};
    *library = NULL;
    report->from_cache = false;
    runtime_status status = runtime_compiler_find(config, compiler, report);
    if (status != RUNTIME_OK)
        return status;
    status = compiler_directory_make(config, source, length, &b.directory, report);
    if (status != RUNTIME_OK)
        return status;
    if (!make_arguments(b.arguments, compiler, &b.directory, flags, config->extra_flags,
                        &b.flags_end))
        status = runtime_report_set(report, RUNTIME_SYSTEM_FAILED,
                                    "more than %d arguments for the compiler", ARGUMENT_LIMIT);
    else if (make_key(&b, source, length))
        status = take_or_compile(&b, report);
    else
        status = compile_and_load(&b, report);
    compiler_directory_remove(&b.directory);
    *library = b.library;
    report->status = status;
    return status;
}

void *runtime_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void runtime_library_close(void *library) {
    if (library != NULL)
        dlclose(library);
}
