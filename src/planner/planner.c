/* Where the kernel's text fixes owners, there is one plan (owners.c). Else there are row plans, of
 * which the search chooses (search.c), and the fallback: which digits the axes get; everything else
 * follows.
 *
 *     row        axis N    lane 8 | slot 4 | step *                       axis row  group *
 *                axis N    slot 4 | lane 32 | subgroup 8 | step *         where a team has many
 *     fallback   axis N    step *                                       axis row  lane 8 | group *
 *
 * A row plan gives the lanes to the axis along which memory is contiguous: the one that stands on
 * the last dimension of most accesses, those in loops counting more. The fallback walks each
 * program alone in its lane; where a bound, condition or domain depends on the program, one
 * program a team.
 */
#include "planner/planner_internal.h"

#include "analysis/access_width.h"
#include "analysis/orders.h"
#include "analysis/uniform.h"
#include "ir/print.h"
#include "pass/pass.h"
#include "planner/early.h"
#include "planner/evict.h"
#include "planner/launches.h"
#include "planner/planner.h"
#include "planner/prefetch.h"
#include "planner/shift.h"
#include "planner/stream.h"

#include <string.h>

enum { LOOP_WEIGHT = 8, LOOP_WEIGHT_LIMIT = 1 << 20 };

/* ---- the lane axis of the row plan ---- */
static void weigh_region(const planner_state *state, const ir_region *region, int64_t weight,
                         int64_t *weights) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_LOAD || op->opcode == IR_STORE) {
            int axis = analysis_axes_of_last_index(&state->axes, op);
            if (axis >= 0)
                weights[axis] += weight;
        }
        int64_t inner = op->opcode == IR_FOR ? weight * LOOP_WEIGHT : weight;
        for (int i = 0; i < op->region_count; i++)
            weigh_region(state, op->regions[i],
                         inner < LOOP_WEIGHT_LIMIT ? inner : LOOP_WEIGHT_LIMIT, weights);
    }
}

static int64_t *weigh_axes(const planner_state *state) {
    int64_t *weights = BASE_NEW_ARRAY(state->arena, int64_t, state->axes.count);
    weigh_region(state, &state->module->body, 1, weights);
    return weights;
}

/* *ordered: a reduction that keeps an axis from having lanes, where one does. */
static int find_lane_axis(const planner_state *state, const ir_op **ordered) {
    layout_axis lanes = {.count = 1,
                         .digits = {{.holder = LAYOUT_LANE, .radix = state->machine->subgroup}}};
    int64_t *weights = weigh_axes(state);
    int best = -1;
    for (int i = 0; i < state->axes.count; i++) {
        if (state->axes.axes[i].is_program)
            continue;
        const ir_op *conflict =
            analysis_order_conflict(state->module, &state->axes, i, &lanes, state->strict);
        *ordered = conflict != NULL ? conflict : *ordered;
        if (conflict == NULL && (best < 0 || weights[i] > weights[best]))
            best = i;
    }
    return best;
}

/* ---- digits ---- */

static void push_digit(layout_axis *digits, layout_holder holder, int64_t radix) {
    digits->digits[digits->count++] = (layout_digit){.holder = holder, .radix = radix};
}

layout_axis planner_step_digits(const planner_state *state, const layout_extent *extent) {
    int64_t known = 0;
    layout_axis digits = {0};
    if (layout_extent_known(&state->module->extents, extent, &known))
        push_digit(&digits, LAYOUT_STEP, known > 0 ? known : 1);
    else
        push_digit(&digits, LAYOUT_STEP, 0);
    return digits;
}

/* `row` are the digits of the lane axis, `shared` those of the last program axis below the group
 * digit. */
