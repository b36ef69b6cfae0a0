/* The report of a compilation: who owns each value, and what the other files of the report add.
 *
 *     tile module      values and their anchors, in the order of the text
 *     mapped module    the digits of each axis
 *     plan             how a value gets to later sweeps
 *     thread module    everything that is counted
 *
 * Ops of level thread are found by the place in the kernel's text that they were written for.
 */
#include "compile/report_internal.h"

#include "analysis/sweeps.h"

#include <string.h>

bool report_same_place(base_location a, base_location b) {
    return a.line == b.line && a.column == b.column && a.source == b.source && a.line > 0;
}

bool report_in_loop(const ir_op *op) {
    for (const ir_region *at = op->parent; at != NULL && at->owner != NULL; at = at->owner->parent)
        if (at->owner->opcode == IR_FOR)
            return true;
    return false;
}

const ir_axis *report_axis_of(const report_state *state, const ir_value *value, int dimension) {
    int axis = state->axes.of_value[value->number][dimension];
    for (int i = 0; axis >= 0 && i < state->mapped->axis_count; i++)
        if (strcmp(state->mapped->axes[i].anchor, state->axes.axes[axis].anchor) == 0)
            return &state->mapped->axes[i];
    return NULL;
}

/* ---- values ---- */

static int64_t known_or(const ir_module *module, const layout_extent *extent, int64_t otherwise) {
    int64_t number = otherwise;
    layout_extent_known(&module->extents, extent, &number);
    return number;
}

static const char *shape_of(const report_state *state, const ir_type *type) {
    base_text text;
    base_text_init(&text, state->arena);
    for (int d = 0; d < type->rank; d++) {
        int64_t number = known_or(state->tile, type->extent[d], -1);
        base_text_string(&text, d > 0 ? " x " : "");
        if (number >= 0)
            base_text_format(&text, "%lld", (long long)number);
        else
            layout_extent_print(&text, &state->tile->extents, type->extent[d]);
    }
    return text.bytes;
}

static bool is_spread(const ir_axis *axis) {
    return axis != NULL && (layout_axis_has(&axis->digits, LAYOUT_LANE) ||
                            layout_axis_has(&axis->digits, LAYOUT_SUBGROUP) ||
                            layout_axis_has(&axis->digits, LAYOUT_SLOT));
}

/* Programs that the numbers of the holder tell apart. */
static int64_t programs_on(const report_state *state, layout_holder holder) {
    int64_t programs = 1;
    for (int i = 0; i < state->mapped->axis_count; i++)
        if (state->mapped->axes[i].is_program)
            programs *= layout_axis_radix(&state->mapped->axes[i].digits, holder);
    return programs;
}

/* At most one axis on the lanes, subgroups and slots of a program, what it leaves out of them being
 * replicas; the others in steps. False where that is not so. */
static bool tile_of(const report_state *state, const ir_value *value, layout_tile *tile) {
    const layout_axis nothing = {0};
    int64_t lanes = ir_module_subgroup_lanes(state->mapped) / programs_on(state, LAYOUT_LANE);
    int64_t subgroups = ir_module_subgroups(state->mapped) / programs_on(state, LAYOUT_SUBGROUP);
    const ir_axis *axes[IR_MAX_RANK] = {NULL};
    layout_fault fault;
    int rank = value->type.rank, spread = 0;
    for (int d = 0, found = 0; d < rank; d++) {
        axes[d] = report_axis_of(state, value, d);
        spread = is_spread(axes[d]) ? d : spread;
        found += is_spread(axes[d]);
        if (found > 1)
            return false;
    }
    if (!layout_tile_of_axis(axes[spread] != NULL ? &axes[spread]->digits : &nothing,
                             known_or(state->tile, value->type.extent[spread], 0), lanes, subgroups,
                             tile))
        return false;
    if (rank == 1)
        return true;
    layout_axis held = tile->axis[0];
    if (tile->kind != LAYOUT_DIGITS)
        return false;
    tile->rank = rank;
    for (int d = 0; d < rank; d++) {
        tile->axis[d] = d == spread ? held : axes[d] != NULL ? axes[d]->digits : nothing;
        tile->size[d] = known_or(state->tile, value->type.extent[d], 0);
    }
    layout_axes_resolve(tile->axis, rank);
    return layout_tile_check(state->arena, tile, &fault);
}

