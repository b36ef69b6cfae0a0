/* What a module stores, compared with what the tile program that it implements stores: covers,
 * same-elements.
 *
 *     wanted     y 70: {x 70, sum of x 0 .. x 69}
 *     stored     y 70: {x 70, sum of x 0 .. x 63}      other elements have entered a reduction
 */
#include "verify/signature_internal.h"

/* `y[3, 66]`, or the number of the cell where the extents are not known. */
static void print_cell(base_text *out, const verify_state *state, const signature_setting *setting,
                       const signature_cell *cell) {
    const ir_parameter *parameter = &state->module->parameters[cell->tensor];
    const ir_type *type = &parameter->value->type;
    int64_t index[IR_MAX_RANK] = {0}, rest = cell->cell;
    for (int d = type->rank - 1; d >= 0; d--) {
        int64_t extent = 0;
        if (!layout_extent_evaluate(type->extent[d], setting->sizes, &extent) || extent < 1)
            return;
        index[d] = rest % extent;
        rest /= extent;
    }
    base_text_format(out, "%s[", parameter->name);
    for (int d = 0; d < type->rank; d++)
        base_text_format(out, "%s%lld", d > 0 ? ", " : "", (long long)index[d]);
    base_text_string(out, "]");
}

static void report(verify_state *state, const signature_setting *setting, verify_rule rule,
                   const signature_cell *cell, const ir_op *op, const char *expected,
                   const char *what) {
    base_text name;
    base_text_init(&name, state->diagnostics->arena);
    print_cell(&name, state, setting, cell);
    verify_report(state, rule, op, expected, "%.100s %s",
                  name.bytes != NULL ? name.bytes : "a cell", what);
}

/* The first store to the tensor, to speak about. */
static const ir_op *store_to(const ir_region *region, const ir_value *tensor) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_STORE && op->operands[0] == tensor)
            return op;
        for (int i = 0; i < op->region_count; i++) {
            const ir_op *inner = store_to(op->regions[i], tensor);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

static const ir_op *first_store(const ir_region *region) {
    const ir_op *found = NULL;
    for (const ir_op *op = region->first; op != NULL && found == NULL; op = op->next) {
        found = op->opcode == IR_STORE ? op : NULL;
        for (int i = 0; i < op->region_count && found == NULL; i++)
            found = first_store(op->regions[i]);
    }
    return found;
}

/* One finding a tensor is enough: `said` by parameter. */
static void compare_wanted(verify_state *state, const signature_setting *setting,
                           const signature_memory *stored, const signature_cell *cell, bool *said) {
    const ir_value *tensor = state->module->parameters[cell->tensor].value;
    const signature_cell *other = signature_memory_find(stored, cell->tensor, cell->cell);
    if (other == NULL) {
        said[cell->tensor] = true;
        report(state, setting, VERIFY_COVERS, cell, store_to(&state->module->body, tensor),
               "every cell that the tile program stores", "is not stored");
    } else if (!cell->torn && !other->torn &&
               !signature_agrees(setting->table, cell->value.mark, other->value.mark)) {
        said[cell->tensor] = true;
        report(state, setting, VERIFY_SAME_ELEMENTS, cell, other->op,
               "what the tile program stores there", "is computed from other elements");
    } else if (!cell->torn && !other->torn && signature_is_modelled(&cell->value) &&
               signature_is_modelled(&other->value) && cell->value.number != other->value.number) {
        said[cell->tensor] = true;
        report(state, setting, VERIFY_SAME_ELEMENTS, cell, other->op,
               "the number that the tile program stores there", "is another number");
    }
}

static void compare_stored(verify_state *state, const signature_setting *setting,
                           const signature_memory *wanted, const signature_cell *cell, bool *said) {
    if (signature_memory_find(wanted, cell->tensor, cell->cell) != NULL)
        return;
    said[cell->tensor] = true;
    report(state, setting, VERIFY_COVERS, cell, cell->op, "the cells that the tile program stores",
           "is stored, which the tile program leaves as it is");
}

void signature_compare(verify_state *state, const signature_setting *setting,
                       const signature_memory *wanted, const signature_memory *stored) {
    bool *said =
        BASE_NEW_ARRAY(state->diagnostics->arena, bool, state->module->parameter_count + 1);
    for (int i = 0; i < state->module->parameter_count; i++) {
        said[i] = wanted->open[i] || stored->open[i];
        if (!stored->doubtful[i] || wanted->open[i] || wanted->scattered[i])
            continue;
        said[i] = true;
        verify_report(state, VERIFY_COVERS,
                      store_to(&state->module->body, state->module->parameters[i].value),
                      "the stores of the tile program, which are made whatever the data",
                      "a store depends on data");
    }
    for (int64_t i = 0; i < wanted->capacity; i++)
        if (wanted->cells[i].tensor >= 0 && !said[wanted->cells[i].tensor])
            compare_wanted(state, setting, stored, &wanted->cells[i], said);
    for (int64_t i = 0; i < stored->capacity; i++)
        if (stored->cells[i].tensor >= 0 && !said[stored->cells[i].tensor])
            compare_stored(state, setting, wanted, &stored->cells[i], said);
    if (signature_is_reordered(setting->table))
        verify_report(state, VERIFY_REDUCE_ORDER, first_store(&state->module->body),
                      "the order that the tile program gives them",
                      "the elements of a reduction are joined in another order");
}
