/* The team: see the header for how ranges are shared out.
 *
 * Waking. The caller puts a pointer to the job, opens the gate, puts a new `signal` = (number of
 * the run << 16) | participants, then rings: a futex on `bell`, only when somebody sleeps. A worker
 * touches a job only between its way through the open gate and counting itself out, so the job can
 * live on the caller's stack. When nothing is left to take, the caller closes the gate, and waits
 * for those who came through it: one that wakes late is not waited for.
 *
 *     caller: job, gate, signal, bell+1, wake    worker: spin on signal ~50 us, else sleep on bell
 *     caller: its share, closes, waits           worker: gate+1, its share, left+1, wakes
 *
 * Sleeping is announced before the last look at the word slept on, and both sides use sequentially
 * consistent order, so one of the two sees the other.
 *
 * Crowding. A system that wakes a thread where its waker runs keeps the two on one processor: each
 * spins, sleeps and wakes the other, and no two work at a time. A worker that woke on the caller's
 * processor is from then on kept off whatever processor the caller wakes it from.
 *
 * Fork. `owner` is 0 or the process that runs a job. A child finds another process's number there
 * or in `started_by` and takes the team over as if no thread had been started.
 */
#include "runtime/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_LINE = 64, SPIN_NS = 50000, PIECES_PER_BLOCK = 8, STOP = 0xffff };

static const uint32_t gate_closed = UINT32_C(1) << 31;

typedef struct job_cursor {
    alignas(CACHE_LINE) _Atomic uint64_t taken; /* of the block, from its front */
} job_cursor;

typedef struct team_job {
    runtime_team_body *body;
    void *state;
    int64_t count;
    int64_t piece;
    int participants;
    job_cursor cursors[RUNTIME_TEAM_LIMIT];
} team_job;

typedef struct team_worker {
    runtime_team *team;
    int index;
    pthread_t thread;
    pid_t id;            /* of the system; read once `crowds` was set */
    _Atomic bool crowds; /* it woke on its waker's processor */
    int kept_off;        /* the processor that it may not use; -1: none */
    cpu_set_t allowed;   /* what the host lets it use */
    cpu_set_t given;     /* what it was left of that */
} team_worker;

struct runtime_team {
    base_allocator allocator;
    runtime_parallel_for *parallel_for;
    void *context;
    int size;
    int started; /* workers 1 .. started - 1 have threads; 0 = not started */
    pid_t started_by;
    _Atomic int32_t owner;
    _Atomic uint64_t signal;
    _Atomic uint32_t bell;
    _Atomic uint32_t sleepers;
    _Atomic int waker_processor; /* where the last ring for sleepers came from */
    team_job *_Atomic job;
    char apart[CACHE_LINE]; /* counting in and out does not disturb those that spin on the signal */
    _Atomic uint32_t gate;  /* who came in, and whether it is closed */
    _Atomic uint32_t left;
    _Atomic uint32_t caller_sleeps;
    team_worker workers[RUNTIME_TEAM_LIMIT];
};

/* ---- waiting ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t expected) {
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- placement ---- */

/* Of what it may use, all processors but one; nothing where there is no other. A mask that is not
 * the one given here is the host's, and stands for what it may use. */
static void keep_off(team_worker *worker, int processor) {
    cpu_set_t now, others;
    if (sched_getaffinity(worker->id, sizeof now, &now) != 0)
        return;
    if (!CPU_EQUAL(&now, &worker->given))
        worker->allowed = now;
    others = worker->allowed;
    CPU_CLR((size_t)processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(worker->id, sizeof others, &others) != 0)
        return;
    worker->given = others;
    worker->kept_off = processor;
}

/* Before the caller wakes them: it may have moved. */
static void keep_crowding_workers_off(runtime_team *team) {
    int processor = sched_getcpu();
    atomic_store(&team->waker_processor, processor);
    for (int i = 1; i < team->started && processor >= 0; i++) {
        team_worker *worker = &team->workers[i];
        bool crowds = atomic_exchange(&worker->crowds, false);
        if (crowds || (worker->kept_off >= 0 && worker->kept_off != processor))
            keep_off(worker, processor);
    }
}

/* ---- signals ---- */