static void set_axes(planner_state *state, const layout_axis *shared, const layout_axis *row) {
    for (int i = 0; i < state->axes.count; i++)
        ir_plan_add(state->arena, state->plan, IR_PLAN_AXIS, state->axes.axes[i].anchor);
    ir_plan_line *lines = state->plan->of[IR_PLAN_AXIS].lines;
    if (state->owners) {
        planner_owners_axes(state, weigh_axes(state));
        return;
    }
    for (int i = 0; i < state->axes.count; i++) {
        const analysis_axis *axis = &state->axes.axes[i];
        layout_axis *digits = &lines[i].digits;
        if (axis->is_program) {
            if (shared != NULL && axis->program == state->module->program_count - 1)
                *digits = *shared;
            push_digit(digits, LAYOUT_GROUP, 0);
        } else {
            *digits = row != NULL && i == state->lane_axis
                          ? *row
                          : planner_step_digits(state, axis->extent);
        }
    }
}

/* ---- lines per op ---- */
bool planner_is_native(const planner_state *state) {
    return state->machine->native_math && !state->strict && !state->portable;
}

bool planner_has_reciprocals(const planner_state *state) {
    return !state->strict;
}

static ir_math_form math_form(const planner_state *state, const ir_op *op) {
    if (planner_is_native(state) && ir_native_find(op->opcode) != NULL)
        return IR_MATH_NATIVE;
    bool whole = state->early == NULL || state->early->parts == 1;
    bool flushes = whole && !state->strict && !state->machine->native_math;
    return flushes && ir_op_may_flush(op) ? IR_MATH_FLUSHED : IR_MATH_PORTABLE;
}

static ir_policy access_policy(const planner_state *state, const ir_op *op, int width) {
    if (state->streams && op->opcode == IR_STORE && width > 1)
        return IR_POLICY_STREAM;
    if (state->evicts != NULL && planner_evict_has(state->evicts, op))
        return IR_POLICY_EVICT_LAST;
    return state->policy;
}

static void write_access(const planner_state *state, const ir_op *op) {
    ir_plan_line *line = ir_plan_add(state->arena, state->plan, IR_PLAN_ACCESS, op->anchor);
    line->width =
        analysis_access_width_on(state->machine, state->module, &state->axes, state->digits, op);
    if (state->shift != NULL && !planner_shift_aligns(state, state->shift, op))
        line->width = 1;
    line->policy = access_policy(state, op, line->width);
    line->early = state->early != NULL && planner_early_has(state->early, op);
    const planner_prefetch *prefetch =
        state->early != NULL ? planner_prefetch_find(state->early, op) : NULL;
    if (prefetch != NULL && line->width > 1) {
        line->prefetch = 1;
        line->prefetch_sweep = prefetch->sweep;
    }
}

static bool write_line(void *pointer, ir_op *op) {
    planner_state *state = pointer;
    ir_plan *plan = state->plan;
    if (op->opcode == IR_REDUCE)
        ir_plan_add(state->arena, plan, IR_PLAN_REDUCE, op->anchor)->order =
            analysis_order_planned(op, state->strict);
    else if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        write_access(state, op);
    else if (op->opcode == IR_CONVERT)
        ir_plan_add(state->arena, plan, IR_PLAN_CONVERT, op->anchor)->mechanism =
            planner_mechanism(state, op);
    else if (ir_op_is_math(op->opcode))
        ir_plan_add(state->arena, plan, IR_PLAN_MATH, op->anchor)->form = math_form(state, op);
    else if (ir_op_shares_divisor(state->module, op))
        ir_plan_add(state->arena, plan, IR_PLAN_DIV, op->anchor)->form =
            planner_has_reciprocals(state) ? IR_MATH_RECIPROCAL : IR_MATH_EXACT;
    return true;
}

static void set_lines(planner_state *state) {
    ir_region *body = (ir_region *)&state->module->body; /* the visitors change nothing */
    const layout_axis **digits =
        BASE_NEW_ARRAY(state->arena, const layout_axis *, state->axes.count);
    for (int i = 0; i < state->axes.count; i++)
        digits[i] = &state->plan->of[IR_PLAN_AXIS].lines[i].digits;
    state->digits = digits;
    ir_region_walk(body, write_line, state);
    planner_share_scratch(state);
}

