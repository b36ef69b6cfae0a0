/* Forms of what level thread adds: team-form, lane-map, uniform-form, scratch-form,
 * scratch-capacity, sync-form.
 *
 *     team 64   subgroup 32                        two subgroups of 32 lanes: five lane bits
 *     %b = shuffle %a lanes=(1, 2, 4, 8, 16)       a column below 32 for each of them
 *     %d = rename %c slots=(1, 0) : f32(2)         slots of %c, one for each of the result
 *     %s, %f = scratch 8 : scratch f32[8], token free
 *     %p = sync group %w : token published %s      what the tokens say is tokens.c
 */
#include "base/checked.h"
#include "machine/machine.h"
#include "verify/verify_internal.h"

enum { MAX_LANES = 1024, MAX_SUBGROUP = 64, MAX_CLUSTER = 16 };

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

static int bits_of(int64_t n) {
    int bits = 0;
    while (n > 1) {
        n /= 2;
        bits++;
    }
    return bits;
}

/* ---- the team ---- */
static bool cluster_divides_grid(const ir_module *module) {
    int64_t groups = 0;
    return module->groups == NULL ||
           !layout_extent_known(&module->extents, module->groups, &groups) ||
           groups % module->cluster == 0;
}

void verify_team(verify_state *state) {
    const ir_module *module = state->module;
    bool subgroups = module->subgroup == 0 ||
                     (is_power_of_two(module->subgroup) && module->subgroup <= MAX_SUBGROUP &&
                      module->lanes % module->subgroup == 0);
    if (!subgroups)
        verify_report(state, VERIFY_TEAM_FORM, NULL,
                      "a power of two of at most 64 lanes that divides the team",
                      "subgroups of %d lanes in a team of %d", module->subgroup, module->lanes);
    if (module->lanes > MAX_LANES)
        verify_report(state, VERIFY_TEAM_FORM, NULL, "at most 1024", "a team of %d lanes",
                      module->lanes);
    bool cluster = module->cluster >= 0 && module->cluster <= MAX_CLUSTER &&
                   (module->cluster <= 1 || cluster_divides_grid(module));
    if (!cluster)
        verify_report(state, VERIFY_TEAM_FORM, NULL,
                      "at most 16 groups, a divisor of the groups of the grid",
                      "a cluster of %d groups", module->cluster);
}

/* ---- lanes and slots ---- */
/* Numbers from 0 to below - 1. */
static bool all_below(const ir_list *list, int64_t below) {
    for (int i = 0; i < list->count; i++)
        if (list->items[i] < 0 || list->items[i] >= below)
            return false;
    return true;
}

static bool keeps_type(const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    return from->form == IR_FORM_SLOTS && to->form == IR_FORM_SLOTS && from->slots == to->slots &&
           from->dtype == to->dtype;
}

static bool shuffle_holds(const ir_op *op, int lanes) {
    const ir_list *columns = &op->attributes.lanes, *constants = &op->attributes.slots;
    return keeps_type(op) && is_power_of_two(lanes) && columns->count == bits_of(lanes) &&
           all_below(columns, lanes) && all_below(constants, lanes) &&
           (constants->count == 0 || constants->count == op->operands[0]->type.slots);
}

static bool xorslot_holds(const ir_op *op, int lanes) {
    const ir_list *columns = &op->attributes.lanes;
    return keeps_type(op) && is_power_of_two(lanes) && columns->count == bits_of(lanes) &&
           is_power_of_two(op->operands[0]->type.slots) &&
           all_below(columns, op->operands[0]->type.slots);
}

static bool rename_holds(const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    return from->form == IR_FORM_SLOTS && to->form == IR_FORM_SLOTS && from->dtype == to->dtype &&
           op->attributes.slots.count == to->slots && all_below(&op->attributes.slots, from->slots);
}

static void rule_lane_map(verify_state *state, const ir_op *op) {
    int lanes = ir_module_subgroup_lanes(state->module);
    bool holds = op->opcode == IR_SHUFFLE   ? shuffle_holds(op, lanes)
                 : op->opcode == IR_XORSLOT ? xorslot_holds(op, lanes)
                                            : rename_holds(op);
    if (!holds)
        verify_report(state, VERIFY_LANE_MAP, op,
                      "a column for each lane bit, lanes of the subgroup, slots of the operand",
                      "`%s` takes from lanes or slots that do not fit",
                      ir_op_describe(op->opcode)->text);
}

