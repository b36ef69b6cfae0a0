/* The thread team: every index exactly once, on the threads promised, in a child too.
 *
 * threads: tsan */
#include "runtime/team.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT_LIMIT = 20000 };

typedef struct tally {
    _Atomic uint8_t hits[COUNT_LIMIT];
    _Atomic uint8_t held[RUNTIME_TEAM_LIMIT];
    _Atomic int64_t pieces, shared_workers, foreign_calls, total;
    pthread_t caller;
} tally;

static tally *tally_new(void) {
    tally *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->caller = pthread_self();
    return t;
}

static void tally_body(void *state, int64_t begin, int64_t end, int worker) {
    tally *t = state;
    if (atomic_exchange(&t->held[worker], 1) != 0)
        atomic_fetch_add(&t->shared_workers, 1);
    if (!pthread_equal(pthread_self(), t->caller))
        atomic_fetch_add(&t->foreign_calls, 1);
    atomic_fetch_add(&t->pieces, 1);
    atomic_fetch_add(&t->total, end - begin);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&t->hits[i], 1);
    atomic_store(&t->held[worker], 0);
}

static void length_body(void *state, int64_t begin, int64_t end, int worker) {
    (void)worker;
    if (begin < end)
        atomic_fetch_add((_Atomic int64_t *)state, end - begin);
}

static void assert_covered_once(const tally *t, int64_t count) {
    for (int64_t i = 0; i < COUNT_LIMIT; i++)
        assert_int_equal(t->hits[i], i < count);
    assert_int_equal(t->shared_workers, 0);
}

static runtime_team *team_new(int threads) {
    runtime_team *team =
        runtime_team_create(base_allocator_default(), &(runtime_team_config){.threads = threads});
    assert_non_null(team);
    return team;
}

static const int64_t counts[] = {0, 1, 2, 7, 63, 64, 1000, 9973, COUNT_LIMIT};
static const int64_t grains[] = {-1, 0, 1, 3, 64, 5000};
static const int thread_counts[] = {1, 2, 3, 8};
#define EACH(i, table) for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)

static void every_index_is_covered_once(void **state) {
    (void)state;
    EACH(n, thread_counts) {
        runtime_team *team = team_new(thread_counts[n]);
        EACH(c, counts) EACH(g, grains) {
            tally *t = tally_new();
            runtime_team_run(team, counts[c], grains[g], tally_body, t);
            assert_covered_once(t, counts[c]);
            free(t);
        }
        runtime_team_destroy(team);
    }
}

static void one_thread_works_on_the_calling_thread_in_one_piece(void **state) {
    (void)state;
    runtime_team *team = team_new(1);
    tally *t = tally_new();
    runtime_team_run(team, 1000, 1, tally_body, t);
    assert_int_equal(t->pieces, 1);
    assert_int_equal(t->foreign_calls, 0);
    free(t);
    runtime_team_destroy(team);
}

