/* Lowering: calls in which an output is an input, element for element.
 *
 *     scale(x, y) with y = x            x becomes inout, and what is stored to y goes there
 *         t = x[row, :]                     %t = load %x[..]
 *         y[row, :] = t * a                 store %x[..], %u
 *
 * So the same proofs are asked as of a kernel that says inout: accesses divide the tensor among
 * the programs alike, and later rooms order those of one program. What is left is what the text
 * says: with memory of its own `x` keeps its elements while `y` is written, so no load of `x` may
 * come after a store to `y`, nor stand in one loop with it.
 */
#include "text/lower_internal.h"

#include <string.h>

static int find_ordinal(const text_kernel *kernel, const char *name) {
    for (int64_t i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].kind == TEXT_PARAMETER_TENSOR &&
            strcmp(kernel->parameters[i].name->text, name) == 0)
            return kernel->parameters[i].ordinal;
    return -1;
}

/* Only what reads alike can be one tensor. */
static bool can_be_one(const ir_parameter *a, const ir_parameter *b) {
    return a->is_tensor && b->is_tensor && b->mode == IR_IN && a->mode != IR_INOUT &&
           a->dtype == b->dtype && a->value->type.rank == b->value->type.rank;
}

void lower_homes_find(lowerer *l) {
    ir_parameter *parameters = l->module->parameters;
    for (int i = 0; i < l->module->parameter_count; i++)
        l->home[i] = i;
    for (int i = 0; i < l->module->parameter_count; i++) {
        const char *name = l->bindings->arguments[i].home;
        int home = name != NULL ? find_ordinal(l->kernel, name) : -1;
        if (home < 0 || home == i)
            continue;
        if (can_be_one(&parameters[i], &parameters[home]))
            l->home[i] = home;
        else
            lower_report(l, "in-place", parameters[i].location, "`%s` cannot lie where `%s` does",
                         parameters[i].name, name)
                ->expected = "an input of the same type and rank";
    }
    for (int i = 0; i < l->module->parameter_count; i++)
        if (parameters[i].mode == IR_OUT && l->home[i] != i)
            parameters[l->home[i]].mode = IR_INOUT;
}

/* ---- order ---- */
typedef struct order_state {
    lowerer *l;
    const ir_op **store; /* by module parameter: one that may have been before */
    bool *reported;
} order_state;

static bool is_home(const lowerer *l, int parameter) {
    for (int i = 0; i < l->module->parameter_count; i++)
        if (i != parameter && l->home[i] == parameter)
            return true;
    return false;
}

static bool note_store(void *pointer, ir_op *op) {
    order_state *s = pointer;
    if (op->opcode == IR_STORE)
        s->store[ir_module_parameter_of(s->l->module, op->operands[0])] = op;
    return true;
}

static void check_load(order_state *s, const ir_op *load) {
    lowerer *l = s->l;
    int parameter = ir_module_parameter_of(l->module, load->operands[0]);
    const ir_op *store = s->store[parameter];
    if (store == NULL || s->reported[parameter] || !is_home(l, parameter))
        return;
    s->reported[parameter] = true;
    base_diagnostic *item =
        lower_report(l, "in-place-order", load->location,
                     "`%s` is read where an output with the same memory may have been written",
                     l->module->parameters[parameter].name);
    item->found = lower_text(l, "the store at %d:%d", store->location.line, store->location.column);
    item->expected = "loads before the first store, outside of its loop";
    item->hint = "give the output memory of its own, or declare one tensor `inout`";
}

/* What is stored anywhere in a loop is stored before its next iteration. */
static void check_region(order_state *s, const ir_region *region) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_LOAD)
            check_load(s, op);
        (void)note_store(s, op);
        for (int i = 0; i < op->region_count && op->opcode != IR_IF; i++)
            ir_region_walk(op->regions[i], note_store, s);
        for (int i = 0; i < op->region_count; i++)
            check_region(s, op->regions[i]);
    }
}

void lower_homes_check(lowerer *l) {
    order_state s = {.l = l,
                     .store =
                         BASE_NEW_ARRAY(l->arena, const ir_op *, l->module->parameter_count + 1),
                     .reported = BASE_NEW_ARRAY(l->arena, bool, l->module->parameter_count + 1)};
    check_region(&s, &l->module->body);
}
