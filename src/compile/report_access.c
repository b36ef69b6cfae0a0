/* Accesses to tensors, as they stand in the thread module, and what their addresses are made of.
 *
 *     %t = load %x[%row, %c + lane*4 + slot*1] width=4 : f32(16)
 *
 *     x.0     4 groups of 4 a thread; dimension 0: a base in 64 bits; dimension 1: a base in 64
 *             bits, and lanes in [0, 127], which fit 32
 *
 * A range is proved where it is recorded on the value, or follows from the numbers of threads and
 * slots; the verifier has looked at both.
 */
#include "analysis/guards.h"
#include "compile/report_internal.h"
#include "target/target.h"

#include <string.h>

typedef struct access_scan {
    report_state *state;
    const ir_op *op; /* level tile */
    compile_report_access row;
    bool seen; /* its indices have been added */
} access_scan;

static bool fits(int64_t low, int64_t high) {
    return low >= INT32_MIN && high <= INT32_MAX;
}

static void add_index(access_scan *scan, compile_report_index row) {
    compile_report *report = scan->state->report;
    row.anchor = scan->op->anchor;
    row.bits = row.ranged && fits(row.low, row.high) ? 32 : 64;
    BASE_PUSH(scan->state->arena, report->indices, report->index_count, report->index_capacity,
              row);
}

/* The form at every lane of every subgroup, and every slot. */
static void add_lanes(access_scan *scan, int dimension, const ir_affine *affine, int slots) {
    const ir_module *module = scan->state->thread;
    compile_report_index row = {
        .dimension = dimension, .part = COMPILE_REPORT_LANES, .ranged = true};
    row.low = row.high = ir_affine_at(affine, ir_module_position(module, 0, 0));
    for (int64_t thread = 0; thread < module->lanes; thread++) {
        for (int slot = 0; slot < (slots > 0 ? slots : 1); slot++) {
            int64_t at = ir_affine_at(affine, ir_module_position(module, thread, slot));
            row.low = at < row.low ? at : row.low;
            row.high = at > row.high ? at : row.high;
        }
    }
    add_index(scan, row);
}

static void add_indices(access_scan *scan, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    for (int d = 0; d < access->rank; d++) {
        const ir_index *index = &access->index[d];
        if (index->operand >= 0)
            add_index(scan, (compile_report_index){.dimension = d, .part = COMPILE_REPORT_BASE});
        if (index->affine.count > 0)
            add_lanes(scan, d, &index->affine, report_access_slots(op));
        if (index->vector >= 0) {
            const ir_value *vector = op->operands[index->vector];
            add_index(scan, (compile_report_index){.dimension = d,
                                                   .part = COMPILE_REPORT_VECTOR,
                                                   .ranged = vector->ranged,
                                                   .low = vector->low,
                                                   .high = vector->high});
        }
    }
}

/* Why the machine's target emits the op as if it had no policy; NULL: it does not. */
static const char *ignored_policy(const report_state *state, const ir_op *op) {
    const machine *device = state->report->machine;
    const target *emitter = target_find(device->target);
    return emitter == NULL ? "nothing is emitted for this machine yet"
                           : emitter->ignores_policy(state->arena, state->thread, op, device);
}

static void count_policy(const report_state *state, const ir_op *op, int64_t count,
                         compile_report_access *row) {
    if (op->attributes.access->policy == IR_POLICY_DEFAULT)
        return;
    row->policy = op->attributes.access->policy;
    const char *ignored = ignored_policy(state, op);
    row->obeyed += ignored == NULL ? count : 0;
    row->ignored = ignored != NULL ? ignored : row->ignored;
}

static void count_access(const report_state *state, const ir_op *op, compile_report_access *row) {
    const ir_access *access = op->attributes.access;
    int slots = report_access_slots(op);
    int64_t lanes = state->report->by_team ? state->thread->lanes : 1;
    int64_t count = slots > 0 ? slots * lanes / access->width : 1;
    if (access->width > 1)
        row->groups += count;
    else
        row->elements += count;
    row->width = access->width > row->width ? access->width : row->width;
    int64_t guards = analysis_guards(op);
    row->guards += guards;
    row->guarded += guards > 0 ? count : 0;
    row->looped += report_in_loop(op) ? count : 0;
    row->uniform = row->uniform || slots == 0;
    row->prefetching += access->prefetch > 0 ? count : 0;
    count_policy(state, op, count, row);
}

static bool scan_op(void *pointer, ir_op *op) {
    access_scan *scan = pointer;
    if (op->opcode != scan->op->opcode || !report_same_place(op->location, scan->op->location))
        return true;
    count_access(scan->state, op, &scan->row);
    if (!scan->seen)
        add_indices(scan, op);
    scan->seen = true;
    return true;
}

static const char *tensor_name(const ir_module *module, const ir_value *tensor) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].value == tensor)
            return module->parameters[i].name;
    return "?";
}

