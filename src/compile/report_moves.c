/* What moves between threads: conversions, reductions, the arrays that they meet in, barriers.
 *
 *     convert.0   scratch: 1 put and 1 get a thread, 256 bytes, 1 barrier
 *     max.0       8 subgroups: 8 partial results, 32 bytes, 1 barrier
 *     barrier     publishes max.0, releases sum.0
 *
 * Mechanisms are the plan's and prices the machine table's; all counts are of the thread module.
 */
#include "compile/report_internal.h"

#include "planner/planner.h"

#include "analysis/sweeps.h"
#include "base/checked.h"

#include <string.h>

enum { REGISTER_BYTES = 4 };

/* ---- arrays ---- */

typedef struct owner_search {
    const ir_op *array;
    const char *anchor;
} owner_search;

static bool search_owner(void *pointer, ir_op *op) {
    owner_search *search = pointer;
    bool meets = op->opcode == IR_CONVERT || op->opcode == IR_REDUCE;
    if (meets && report_same_place(op->location, search->array->location))
        search->anchor = op->anchor;
    return search->anchor == NULL;
}

/* The conversion or reduction that an array was declared for. */
static const char *owner_of_array(const report_state *state, const ir_op *array) {
    owner_search search = {.array = array};
    ir_region_walk((ir_region *)&state->tile->body, search_owner, &search);
    return search.anchor != NULL ? search.anchor : "?";
}

/* A kept value: by its name; else the one, or the first, that no array has yet. */
static const char *owner_of_private(const report_state *state, const ir_op *array) {
    const compile_report *report = state->report;
    const char *name = array->results[0]->name;
    if (name != NULL && compile_report_find(report, name) != NULL)
        return name;
    for (int64_t i = 0; i < report->value_count; i++) {
        const compile_report_value *value = &report->values[i];
        bool taken = value->named || strcmp(value->storage, "private") != 0;
        for (int64_t k = 0; k < report->allocation_count; k++)
            taken = taken || strcmp(report->allocations[k].owner, value->anchor) == 0;
        if (!taken)
            return value->anchor;
    }
    return "?";
}

/* Elements of a cell for all lanes: what is alike in all of them stands once in a register of a
 * cpu, and with every thread of another device. */
static int64_t cell_elements(const report_state *state, const ir_type *type) {
    if (type->slots == 0 && state->report->by_team)
        return 1;
    return (type->slots > 0 ? (int64_t)type->slots : 1) * state->thread->lanes;
}

static bool add_array(void *pointer, ir_op *op) {
    report_state *state = pointer;
    compile_report *report = state->report;
    if (op->opcode != IR_SCRATCH && op->opcode != IR_PRIVATE)
        return true;
    const ir_type *type = &op->results[0]->type;
    bool is_private = op->opcode == IR_PRIVATE;
    int64_t bytes = base_dtype_size(type->dtype), cells = 0;
    if (is_private)
        bytes *= cell_elements(state, type);
    bool known = layout_extent_known(&state->thread->extents, op->attributes.extent, &cells) &&
                 base_checked_mul(bytes, cells, &bytes);
    base_text text;
    base_text_init(&text, state->arena);
    if (known)
        base_text_format(&text, "%lld", (long long)cells);
    else
        layout_extent_print(&text, &state->thread->extents, op->attributes.extent);
    compile_report_allocation row = {.owner = is_private ? owner_of_private(state, op)
                                                         : owner_of_array(state, op),
                                     .is_private = is_private,
                                     .dtype = type->dtype,
                                     .cells = text.bytes,
                                     .bytes = known ? bytes : -1};
    BASE_PUSH(state->arena, report->allocations, report->allocation_count,
              report->allocation_capacity, row);
    int64_t *total = is_private ? &report->workspace_bytes : &report->scratch_bytes;
    if (!known || *total < 0 || !base_checked_add(*total, bytes, total))
        *total = -1;
    return true;
}

/* ---- barriers ---- */

static bool add_barrier(void *pointer, ir_op *op) {
    report_state *state = pointer;
    compile_report *report = state->report;
    if (op->opcode != IR_SYNC)
        return true;
    compile_report_barrier row = {
        .location = op->location,
        .scope = op->attributes.scope,
        .publishes = BASE_NEW_ARRAY(state->arena, const char *, op->operand_count),
        .releases = BASE_NEW_ARRAY(state->arena, const char *, op->operand_count),
        .looped = report_in_loop(op)};
    for (int i = 0; i < op->operand_count; i++) {
        const ir_type *before = &op->operands[i]->type;
        const char *owner = owner_of_array(state, before->scratch->definer);
        if (before->state == IR_TOKEN_WRITTEN)
            row.publishes[row.publish_count++] = owner;
        else if (before->state == IR_TOKEN_PUBLISHED)
            row.releases[row.release_count++] = owner;
    }
    BASE_PUSH(state->arena, report->barriers, report->barrier_count, report->barrier_capacity, row);
    return true;
}

