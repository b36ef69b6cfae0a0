/* The compiler as a process: started, listened to, and ended when it takes too long.
 *
 *     PATH=/usr/bin:/usr/bin:/bin TMPDIR=PRIVATE LC_ALL=C ...
 *     cc -std=gnu11 -O2 ... </dev/null >pipe 2>&1
 *
 * Its environment is fixed, so that nothing of the host's decides what is made. Both of its outputs
 * go to one pipe, which is read to its end even when the report is full: the compiler never waits
 * for a reader. The pipe ends when the last process that the compiler started has closed it. A
 * compiler that exceeds its time is killed; processes that it started itself are not found then.
 */
#include "runtime/compiler_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void compiler_path_list(const char *compiler, char directories[COMPILER_PATH_LIMIT]) {
    int length = (int)(strrchr(compiler, '/') - compiler);
    snprintf(directories, COMPILER_PATH_LIMIT, "%.*s:/usr/bin:/bin", length, compiler);
}

/* Signals act on the compiler as they do by default, whatever the host has blocked or ignored. */
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
    char directories[COMPILER_PATH_LIMIT], path[COMPILER_PATH_LIMIT + 8], scratch[PATH_MAX + 16];
    compiler_path_list(arguments[0], directories);
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

/* Waits until something can be read or the pipe has ended; false: neither before the time. */
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

/* Reads to the end of the pipe and keeps as much as the report holds. False: the time was over
 * first. */
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

/* Waits for the process to end; false: it had not when the time was over. Its exit status is left
 * for waitpid. A process that cannot be looked at counts as ended. */
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

/* Puts the reason before the compiler's own messages, which are already in the report. */
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

/* Whether the compiler has done its work. The exit status is not known (ECHILD) in a host that
 * ignores SIGCHLD or waits for every child itself. Then the library counts as made if it is there,
 * since a compiler that fails removes its output. `late_s`: after so many seconds the compiler was
 * killed; 0: it ended by itself. */
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

runtime_status compiler_run(const char *const *arguments, const compiler_directory *directory,
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
