/* Waiting in an output: the conditions, one by one.
 *
 *     exp %d : f32<N>, stored to an f16 tensor    no: it would be rounded
 *     %y is inout, or loaded, or stored twice     no: somebody would see the value
 *     %i = mul %row, %c; store %y[%i, :], %q      no: %i may be computed after the value is made
 *     store %y[..], %q; store %z[..], %t          no: %t would be loaded where %q stands already
 */
#include "analysis/output.h"

typedef struct tensor_uses {
    const ir_value *tensor;
    int count;
} tensor_uses;

static bool count_use(void *pointer, ir_op *op) {
    tensor_uses *uses = pointer;
    bool access = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    uses->count += access && op->operands[0] == uses->tensor;
    return true;
}

static bool is_only_access(const ir_module *module, const ir_op *store) {
    tensor_uses uses = {.tensor = store->operands[0]};
    ir_region body = module->body;
    ir_region_walk(&body, count_use, &uses);
    return uses.count == 1;
}

static bool is_out(const ir_module *module, const ir_value *tensor) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].value == tensor)
            return module->parameters[i].mode == IR_OUT;
    return false;
}

/* Program indices, sizes, constants and arguments of the region: there before every sweep of it. */
static bool index_stands_first(const ir_op *store, const ir_value *index) {
    if (index->definer == NULL)
        return index->region == store->parent;
    return ir_op_describe(index->definer->opcode)->shape == IR_SHAPE_LEAF;
}

static bool indices_fit(const ir_op *store) {
    const ir_access *access = store->attributes.access;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->kind == IR_INDEX_GATHER || (index->kind == IR_INDEX_POINT && !index->inside))
            return false;
        if (index->operand >= 0 && !index_stands_first(store, store->operands[index->operand]))
            return false;
    }
    return true;
}

/* Same axes, same domain: cell by cell the same owner. */
static bool same_cells(const analysis_axes *axes, const ir_value *a, const ir_value *b) {
    if (a->type.rank != b->type.rank)
        return false;
    for (int i = 0; i < a->type.rank; i++)
        if (axes->of_value[a->number][i] != axes->of_value[b->number][i] ||
            a->type.domain[i] != b->type.domain[i])
            return false;
    return true;
}

static bool uses_value(const ir_op *op, const ir_value *value) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == value)
            return true;
    return false;
}

/* Uses of the value, and of light values that may be computed again from it, by ops of a region
 * below this one or outside sweeps. */
static bool used_elsewhere(const ir_region *region, const ir_region *home, const ir_value *value) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool outside = region != home || op->opcode == IR_YIELD || op->opcode == IR_CONVERT ||
                       op->region_count > 0;
        if (outside && uses_value(op, value))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (used_elsewhere(op->regions[r], home, value))
                return true;
    }
    return false;
}

/* The last sweep that needs the value, directly or through what is light enough to be repeated. */
static int last_use(const analysis_sweeps *sweeps, const ir_value *value, int depth) {
    int last = -1;
    for (int s = 0; s < (int)sweeps->count; s++)
        for (int64_t i = 0; i < sweeps->sweeps[s].op_count; i++) {
            const ir_op *op = sweeps->sweeps[s].ops[i];
            if (!uses_value(op, value))
                continue;
            last = s > last ? s : last;
            for (int r = 0; r < op->result_count; r++) {
                const ir_value *result = op->results[r];
                bool repeated = result->type.rank > 0 && analysis_value_is_light(result);
                int later = !repeated   ? -1
                            : depth < 4 ? last_use(sweeps, result, depth + 1)
                                        : (int)sweeps->count;
                last = later > last ? later : last;
            }
        }
    return last;
}

/* An op of the sweep behind the first `after` needs the value, in one of those two ways. */
static bool is_needed_behind(const analysis_sweeps *sweeps, const analysis_sweep *sweep,
                             int64_t after, const ir_value *value, int depth) {
    for (int64_t i = after; i < sweep->op_count; i++)
        if (uses_value(sweep->ops[i], value))
            return true;
    for (int s = 0; s < (int)sweeps->count; s++)
        for (int64_t i = 0; i < sweeps->sweeps[s].op_count; i++) {
            const ir_op *op = sweeps->sweeps[s].ops[i];
            for (int r = 0; r < op->result_count && uses_value(op, value); r++)
                if (op->results[r]->type.rank > 0 && analysis_value_is_light(op->results[r]) &&
                    (depth == 4 ||
                     is_needed_behind(sweeps, sweep, after, op->results[r], depth + 1)))
                    return true;
        }
    return false;
}

/* The value is loaded where the sweep first needs it: that must not be behind the store. */
static bool is_loaded_before(const analysis_sweeps *sweeps, const analysis_sweep *sweep,
                             int64_t store, const ir_value *value) {
    for (int64_t i = 0; i < store; i++)
        if (uses_value(sweep->ops[i], value))
            return true;
    return !is_needed_behind(sweeps, sweep, store + 1, value, 0);
}

/* What can be seen of the store alone. */
static bool could_wait_in(const ir_module *module, const analysis_axes *axes, const ir_op *op,
                          const ir_value *value) {
    if (op->opcode != IR_STORE || op->parent != value->definer->parent)
        return false;
    const ir_access *access = op->attributes.access;
    return op->operands[0]->type.dtype == value->type.dtype && is_out(module, op->operands[0]) &&
           same_cells(axes, value, op->operands[op->operand_count - 1]) && indices_fit(op) &&
           access->injective && !access->unique;
}

const ir_op *analysis_output_store(const ir_module *module, const analysis_axes *axes,
                                   const analysis_sweeps *sweeps, const ir_value *value) {
    int home = sweeps->of_value[value->number];
    if (home < 0 || value->definer == NULL || value->definer->opcode == IR_REDUCE)
        return NULL;
    bool looked = false; /* at the uses, which takes a walk over the module */
    int last = -1;
    for (int s = home + 1; s < (int)sweeps->count; s++) {
        for (int64_t i = 0; i < sweeps->sweeps[s].op_count; i++) {
            const ir_op *op = sweeps->sweeps[s].ops[i];
            if (!could_wait_in(module, axes, op, value))
                continue;
            if (!looked && used_elsewhere(&module->body, value->definer->parent, value))
                return NULL;
            if (!looked)
                last = last_use(sweeps, value, 0);
            looked = true;
            bool before =
                last < s || (last == s && is_loaded_before(sweeps, &sweeps->sweeps[s], i, value));
            if (before && is_only_access(module, op))
                return op;
        }
    }
    return NULL;
}