static void rule_uniform_form(verify_state *state, const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    if (from->form != IR_FORM_SLOTS || from->slots != 1 || to->form != IR_FORM_UNIFORM ||
        from->dtype != to->dtype)
        verify_report(state, VERIFY_UNIFORM_FORM, op, "T(1) to a uniform T",
                      "`uniform` does not take this to that");
}

/* ---- scratch ---- */
static void rule_scratch_form(verify_state *state, const ir_op *op) {
    const ir_type *array = &op->results[0]->type;
    if (array->form != IR_FORM_SCRATCH || op->results[1]->type.form != IR_FORM_TOKEN ||
        !verify_extent_equal(state, array->extent[0], op->attributes.extent))
        verify_report(state, VERIFY_SCRATCH_FORM, op, ir_op_describe(op->opcode)->doc,
                      "the array, or its token, has another type");
    if (op->parent == NULL || op->parent->owner != NULL)
        verify_report(state, VERIFY_SCRATCH_FORM, op, "the body of the kernel",
                      "an array is made in a loop or a branch");
}

/* Bytes of all arrays, which live side by side; false past 64 bits. */
static bool scratch_bytes(const verify_state *state, int64_t *bytes) {
    *bytes = 0;
    for (const ir_op *op = state->module->body.first; op != NULL; op = op->next) {
        int64_t cells = 0, own = 0;
        if (op->opcode != IR_SCRATCH || !verify_op_is_formed(state, op))
            continue;
        const ir_type *array = &op->results[0]->type;
        if (!layout_extent_known(&state->module->extents, array->extent[0], &cells))
            continue;
        if (!base_checked_mul(cells, base_dtype_size(array->dtype), &own) ||
            !base_checked_add(*bytes, own, bytes))
            return false;
    }
    return true;
}

static void rule_scratch_capacity(verify_state *state) {
    const char *name = state->module->machine;
    const machine *planned = name != NULL ? machine_find(name) : NULL;
    int64_t bytes = 0;
    if (planned == NULL || (scratch_bytes(state, &bytes) && bytes <= planned->scratch_bytes))
        return;
    verify_report(state, VERIFY_SCRATCH_CAPACITY, NULL, "what a group of the machine has",
                  "scratch of %lld bytes, where %s has %lld", (long long)bytes, planned->name,
                  (long long)planned->scratch_bytes);
}

/* A load of what is stored too; an array of scratch has a token, a tensor has none. */
static bool reads_outputs(const ir_module *module, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; op->opcode == IR_LOAD && i < module->parameter_count; i++)
            if (module->parameters[i].value == op->operands[0] &&
                module->parameters[i].mode != IR_IN)
                return true;
        for (int k = 0; k < op->region_count; k++)
            if (reads_outputs(module, op->regions[k]))
                return true;
    }
    return false;
}

static void rule_sync_form(verify_state *state, const ir_op *op) {
    ir_scope scope = op->attributes.scope;
    bool cluster = scope == IR_SCOPE_CLUSTER && state->module->cluster > 1;
    if (scope != IR_SCOPE_SUBGROUP && scope != IR_SCOPE_GROUP && !cluster)
        verify_report(state, VERIFY_SYNC_FORM, op, "subgroup, group, or cluster where there is one",
                      "a sync of a scope that is not there");
    bool tokens = op->operand_count > 0 || state->broken > 0 ||
                  reads_outputs(state->module, &state->module->body);
    for (int i = 0; i < op->operand_count; i++)
        tokens = tokens && op->operands[i]->type.form == IR_FORM_TOKEN;
    if (!tokens)
        verify_report(
            state, VERIFY_SYNC_FORM, op,
            "the tokens of the arrays that it is for; none for a tensor that is loaded and stored",
            "a sync that is for nothing");
}

/* ---- walk ---- */
static void check_op(verify_state *state, const ir_op *op) {
    if (!verify_op_is_formed(state, op))
        return;
    if (op->opcode == IR_SHUFFLE || op->opcode == IR_RENAME || op->opcode == IR_XORSLOT)
        rule_lane_map(state, op);
    if (op->opcode == IR_UNIFORM)
        rule_uniform_form(state, op);
    if (op->opcode == IR_SCRATCH)
        rule_scratch_form(state, op);
    if (op->opcode == IR_SYNC)
        rule_sync_form(state, op);
}

void verify_thread_forms(verify_state *state) {
    rule_scratch_capacity(state);
    verify_walk(state, &state->module->body, check_op);
}