/* A thread that was joined may be listed for a moment yet. */
static int count_threads(void) {
    int count = 0;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void small_work_starts_no_thread(void **state) {
    (void)state;
    int before = count_threads();
    runtime_team *team = team_new(4);
    tally *t = tally_new();
    runtime_team_run(team, 100, 100, tally_body, t);
    assert_int_equal(t->pieces, 1);
    assert_int_equal(count_threads(), before);
    free(t);
    runtime_team_destroy(team);
}

static void destroying_joins_the_threads(void **state) {
    (void)state;
    int before = count_threads();
    runtime_team *team = team_new(4);
    tally *t = tally_new();
    runtime_team_run(team, 1000, 1, tally_body, t);
    assert_int_equal(count_threads(), before + 3);
    runtime_team_destroy(team);
    assert_int_equal(count_threads(), before);
    free(t);
    runtime_team_destroy(NULL);
}

static void counts_near_the_limit_do_not_overflow(void **state) {
    (void)state;
    const int64_t large_grains[] = {INT64_MAX / 2, INT64_MAX / 5, INT64_MAX - 1, INT64_MAX};
    runtime_team *team = team_new(3);
    EACH(g, large_grains) {
        _Atomic int64_t total = 0;
        runtime_team_run(team, INT64_MAX, large_grains[g], length_body, &total);
        assert_true(total == INT64_MAX);
    }
    runtime_team_destroy(team);
}

static void many_short_runs_neither_hang_nor_lose_work(void **state) {
    (void)state;
    runtime_team *team = team_new(3);
    _Atomic int64_t total = 0;
    int64_t expected = 0;
    for (int i = 0; i < 20000; i++) {
        runtime_team_run(team, 2 + i % 3, 1, length_body, &total);
        expected += 2 + i % 3;
        if (i % 1000 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* let them fall asleep */
    }
    assert_int_equal(total, expected);
    runtime_team_destroy(team);
}

static void idle_threads_sleep(void **state) {
    (void)state;
    runtime_team *team = team_new(4);
    _Atomic int64_t total = 0;
    runtime_team_run(team, 100, 1, length_body, &total);
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double used =
        (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
    assert_true(used < 50e6);
    runtime_team_destroy(team);
}

/* Two pieces that each wait until the other has begun: done only if two threads take part. */
typedef struct meeting {
    _Atomic int present;
    _Atomic int met;
    _Atomic int open_to_signals;
    _Atomic int processor; /* of the thread that is not the caller */
    pthread_t caller;
} meeting;

static void meeting_body(void *state, int64_t begin, int64_t end, int worker) {
    meeting *m = state;
    (void)worker;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!pthread_equal(pthread_self(), m->caller) && !sigismember(&mask, SIGUSR1))
        atomic_fetch_add(&m->open_to_signals, 1);
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_store(&m->processor, sched_getcpu());
    atomic_fetch_add(&m->present, (int)(end - begin));
    time_t limit = time(NULL) + 20;
    while (atomic_load(&m->present) < 2 && time(NULL) < limit)
        sched_yield();
    if (atomic_load(&m->present) == 2)
        atomic_fetch_add(&m->met, 1);
}

static bool two_threads_meet(runtime_team *team) {
    meeting m = {.caller = pthread_self()};
    runtime_team_run(team, 2, 1, meeting_body, &m);
    return m.met == 2 && m.open_to_signals == 0;
}

static void pieces_run_at_the_same_time_with_signals_blocked(void **state) {
    (void)state;
    runtime_team *team = team_new(2);
    for (int i = 0; i < 100; i++)
        assert_true(two_threads_meet(team));
    runtime_team_destroy(team);
}

/* Of all threads of this process. */
static void set_processors(const cpu_set_t *set) {
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            sched_setaffinity(atoi(entry->d_name), sizeof *set, set);
    closedir(directory);
}

static void threads_do_not_stay_on_the_callers_processor(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2)
        skip();
    int own = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)own, &one);
    runtime_team *team = team_new(2);
    assert_true(two_threads_meet(team));
    set_processors(&one);
    assert_true(two_threads_meet(team));
    set_processors(&all);
    sched_setaffinity(0, sizeof one, &one);
    int apart = 0;
    for (int i = 0; i < 200; i++) {
        meeting m = {.caller = pthread_self()};
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* they fall asleep */
        runtime_team_run(team, 2, 1, meeting_body, &m);
        assert_int_equal(m.met, 2);
        apart += m.processor != own;
    }
    sched_setaffinity(0, sizeof all, &all);
    assert_true(apart > 100);
    runtime_team_destroy(team);
}

/* The host has left the threads one processor: they stay there. */
static void threads_stay_where_the_host_put_them(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    int own = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)own, &one);
    runtime_team *team = team_new(2);
    assert_true(two_threads_meet(team));
    set_processors(&one);
    for (int i = 0; i < 50; i++) {
        meeting m = {.caller = pthread_self()};
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        runtime_team_run(team, 2, 1, meeting_body, &m);
        assert_int_equal(m.met, 2);
        assert_int_equal(m.processor, own);
    }
    set_processors(&all);
    runtime_team_destroy(team);
}