static void set_conditions(planner_state *state) {
    const layout_extents *pool = &state->module->extents;
    ir_plan *plan = state->plan;
    plan->conditions = BASE_NEW_ARRAY(state->arena, ir_plan_condition, pool->symbol_count);
    for (int64_t i = 0; i < pool->symbol_count; i++)
        if (pool->symbols[i].known)
            plan->conditions[plan->condition_count++] = (ir_plan_condition){
                .symbol = pool->symbols[i].name, .value = pool->symbols[i].value};
}

/* ---- the plans ---- */
static void begin_plan(planner_state *state) {
    state->plan = BASE_NEW(state->arena, ir_plan);
    *state->plan = (ir_plan){.kernel = state->module->name,
                             .canonical_hash = pass_canonical_hash(state->module),
                             .machine = state->machine->name};
    set_conditions(state);
}

static ir_plan *write_plan(planner_state *state, const layout_axis *shared) {
    begin_plan(state);
    set_axes(state, shared, NULL);
    planner_keep(state, NULL);
    set_lines(state);
    return state->plan;
}

static ir_plan *plan_fallback(planner_state *state) {
    state->lane_axis = -1;
    bool packs = state->module->program_count > 0 && analysis_divergent_op(state->module) == NULL;
    layout_axis lanes = {0};
    if (packs && state->machine->subgroup > 1)
        push_digit(&lanes, LAYOUT_LANE, state->machine->subgroup);
    return write_plan(state, &lanes);
}

/* Digits of a row in parts as they would be in one launch: accesses are as wide as in that. */
static layout_axis undivided(const planner_program *program, layout_axis row) {
    layout_digit *last = &row.digits[--row.count];
    if (row.count > 0 && row.digits[row.count - 1].holder == LAYOUT_STEP)
        last = &row.digits[--row.count];
    int64_t chunk = layout_axis_chunk(&row);
    int64_t steps = program->extent / chunk + (program->extent % chunk != 0);
    *last = (layout_digit){.holder = LAYOUT_STEP, .radix = program->known ? steps : 0};
    row.count++;
    return row;
}

ir_plan *planner_candidate_plan(planner_program *program, const planner_candidate *candidate) {
    planner_state *state = program->state;
    layout_axis row = planner_candidate_digits(program, candidate), shared = {0};
    layout_axis whole = candidate->parts > 1 ? undivided(program, row) : row;
    planner_candidate_programs(program, candidate, &shared);
    begin_plan(state);
    state->early = candidate;
    state->streams = candidate->streams;
    state->evicts = candidate->evicts_last ? program : NULL;
    state->shift = candidate->shifted ? program->shift : NULL;
    set_axes(state, &shared, &whole);
    planner_keep(state, candidate->storages);
    set_lines(state);
    state->early = NULL;
    state->streams = false;
    state->evicts = NULL;
    state->shift = NULL;
    state->plan->of[IR_PLAN_AXIS].lines[state->lane_axis].digits = row;
    return state->plan;
}

/* ---- refusals ---- */
static void refuse_row(const planner_state *state, const planner_admission *admission,
                       base_diagnostics *diagnostics) {
    const ir_module *module = state->module;
    const planner_obstacle_row *obstacle = planner_obstacle_describe(admission->row);
    bool meets = admission->row == PLANNER_LANES_MEET;
    bool ordered = admission->row == PLANNER_ORDERED;
    base_location place = {.source = module->source};
    base_diagnostic *diagnostic = base_diagnostics_add(
        diagnostics, "row-plan-refused",
        meets     ? admission->second->location
        : ordered ? admission->first->location
                  : place,
        meets ? "kernel %s has no row plan on this machine: %s" : "kernel %s has no row plan: %s",
        module->name, obstacle->reason);
    diagnostic->found =
        meets     ? base_diagnostics_text(diagnostics, "another access of the tensor, on line %d",
                                          (int)admission->first->location.line)
        : ordered ? base_diagnostics_text(diagnostics, "order=%s",
                                          ir_order_name(admission->first->attributes.order))
                  : "scalars only";
    diagnostic->expected = obstacle->expected;
    diagnostic->hint = "the fallback plan runs several programs side by side";
}

