/* Which programs a group runs: by the digits of the axes of programs.
 *
 *     axis row digits lane 16 | group *      group 2 of 33 rows: program 32
 *     axis row digits group 4 | step *       group 2 of 33 rows: programs 2, 6, .. 30
 *     groups of several axes                 a number in mixed radix, the last axis fastest
 */
#include "verify/replay_internal.h"

#include "base/checked.h"

enum { MOST_WALKED = 1 << 20 };

static const ir_axis *axis_of(const ir_module *module, int program) {
    for (int i = 0; i < module->axis_count; i++)
        if (module->axes[i].is_program && module->axes[i].program == program)
            return &module->axes[i];
    return NULL;
}

/* Programs of the axis, how many of them one group runs together, and how many groups walk over
 * them (0: none does); false when its digits do not say. */
static bool radices_of(const replay *r, int program, int64_t *programs, int64_t *chunk,
                       int64_t *walking) {
    const ir_axis *axis = axis_of(r->state->module, program);
    const ir_program *p = &r->state->module->programs[program];
    int64_t range = 0, steps = 0;
    if (axis == NULL || p->step < 1 || !layout_extent_evaluate(p->extent, r->sizes, &range))
        return false;
    *programs = range > 0 ? (range - 1) / p->step + 1 : 0;
    const layout_axis *digits = &axis->digits;
    bool last = digits->count > 0 && digits->digits[digits->count - 1].holder == LAYOUT_GROUP;
    *walking = 0;
    if (digits->count > 1 && digits->digits[digits->count - 1].holder == LAYOUT_STEP &&
        digits->digits[digits->count - 2].holder == LAYOUT_GROUP &&
        r->state->module->program_count == 1) {
        *chunk = layout_axis_chunk(digits);
        *walking = layout_axis_radix(digits, LAYOUT_GROUP);
        return *walking > 0 && *chunk > 0;
    }
    steps = layout_axis_radix(digits, LAYOUT_STEP);
    *chunk = layout_axis_chunk(digits);
    if (steps < 1 || (layout_axis_has(digits, LAYOUT_GROUP) && !last) ||
        !base_checked_mul(*chunk, steps, chunk))
        return false;
    return *chunk > 0;
}

bool replay_programs_first(replay_programs *at, const replay *r, int64_t group) {
    *at = (replay_programs){.count = r->state->module->program_count};
    for (int i = at->count - 1; i >= 0; i--) {
        int64_t programs = 0, chunk = 0, walking = 0;
        if (!radices_of(r, i, &programs, &chunk, &walking))
            return false;
        int64_t groups = programs / chunk + (programs % chunk != 0);
        if (groups == 0)
            return false;
        at->first[i] = i == 0 ? group * chunk : group % groups * chunk;
        group /= groups;
        at->end[i] = programs - at->first[i] > chunk ? at->first[i] + chunk : programs;
        at->next[i] = at->first[i];
        at->ordinal_radix[i] = programs;
        if (at->first[i] >= at->end[i])
            return false;
        at->together = chunk;
        at->walking = walking;
        if (walking > 0)
            at->end[i] = programs;
    }
    return true;
}

void replay_programs_read(const replay_programs *at, const replay *r,
                          int64_t programs[IR_MAX_PROGRAMS], int32_t *writer) {
    uint64_t ordinal = 0;
    for (int i = 0; i < at->count; i++) {
        programs[i] = at->next[i] * r->state->module->programs[i].step;
        ordinal = ordinal * (uint64_t)at->ordinal_radix[i] + (uint64_t)at->next[i];
    }
    *writer = (int32_t)(ordinal & INT32_MAX);
}

/* The next one of the group, on this axis: after those of a place what the other groups run. */
static void step_on(replay_programs *at, int i) {
    at->next[i]++;
    if (at->walking > 0 && (at->next[i] - at->first[i]) % at->together == 0)
        at->next[i] += (at->walking - 1) * at->together;
}

void replay_programs_next(replay_programs *at) {
    for (int i = at->count - 1; i >= 0; i--) {
        step_on(at, i);
        if (at->next[i] < at->end[i])
            return;
        at->next[i] = at->first[i];
    }
}

int64_t replay_programs_count(const replay_programs *at) {
    int64_t count = 1;
    if (at->walking > 0) {
        replay_programs walk = *at;
        for (count = 0; walk.next[0] < walk.end[0] && count < MOST_WALKED; count++)
            step_on(&walk, 0);
        return count;
    }
    for (int i = 0; i < at->count; i++)
        if (!base_checked_mul(count, at->end[i] - at->first[i], &count))
            return INT64_MAX;
    return count;
}
