/* A sequence of launches, compared with the kernel that it was split from: both are run on
 * signatures, the launches one behind the other in one memory.
 *
 *     kernel      y 70: {x 70, sum of x 0 .. x 4095}
 *     launch 1    parts 0, 1, ..: {sum of x 0 .. x 1023}, {sum of x 1024 .. x 2047}, ..
 *     launch 2    y 70: {x 70, sum of those}: the same elements, each once
 *
 * In the model of signature_model.c sums and maxima are exact in whatever order they are made, so
 * that a part which is left out, or comes twice, shows as another number. A run with more elements
 * than its effort has work for is passed over: nothing is compared then.
 */
#include "verify/replay_internal.h"

enum {
    PROGRAMS = 2,       /* the first, the last */
    ROUNDS = 3,         /* choices of sizes */
    WORK = 1 << 17,     /* elements of a run, at USUAL: milliseconds */
    MORE_WORK = 1 << 23 /* else: 64 times that */
};

typedef struct sequence {
    replay replay;
    const ir_module *kernel;
    const ir_module *const *launches;
    int count, parameters;
    signature_tile_run **runs;
    int64_t work;
} sequence;

/* The first along every axis, then the last. False: there is none. */
static bool choose_program(const sequence *s, int which, int64_t programs[IR_MAX_PROGRAMS]) {
    for (int i = 0; i < s->kernel->program_count; i++) {
        const ir_program *program = &s->kernel->programs[i];
        int64_t range = 0;
        if (program->step < 1 ||
            !layout_extent_evaluate(program->extent, s->replay.sizes, &range) || range < 1)
            return false;
        programs[i] = which == 0 ? 0 : (range - 1) / program->step * program->step;
    }
    return which == 0 || s->kernel->program_count > 0;
}

/* All parts of the program. False: no work is left. */
static bool run_launch(sequence *s, int launch, int64_t programs[IR_MAX_PROGRAMS], int which) {
    const ir_module *module = s->launches[launch];
    int own = s->kernel->program_count;
    int64_t parts = 1;
    if (module->program_count > own &&
        !layout_extent_evaluate(module->programs[own].extent, s->replay.sizes, &parts))
        return false;
    *signature_tile_work(s->runs[launch]) = s->work;
    for (int64_t part = 0; part < parts; part++) {
        if (own < IR_MAX_PROGRAMS)
            programs[own] = part;
        if (!signature_tile_program(s->runs[launch], programs, which))
            return false;
    }
    return true;
}

static bool compare_program(sequence *s, int which) {
    replay *r = &s->replay;
    int64_t programs[IR_MAX_PROGRAMS] = {0};
    if (!choose_program(s, which, programs))
        return true;
    signature_memory_start(&r->wanted, r->arena, s->parameters);
    signature_memory_start(&r->stored, r->arena, s->parameters);
    signature_table_clear(r->setting.table);
    signature_table_count_constants(r->setting.table, false);
    *signature_tile_work(r->tile) = s->work;
    if (!signature_tile_program(r->tile, programs, which))
        return false;
    for (int i = 0; i < s->count; i++)
        if (!run_launch(s, i, programs, which))
            return false;
    for (int i = s->kernel->parameter_count; i < s->parameters; i++)
        r->stored.open[i] = true; /* nobody's output */
    signature_compare(r->state, &r->setting, &r->wanted, &r->stored);
    return r->state->broken == 0;
}

static void compare_rounds(sequence *s) {
    replay *r = &s->replay;
    for (int round = 0; round < ROUNDS && r->state->broken == 0; round++) {
        replay_choose_sizes(r, round);
        r->setting.round = round;
        if (!replay_start_round(r, round))
            continue;
        r->setting.loaded = r->loaded;
        r->setting.models = true;
        for (int which = 0; which < PROGRAMS && compare_program(s, which); which++)
            continue;
    }
}

bool verify_sequence(const ir_module *kernel, const ir_module *const *launches, int count,
                     verify_effort effort, base_diagnostics *diagnostics) {
    verify_state state = {.module = launches[0], .effort = effort, .diagnostics = diagnostics};
    const base_arena_mark before = base_arena_here(diagnostics->arena);
    const int findings = diagnostics->count;
    base_arena *arena = diagnostics->arena;
    sequence s = {.kernel = kernel,
                  .launches = launches,
                  .count = count,
                  .parameters = launches[0]->parameter_count,
                  .work = effort == VERIFY_USUAL ? WORK : MORE_WORK};
    replay *r = &s.replay;
    r->state = &state;
    r->arena = arena;
    r->sizes = BASE_NEW_ARRAY(arena, int64_t, kernel->extents.symbol_count + 1);
    r->tensors = BASE_NEW_ARRAY(arena, replay_tensor, s.parameters + 1);
    r->setting = (signature_setting){.table = signature_table_create(arena),
                                     .sizes = r->sizes,
                                     .size_count = kernel->extents.symbol_count};
    r->tile = signature_tile_create(&state, kernel, &r->setting, &r->wanted);
    s.runs = BASE_NEW_ARRAY(arena, signature_tile_run *, count);
    for (int i = 0; i < count; i++) {
        s.runs[i] = signature_tile_create(&state, launches[i], &r->setting, &r->stored);
        signature_tile_chain(s.runs[i], kernel->parameter_count);
    }
    compare_rounds(&s);
    if (diagnostics->count == findings)
        base_arena_return(arena, before);
    return state.broken == 0;
}