/* The text leaves nothing to choose; a setting would not be looked at. */
static void refuse_settings(const planner_state *state, const char *set,
                            base_diagnostics *diagnostics) {
    base_location place = {.source = state->module->source};
    base_diagnostic *d = base_diagnostics_add(
        diagnostics, "row-plan-refused", place,
        "kernel %s has no row plan: its text fixes who owns what", state->module->name);
    d->found = base_diagnostics_text(diagnostics, "%.80s", set);
    d->expected = "policy=default, stream or evict_last, where the kernel has layouts";
}

static void refuse_price(const planner_search *search, const planner_candidate *legal,
                         base_diagnostic *d, base_diagnostics *diagnostics) {
    d->found = base_diagnostics_text(diagnostics, "facts that the model %s does not have",
                                     cost_model_name(search->model));
    d->expected = NULL;
    d->hint = legal->parts > 1    ? "a model of single launches prices no rows in parts"
              : legal->blocks > 1 ? "no other model than the machine's own prices clusters"
                                  : "`--model analytic` needs the fewest";
}

/* Nothing that was asked for can be: the first reason, which stands for the least of the rest. */
static void refuse_choice(const planner_state *state, const planner_search *search,
                          const planner_options *options, base_diagnostics *diagnostics) {
    base_location place = {.source = state->module->source};
    base_diagnostic *d =
        base_diagnostics_add(diagnostics, "plan-set", place, "no plan of kernel %s is so: %s",
                             state->module->name, options->set != NULL ? options->set : "any");
    if (search->count == 0 && options->set != NULL) {
        d->found = "chunks of a step, of a row that has no steps [unroll]";
        d->expected = "chunk=step, or u=1";
    }
    for (int64_t i = search->count - 1; i >= 0; i--) {
        const planner_candidate *c = &search->candidates[i];
        const planner_refusal_row *row = planner_refusal_describe(c->refusal);
        if (c->refusal == PLANNER_LEGAL) {
            refuse_price(search, c, d, diagnostics);
            return;
        }
        d->found = base_diagnostics_text(diagnostics, "%lld %s [%s]", (long long)c->found,
                                         row->what, row->slug);
        d->expected = c->limit > 0 ? base_diagnostics_text(diagnostics, "%s %lld", row->expected,
                                                           (long long)c->limit)
                                   : row->expected;
        if (c->refusal == PLANNER_REFUSED_PARTS_SPLIT)
            d->hint =
                base_diagnostics_text(diagnostics, "%s%s%s", c->launches->reason,
                                      c->launches->expected != NULL ? "; expected: " : "",
                                      c->launches->expected != NULL ? c->launches->expected : "");
    }
}

/* ---- the choice ---- */

/* The model that was asked for, else the machine's own, or the general one where that is not
 * there. */
static cost_model choose_model(planner_program *program, const planner_options *options,
                               const planner_candidate *standard) {
    if (options->model_given)
        return options->model;
    cost_model own = planner_model_of(program->state->machine);
    return planner_price(program, standard, own, options->coefficients).available ? own
                                                                                  : COST_ANALYTIC;
}

static bool takes_parts(const planner_search *search) {
    return search->best >= 0 && search->candidates[search->best].parts > 1;
}

