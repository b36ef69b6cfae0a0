/* For tests: the threads of a Metal kernel on this host, and what is watched while they run.
 *
 *     why = lanes_run(&group, entry, &call, threads)      NULL, or what is wrong
 */
#ifndef TEST_METAL_LANES_H
#define TEST_METAL_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As test/metal/metal_stdlib has it. */
typedef struct lanes_call {
    void *const *pointers;
    const void *words;
    void *shared;
    unsigned numbers[3]; /* of the SIMD group, of the thread in it, of the group */
} lanes_call;

typedef void lanes_entry(const lanes_call *call);

/* What a mutant of this file does wrong; 0: nothing. */
enum {
    LANES_RIGHT,
    LANES_SKIP_BARRIER,   /* the second barrier of a group waits for nobody */
    LANES_WRONG_LANE,     /* a shuffle takes from the lane beside */
    LANES_ONE_THREAD_LESS /* the last thread of a group does not come to a barrier */
};

typedef struct lanes_group {
    int threads;
    char *shared; /* the group's memory, of so many bytes */
    size_t shared_bytes;
    char *workspace; /* of the group, which begins unwritten */
    size_t workspace_bytes;
    int wrong;
} lanes_group;

const char *lanes_run(const lanes_group *group, lanes_entry *entry, const lanes_call *call);

#endif
