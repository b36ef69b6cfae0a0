/* Rounds of the replay: sizes, a few groups, and the comparison with the tile program.
 *
 *     round 0    N = 67, R = 13    groups 0, 12, 4 and 1 as the tile program's programs; compared
 *     round 1    N = 5, R = 3      groups 0, 2 and 1
 *
 * Signatures take whole loops, so that their work is bounded apart: a round, or a group, that would
 * take more than is left is replayed without.
 */
#include "machine/machine.h"
#include "verify/replay_internal.h"

#include <string.h>

enum {
    GROUPS = 4,
    WORK = 60000,          /* positions replayed without signatures, */
    SIGNED_WORK = 70000,   /* with signatures, */
    TILE_WORK = 30000,     /* and elements of the tile program; */
    USUAL_POSITIONS = 256, /* of a vector; wider teams take more work, */
    WIDEST = 32,           /* at most that many times as much */
    SHARE = 4              /* a round takes at most one part of so many */
};

/* When there is time, by verify_effort. More rounds, and the numbers of the model, are for mutants:
 * of some thousand generated kernels they refused a few that were right. */
static const int64_t more_times[] = {1, 60, 240};
static const int more_rounds[] = {0, 0, 26};

bool replay_in_step(const replay *r) {
    return machine_runs_in_step(r->state->module->machine);
}

/* Room to say who wrote each cell, that of rounds before. */
static int32_t *room_for_owners(replay *r, const replay_tensor *tensor) {
    replay_owner_room *room = &r->owners[tensor - r->tensors];
    if (room->owner == NULL || room->cells < tensor->cells) {
        room->owner = BASE_NEW_ARRAY(r->arena, int32_t, tensor->cells);
        room->cells = tensor->cells;
    } else {
        memset(room->owner, 0, sizeof(int32_t) * (size_t)tensor->cells);
    }
    return room->owner;
}

/* Of an inout tensor: which lanes load what others store. */
static void follow_meetings(replay *r, replay_tensor *tensor) {
    enum { MOST = 1 << 14 };
    if (tensor->mode != IR_INOUT || tensor->reader != NULL || replay_in_step(r) ||
        r->state->effort != VERIFY_EXHAUSTIVE || tensor->cells < 0 || tensor->cells > MOST)
        return;
    tensor->reader = BASE_NEW_ARRAY(r->arena, int32_t, 2 * tensor->cells + 1);
    tensor->writer = tensor->reader + tensor->cells;
}

/* Outputs that are read, or stored to by lanes that run apart, need to know who wrote them. */
static void follow_outputs(replay *r, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool follows = op->opcode == IR_LOAD || (op->opcode == IR_STORE && !replay_in_step(r));
        replay_tensor *tensor = follows ? replay_tensor_of(r, op->operands[0]) : NULL;
        if (tensor != NULL && tensor->mode == IR_OUT && tensor->owner == NULL && tensor->cells >= 0)
            tensor->owner = room_for_owners(r, tensor);
        if (follows && tensor != NULL)
            follow_meetings(r, tensor);
        for (int k = 0; k < op->region_count; k++)
            follow_outputs(r, op->regions[k]);
    }
}

/* ---- the tile program ---- */
/* What it stores in the programs of the group. False where that is not known or too much work. */
static bool run_tile(replay *r) {
    replay_programs at;
    int64_t programs[IR_MAX_PROGRAMS] = {0};
    int32_t writer = 0;
    if (!replay_programs_first(&at, r, r->first_group / r->blocks))
        return false;
    int64_t work = *r->tile_work, count = replay_programs_count(&at);
    for (int64_t i = 0; i < count; i++) {
        replay_programs_read(&at, r, programs, &writer);
        if (!signature_tile_program(r->tile, programs, writer) ||
            (i == 0 && (work - *r->tile_work) * (count - 1) > *r->tile_work))
            return false;
        replay_programs_next(&at);
    }
    return true;
}

static void start_signing(replay *r) {
    const ir_module *module = r->state->module;
    r->setting.loaded = r->loaded;
    r->setting.models = r->state->effort == VERIFY_EXHAUSTIVE;
    if (r->setting.models) /* what one round takes says nothing about others */
        r->group_work = r->group_tile_work = 0;
    r->signing = module->implements != NULL && r->signed_work > r->group_work &&
                 *r->tile_work > r->group_tile_work;
}

/* ---- groups ---- */
/* Names and what is stored are of one group, or one cluster, as no order of them is promised. */
static void replay_group(replay *r, int64_t group) {
    const int parameters = r->state->module->parameter_count;
    r->first_group = group * r->blocks;
    replay_turn(r, 0);
    for (int i = 0; i < parameters; i++)
        r->tensors[i].maybe = false;
    int64_t work = r->work, tile_work = *r->tile_work;
    signature_table_clear(r->setting.table);
    signature_memory_start(&r->wanted, r->arena, parameters);
    signature_memory_start(&r->stored, r->arena, parameters);
    signature_table_count_constants(r->setting.table, false);
    r->signing = r->signing && run_tile(r);
    signature_table_count_constants(r->setting.table, true);
    signature_memory_reserve(&r->stored, r->wanted.count);
    replay_region(r, &r->state->module->body);
    r->first_run += r->blocks;
    if (r->signing && r->work > 0 && r->state->broken == 0)
        signature_compare(r->state, &r->setting, &r->wanted, &r->stored);
    if (r->signing && work - r->work > r->group_work)
        r->group_work = work - r->work;
    if (r->signing && tile_work - *r->tile_work > r->group_tile_work)
        r->group_tile_work = tile_work - *r->tile_work;
}