/* The row plan; NULL with a finding where what was asked for cannot be. */
static ir_plan *plan_row(planner_state *state, planner_family family,
                         const planner_options *options, const planner_setting *setting,
                         base_diagnostics *diagnostics, planner_report *report) {
    planner_program *program = planner_program_begin(state, options->sizes);
    program->live_most = options->live_most;
    planner_candidate *standard = &report->chosen;
    *standard = planner_candidate_standard(program);
    planner_candidate_keep(program, standard,
                           planner_storages_find(program, PLANNER_KEEP_MIXED, standard->stepped));
    report->program = program;
    program->packing = report->admission.packing;
    program->shares_rows = report->admission.shares_rows;
    report->model = choose_model(program, options, standard);
    report->coefficients = options->coefficients;
    bool free = planner_setting_is_free(setting);
    bool gpu = state->machine->lanes_are_threads && family == PLANNER_AUTOMATIC;
    bool searches = gpu || options->all || options->model_given;
    bool parts = family == PLANNER_AUTOMATIC && planner_parts_are_wanted(program, report->model);
    bool asked = setting->policy != IR_POLICY_DEFAULT;
    bool streams = family == PLANNER_AUTOMATIC && !searches && free && !asked;
    if (streams)
        planner_stream_choose(program, standard, report->model, options->coefficients);
    if (streams)
        planner_prefetch_choose(program, standard, report->model, options->coefficients);
    if (!searches && free && !parts)
        return planner_candidate_plan(program, standard);
    report->search = planner_search_run(program, setting, report->model, options->coefficients);
    if (!searches && free && !takes_parts(report->search)) {
        report->search = NULL;
        return planner_candidate_plan(program, standard);
    }
    if (report->search->best < 0 && free)
        return planner_candidate_plan(program, standard);
    if (report->search->best < 0) {
        refuse_choice(state, report->search, options, diagnostics);
        return NULL;
    }
    report->chosen = report->search->candidates[report->search->best];
    planner_early_choose(program, &report->chosen, report->model, options->coefficients);
    if (!asked)
        planner_evict_choose(program, &report->chosen);
    return planner_candidate_plan(program, &report->chosen);
}

ir_plan *planner_choose(base_arena *arena, const ir_module *module, const machine *device,
                        planner_family family, const planner_options *asked,
                        base_diagnostics *diagnostics, planner_report *report) {
    planner_options options = asked != NULL ? *asked : (planner_options){0};
    planner_state *state = BASE_NEW(arena, planner_state);
    *state = (planner_state){.arena = arena,
                             .module = module,
                             .machine = device,
                             .lane_axis = -1,
                             .strict = options.strict,
                             .portable = options.portable};
    *report = (planner_report){0};
    planner_setting setting;
    if (!planner_setting_parse(options.set, &setting, diagnostics))
        return NULL;
    state->policy = setting.policy;
    if (options.coefficients == NULL)
        options.coefficients = cost_coefficients_default();
    state->axes = analysis_axes_find(arena, module);
    state->sweeps = analysis_sweeps_find(arena, module, &state->axes);
    state->owners = planner_owners_are_fixed(state);
    if (state->owners && !planner_setting_is_free(&setting)) {
        refuse_settings(state, options.set, diagnostics);
        return NULL;
    }
    if (state->owners || family == PLANNER_FALLBACK) {
        report->kind = state->owners ? PLANNER_BY_TEXT : PLANNER_BY_REQUEST;
        return state->owners ? write_plan(state, NULL) : plan_fallback(state);
    }
    report->admission = planner_admit(state);
    if (report->admission.row == PLANNER_NO_OBSTACLE) {
        const ir_op *ordered = NULL;
        state->lane_axis = find_lane_axis(state, &ordered);
        report->kind = PLANNER_BY_SEARCH;
        if (state->lane_axis >= 0)
            return plan_row(state, family, &options, &setting, diagnostics, report);
        report->admission.row = PLANNER_ORDERED;
        report->admission.first = ordered;
    }
    report->kind = PLANNER_BY_OBSTACLE;
    if (family == PLANNER_AUTOMATIC && planner_setting_is_free(&setting))
        return plan_fallback(state);
    refuse_row(state, &report->admission, diagnostics);
    return NULL;
}

ir_plan *planner_plan(base_arena *arena, const ir_module *module, const machine *device,
                      planner_family family, bool strict, base_diagnostics *diagnostics) {
    planner_report report;
    planner_options options = {.strict = strict};
    return planner_choose(arena, module, device, family, &options, diagnostics, &report);
}
