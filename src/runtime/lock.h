/* A mutex that a forked child can take.
 *
 * The child has a copy of the memory, also of locks that other threads held, and not of those
 * threads. A lock of this kind knows the process of its holder: who finds another process there
 * takes it over. What it guards has to be usable at any moment of its holder's work.
 *
 *     runtime_lock lock = {0};    runtime_lock_take(&lock);    ...    runtime_lock_give(&lock);
 */
#ifndef RUNTIME_LOCK_H
#define RUNTIME_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct runtime_lock {
    _Atomic uint32_t holder; /* a process; 0: free */
    _Atomic uint32_t waiting;
} runtime_lock;

void runtime_lock_take(runtime_lock *lock);
void runtime_lock_give(runtime_lock *lock);

#endif
