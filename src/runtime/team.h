/* A small team of threads that shares out ranges of [0, count).
 *
 *     runtime_team_run(team, 4096, 16, body, state)
 *         -> body(state, 0, 256, 0)  body(state, 2048, 2304, 1)  ... until all 4096 are done
 *
 * Each worker has a block of its own and takes it in pieces from the front; who has finished takes
 * pieces of the others' blocks. So equal runs touch equal memory from equal cores, and a slow core
 * does not hold up the rest. It does not know nested parallelism, priorities or placement.
 */
#ifndef RUNTIME_TEAM_H
#define RUNTIME_TEAM_H

#include "base/arena.h"

#include <stdint.h>

enum { RUNTIME_TEAM_LIMIT = 256 };

/* The caller's own way to run tasks: calls body(state, i) once for each i in [0, n), on any threads
 * and in any order, and returns when all have returned. */
typedef void runtime_parallel_for(void *context, int64_t n,
                                  void (*body)(void *state, int64_t index), void *state);

/* Zeroed = the built-in team with as many threads as this process may use processors. */
typedef struct runtime_team_config {
    /* 1: everything runs on the calling thread. 0: one per processor. At most RUNTIME_TEAM_LIMIT.
     */
    int threads;
    /* NULL: the built-in team. Else it is handed at most `threads` tasks at a time. */
    runtime_parallel_for *parallel_for;
    void *context;
} runtime_team_config;

typedef struct runtime_team runtime_team;

/* Work on [begin, end). `worker` is in [0, runtime_team_workers) and held by one thread at a time
 * within one run: it names the memory that the work may use. It must not throw, unwind or fork. */
typedef void runtime_team_body(void *state, int64_t begin, int64_t end, int worker);

/* NULL when memory is short. Threads start at the first run that wants them; when the system gives
 * fewer, the team is smaller. */
runtime_team *runtime_team_create(base_allocator allocator, const runtime_team_config *config);

/* Joins the threads. No run may be in progress. NULL is allowed. */
void runtime_team_destroy(runtime_team *team);

/* The most workers that runtime_team_run(team, count, grain, ...) uses, at least 1; with grain 1
 * and a large count, the size of the team. */
int runtime_team_workers(const runtime_team *team, int64_t count, int64_t grain);

/* Covers [0, count) exactly once and returns when all is done. There are at most
 * ceil(count / grain) workers, and their pieces hold about `grain` or more. On the calling thread
 * alone, as worker 0 and in one piece, when count <= grain or the team has one thread. May be
 * called from several threads: a run that finds the built-in team busy (or is called from inside a
 * body) works alone. After fork, the child starts threads of its own. */
void runtime_team_run(runtime_team *team, int64_t count, int64_t grain, runtime_team_body *body,
                      void *state);

#endif
