/* The system C compiler. See the header for the path from text to library.
 *
 * The child gets a fixed environment, /dev/null as input, and one pipe for both outputs. The pipe
 * is read to its end whatever the report can hold, so a talkative compiler never blocks; its end
 * also means that every process the compiler started has gone. One that does not come to its end in
 * time is killed; what it started itself and left behind is not known here.
 *
 *     cc -std=gnu11 -O2 ... TARGET FLAGS EXTRA FLAGS -o PRIVATE/kernel.so PRIVATE/kernel.c -lm
 *
 * With a cache the program may come from there, and goes there once it has been loaded. It is
 * copied into PRIVATE in any case: what is mapped into the process is then a file that nobody else
 * can cut short, and has a name of its own (dlopen gives the library that it has under a name, also
 * where the file is another one by now). The key is made without starting the compiler, from its
 * file and those that it may start or be a script for, which are known by their usual names only:
 *
 *     compiled by /usr/bin/cc
 *     file /usr/bin/x86_64-linux-gnu-gcc-12 device 65024 inode 1337 size 1277336 modified ...
 *     as /usr/bin/x86_64-linux-gnu-as device ...
 *     flag -std=gnu11 ...
 */
#include "runtime/compiler.h"

#include "runtime/program_key.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENT_LIMIT = 128, DEFAULT_TIME_LIMIT_S = 600, FOLDER_DEPTH_LIMIT = 8 };

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

/* A private directory with the two files in it. */
typedef struct build_directory {
    char path[PATH_MAX];
    char source[PATH_MAX + 16];
    char library[PATH_MAX + 16];
} build_directory;

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

