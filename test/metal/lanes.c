/* Runs the threads of a Metal kernel, which was compiled against test/metal/metal_stdlib.
 *
 * Each thread of a group is a fiber, which runs until it waits: at a barrier, or in a function of
 * its SIMD group, where it leaves its value. When no thread can go on, those that are complete are
 * let go: all threads of the group at one barrier, all of a SIMD group at one place of the text.
 * Anything else is a fault: a thread that has ended, or waits elsewhere, while others wait for it.
 *
 * Every access of memory is told (__tsan_read4 and its like: the kernel is compiled with
 * -fsanitize=thread, whose library is not linked). Kept for each byte: who wrote it last, who read
 * it, and when, in barriers. Faults are two threads at one byte, one of which writes, without a
 * barrier between them that has the byte's memory among its flags; a byte of the group's memory or
 * of the workspace that is read before it was written; an address that is no multiple of what is
 * moved. */
#include "lanes.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { THREADS_MAX = 1024, SIMD = 32, STACK_BYTES = 128 * 1024, PAGE = 4096, PAGES = 1 << 14 };
enum { FLAG_DEVICE = 1, FLAG_GROUP = 2 };
enum { NOBODY = -1, MANY = -2, MANY_OF_SIMD = -3 }; /* of SIMD group n: MANY_OF_SIMD - n */

typedef enum wait_kind { READY, AT_BARRIER, IN_SIMD, ENDED } wait_kind;

typedef struct fiber {
    ucontext_t context; /* where it begins */
    jmp_buf at;         /* where it goes on, once it has begun */
    bool begun;
    wait_kind kind;
    bool simd; /* for its SIMD group alone */
    int flags;
    const void *place; /* of the text, where it waits */
    uint64_t left, taken[SIMD];
    int taken_count;
    unsigned barriers; /* it has passed so many */
} fiber;

/* When a thread passed the barriers that order memory: of the group, of its SIMD group. */
typedef struct moment {
    unsigned group, simd;
} moment;

typedef struct shadow {
    unsigned generation; /* of the group that is run: others' are nothing */
    short writer, reader;
    moment written, read;
} shadow;

typedef struct page {
    uintptr_t number;
    shadow bytes[PAGE];
} page;

static fiber fibers[THREADS_MAX];
static moment moments[2][THREADS_MAX]; /* of tensors, of the group's memory */
static char *stacks;
static jmp_buf scheduler;
static int current;
static const lanes_group *running;
static lanes_entry *body;
static const lanes_call *given;
static char fault[200];
static page *pages[PAGES];
static unsigned generation;

/* ---- fibers ---- */

static void go_on(fiber *f) {
    if (_setjmp(scheduler) != 0)
        return;
    if (f->begun)
        _longjmp(f->at, 1);
    f->begun = true;
    setcontext(&f->context);
}

static void let_others(void) {
    if (_setjmp(fibers[current].at) == 0)
        _longjmp(scheduler, 1);
}

static void set_fault(const char *what) {
    if (fault[0] == '\0')
        snprintf(fault, sizeof fault, "thread %d of group %u: %s", current, given->numbers[2],
                 what);
}

static void run_fiber(void) {
    for (;;) { /* a group after the other */
        lanes_call own = *given;
        own.numbers[0] = (unsigned)current / SIMD;
        own.numbers[1] = (unsigned)current % SIMD;
        body(&own);
        fibers[current].kind = ENDED;
        let_others();
    }
}

static void make_fibers(void) {
    stacks = mmap(NULL, (size_t)THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        abort();
}

static void begin_fiber(int t) {
    fiber *f = &fibers[t];
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks + (size_t)t * STACK_BYTES;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, run_fiber, 0);
    f->begun = false;
    f->kind = READY;
    f->barriers = 0;
    moments[0][t] = moments[1][t] = (moment){0, 0};
}

/* ---- waiting ---- */

static int last_of(int first) {
    return first + SIMD < running->threads ? first + SIMD : running->threads;
}

/* Threads from `first` to below `last`, of which one waits: they all wait for the same, or some are
 * still to come. */
static bool all_wait(int first, int last) {
    const fiber *one = NULL;
    for (int t = first; t < last; t++)
        if (fibers[t].kind != READY && fibers[t].kind != ENDED)
            one = &fibers[t];
    for (int t = first; t < last && one != NULL; t++) {
        const fiber *f = &fibers[t];
        current = t;
        if (f->kind == ENDED)
            set_fault("has ended, and others wait for it");
        else if (f->kind != one->kind || f->place != one->place || f->simd != one->simd)
            return false;
    }
    return one != NULL;
}

