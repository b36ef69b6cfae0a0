/* What the files of the map pass share: the plan's answers by anchor. */
#ifndef PASS_MAP_INTERNAL_H
#define PASS_MAP_INTERNAL_H

#include "analysis/axes.h"
#include "analysis/sweeps.h"
#include "ir/builder.h"
#include "pass/pass.h"

typedef struct map_state {
    ir_module *module;
    pass_context *context;
    ir_builder builder;
    analysis_axes axes;
    analysis_sweeps sweeps;
    ir_storage
        *storage; /* by tile value number: what the plan says of a value that crosses sweeps */
    const ir_op **output; /* by tile value number: the store in whose cells the value waits */
    ir_value **global;    /* by tile value number: its mapped value outside sweeps */
    ir_value **local;     /* by tile value number: its copy in sweep local_sweep[number] */
    int *local_sweep;
    int *copies; /* by tile value number, of a load: those made so far, a sweep each */
    int sweep;   /* index of the sweep being filled, -1 outside */
    bool failed;
} map_state;

/* The finding, for a hint. */
base_diagnostic *map_fail(map_state *state, base_location location, const char *slug,
                          const char *found, const char *expected, const char *message);

/* Copies the plan's axes into module->axes, sets lanes, machine and hash; checks that every anchor
 * of the module has its line and every line its anchor, and that the digits are ones that expand
 * can apply. */
void map_plan_apply(map_state *state);
/* map_plan_fits.c: the same on a copy, whatever the plan keeps; false with findings. */
bool map_plan_fits(base_arena *arena, const ir_module *module, const ir_plan *plan,
                   base_diagnostics *diagnostics);
/* NULL, or why a plan may not have digits that are a layout: expand cannot apply them. */
const char *map_digits_refusal(const layout_axis *digits);
/* map_axes.c: copies the plan's axes into module->axes and sets the team; then, whether lanes may
 * come to one cell that do not run in lock step. */
void map_axes_apply(map_state *state);
void map_check_meetings(map_state *state);
/* Reports sizes that differ from those that the plan was made for. */
void map_check_conditions(map_state *state);
/* Reports a width that the digits of the access do not have, and an early access that is no load
 * that may be. After the axes are set. */
void map_check_access(map_state *state, const ir_op *op, const ir_plan_line *line);
/* map_packed.c, programs that share a team. Where the numbers of lanes and subgroups end that the
 * plan's axes of elements count; gives digits of programs the strides above, and moves the end. */
void map_numbers_of_elements(map_state *state, int64_t below[LAYOUT_HOLDER_COUNT]);
void map_stack_programs(layout_axis *digits, int64_t below[LAYOUT_HOLDER_COUNT]);
/* NULL, or why programs cannot have digits that are a layout. */
const char *map_programs_refusal(const ir_module *module, const layout_axis *digits);
/* Programs of one team. */
int64_t map_programs_together(const ir_module *module);
/* Reports what programs cannot share: lanes with elements, tensors that are stored in place,
 * conversions, shifts, bounds that differ between them. After the axes are set. */
void map_check_packed(map_state *state);
/* map_cluster.c, axes that lie on the groups of a cluster. Sets the cluster; what the machine has
 * not is reported. Then, after the axes are set, what groups that share a program cannot do. */
void map_cluster_apply(map_state *state, const ir_axis *axis, base_location location);
void map_check_cluster(map_state *state);
/* Reports a mechanism that cannot do the work of the conversion. */
void map_check_convert(map_state *state, const ir_op *op, const ir_plan_line *line);
/* map_order.c: reports an order of a reduction that may not be, or that the digits cannot keep. */
void map_check_order(map_state *state, const ir_op *op, const ir_plan_line *line);
/* Gives the mapped copy of a reduction the plan's order. */
void map_set_order(map_state *state, const ir_op *op, ir_op *copy);
/* Gives all reductions of the recorded tile program the plan's orders. */
void map_orders(map_state *state, ir_module *tile);
/* Reports a native form where the function has none, or the machine, and any where strictness
 * forbids it. */
void map_check_form(map_state *state, const ir_op *op, const ir_plan_line *line);
/* Writes the plan's forms into the functions and divisions of a tile module. */
void map_set_forms(map_state *state, ir_module *module);
/* Gives the mapped copy of a conversion its mechanism, array and storage. */
void map_set_mechanism(map_state *state, const ir_op *op, ir_op *copy);
/* The keep line of a value that crosses sweeps; NULL, reported, when there is none. */
const ir_plan_line *map_plan_keep(map_state *state, const ir_value *value);
void map_plan_out_of_order(map_state *state, const char *anchor, base_location location);
/* map_prefetch.c: reports a prefetch of what is no row that the programs number, or where groups
 * have no row of their own; then, with all copies made, one in a sweep that does not read. */
void map_check_prefetch(map_state *state, const ir_op *op, const ir_plan_line *line);
void map_check_prefetch_sweeps(map_state *state, ir_region *tile);
/* Gives a mapped access what the plan's line has for the op; a prefetch to one copy of a load. */
void map_set_access(map_state *state, const ir_op *op, ir_access *access);

/* map.c: gives a mapped copy the axes of a tile-level value. */
void map_layout(map_state *state, const ir_value *old_value, ir_value *value);
/* The type of a mapped copy: domains are mapped scalars. */
ir_type map_type(map_state *state, const ir_value *old_value);
/* The mapped value that stands for a tile-level value where the builder is now; and saying so. */
ir_value *map_use(map_state *state, ir_value *old_value);
void map_bind(map_state *state, ir_value *old_value, ir_value *value);
/* map_single.c: a reduction of one element. */
void map_single_reduce(map_state *state, ir_op *op);

/* Fills storage and output for everything that crosses sweeps. */
void map_storages(map_state *state);
/* A tile of rank 1 or more: scalars are no business of storage. */
bool map_is_tile(const ir_value *value);

#endif
