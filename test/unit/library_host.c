/* What state of its host the library bears: floating traps, a limit on the size of files, a fork
 * while other threads are in its calls, structs of other sizes. */
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "library_fixture.h"
#include "runtime/file.h"
#include "runtime/lock.h"

enum {
    ROWS = 3,
    WIDTH = 40,
    CHILDREN = 6,
    CHILD_LIMIT_S = 60,
    COUNTERS = 4,
    COUNTS = 20000,
    DEEPEST = 190
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

/* Constants that are computed while it is compiled, a division by zero among them. */
#define CONSTANTS                                                                                  \
    "kernel constants(x: in f32[R, N], y: out f32[R, N]) {\n"                                      \
    "    program row: R\n"                                                                         \
    "    y[row, :] = minimum(x[row, :] / 3.0 + 0.1, 1.0 / 0.0) + log(0.0) * 0.0\n"                 \
    "}\n"

typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    float x[ROWS * WIDTH], y[ROWS * WIDTH];
    matrix in, out;
} session;

static croft_status use(session *s) {
    croft_dispatch *dispatch = NULL;
    croft_status status = prepare_pair(s->kernel, &s->in, &s->out, &dispatch, NULL);
    if (status == CROFT_OK)
        status = croft_launch(dispatch, NULL, NULL);
    croft_dispatch_free(dispatch);
    return status;
}

static void open_session(session *s, const char *text) {
    *s = (session){0};
    for (int i = 0; i < ROWS * WIDTH; i++)
        s->x[i] = (float)i;
    matrix_set(&s->in, s->x, ROWS, WIDTH, WIDTH);
    matrix_set(&s->out, s->y, ROWS, WIDTH, WIDTH);
    assert_int_equal(croft_context_create(NULL, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, text, &s->kernel, NULL), CROFT_OK);
}

static void close_session(session *s) {
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
}

/* ---- arithmetic ---- */
static void traps_and_roundings_of_the_caller_are_not_the_librarys(void **state) {
    (void)state;
    session plain, trapped;
    fenv_t before;
    open_session(&plain, CONSTANTS);
    assert_int_equal(use(&plain), CROFT_OK);
    fegetenv(&before);
    fesetround(FE_UPWARD);
#ifdef __GLIBC__
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
#endif
    open_session(&trapped, CONSTANTS);
    croft_status status = use(&trapped);
    int rounds = fegetround();
#ifdef __GLIBC__
    int traps = fegetexcept();
#endif
    fesetenv(&before);
    assert_int_equal(status, CROFT_OK);
    assert_int_equal(rounds, FE_UPWARD);
#ifdef __GLIBC__
    assert_int_equal(traps, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
#endif
    assert_memory_equal(plain.y, trapped.y, sizeof plain.y);
    close_session(&plain);
    close_session(&trapped);
}

/* ---- writing ---- */
/* In a child, whose limit it is: the exit status. */
static int write_beyond(rlim_t limit, bool pending) {
    session s;
    sigset_t blocked, waiting;
    struct rlimit small = {limit, limit};
    open_session(&s, SCALE);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    if (pending && (sigprocmask(SIG_BLOCK, &blocked, NULL) != 0 || raise(SIGXFSZ) != 0))
        return 1;
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        return 2;
    if (use(&s) != CROFT_SYSTEM_FAILED)
        return 3;
    if (sigpending(&waiting) != 0 || (sigismember(&waiting, SIGXFSZ) == 1) != pending)
        return 4;
    close_session(&s);
    return 0;
}

static void a_limit_on_files_is_a_status_and_no_signal(void **state) {
    (void)state;
    for (int pending = 0; pending < 2; pending++) {
        int ended = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(write_beyond(100, pending != 0));
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 0);
    }
}

static void what_is_written_is_all_there(void **state) {
    (void)state;
    char read_back[8] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(runtime_file_write(fileno(file), "seven..", 7), 0);
    rewind(file);
    assert_int_equal(fread(read_back, 1, sizeof read_back, file), 7);
    assert_string_equal(read_back, "seven..");
    fclose(file);
    assert_int_not_equal(runtime_file_write(-1, "x", 1), 0);
}

/* ---- fork ---- */
typedef struct preparer {
    session *session;
    atomic_bool stop, began;
} preparer;

/* Takes and gives the kernel's lock, mostly while it makes a variant. */
static void *prepare_on(void *context) {
    preparer *p = context;
    session *s = p->session;
    static float x[ROWS * (WIDTH + 200)], y[ROWS * (WIDTH + 200)];
    for (int64_t width = WIDTH + 1; !atomic_load(&p->stop); width++) {
        matrix in, out;
        croft_dispatch *dispatch = NULL;
        matrix_set(&in, x, ROWS, width % (WIDTH + 200), WIDTH + 200);
        matrix_set(&out, y, ROWS, width % (WIDTH + 200), WIDTH + 200);
        atomic_store(&p->began, true);
        (void)prepare_pair(s->kernel, &in, &out, &dispatch, NULL);
        croft_dispatch_free(dispatch);
    }
    return NULL;
}

static void a_child_is_not_stopped_by_a_call_of_another_thread(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    preparer other = {.session = &s};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, prepare_on, &other), 0);
    while (!atomic_load(&other.began))
        usleep(1000);
    int failed = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int ended = 0;
        usleep(7000);
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_LIMIT_S);
            _exit(use(&s) == CROFT_OK ? 0 : 1);
        }
        failed +=
            waitpid(child, &ended, 0) != child || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
    }
    atomic_store(&other.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(failed, 0);
    close_session(&s);
}