static void pass_barrier(int first, int last) {
    for (int t = first; t < last; t++) {
        fiber *f = &fibers[t];
        for (int m = 0; m < 2; m++) {
            bool orders = (f->flags & (m == 0 ? FLAG_DEVICE : FLAG_GROUP)) != 0;
            moments[m][t].simd += orders;
            moments[m][t].group += orders && !f->simd;
        }
        f->barriers++;
        f->kind = READY;
    }
}

static void exchange(int first, int last) {
    for (int t = first; t < last; t++) {
        fibers[t].taken_count = last - first;
        for (int other = first; other < last; other++)
            fibers[t].taken[other - first] = fibers[other].left;
        fibers[t].kind = READY;
    }
}

static bool release_simd(int first) {
    int last = last_of(first);
    fiber *f = &fibers[first];
    if (f->kind == READY || f->kind == ENDED || !f->simd || !all_wait(first, last) ||
        fault[0] != '\0')
        return false;
    if (f->kind == IN_SIMD)
        exchange(first, last);
    else
        pass_barrier(first, last);
    return true;
}

static bool release_group(void) {
    if (fibers[0].kind != AT_BARRIER || fibers[0].simd || !all_wait(0, running->threads) ||
        fault[0] != '\0')
        return false;
    pass_barrier(0, running->threads);
    return true;
}

/* What a compiled kernel calls. */
#pragma GCC visibility push(default)
void lanes_barrier(int simd, int flags);
uint64_t lanes_shuffle(uint64_t value, unsigned from, int turned);
int lanes_all(uint64_t value, uint64_t *values);
float lanes_half_to_float(uint16_t bits);
uint16_t lanes_float_to_half(float value);
#define ACCESS(size)                                                                               \
    void __tsan_read##size(const void *at);                                                        \
    void __tsan_write##size(void *at);                                                             \
    void __tsan_unaligned_read##size(const void *at);                                              \
    void __tsan_unaligned_write##size(void *at);
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#undef ACCESS
void __tsan_init(void);
#pragma GCC visibility pop

void lanes_barrier(int simd, int flags) {
    fiber *f = &fibers[current];
    bool skipped = running->wrong == LANES_SKIP_BARRIER && f->barriers == 1;
    if (skipped || (running->wrong == LANES_ONE_THREAD_LESS && running->threads > 1 &&
                    current == running->threads - 1)) {
        f->barriers++;
        return;
    }
    f->kind = AT_BARRIER;
    f->simd = simd != 0;
    f->flags = flags;
    f->place = __builtin_return_address(0);
    let_others();
}

uint64_t lanes_shuffle(uint64_t value, unsigned from, int turned) {
    fiber *f = &fibers[current];
    f->kind = IN_SIMD;
    f->simd = true;
    f->left = value;
    f->place = __builtin_return_address(0);
    let_others();
    unsigned lane = turned ? (unsigned)current % SIMD ^ from : from;
    if (running->wrong == LANES_WRONG_LANE)
        lane ^= 1;
    if (lane < (unsigned)f->taken_count)
        return f->taken[lane];
    set_fault("takes from a thread that is not there");
    let_others();
    return 0;
}

int lanes_all(uint64_t value, uint64_t *values) {
    fiber *f = &fibers[current];
    f->kind = IN_SIMD;
    f->simd = true;
    f->left = value;
    f->place = __builtin_return_address(0);
    let_others();
    memcpy(values, f->taken, sizeof *values * (size_t)f->taken_count);
    return f->taken_count;
}

const char *lanes_run(const lanes_group *group, lanes_entry *entry, const lanes_call *call) {
    if (stacks == NULL)
        make_fibers();
    running = group;
    body = entry;
    given = call;
    fault[0] = '\0';
    generation++;
    for (int t = 0; t < group->threads; t++)
        begin_fiber(t);
    for (int round = 0;; round++) {
        bool moves = false, over = true;
        for (int i = 0; i < group->threads && fault[0] == '\0'; i++) {
            current = round % 2 == 0 ? i : group->threads - 1 - i;
            if (fibers[current].kind == READY)
                go_on(&fibers[current]);
        }
        for (int t = 0; t < group->threads && fault[0] == '\0'; t++)
            over = over && fibers[t].kind == ENDED;
        if (fault[0] != '\0')
            return fault;
        if (over)
            return NULL;
        for (int first = 0; first < group->threads && fault[0] == '\0'; first += SIMD)
            moves = release_simd(first) || moves;
        if (fault[0] == '\0' && !moves && !release_group())
            set_fault("threads wait at different places, for ever");
        if (fault[0] != '\0')
            return fault;
    }
}

