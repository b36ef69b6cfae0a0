/* Level mapped, compared with the tile program that it implements: sweeps are run as the ops that
 * stand in them, on whole tiles, so that what is loaded again, computed again or kept in an output
 * comes to the same or does not. Layouts and storage have rules of their own.
 */
#include "verify/replay_internal.h"

enum {
    PROGRAMS = 3,
    ROUNDS = 3,
    WORK = 30000 /* elements; of each of both modules in all rounds */
};

/* The first, the last and one between along every axis. False: there is none. */
static bool choose_program(const replay *r, int which, int64_t programs[IR_MAX_PROGRAMS]) {
    const ir_module *module = r->state->module;
    for (int i = 0; i < module->program_count; i++) {
        const ir_program *program = &module->programs[i];
        int64_t range = 0;
        if (program->step < 1 || !layout_extent_evaluate(program->extent, r->sizes, &range) ||
            range < 1)
            return false;
        int64_t count = (range - 1) / program->step + 1;
        programs[i] = (which == 0 ? 0 : which == 1 ? count - 1 : count / 3) * program->step;
    }
    return which == 0 || module->program_count > 0;
}

/* False: no work is left. */
static bool compare_round(replay *r, signature_tile_run *mapped) {
    int64_t programs[IR_MAX_PROGRAMS] = {0};
    int parameters = r->state->module->parameter_count;
    for (int which = 0; which < PROGRAMS && choose_program(r, which, programs); which++) {
        signature_memory_start(&r->wanted, r->arena, parameters);
        signature_memory_start(&r->stored, r->arena, parameters);
        signature_table_clear(r->setting.table);
        signature_table_count_constants(r->setting.table, false);
        if (!signature_tile_program(r->tile, programs, which) ||
            !signature_tile_program(mapped, programs, which))
            return false;
        signature_compare(r->state, &r->setting, &r->wanted, &r->stored);
        if (r->state->broken > 0)
            return false;
    }
    return true;
}

void verify_same_program(verify_state *state) {
    const ir_module *module = state->module;
    replay r = {.state = state, .arena = state->diagnostics->arena};
    if (module->implements == NULL)
        return;
    r.sizes = BASE_NEW_ARRAY(r.arena, int64_t, module->extents.symbol_count + 1);
    r.tensors = BASE_NEW_ARRAY(r.arena, replay_tensor, module->parameter_count + 1);
    r.setting = (signature_setting){.table = signature_table_create(r.arena),
                                    .sizes = r.sizes,
                                    .size_count = module->extents.symbol_count};
    r.tile = signature_tile_create(state, module->implements, &r.setting, &r.wanted);
    signature_tile_run *mapped = signature_tile_create(state, module, &r.setting, &r.stored);
    *signature_tile_work(r.tile) = *signature_tile_work(mapped) = WORK;
    for (int round = 0; round < ROUNDS; round++) {
        replay_choose_sizes(&r, round);
        r.setting.round = round;
        if (!replay_start_round(&r, round))
            continue;
        r.setting.loaded = r.loaded;
        r.setting.models = state->effort == VERIFY_EXHAUSTIVE;
        if (!compare_round(&r, mapped))
            return;
    }
}