static void a_child_starts_threads_of_its_own(void **state) {
    (void)state;
    runtime_team *team = team_new(2);
    assert_true(two_threads_meet(team));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool met = two_threads_meet(team) && two_threads_meet(team);
        runtime_team_destroy(team);
        _exit(met ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = fork();
    if (child == 0) { /* destroys what it never used */
        runtime_team_destroy(team);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(two_threads_meet(team));
    runtime_team_destroy(team);
}

typedef struct busy {
    runtime_team *team;
    _Atomic int inside, leave;
} busy;

static void busy_body(void *state, int64_t begin, int64_t end, int worker) {
    busy *b = state;
    (void)begin, (void)end, (void)worker;
    atomic_fetch_add(&b->inside, 1);
    while (!atomic_load(&b->leave))
        sched_yield();
}

static void *run_busy(void *state) {
    busy *b = state;
    runtime_team_run(b->team, 2, 1, busy_body, b);
    return NULL;
}

/* The parent's other thread is in the middle of a run, which the child does not have. */
static void a_child_forked_during_a_run_can_run(void **state) {
    (void)state;
    busy b = {.team = team_new(2)};
    pthread_t runner;
    assert_int_equal(pthread_create(&runner, NULL, run_busy, &b), 0);
    while (atomic_load(&b.inside) < 2)
        sched_yield();
    pid_t child = fork();
    if (child == 0)
        _exit(two_threads_meet(b.team) ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&b.leave, 1);
    pthread_join(runner, NULL);
    runtime_team_destroy(b.team);
}

static void a_run_that_finds_the_team_busy_works_alone(void **state) {
    (void)state;
    busy b = {.team = team_new(2)};
    pthread_t runner;
    assert_int_equal(pthread_create(&runner, NULL, run_busy, &b), 0);
    while (atomic_load(&b.inside) < 2)
        sched_yield();
    tally *t = tally_new();
    runtime_team_run(b.team, 1000, 1, tally_body, t);
    assert_covered_once(t, 1000);
    assert_int_equal(t->foreign_calls, 0);
    atomic_store(&b.leave, 1);
    pthread_join(runner, NULL);
    runtime_team_destroy(b.team);
    free(t);
}

static runtime_team *nested_team;

static void nested_body(void *state, int64_t begin, int64_t end, int worker) {
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        runtime_team_run(nested_team, 10, 1, length_body, state);
}

static void a_run_inside_a_body_completes(void **state) {
    (void)state;
    nested_team = team_new(3);
    _Atomic int64_t total = 0;
    runtime_team_run(nested_team, 100, 1, nested_body, &total);
    assert_int_equal(total, 1000);
    runtime_team_destroy(nested_team);
}

static void backwards_for(void *context, int64_t n, void (*body)(void *, int64_t), void *state) {
    *(int64_t *)context += n;
    for (int64_t i = n - 1; i >= 0; i--)
        body(state, i);
}

static void the_callers_parallel_for_covers_every_index_once(void **state) {
    (void)state;
    int64_t tasks = 0;
    int before = count_threads();
    runtime_team_config config = {.threads = 5, .parallel_for = backwards_for, .context = &tasks};
    runtime_team *team = runtime_team_create(base_allocator_default(), &config);
    EACH(c, counts) {
        tally *t = tally_new();
        runtime_team_run(team, counts[c], 3, tally_body, t);
        assert_covered_once(t, counts[c]);
        assert_int_equal(t->foreign_calls, 0);
        free(t);
    }
    assert_true(tasks > 0 && tasks <= 5 * (int64_t)(sizeof counts / sizeof *counts));
    assert_int_equal(count_threads(), before);
    runtime_team_destroy(team);
}

static void *refuse(void *context, void *memory, size_t old_size, size_t new_size) {
    (void)context, (void)memory, (void)old_size, (void)new_size;
    return NULL;
}

static void short_memory_gives_no_team(void **state) {
    (void)state;
    assert_null(runtime_team_create((base_allocator){.resize = refuse},
                                    &(runtime_team_config){.threads = 2}));
}

static void the_size_follows_the_processors_and_the_limit(void **state) {
    (void)state;
    runtime_team *team = team_new(0);
    assert_true(runtime_team_workers(team, 1000000, 1) >= 1);
    runtime_team_destroy(team);
    team = team_new(100000);
    assert_int_equal(runtime_team_workers(team, 1000000, 1), RUNTIME_TEAM_LIMIT);
    assert_int_equal(runtime_team_workers(team, 100, 40), 3);
    assert_int_equal(runtime_team_workers(team, 0, 0), 1);
    runtime_team_destroy(team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_covered_once),
        cmocka_unit_test(one_thread_works_on_the_calling_thread_in_one_piece),
        cmocka_unit_test(small_work_starts_no_thread),
        cmocka_unit_test(destroying_joins_the_threads),
        cmocka_unit_test(counts_near_the_limit_do_not_overflow),
        cmocka_unit_test(many_short_runs_neither_hang_nor_lose_work),
        cmocka_unit_test(idle_threads_sleep),
        cmocka_unit_test(pieces_run_at_the_same_time_with_signals_blocked),
        cmocka_unit_test(threads_do_not_stay_on_the_callers_processor),
        cmocka_unit_test(threads_stay_where_the_host_put_them),
        cmocka_unit_test(a_child_starts_threads_of_its_own),
        cmocka_unit_test(a_child_forked_during_a_run_can_run),
        cmocka_unit_test(a_run_that_finds_the_team_busy_works_alone),
        cmocka_unit_test(a_run_inside_a_body_completes),
        cmocka_unit_test(the_callers_parallel_for_covers_every_index_once),
        cmocka_unit_test(short_memory_gives_no_team),
        cmocka_unit_test(the_size_follows_the_processors_and_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
