/* Threads of a context: who is woken, how many there are, what a child of fork finds.
 *
 * threads: tsan (built and run under ThreadSanitizer in check-long) */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "library_fixture.h"

enum { THREADS = 2, CALLERS = 4, LAUNCHES = 20, ROWS = 512, WIDTH = 4096, SMALL = 127 };

typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *large, *small;
    float *x, *y;
    matrix in, out;
} session;

static void prepare(session *s, int64_t rows, int64_t width, croft_dispatch **dispatch) {
    croft_diagnostics *findings = NULL;
    matrix_set(&s->in, s->x, rows, width, width);
    matrix_set(&s->out, s->y, rows, width, width);
    if (prepare_pair(s->kernel, &s->in, &s->out, dispatch, &findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(findings));
}

static void open_session(session *s, int threads) {
    *s = (session){.x = calloc((size_t)ROWS * WIDTH, sizeof(float)),
                   .y = calloc((size_t)ROWS * WIDTH, sizeof(float))};
    assert_true(s->x != NULL && s->y != NULL);
    for (int i = 0; i < ROWS * WIDTH; i++)
        s->x[i] = (float)(i % 251);
    croft_config config = {.size = sizeof config, .threads = threads};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, SCALE, &s->kernel, NULL), CROFT_OK);
    prepare(s, ROWS, WIDTH, &s->large);
    prepare(s, 1, SMALL, &s->small);
}

static void close_session(session *s) {
    croft_dispatch_free(s->large);
    croft_dispatch_free(s->small);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    free(s->x);
    free(s->y);
}

static bool is_right(const session *s) {
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (s->y[i] != 2.0f * s->x[i])
            return false;
    return true;
}

/* How often threads of this process other than the caller's were given a processor; *count: how
 * many threads there are. */
static long switches_of_others(int *count) {
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    long sum = 0;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[200];
        long number = strtol(entry->d_name, NULL, 10), switches;
        if (number <= 0)
            continue;
        ++*count;
        snprintf(path, sizeof path, "/proc/self/task/%ld/status", number);
        FILE *file = number == (long)getpid() ? NULL : fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &switches) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %ld", &switches) == 1)
                sum += switches;
        if (file != NULL)
            fclose(file);
    }
    closedir(tasks);
    return sum;
}

static int thread_count(void) {
    int count;
    (void)switches_of_others(&count);
    return count;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* A thread that was joined may be listed for a moment yet. */
static int threads_at_rest(void) {
    pause_ms(20);
    return thread_count();
}

static void assert_threads(int expected) {
    for (int tries = 0; tries < 100 && thread_count() > expected; tries++)
        pause_ms(20);
    assert_int_equal(thread_count(), expected);
}

/* Until nobody has moved for a while: the team spins, then sleeps. */
static long wait_for_sleep(void) {
    int count;
    long before = -1, now = switches_of_others(&count);
    for (int tries = 0; before != now && tries < 200; tries++) {
        pause_ms(50);
        before = now;
        now = switches_of_others(&count);
    }
    return now;
}

static void a_small_launch_wakes_nobody(void **state) {
    (void)state;
    session s;
    int before = threads_at_rest(), count;
    open_session(&s, THREADS);
    assert_int_equal(croft_launch(s.small, NULL, NULL), CROFT_OK);
    assert_threads(before);
    assert_int_equal(croft_launch(s.large, NULL, NULL), CROFT_OK);
    assert_threads(before + THREADS - 1);
    long asleep = wait_for_sleep();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(croft_launch(s.small, NULL, NULL), CROFT_OK);
    assert_int_equal(switches_of_others(&count), asleep);
    assert_int_equal(croft_launch(s.large, NULL, NULL), CROFT_OK);
    (void)wait_for_sleep();
    assert_true(switches_of_others(&count) > asleep); /* what is counted does count */
    close_session(&s);
    assert_threads(before);
}

typedef struct caller {
    session *s;
    pthread_barrier_t *begin;
    croft_status status;
    int threads; /* the most that were seen */
} caller;

static void *call(void *pointer) {
    caller *c = pointer;
    pthread_barrier_wait(c->begin);
    for (int i = 0; i < LAUNCHES && c->status == CROFT_OK; i++) {
        c->status = croft_launch(i % 4 == 3 ? c->s->small : c->s->large, NULL, NULL);
        int now = thread_count();
        c->threads = now > c->threads ? now : c->threads;
    }
    return NULL;
}

static void callers_at_once_share_one_team(void **state) {
    (void)state;
    session s;
    int before = threads_at_rest();
    caller callers[CALLERS] = {{0}};
    pthread_t threads[CALLERS];
    pthread_barrier_t begin;
    open_session(&s, THREADS);
    pthread_barrier_init(&begin, NULL, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){.s = &s, .begin = &begin};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].status, CROFT_OK);
        assert_true(callers[i].threads <= before + CALLERS + THREADS - 1);
    }
    pthread_barrier_destroy(&begin);
    assert_threads(before + THREADS - 1);
    assert_true(is_right(&s));
    close_session(&s);
}

static void one_thread_is_the_callers(void **state) {
    (void)state;
    session s;
    int before = threads_at_rest();
    open_session(&s, 1);
    assert_int_equal(croft_launch(s.large, NULL, NULL), CROFT_OK);
    assert_threads(before);
    assert_true(is_right(&s));
    close_session(&s);
}

static void a_child_of_fork_launches(void **state) {
    (void)state;
    session s;
    open_session(&s, THREADS);
    assert_int_equal(croft_launch(s.large, NULL, NULL), CROFT_OK);
    memset(s.y, 0, (size_t)ROWS * WIDTH * sizeof(float));
    pid_t child = fork();
    if (child == 0) {
        bool fine = croft_launch(s.large, NULL, NULL) == CROFT_OK && is_right(&s);
        croft_dispatch_free(s.large);
        croft_dispatch_free(s.small);
        croft_kernel_free(s.kernel);
        croft_context_free(s.context);
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(croft_launch(s.large, NULL, NULL), CROFT_OK);
    assert_true(is_right(&s));
    close_session(&s);
}

static void *return_at_once(void *pointer) {
    return pointer;
}

/* A sanitizer has a thread of its own from the first on that is started. */
static int start_one(void **state) {
    pthread_t thread;
    (void)state;
    return pthread_create(&thread, NULL, return_at_once, NULL) != 0 ||
           pthread_join(thread, NULL) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_launch_wakes_nobody),
        cmocka_unit_test(callers_at_once_share_one_team),
        cmocka_unit_test(one_thread_is_the_callers),
        cmocka_unit_test(a_child_of_fork_launches),
    };
    return cmocka_run_group_tests(tests, start_one, NULL);
}