static runtime_lock counter_lock;
static int64_t counter;

static void *count_on(void *unused) {
    for (int i = 0; i < COUNTS; i++) {
        runtime_lock_take(&counter_lock);
        counter++;
        runtime_lock_give(&counter_lock);
    }
    return unused;
}

static void a_lock_is_for_one_at_a_time(void **state) {
    (void)state;
    pthread_t threads[COUNTERS];
    for (int i = 0; i < COUNTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, NULL), 0);
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter, (int64_t)COUNTERS * COUNTS);
    assert_int_equal(atomic_load(&counter_lock.holder), 0);
}

static void a_child_takes_over_a_lock_that_was_held(void **state) {
    (void)state;
    int ended = 0;
    runtime_lock_take(&counter_lock);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_LIMIT_S);
        runtime_lock_take(&counter_lock);
        runtime_lock_give(&counter_lock);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    runtime_lock_give(&counter_lock);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

/* ---- stacks ---- */
/* As deep as the language allows. */
static void write_deepest(char *text, size_t size) {
    int used = snprintf(text, size,
                        "kernel deep(x: in f32[R, N], y: out f32[R, N]) {\n"
                        "    program row: R\n    y[row, :] = ");
    for (int i = 0; i < DEEPEST; i++)
        used += snprintf(text + used, size - (size_t)used, "abs(%d.5 - ", i);
    used += snprintf(text + used, size - (size_t)used, "x[row, :]");
    for (int i = 0; i < DEEPEST; i++)
        used += snprintf(text + used, size - (size_t)used, ")");
    snprintf(text + used, size - (size_t)used, "\n}\n");
}

typedef struct stacked {
    session session;
    croft_dispatch *dispatch;
    croft_status status;
} stacked;

static void *prepare_deepest(void *context) {
    stacked *s = context;
    static char text[16 * 1024];
    write_deepest(text, sizeof text);
    s->status = compile_text(s->session.context, text, &s->session.kernel, NULL);
    if (s->status == CROFT_OK)
        s->status =
            prepare_pair(s->session.kernel, &s->session.in, &s->session.out, &s->dispatch, NULL);
    return NULL;
}

static void *launch_it(void *context) {
    stacked *s = context;
    s->status = croft_launch(s->dispatch, NULL, NULL);
    return NULL;
}

static void run_on_stack(void *(*body)(void *context), stacked *s, size_t size) {
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, size), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, s), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_int_equal(s->status, CROFT_OK);
}

/* Sizes of docs/library.md; frames of sanitizers and of unoptimised code are larger. */
static void small_stacks_suffice(void **state) {
    (void)state;
#ifdef __OPTIMIZE__
    size_t scale = IS_SANITIZED ? 16 : 1;
#else
    size_t scale = 16;
#endif
    static stacked s;
    open_session(&s.session, SCALE);
    croft_kernel_free(s.session.kernel);
    run_on_stack(prepare_deepest, &s, scale * 512 * 1024);
    run_on_stack(launch_it, &s, scale * 64 * 1024);
    croft_dispatch_free(s.dispatch);
    close_session(&s.session);
}

/* ---- structs ---- */
static void sizes_that_no_header_has_are_misuse(void **state) {
    (void)state;
    session s;
    croft_context *context;
    croft_dispatch *dispatch = NULL;
    open_session(&s, SCALE);
    assert_int_equal(prepare_pair(s.kernel, &s.in, &s.out, &dispatch, NULL), CROFT_OK);
    const size_t sizes[] = {0, 7, 12, sizeof(croft_config) - 1};
    const croft_argument arguments[] = {tensor_argument("x", &s.in), tensor_argument("y", &s.out)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        croft_dispatch *none;
        croft_kernel *kernel;
        croft_config config = {.size = sizes[i]};
        croft_source source = {.size = sizes[i], .text = SCALE};
        croft_prepare_options options = {.size = sizes[i]};
        croft_launch_options launch = {.size = sizes[i]};
        assert_int_equal(croft_context_create(&config, &context), CROFT_MISUSE);
        croft_config_from_environment(&config);
        assert_true(config.path == NULL && config.home == NULL);
        assert_int_equal(croft_compile(s.context, &source, &kernel, NULL), CROFT_MISUSE);
        assert_int_equal(croft_prepare(s.kernel, arguments, 2, &options, &none, NULL),
                         CROFT_MISUSE);
        assert_int_equal(croft_launch(dispatch, &launch, NULL), CROFT_MISUSE);
    }
    croft_config older = {.size = offsetof(croft_config, cache), .threads = 1, .cache = "unread"};
    assert_int_equal(croft_context_create(&older, &context), CROFT_OK);
    croft_context_free(context);
    croft_dispatch_free(dispatch);
    close_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps_and_roundings_of_the_caller_are_not_the_librarys),
        cmocka_unit_test(a_limit_on_files_is_a_status_and_no_signal),
        cmocka_unit_test(what_is_written_is_all_there),
        cmocka_unit_test(a_child_is_not_stopped_by_a_call_of_another_thread),
        cmocka_unit_test(a_lock_is_for_one_at_a_time),
        cmocka_unit_test(a_child_takes_over_a_lock_that_was_held),
        cmocka_unit_test(small_stacks_suffice),
        cmocka_unit_test(sizes_that_no_header_has_are_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