/* The next signal after `seen`: spins, then sleeps. */
static uint64_t await_signal(team_worker *self, uint64_t seen) {
    runtime_team *team = self->team;
    int64_t start = now_ns();
    uint64_t signal;
    do {
        for (int i = 0; i < 32; i++) {
            signal = atomic_load_explicit(&team->signal, memory_order_acquire);
            if (signal != seen)
                return signal;
            relax();
        }
    } while (now_ns() - start < SPIN_NS);
    for (;;) {
        uint32_t bell = atomic_load(&team->bell);
        atomic_fetch_add(&team->sleepers, 1);
        signal = atomic_load(&team->signal);
        if (signal == seen)
            futex_wait(&team->bell, bell);
        atomic_fetch_sub(&team->sleepers, 1);
        if (signal != seen)
            return signal;
        if (sched_getcpu() == atomic_load(&team->waker_processor))
            atomic_store(&self->crowds, true);
    }
}

/* Closes the gate; returns when all who came in have left. */
static void await_workers(runtime_team *team) {
    uint32_t entered = atomic_fetch_or(&team->gate, gate_closed);
    if (atomic_load_explicit(&team->left, memory_order_acquire) == entered)
        return;
    int64_t start = now_ns();
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&team->left, memory_order_acquire) == entered)
                return;
            relax();
        }
    } while (now_ns() - start < SPIN_NS);
    atomic_store(&team->caller_sleeps, 1);
    for (uint32_t left; (left = atomic_load(&team->left)) != entered;)
        futex_wait(&team->left, left);
    atomic_store(&team->caller_sleeps, 0);
}

static void ring(runtime_team *team, uint64_t signal) {
    atomic_store(&team->signal, signal);
    atomic_fetch_add(&team->bell, 1);
    if (atomic_load(&team->sleepers) != 0) {
        keep_crowding_workers_off(team);
        futex_wake(&team->bell, INT_MAX);
    }
}

/* ---- sharing out ---- */

/* floor(count * part / parts) without overflow. */
static int64_t block_begin(int64_t count, int part, int parts) {
    return count / parts * part + count % parts * part / parts;
}

/* One worker's share: its own block, then what is left of the others'. */
static void work(team_job *job, int worker) {
    for (int i = 0; i < job->participants; i++) {
        int block = (worker + i) % job->participants;
        int64_t first = block_begin(job->count, block, job->participants);
        uint64_t size = (uint64_t)(block_begin(job->count, block + 1, job->participants) - first);
        _Atomic uint64_t *taken = &job->cursors[block].taken;
        for (;;) {
            uint64_t at =
                atomic_fetch_add_explicit(taken, (uint64_t)job->piece, memory_order_relaxed);
            if (at >= size)
                break;
            uint64_t left = size - at;
            int64_t begin = first + (int64_t)at;
            int64_t length = left < (uint64_t)job->piece ? (int64_t)left : job->piece;
            job->body(job->state, begin, begin + length, worker);
        }
    }
}

static void job_init(team_job *job, int64_t count, int64_t grain, int participants,
                     runtime_team_body *body, void *state) {
    int64_t piece = count / participants / PIECES_PER_BLOCK;
    job->body = body;
    job->state = state;
    job->count = count;
    job->piece = piece > grain ? piece : grain;
    job->participants = participants;
    for (int i = 0; i < participants; i++)
        atomic_init(&job->cursors[i].taken, 0);
}

/* ---- threads ---- */

/* The run that is open, which may be a later one than was signalled, unless there is none. */
static void take_part(runtime_team *team, int worker) {
    if ((atomic_fetch_add(&team->gate, 1) & gate_closed) != 0)
        return;
    team_job *job = atomic_load(&team->job);
    if (worker < job->participants)
        work(job, worker);
    atomic_fetch_add(&team->left, 1);
    if (atomic_load(&team->caller_sleeps) != 0)
        futex_wake(&team->left, 1);
}

static void *worker_main(void *argument) {
    team_worker *self = argument;
    uint64_t signal = 0;
    self->id = gettid();
    for (;;) {
        signal = await_signal(self, signal);
        uint64_t participants = signal & 0xffff;
        if (participants == STOP)
            return NULL;
        if ((uint64_t)self->index < participants)
            take_part(self->team, self->index);
    }
}