/* The first and the last group, or cluster, then others; fewer where signatures take too long. */
static void replay_groups(replay *r, int64_t groups) {
    groups /= r->blocks;
    const int64_t chosen[GROUPS] = {0, groups - 1, groups / 3, 1};
    for (int g = 0; g < GROUPS && g < groups && r->work > 0; g++) {
        if (g > 0 && r->signing && (r->work < r->group_work || *r->tile_work < r->group_tile_work))
            return;
        bool again = false;
        for (int i = 0; i < g; i++)
            again = again || chosen[i] == chosen[g];
        if (!again)
            replay_group(r, chosen[g]);
    }
}

/* False: the signatures took more work than was left. */
static bool replay_sized(replay *r, int64_t groups) {
    int64_t *left = r->signing ? &r->signed_work : &r->unsigned_work;
    bool whole = r->signing, thorough = r->state->effort == VERIFY_EXHAUSTIVE;
    /* a round that takes too much leaves something to the others */
    int64_t kept = r->signing && thorough ? *left - *left / SHARE : 0;
    int64_t tile_kept = thorough ? *r->tile_work - *r->tile_work / SHARE : 0;
    r->work = *left - kept;
    *r->tile_work -= tile_kept;
    replay_groups(r, groups);
    *left = kept + (r->work > 0 ? r->work : 0);
    *r->tile_work = tile_kept + (*r->tile_work > 0 ? *r->tile_work : 0);
    whole = !whole || (r->signing && r->work > 0);
    return whole;
}

static void replay_round(replay *r, int round) {
    const ir_module *module = r->state->module;
    int64_t groups = 1;
    if (!replay_start_round(r, round) ||
        (module->groups != NULL && !layout_extent_evaluate(module->groups, r->sizes, &groups)))
        return;
    follow_outputs(r, &module->body);
    r->setting.round = round;
    start_signing(r);
    if (replay_sized(r, groups) || !replay_start_round(r, round))
        return;
    follow_outputs(r, &module->body);
    r->signing = false;
    replay_sized(r, groups);
}

/* ---- rounds ---- */
/* The programs of a lane as one number, equal for equal programs. */
static int64_t programs_of_lane(const ir_module *module, int lane) {
    ir_position at = ir_module_position(module, lane, 0);
    const int64_t position[LAYOUT_HOLDER_COUNT] = {
        [LAYOUT_LANE] = at.lane, [LAYOUT_SUBGROUP] = at.subgroup};
    int64_t number = 0;
    for (int i = 0; i < module->axis_count; i++)
        if (module->axes[i].is_program && layout_axis_check(&module->axes[i].digits) == NULL)
            number = number * module->lanes +
                     layout_axis_logical(&module->axes[i].digits, position) % module->lanes;
    return number;
}

static void find_programs(replay *r) {
    const ir_module *module = r->state->module;
    r->program_of = BASE_NEW_ARRAY(r->arena, int32_t, r->lanes);
    for (int lane = 0; lane < r->lanes; lane++) {
        int first = 0;
        while (programs_of_lane(module, first) != programs_of_lane(module, lane))
            first++;
        r->program_of[lane] = first;
    }
}

/* Known sizes leave rounds alike. */
static bool is_new(const replay *r, const int64_t *before, int round) {
    int64_t count = r->state->module->extents.symbol_count;
    for (int i = 0; i < round; i++)
        if (memcmp(&before[i * count], r->sizes, sizeof(int64_t) * (size_t)count) == 0)
            return false;
    return true;
}

void replay_rounds(replay *r) {
    const ir_module *module = r->state->module;
    int64_t count = module->extents.symbol_count;
    const verify_effort effort = r->state->effort;
    bool thorough = effort == VERIFY_EXHAUSTIVE;
    int rounds = REPLAY_ROUNDS + (count > 0 ? more_rounds[effort] : 0);
    int64_t *before = BASE_NEW_ARRAY(r->arena, int64_t, count * rounds + 1);
    find_programs(r);
    r->unsigned_work = WORK;
    int64_t times = more_times[effort];
    int64_t wider = r->positions * r->blocks / USUAL_POSITIONS;
    times *= wider < 1 ? 1 : wider < WIDEST ? wider : WIDEST;
    r->signed_work = SIGNED_WORK * times;
    if (module->implements != NULL)
        r->tile = signature_tile_create(r->state, module->implements, &r->setting, &r->wanted);
    int64_t tile_work = TILE_WORK * times;
    r->tile_work = r->tile != NULL ? signature_tile_work(r->tile) : &tile_work;
    *r->tile_work = tile_work;
    for (int round = 0; round < rounds && (thorough || r->unsigned_work > 0); round++) {
        replay_choose_sizes(r, round);
        if (count > 0 && !thorough && !is_new(r, before, round))
            continue;
        memcpy(&before[round * count], r->sizes, sizeof(int64_t) * (size_t)count);
        replay_round(r, round);
    }
}