/* ---- memory ---- */

static shadow *shadow_of(uintptr_t address) {
    uintptr_t number = address / PAGE;
    size_t slot = number * 40503 % PAGES;
    while (pages[slot] != NULL && pages[slot]->number != number)
        slot = (slot + 1) % PAGES;
    if (pages[slot] == NULL) {
        pages[slot] = calloc(1, sizeof *pages[slot]);
        if (pages[slot] == NULL)
            abort();
        pages[slot]->number = number;
    }
    shadow *s = &pages[slot]->bytes[address % PAGE];
    if (s->generation != generation)
        *s = (shadow){.generation = generation, .writer = NOBODY, .reader = NOBODY};
    return s;
}

static bool within(uintptr_t address, const char *from, size_t bytes) {
    return address - (uintptr_t)from < bytes;
}

/* Whether what `other` did then is before what this thread does now. */
static bool is_before(int other, moment then, moment now) {
    int simd = other >= 0 ? other / SIMD : MANY_OF_SIMD - other;
    bool together = other != MANY && simd == current / SIMD;
    return other == NOBODY || other == current || then.group < now.group ||
           (together && then.simd < now.simd);
}

/* Who has read since the last barrier of the group, this thread with them. */
static int readers_with(const shadow *s, moment now) {
    int simd = s->reader >= 0 ? s->reader / SIMD : MANY_OF_SIMD - s->reader;
    if (s->reader == NOBODY || s->reader == current || s->read.group < now.group)
        return current;
    return s->reader != MANY && simd == current / SIMD ? MANY_OF_SIMD - simd : MANY;
}

static void touch_byte(uintptr_t address, bool writes) {
    bool group = within(address, running->shared, running->shared_bytes);
    moment now = moments[group][current];
    shadow *s = shadow_of(address);
    if (!is_before(s->writer, s->written, now))
        set_fault(writes ? "writes what another wrote, without a barrier between"
                         : "reads what another writes, without a barrier between");
    if (writes && !is_before(s->reader, s->read, now))
        set_fault("writes what another reads, without a barrier between");
    if (!writes && s->writer == NOBODY &&
        (group || within(address, running->workspace, running->workspace_bytes)))
        set_fault(group ? "reads memory of the group that nobody has written"
                        : "reads a workspace that nobody has written");
    if (writes) {
        s->writer = (short)current;
        s->written = now;
    } else {
        s->reader = (short)readers_with(s, now);
        s->read = now;
    }
}

static void touch(const void *at, unsigned size, unsigned alignment, bool writes) {
    uintptr_t address = (uintptr_t)at;
    if (running == NULL || within(address, stacks, (size_t)THREADS_MAX * STACK_BYTES) ||
        within(address, (const char *)&fibers, sizeof fibers))
        return;
    if (address % alignment != 0)
        set_fault("moves a vector at an address that is no multiple of its size");
    for (unsigned i = 0; i < size && fault[0] == '\0'; i++)
        touch_byte(address + i, writes);
    if (fault[0] != '\0')
        let_others(); /* for good */
}

#define ACCESS(size)                                                                               \
    void __tsan_read##size(const void *at) {                                                       \
        touch(at, size, size, false);                                                              \
    }                                                                                              \
    void __tsan_write##size(void *at) {                                                            \
        touch(at, size, size, true);                                                               \
    }                                                                                              \
    void __tsan_unaligned_read##size(const void *at) {                                             \
        touch(at, size, 1, false);                                                                 \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *at) {                                                  \
        touch(at, size, 1, true);                                                                  \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_init(void) {
}

/* ---- half ---- */

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float lanes_half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)
        return as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    return as_float(sign | as_bits(as_float(magnitude << 13) * 0x1p112f));
}

/* Half a unit and the rounding to even are left to the addition of a number whose last bit is the
 * last bit of the result. */
uint16_t lanes_float_to_half(float value) {
    uint32_t sign = as_bits(value) >> 16 & 0x8000;
    float m = as_float(as_bits(value) & 0x7fffffff);
    if (value != value)
        return 0x7e00;
    if (m >= 65520)
        return (uint16_t)(sign | 0x7c00);
    int exponent = (int)(as_bits(m) >> 23) - 127;
    float unit = as_float((uint32_t)((exponent < -14 ? -14 : exponent) + 127 + 13) << 23);
    float rounded = (m + unit) - unit;
    return (uint16_t)(sign | as_bits(rounded * 0x1p-112f) >> 13);
}