static const char *layout_of(const report_state *state, const ir_value *value,
                             const layout_tile *tile) {
    base_text text;
    base_text_init(&text, state->arena);
    if (tile->rank > 0) {
        layout_tile_print_shortest(&text, tile);
        return text.bytes;
    }
    for (int d = 0; d < value->type.rank; d++) {
        const ir_axis *axis = report_axis_of(state, value, d);
        base_text_string(&text, d > 0 ? " ; " : "");
        if (axis != NULL)
            layout_axis_print(&text, &axis->digits);
        else
            base_text_string(&text, "none");
    }
    return text.bytes;
}

/* How many of a holder tell the elements of the value apart; 0: a runtime number. */
static int64_t range_of(const report_state *state, const ir_value *value, layout_holder holder) {
    int64_t range = 1;
    for (int d = 0; d < value->type.rank; d++) {
        const ir_axis *axis = report_axis_of(state, value, d);
        range *= axis != NULL ? layout_axis_radix(&axis->digits, holder) : 1;
    }
    return range;
}

static bool is_fixed(const report_state *state, const ir_value *value) {
    for (int d = 0; d < value->type.rank; d++) {
        int axis = state->axes.of_value[value->number][d];
        if (axis >= 0 && state->axes.axes[axis].fixed != NULL)
            return true;
    }
    return false;
}

static const char *storage_of(const report_state *state, const char *anchor) {
    static const char *const names[] = {
        [IR_STORAGE_NONE] = "sweep",          [IR_STORAGE_REGISTERS] = "registers",
        [IR_STORAGE_PRIVATE] = "private",     [IR_STORAGE_RELOAD] = "reload",
        [IR_STORAGE_RECOMPUTE] = "recompute", [IR_STORAGE_OUTPUT] = "output"};
    const ir_plan_line *keep = ir_plan_find(state->report->plan, IR_PLAN_KEEP, anchor);
    return names[keep != NULL ? keep->storage : IR_STORAGE_NONE];
}

typedef struct store_search {
    const ir_value *value;
    const char *anchor;
} store_search;

static bool search_store(void *pointer, ir_op *op) {
    store_search *search = pointer;
    if (op->opcode == IR_STORE && ir_op_stored(op) == search->value)
        search->anchor = op->anchor;
    return search->anchor == NULL;
}

static const char *access_of(const report_state *state, const ir_value *value) {
    if (value->definer != NULL && value->definer->opcode == IR_LOAD)
        return value->definer->anchor;
    store_search search = {.value = value};
    ir_region_walk((ir_region *)&state->tile->body, search_store, &search);
    return search.anchor;
}

static void add_value(report_state *state, const ir_value *value) {
    compile_report *report = state->report;
    const char *anchor = analysis_value_anchor(state->arena, value);
    if (value->type.form != IR_FORM_TILE || value->type.rank == 0 || anchor == NULL ||
        compile_report_find(report, anchor) != NULL)
        return;
    int64_t lanes = range_of(state, value, LAYOUT_LANE);
    int64_t subgroups = range_of(state, value, LAYOUT_SUBGROUP);
    int64_t slots = range_of(state, value, LAYOUT_SLOT);
    compile_report_value row = {
        .anchor = anchor,
        .named = value->name != NULL,
        .dtype = value->type.dtype,
        .shape = shape_of(state, &value->type),
        .fixed = is_fixed(state, value),
        .threads = lanes * subgroups,
        .slots = slots,
        .steps = range_of(state, value, LAYOUT_STEP),
        .replication = report->threads / (lanes * subgroups * programs_on(state, LAYOUT_LANE) *
                                          programs_on(state, LAYOUT_SUBGROUP)),
        .storage = storage_of(state, anchor),
        .access = access_of(state, value)};
    if (value->definer != NULL)
        row.location = value->definer->location;
    if (!tile_of(state, value, &row.tile))
        row.tile = (layout_tile){0};
    row.layout = layout_of(state, value, &row.tile);
    BASE_PUSH(state->arena, report->values, report->value_count, report->value_capacity, row);
}