static bool add_access(void *pointer, ir_op *op) {
    report_state *state = pointer;
    compile_report *report = state->report;
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return true;
    access_scan scan = {.state = state,
                        .op = op,
                        .row = {.anchor = op->anchor,
                                .tensor = tensor_name(state->tile, op->operands[0]),
                                .location = op->location,
                                .is_store = op->opcode == IR_STORE,
                                .dtype = op->operands[0]->type.dtype,
                                .width = 1}};
    const ir_plan_line *line = ir_plan_find(report->plan, IR_PLAN_ACCESS, op->anchor);
    scan.row.prefetch = line != NULL ? line->prefetch : 0;
    scan.row.prefetch_sweep = line != NULL ? line->prefetch_sweep : 0;
    ir_region_walk((ir_region *)&state->thread->body, scan_op, &scan);
    BASE_PUSH(state->arena, report->accesses, report->access_count, report->access_capacity,
              scan.row);
    return true;
}

/* ---- values that wait in an output ---- */

static compile_report_access *find_access(compile_report *report, const char *anchor) {
    for (int64_t i = 0; i < report->access_count; i++)
        if (strcmp(report->accesses[i].anchor, anchor) == 0)
            return &report->accesses[i];
    return NULL;
}

static bool is_counted(const compile_report *report, const ir_op *op) {
    for (int64_t i = 0; i < report->access_count; i++) {
        const compile_report_access *row = &report->accesses[i];
        if (!row->waits && row->is_store == (op->opcode == IR_STORE) &&
            report_same_place(row->location, op->location))
            return true;
    }
    return false;
}

/* The value that the plan lets wait in a tensor; NULL: none. */
static const char *waiting_in(compile_report *report, const char *tensor) {
    const ir_plan_list *keeps = &report->plan->of[IR_PLAN_KEEP];
    for (int64_t i = 0; i < keeps->count; i++) {
        const ir_plan_line *keep = &keeps->lines[i];
        const compile_report_access *store =
            keep->of != NULL ? find_access(report, keep->of) : NULL;
        if (store != NULL && strcmp(store->tensor, tensor) == 0)
            return keep->anchor;
    }
    return NULL;
}

static compile_report_access *waiting_row(report_state *state, const ir_op *op) {
    compile_report *report = state->report;
    const char *tensor = tensor_name(state->thread, op->operands[0]);
    const char *anchor = waiting_in(report, tensor);
    compile_report_access row = {.anchor = anchor != NULL ? anchor : "?",
                                 .tensor = tensor,
                                 .location = op->location,
                                 .is_store = op->opcode == IR_STORE,
                                 .waits = true,
                                 .dtype = op->operands[0]->type.dtype,
                                 .width = 1};
    for (int64_t i = 0; i < report->access_count; i++) {
        compile_report_access *known = &report->accesses[i];
        if (known->waits && known->is_store == row.is_store &&
            strcmp(known->anchor, row.anchor) == 0)
            return known;
    }
    BASE_PUSH(state->arena, report->accesses, report->access_count, report->access_capacity, row);
    return &report->accesses[report->access_count - 1];
}

static bool add_waiting(void *pointer, ir_op *op) {
    report_state *state = pointer;
    bool moves = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    if (moves && !is_counted(state->report, op))
        count_access(state, op, waiting_row(state, op));
    return true;
}

/* ---- guards of one sweep ---- */

typedef struct sweep_count {
    const report_state *state;
    const compile_report_access *row;
    int64_t sweeps; /* of level mapped, that make the access */
    bool swept;     /* over an axis: not what a program does once */
} sweep_count;

static bool count_sweep(void *pointer, ir_op *op) {
    sweep_count *count = pointer;
    const compile_report_access *row = count->row;
    if (op->opcode == (row->is_store ? IR_STORE : IR_LOAD) &&
        report_same_place(op->location, row->location) &&
        strcmp(tensor_name(count->state->mapped, op->operands[0]), row->tensor) == 0) {
        const ir_op *sweep = op->parent->owner;
        count->sweeps++;
        count->swept = count->swept || (sweep != NULL && sweep->opcode == IR_SWEEP &&
                                        sweep->attributes.axis_count > 0);
    }
    return true;
}

/* All sweeps over an axis have pieces alike: what is guarded is divided among them. */
static void share_guards(report_state *state, compile_report_access *row) {
    sweep_count count = {.state = state, .row = row};
    ir_region_walk((ir_region *)&state->mapped->body, count_sweep, &count);
    if (count.sweeps > 1)
        row->guards = (row->guards + count.sweeps - 1) / count.sweeps;
    if (count.swept && row->guards > state->report->guards)
        state->report->guards = row->guards;
}

void report_add_accesses(report_state *state) {
    ir_region_walk((ir_region *)&state->tile->body, add_access, state);
    ir_region_walk((ir_region *)&state->thread->body, add_waiting, state);
    for (int64_t i = 0; i < state->report->access_count; i++)
        share_guards(state, &state->report->accesses[i]);
}