static int barriers_of(const compile_report *report, const char *anchor) {
    int count = 0;
    for (int64_t i = 0; i < report->barrier_count; i++) {
        const compile_report_barrier *barrier = &report->barriers[i];
        bool serves = false;
        for (int k = 0; k < barrier->publish_count; k++)
            serves = serves || strcmp(barrier->publishes[k], anchor) == 0;
        for (int k = 0; k < barrier->release_count; k++)
            serves = serves || strcmp(barrier->releases[k], anchor) == 0;
        count += serves;
    }
    return count;
}

static int64_t scratch_of(const compile_report *report, const char *anchor) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < report->allocation_count; i++)
        if (!report->allocations[i].is_private && strcmp(report->allocations[i].owner, anchor) == 0)
            bytes += report->allocations[i].bytes;
    return bytes;
}

void report_add_arrays(report_state *state) {
    ir_region *body = (ir_region *)&state->thread->body;
    ir_region_walk(body, add_array, state);
    ir_region_walk(body, add_barrier, state);
}

/* ---- conversions ---- */

/* Slots that other lanes have, packed where they come from one lane and fit a register. */
static int64_t shuffles_of(const ir_op *op) {
    const ir_list *lanes = &op->attributes.lanes, *offsets = &op->attributes.slots;
    int slots = op->results[0]->type.slots, count = 0;
    int64_t bytes = base_dtype_size(op->results[0]->type.dtype);
    int together = bytes < REGISTER_BYTES ? (int)(REGISTER_BYTES / bytes) : 1;
    bool same = true;
    for (int bit = 0; bit < lanes->count; bit++)
        same = same && lanes->items[bit] == INT64_C(1) << bit;
    for (int s = 0; s < slots; s++) {
        int64_t offset = s < offsets->count ? offsets->items[s] : 0;
        int before = 0;
        for (int earlier = 0; earlier < s; earlier++)
            before += (earlier < offsets->count ? offsets->items[earlier] : 0) == offset;
        count += before % together == 0 && !(same && offset == 0);
    }
    return bytes > REGISTER_BYTES ? count * bytes / REGISTER_BYTES : count;
}

/* One for each slot and each bit of the slot's number that a lane turns. */
static int64_t selects_of(const ir_op *op) {
    uint64_t turned = 0;
    for (int bit = 0; bit < op->attributes.lanes.count; bit++)
        turned |= (uint64_t)op->attributes.lanes.items[bit];
    return (int64_t)__builtin_popcountll(turned) * op->results[0]->type.slots;
}

typedef struct move_count {
    const report_state *state;
    compile_report_conversion *row;
} move_count;

static bool count_move(void *pointer, ir_op *op) {
    const move_count *count = pointer;
    compile_report_conversion *row = count->row;
    if (!report_same_place(op->location, row->location))
        return true;
    if (op->opcode == IR_SHUFFLE)
        row->shuffles += shuffles_of(op);
    if (op->opcode == IR_XORSLOT)
        row->selects += selects_of(op);
    if (op->opcode != IR_PUT && op->opcode != IR_GET)
        return true;
    int slots = report_access_slots(op), width = op->attributes.access->width;
    int64_t accesses = slots > 0 ? slots / width : 1;
    int conflicts =
        report_conflicts_of(count->state->thread, op, &count->state->report->machine->costs);
    if (op->opcode == IR_PUT) {
        row->puts += accesses;
        row->put_width = width;
        row->put_conflicts = conflicts;
    } else {
        row->gets += accesses;
        row->get_width = width;
        row->get_conflicts = conflicts;
    }
    return true;
}