static void add_values(report_state *state, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        add_value(state, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            add_value(state, op->results[i]);
        for (int i = 0; i < op->region_count; i++)
            add_values(state, op->regions[i]);
    }
}

static bool is_before(const compile_report_value *a, const compile_report_value *b) {
    return a->location.line < b->location.line ||
           (a->location.line == b->location.line && a->location.column < b->location.column);
}

/* From the order of the canonical program to that of the text. */
static void sort_values(compile_report *report) {
    for (int64_t i = 1; i < report->value_count; i++) {
        compile_report_value moved = report->values[i];
        int64_t at = i;
        for (; at > 0 && is_before(&moved, &report->values[at - 1]); at--)
            report->values[at] = report->values[at - 1];
        report->values[at] = moved;
    }
}

const compile_report_value *compile_report_find(const compile_report *report, const char *anchor) {
    for (int64_t i = 0; i < report->value_count; i++)
        if (strcmp(report->values[i].anchor, anchor) == 0)
            return &report->values[i];
    return NULL;
}

/* ---- where the elements of a value lie ---- */

typedef struct access_search {
    const compile_report *report;
    const char *anchor;
    const ir_op *found;
} access_search;

static bool search_access(void *pointer, ir_op *op) {
    access_search *search = pointer;
    bool moves = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    for (int64_t i = 0; moves && i < search->report->access_count; i++) {
        const compile_report_access *row = &search->report->accesses[i];
        if (strcmp(row->anchor, search->anchor) == 0 && row->is_store == (op->opcode == IR_STORE) &&
            report_same_place(row->location, op->location))
            search->found = op;
    }
    return search->found == NULL;
}

bool compile_report_address(const compile_report *report, const compile_report_value *value,
                            int64_t thread, int64_t slot, int64_t *bytes) {
    access_search search = {.report = report, .anchor = value->access};
    if (value->access == NULL)
        return false;
    ir_region_walk((ir_region *)&report->module->body, search_access, &search);
    if (search.found == NULL || slot >= report_access_slots(search.found))
        return false;
    return report_address_at(report->module, search.found,
                             ir_module_position(report->module, thread, slot), bytes) &&
           *bytes >= 0;
}

/* ---- all of it ---- */

compile_report *compile_report_make(base_arena *arena, const machine *device, const ir_plan *plan,
                                    const pass_log *log, const ir_module *tile,
                                    const ir_module *mapped, const ir_module *thread) {
    compile_report *report = BASE_NEW(arena, compile_report);
    report_state state = {
        .report = report, .arena = arena, .tile = tile, .mapped = mapped, .thread = thread};
    base_text groups;
    base_text_init(&groups, arena);
    layout_extent_print(&groups, &thread->extents, thread->groups);
    *report = (compile_report){.kernel = tile->name,
                               .machine = device,
                               .plan_hash = thread->plan_hash,
                               .canonical_hash = plan->canonical_hash,
                               .module = thread,
                               .plan = plan,
                               .log = log,
                               .threads = thread->lanes,
                               .subgroups = ir_module_subgroups(thread),
                               .by_team = !device->lanes_are_threads,
                               .groups = groups.bytes};
    state.axes = analysis_axes_find(arena, tile);
    add_values(&state, &tile->body);
    sort_values(report);
    report_add_arrays(&state);
    report_add_moves(&state);
    report_add_accesses(&state);
    report->grouped = analysis_grouped_count(thread);
    return report;
}
