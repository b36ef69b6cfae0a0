/* Locks that are a number of a process: see the header.
 *
 * Who waits says so before the system looks at the holder, and who gives looks for waiters after
 * the holder is 0, both in sequentially consistent order, so that one of the two sees the other.
 */
#include "runtime/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void runtime_lock_take(runtime_lock *lock) {
    uint32_t self = (uint32_t)getpid(), holder = 0;
    while (!atomic_compare_exchange_strong(&lock->holder, &holder, self)) {
        if (holder != self)
            continue; /* free by now, or of the process that forked this one */
        atomic_fetch_add(&lock->waiting, 1);
        syscall(SYS_futex, (uint32_t *)&lock->holder, FUTEX_WAIT_PRIVATE, self, NULL, NULL, 0);
        atomic_fetch_sub(&lock->waiting, 1);
        holder = 0;
    }
}

void runtime_lock_give(runtime_lock *lock) {
    atomic_store(&lock->holder, 0);
    if (atomic_load(&lock->waiting) != 0)
        syscall(SYS_futex, (uint32_t *)&lock->holder, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
