/* Lowering: calls in which an output is an input, element for element.
 *
 *     scale(x, y) with y = x            x becomes inout, and what is stored to y goes there
 *         t = x[row, :]                     %t = load %x[..]
 *         y[row, :] = t * a                 store %x[..], %u
 *
 * From there on the kernel is one that declares `x` inout, and is proved like one: no program may
 * touch elements of another, and loads and stores of one program keep their order.
 *
 * One thing is checked here, as an inout tensor does not ask for it. By its text the kernel reads
 * an `x` that the stores to `y` do not change. So no load of `x` may come after a store to `y`, nor
 * be in a loop with one.
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

/* Whether output or input `a` can lie in the input `b`. */
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
    const ir_op **store; /* by module parameter: a store to it that may have run; NULL: none */
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

/* A load in a loop comes after every store in it, even one further down: that was reached in the
 * iteration before. */
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
