/* The admission proof: one walk over the body, and the questions of the analyses.
 *
 * A row program has an axis of elements. That its reductions are pure, begin at their identity and
 * run over bounded extents is a matter of the language, as is that every store covers its domain
 * once; what remains to be proved is that lanes which run side by side never come to one cell in an
 * order that would matter. Tensors are taken to lie apart where one of them is stored; a launch
 * compares their addresses.
 *
 * Packing asks for more: programs of one group run the same loops and branches, and one past the
 * last row repeats the last row and only leaves out its stores, which it may not have read back.
 */
#include "planner/admit.h"

#include "analysis/meetings.h"
#include "analysis/uniform.h"

static const planner_obstacle_row obstacle_rows[] = {
    [PLANNER_NO_OBSTACLE] = {"", "", ""},
    [PLANNER_NO_ELEMENTS] = {"no-element-axis", "it has no axis of elements",
                             "a tile with more than one element"},
    [PLANNER_LANES_MEET] = {"lanes-meet", "two lanes may come to one cell",
                            "accesses of one tensor by the same indices"},
    [PLANNER_ORDERED] = {"ordered-reduction", "a reduction asks for one worker a row",
                         "order=tree or order=canonical"},
    [PLANNER_CONTROL_DIFFERS] = {"control-differs",
                                 "a bound, condition or domain differs between programs",
                                 "programs that go the same ways"},
    [PLANNER_ONE_PROGRAM] = {"one-program", "there is one program", "a `program` axis"},
    [PLANNER_IN_PLACE] = {"in-place", "a tensor is read and stored", "outputs that are not read"},
};

const planner_obstacle_row *planner_obstacle_describe(planner_obstacle obstacle) {
    return &obstacle_rows[obstacle];
}

typedef struct admit_state {
    planner_admission *found;
    const ir_module *module;
    bool *read, *stored; /* by parameter */
} admit_state;

static bool is_scalar(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank == 0;
}

static void note_access(admit_state *s, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    int parameter = ir_module_parameter_of(s->module, op->operands[0]);
    bool gathers = false;
    for (int d = 0; d < access->rank; d++)
        gathers = gathers || access->index[d].kind == IR_INDEX_GATHER;
    s->found->gathers += gathers;
    s->found->loads += op->opcode == IR_LOAD;
    s->found->stores += op->opcode == IR_STORE;
    bool *touched = op->opcode == IR_LOAD ? s->read : s->stored;
    touched[parameter] = true;
}

static bool note_op(void *pointer, ir_op *op) {
    admit_state *s = pointer;
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        note_access(s, op);
    s->found->reductions += op->opcode == IR_REDUCE;
    if (op->opcode == IR_REDUCE && analysis_told_by_elements(op) != NULL)
        s->found->shares_rows = false;
    bool tile = op->result_count == 1 && ir_value_is_tile(op->results[0]), scalar = false;
    for (int i = 0; i < op->operand_count; i++)
        scalar = scalar || (is_scalar(op->operands[i]) && op->operands[i]->definer != NULL &&
                            op->operands[i]->definer->opcode != IR_CONSTANT);
    bool computes = op->opcode != IR_LOAD && op->region_count == 0;
    s->found->broadcasts += tile && computes && (scalar || op->opcode == IR_BROADCAST);
    return true;
}

static void find_overlaps(admit_state *s) {
    const ir_module *module = s->module;
    for (int i = 0; i < module->parameter_count; i++) {
        bool in_place = module->parameters[i].mode == IR_INOUT || (s->stored[i] && s->read[i]);
        if (module->parameters[i].is_tensor && in_place)
            s->found->shares_rows = false;
        if (module->parameters[i].is_tensor && in_place &&
            s->found->packing == PLANNER_NO_OBSTACLE) {
            s->found->packing = PLANNER_IN_PLACE;
            s->found->tensor = module->parameters[i].name;
        }
        for (int k = 0; s->stored[i] && k < module->parameter_count; k++)
            s->found->apart += k != i && (s->read[k] || (s->stored[k] && k > i));
    }
}

planner_admission planner_admit(const planner_state *state) {
    const ir_module *module = state->module;
    planner_admission found = {.kept = state->sweeps.crossing_count, .shares_rows = true};
    admit_state s = {.found = &found,
                     .module = module,
                     .read = BASE_NEW_ARRAY(state->arena, bool, module->parameter_count),
                     .stored = BASE_NEW_ARRAY(state->arena, bool, module->parameter_count)};
    ir_region_walk((ir_region *)&module->body, note_op, &s);
    if (module->program_count == 0)
        found.packing = PLANNER_ONE_PROGRAM;
    for (int i = 0; i < state->axes.count; i++)
        found.widths += !state->axes.axes[i].is_program;
    const ir_op *divergent = analysis_divergent_op(module);
    if (divergent != NULL)
        found.packing = PLANNER_CONTROL_DIFFERS;
    find_overlaps(&s);
    found.first = divergent;
    if (found.widths == 0)
        found.row = PLANNER_NO_ELEMENTS;
    else if (state->machine->lanes_are_threads &&
             analysis_meetings_find(state->arena, module, &state->axes, NULL, &found.first,
                                    &found.second))
        found.row = PLANNER_LANES_MEET;
    return found;
}