/* The host's signals are for the host's threads. */
static void start_threads(runtime_team *team) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    team->started = 1;
    team->started_by = getpid();
    for (int i = 1; i < team->size; i++) {
        team_worker *worker = &team->workers[i];
        worker->team = team;
        worker->index = i;
        atomic_store(&worker->crowds, false);
        worker->kept_off = -1;
        CPU_ZERO(&worker->given);
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break;
        team->started = i + 1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* In a child: the parent's threads are not here, nor any run of theirs. */
static void forget_threads(runtime_team *team) {
    team->started = 0;
    atomic_store(&team->signal, 0);
    atomic_store(&team->bell, 0);
    atomic_store(&team->sleepers, 0);
    atomic_store(&team->gate, gate_closed);
    atomic_store(&team->left, 0);
    atomic_store(&team->caller_sleeps, 0);
}

static bool take_team(runtime_team *team, int32_t process) {
    int32_t owner = atomic_load(&team->owner);
    while (owner != process) {
        if (atomic_compare_exchange_weak(&team->owner, &owner, process)) {
            if (team->started != 0 && team->started_by != process)
                forget_threads(team);
            return true;
        }
    }
    return false;
}

static void run_on_team(runtime_team *team, team_job *job) {
    uint64_t number = (atomic_load(&team->signal) >> 16) + 1;
    atomic_store(&team->job, job);
    atomic_store(&team->left, 0);
    atomic_store(&team->gate, 0);
    ring(team, number << 16 | (uint64_t)job->participants);
    work(job, 0);
    await_workers(team);
}

static void parallel_for_task(void *state, int64_t index) {
    work(state, (int)index);
}

/* ---- public ---- */

static int count_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN); /* the set is too small for this machine */
    return count < 1 ? 1 : count > RUNTIME_TEAM_LIMIT ? RUNTIME_TEAM_LIMIT : (int)count;
}

runtime_team *runtime_team_create(base_allocator allocator, const runtime_team_config *config) {
    runtime_team *team = allocator.resize(allocator.context, NULL, 0, sizeof *team);
    if (team == NULL)
        return NULL;
    *team = (runtime_team){.allocator = allocator,
                           .parallel_for = config->parallel_for,
                           .context = config->context,
                           .size = config->threads > 0 ? config->threads : count_processors(),
                           .gate = gate_closed,
                           .waker_processor = -1};
    if (team->size > RUNTIME_TEAM_LIMIT)
        team->size = RUNTIME_TEAM_LIMIT;
    return team;
}

void runtime_team_destroy(runtime_team *team) {
    if (team == NULL)
        return;
    if (team->started > 1 && team->started_by == getpid()) {
        ring(team, ((atomic_load(&team->signal) >> 16) + 1) << 16 | STOP);
        for (int i = 1; i < team->started; i++)
            pthread_join(team->workers[i].thread, NULL);
    }
    base_allocator allocator = team->allocator;
    allocator.resize(allocator.context, team, sizeof *team, 0);
}

int runtime_team_workers(const runtime_team *team, int64_t count, int64_t grain) {
    if (grain < 1)
        grain = 1;
    int64_t useful = count / grain + (count % grain != 0);
    return useful < 1 ? 1 : useful < team->size ? (int)useful : team->size;
}

void runtime_team_run(runtime_team *team, int64_t count, int64_t grain, runtime_team_body *body,
                      void *state) {
    if (count <= 0)
        return;
    if (grain < 1)
        grain = 1;
    int participants = runtime_team_workers(team, count, grain);
    if (participants == 1) {
        body(state, 0, count, 0);
        return;
    }
    team_job job;
    if (team->parallel_for != NULL) {
        job_init(&job, count, grain, participants, body, state);
        team->parallel_for(team->context, participants, parallel_for_task, &job);
        return;
    }
    if (!take_team(team, getpid())) {
        body(state, 0, count, 0);
        return;
    }
    if (team->started == 0)
        start_threads(team);
    if (participants > team->started)
        participants = team->started;
    if (participants == 1) {
        body(state, 0, count, 0);
    } else {
        job_init(&job, count, grain, participants, body, state);
        run_on_team(team, &job);
    }
    atomic_store(&team->owner, 0);
}