static void set_prices(const report_state *state, const ir_op *op, const ir_axis *from,
                       const ir_axis *to, compile_report_conversion *row) {
    int64_t size = 0, bytes = base_dtype_size(row->dtype);
    int64_t lanes = ir_module_subgroup_lanes(state->mapped);
    int64_t subgroups = ir_module_subgroups(state->mapped);
    layout_costs costs = planner_costs(state->report->machine);
    layout_conversion conversion;
    layout_fault fault;
    layout_tile source, destination;
    layout_price price = {.shuffles = -1, .scratch = -1};
    layout_extent_known(&state->tile->extents, op->results[0]->type.extent[0], &size);
    row->needed = row->mechanism;
    row->price = row->alternative_price = -1;
    row->alternative = LAYOUT_FORWARD;
    if (!layout_convert_axes(state->arena, &from->digits, &to->digits, size, lanes, subgroups,
                             &conversion, &fault))
        return;
    row->needed = conversion.class_;
    if (conversion.class_ <= LAYOUT_RENAME) {
        row->price = 0;
        return;
    }
    if (conversion.linear)
        price = layout_price_of_bits(&conversion, bytes, &costs, NULL);
    else if (layout_tile_of_axis(&from->digits, size, lanes, subgroups, &source) &&
             layout_tile_of_axis(&to->digits, size, lanes, subgroups, &destination))
        price = layout_price_of(&conversion, &source, &destination, bytes, &costs);
    bool shuffled = row->mechanism == LAYOUT_SHUFFLE;
    row->price = shuffled ? price.shuffles : price.scratch;
    row->alternative = shuffled ? LAYOUT_SCRATCH : LAYOUT_SHUFFLE;
    row->alternative_price = shuffled ? price.scratch : price.shuffles;
}

static void add_conversion(report_state *state, const ir_op *op) {
    compile_report *report = state->report;
    const ir_axis *from = report_axis_of(state, op->operands[0], 0);
    const ir_axis *to = report_axis_of(state, op->results[0], 0);
    compile_report_conversion row = {.anchor = op->anchor,
                                     .source = analysis_value_anchor(state->arena, op->operands[0]),
                                     .result = analysis_value_anchor(state->arena, op->results[0]),
                                     .location = op->location,
                                     .dtype = op->results[0]->type.dtype,
                                     .mechanism = LAYOUT_FORWARD,
                                     .needed = LAYOUT_FORWARD,
                                     .alternative = LAYOUT_FORWARD,
                                     .alternative_price = -1};
    const compile_report_value *source = compile_report_find(report, row.source);
    const compile_report_value *result = compile_report_find(report, row.result);
    row.source_layout = source != NULL ? source->layout : "none";
    row.result_layout = result != NULL ? result->layout : "none";
    const ir_plan_line *line = ir_plan_find(report->plan, IR_PLAN_CONVERT, op->anchor);
    if (line != NULL)
        row.mechanism = line->mechanism;
    if (from != NULL && to != NULL)
        set_prices(state, op, from, to, &row);
    row.scratch_bytes = scratch_of(report, op->anchor);
    row.barriers = barriers_of(report, op->anchor);
    move_count count = {.state = state, .row = &row};
    ir_region_walk((ir_region *)&state->thread->body, count_move, &count);
    BASE_PUSH(state->arena, report->conversions, report->conversion_count,
              report->conversion_capacity, row);
}

/* ---- reductions ---- */

static void add_reduction(report_state *state, const ir_op *op) {
    compile_report *report = state->report;
    const ir_value *operand = op->operands[0];
    const ir_axis *axis = report_axis_of(state, operand, op->attributes.axis);
    compile_report_reduction row = {.anchor = op->anchor,
                                    .axis = axis != NULL ? axis->anchor : "none",
                                    .location = op->location,
                                    .monoid = op->attributes.monoid,
                                    .dtype = operand->type.dtype,
                                    .threads = 1,
                                    .slots = 1,
                                    .steps = 1,
                                    .subgroups = 1};
    row.state = ir_monoid_state(row.monoid, row.dtype);
    if (axis != NULL) {
        row.subgroups = layout_axis_radix(&axis->digits, LAYOUT_SUBGROUP);
        row.threads = layout_axis_radix(&axis->digits, LAYOUT_LANE) * row.subgroups;
        row.slots = layout_axis_radix(&axis->digits, LAYOUT_SLOT);
        row.steps = layout_axis_radix(&axis->digits, LAYOUT_STEP);
    }
    row.scratch_bytes = scratch_of(report, op->anchor);
    row.partials = row.scratch_bytes / base_dtype_size(row.state);
    row.barriers = barriers_of(report, op->anchor);
    BASE_PUSH(state->arena, report->reductions, report->reduction_count, report->reduction_capacity,
              row);
}

static bool add_move(void *pointer, ir_op *op) {
    if (op->opcode == IR_CONVERT)
        add_conversion(pointer, op);
    if (op->opcode == IR_REDUCE)
        add_reduction(pointer, op);
    return true;
}

void report_add_moves(report_state *state) {
    ir_region_walk((ir_region *)&state->tile->body, add_move, state);
}