/* Why a directory cannot hold a library of this source, or NULL. */
static const char *directory_objection(const char *path, size_t source_length) {
    struct statvfs status;
    if (statvfs(path, &status) != 0)
        return strerror(errno);
    if ((status.f_flag & ST_NOEXEC) != 0)
        return "mounted without permission to execute";
    uint64_t needed = (UINT64_C(1) << 22) + 16 * (uint64_t)source_length;
    if (status.f_blocks != 0 && (uint64_t)status.f_bavail < needed / (uint64_t)status.f_frsize)
        return "too little space left";
    return NULL;
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

static int write_file(const char *path, const char *bytes, size_t length) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int error = write_all(file, bytes, length);
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

/* Removes what is in a directory, links as links. */
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

/* Compilers put temporary files beside ours. Ours go without a file descriptor, for there may be
 * none left. */
static void remove_build_directory(const build_directory *made) {
    unlink(made->source);
    unlink(made->library);
    remove_entries(open(made->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    rmdir(made->path);
}

/* Makes the private directory inside `parent` and writes the source; NULL or the reason. */
static const char *make_build_directory(const char *parent, const char *source, size_t length,
                                        build_directory *made) {
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
    remove_build_directory(made);
    return strerror(error);
}

static runtime_status choose_build_directory(const runtime_compiler_config *config,
                                             const char *source, size_t length,
                                             build_directory *made, runtime_report *report) {
    const char *parents[] = {config->temporary_directory, "/tmp", "/dev/shm", "/var/tmp"};
    runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "no temporary directory can be used:");
    for (size_t i = 0; i < COUNT(parents); i++) {
        if (parents[i] == NULL)
            continue;
        const char *reason = make_build_directory(parents[i], source, length, made);
        if (reason == NULL)
            return runtime_report_set(report, RUNTIME_OK, "%s", "");
        runtime_report_add(report, " %s (%s)", parents[i], reason);
    }
    return report->status;
}

static bool append_flags(const char *arguments[ARGUMENT_LIMIT], int *count,
                         const char *const *flags) {
    for (; flags != NULL && *flags != NULL; flags++) {
        if (*count >= ARGUMENT_LIMIT - 5) /* -o LIBRARY SOURCE -lm NULL */
            return false;
        arguments[(*count)++] = *flags;
    }
    return true;
}

/* *flags_end: behind the last flag; they begin behind the compiler. */
static bool make_arguments(const char *arguments[ARGUMENT_LIMIT], const char *compiler,
                           const build_directory *directory, const char *const *flags,
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

/* The compiler's own directory, and those of the system. */
static void list_directories(const char *compiler, char directories[PATH_MAX + 32]) {
    int length = (int)(strrchr(compiler, '/') - compiler);
    snprintf(directories, PATH_MAX + 32, "%.*s:/usr/bin:/bin", length, compiler);
}

/* Signals that a host may have blocked or ignored act on the compiler as they do by default. */
static int set_signals(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error =
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return error;
}

/* Starts the compiler with both outputs on `output`; 0 or an errno. */
static int start_compiler(const char *const *arguments, const char *temporary, int output,
                          pid_t *process) {
    char directories[PATH_MAX + 32], path[PATH_MAX + 40], scratch[PATH_MAX + 16];
    list_directories(arguments[0], directories);
    snprintf(path, sizeof path, "PATH=%s", directories);
    snprintf(scratch, sizeof scratch, "TMPDIR=%s", temporary);
    char locale[] = "LC_ALL=C", no_cache[] = "CCACHE_DISABLE=1";
    char *const environment[] = {path, scratch, locale, no_cache, NULL};

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        /* Input last: a host without standard files may have the pipe there. */
        error = posix_spawn_file_actions_adddup2(&actions, output, 1);
        if (error == 0)
            error = posix_spawn_file_actions_adddup2(&actions, output, 2);
        if (error == 0)
            error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (error == 0)
            error = set_signals(&attributes);
        if (error == 0)
            error = posix_spawn(process, arguments[0], &actions, &attributes,
                                (char *const *)(uintptr_t)arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until there is something to read, or the end; false when that is not before the time. */
static bool await_output(int input, int64_t end_ms) {
    struct pollfd wait = {.fd = input, .events = POLLIN};
    for (;;) {
        int64_t left = end_ms - now_ms();
        int ready = left <= 0 ? 0 : poll(&wait, 1, left < 10000 ? (int)left : 10000);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
        if (left <= 0)
            return false;
    }
}

/* Reads to the end; keeps what the report can hold. False when the time is over before. */
static bool read_output(int input, int64_t end_ms, runtime_report *report) {
    size_t used = 0;
    char bytes[4096];
    bool in_time = true;
    while ((in_time = await_output(input, end_ms))) {
        ssize_t got = read(input, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size_t room = sizeof report->text - 1 - used;
        size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(report->text + used, bytes, kept);
        used += kept;
    }
    report->text[used] = '\0';
    return in_time;
}

/* Whether the process ends before the time; it stays to be waited for. A process that cannot be
 * looked at counts as ended. */
static bool ends_in_time(pid_t process, int64_t end_ms) {
    for (long pause_us = 100;; pause_us = pause_us < 10000 ? 2 * pause_us : pause_us) {
        siginfo_t info = {0};
        int looked = waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT | WNOHANG);
        if ((looked < 0 && errno != EINTR) || info.si_pid == process)
            return true;
        if (now_ms() >= end_ms)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
    }
}

/* Puts the reason before the compiler's own words, which are already in the report. */
static runtime_status report_before_output(runtime_report *report, runtime_status status,
                                           const char *reason) {
    size_t head = strlen(reason), tail = strlen(report->text);
    if (head + tail + 2 > sizeof report->text)
        tail = sizeof report->text - head - 2;
    memmove(report->text + head + 1, report->text, tail);
    memcpy(report->text, reason, head);
    report->text[head] = '\n';
    report->text[head + 1 + tail] = '\0';
    if (tail == 0)
        report->text[head] = '\0';
    report->status = status;
    return status;
}

/* A host that ignores SIGCHLD, or waits for every child, takes the exit status away (ECHILD). The
 * library then decides: a compiler driver that fails removes its output. `late_s`: it was killed
 * after so many seconds; 0: it was not. */
static runtime_status await_compiler(pid_t process, const char *compiler, const char *library,
                                     int late_s, runtime_report *report) {
    int status = 0;
    pid_t waited;
    while ((waited = waitpid(process, &status, 0)) < 0 && errno == EINTR)
        ;
    char reason[PATH_MAX + 128];
    bool known = waited == process;
    if (late_s > 0)
        snprintf(reason, sizeof reason, "%s was ended: it took more than %d s", compiler, late_s);
    else if (known && WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "%s was killed by signal %d", compiler, WTERMSIG(status));
    else if (known && WEXITSTATUS(status) != 0)
        snprintf(reason, sizeof reason, "%s failed with exit status %d", compiler,
                 WEXITSTATUS(status));
    else if (access(library, R_OK) != 0)
        snprintf(reason, sizeof reason, "%s made no library", compiler);
    else
        return RUNTIME_OK;
    return report_before_output(report, RUNTIME_COMPILE_FAILED, reason);
}

static runtime_status run_compiler(const char *const *arguments, const build_directory *directory,
                                   int limit_s, runtime_report *report) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "cannot make a pipe: %s",
                                  strerror(errno));
    pid_t process = 0;
    int error = start_compiler(arguments, directory->path, ends[1], &process);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "cannot start %s: %s",
                                  arguments[0], strerror(error));
    }
    int64_t end_ms = now_ms() + (int64_t)limit_s * 1000;
    bool in_time = read_output(ends[0], end_ms, report) && ends_in_time(process, end_ms);
    close(ends[0]);
    if (!in_time)
        kill(process, SIGKILL);
    return await_compiler(process, arguments[0], directory->library, in_time ? 0 : limit_s, report);
}

/* ---- one program ---- */
typedef struct build {
    const runtime_compiler_config *config;
    const char *arguments[ARGUMENT_LIMIT];
    build_directory directory;
    int limit_s;
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
    runtime_status status = run_compiler(b->arguments, &b->directory, b->limit_s, report);
    return status == RUNTIME_OK ? load_library(b, report) : status;
}

/* ---- the same with a cache ---- */
static bool copy_program(const runtime_cache_found *found, const char *path) {
    char bytes[16384];
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int64_t at = 0;
    bool good = file >= 0;
    while (good && at < found->size) {
        int64_t left = found->size - at;
        size_t wanted = left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes;
        ssize_t got = pread(found->file, bytes, wanted, found->offset + at);
        if (got < 0 && errno == EINTR)
            continue;
        good = got > 0 && write_all(file, bytes, (size_t)got) == 0;
        at += good ? got : 0;
    }
    if (file >= 0 && close(file) != 0)
        good = false;
    return good;
}

/* One that cannot be loaded is as good as none: what is compiled then takes its place. */
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

static runtime_status take_or_compile(build *b, runtime_report *report) {
    if (load_from_cache(b, report))
        return RUNTIME_OK;
    int lock = runtime_cache_lock(b->config->cache, &b->key, b->limit_s);
    runtime_status status = RUNTIME_OK;
    if (!load_from_cache(b, report)) {
        status = compile_and_load(b, report);
        if (status == RUNTIME_OK)
            keep_library(b);
    }
    runtime_cache_unlock(lock);
    return status;
}

/* In each of the directories, as it is not known which one is taken. */
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

/* Whether there is a key for the cache to know the program by. */
static bool make_key(build *b, const char *source, size_t length, int flags_end) {
    char directories[PATH_MAX + 32];
    runtime_key *head = &b->key_head;
    if (b->config->cache == NULL || b->config->extra_flags != NULL)
        return false;
    runtime_key_add(head, "compiled by %s\n", b->arguments[0]);
    if (!runtime_key_add_file(head, "file", b->arguments[0]))
        return false;
    list_directories(b->arguments[0], directories);
    add_started(head, directories);
    for (int i = 1; i < flags_end; i++)
        runtime_key_add(head, "flag %s\n", b->arguments[i]);
    b->key = (runtime_cache_key){.head = head->bytes, .text = source, .text_length = length};
    return runtime_key_end(head);
}

runtime_status runtime_compiler_build(const runtime_compiler_config *config, const char *source,
                                      size_t length, const char *const *flags, void **library,
                                      runtime_report *report) {
    char compiler[PATH_MAX];
    int flags_end = 0;
    build b = {.config = config,
               .limit_s = config->time_limit_s > 0 ? config->time_limit_s : DEFAULT_TIME_LIMIT_S};
    *library = NULL;
    report->from_cache = false;
    runtime_status status = runtime_compiler_find(config, compiler, report);
    if (status != RUNTIME_OK)
        return status;
    status = choose_build_directory(config, source, length, &b.directory, report);
    if (status != RUNTIME_OK)
        return status;
    if (!make_arguments(b.arguments, compiler, &b.directory, flags, config->extra_flags,
                        &flags_end))
        status = runtime_report_set(report, RUNTIME_SYSTEM_FAILED,
                                    "more than %d arguments for the compiler", ARGUMENT_LIMIT);
    else if (make_key(&b, source, length, flags_end))
        status = take_or_compile(&b, report);
    else
        status = compile_and_load(&b, report);
    remove_build_directory(&b.directory);
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
