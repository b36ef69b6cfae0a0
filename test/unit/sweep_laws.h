/* The laws of the sweep analysis, which hold for every module: each op is scheduled once in its own
 * region, over its axes; what it uses is done before, or stands before it in its sweep; memory
 * keeps its order. */
#ifndef TEST_SWEEP_LAWS_H
#define TEST_SWEEP_LAWS_H

#include "tile_fixture.h"

#include "analysis/sweeps_internal.h"

typedef struct analysed {
    analysis_axes axes;
    analysis_sweeps sweeps;
} analysed;

static inline void analyse(fixture *f, analysed *a) {
    a->axes = analysis_axes_find(&f->arena, f->module);
    a->sweeps = analysis_sweeps_find(&f->arena, f->module, &a->axes);
}

static inline int sweep_of(const analysed *a, const ir_value *value) {
    return a->sweeps.of_value[value->number];
}

static inline bool crosses(const analysed *a, const ir_value *value) {
    for (int64_t i = 0; i < a->sweeps.crossing_count; i++)
        if (a->sweeps.crossings[i] == value)
            return true;
    return false;
}

/* An access of the schedule: which item of its region runs it. */
typedef struct law_access {
    const ir_op *op;      /* the load or store */
    int64_t item, within; /* position of the item, and of the op in its sweep */
} law_access;

typedef struct law_state {
    fixture *f;
    const analysed *a;
    char *done; /* [value number] */
} law_state;

static inline void law_uses(const law_state *s, const ir_op *op, int sweep) {
    for (int o = 0; o < op->operand_count; o++) {
        const ir_value *value = op->operands[o];
        if (value->type.form != IR_FORM_TILE)
            continue;
        assert_int_equal(s->done[value->number], 1);
        bool late = value->definer != NULL && value->definer->opcode == IR_REDUCE;
        if (late && sweep >= 0)
            assert_true(sweep_of(s->a, value) != sweep);
    }
    if (sweep < 0)
        return;
    int space[IR_MAX_RANK], count = analysis_axes_space(&s->a->axes, op, space);
    const analysis_sweep *taken = &s->a->sweeps.sweeps[sweep];
    bool light = op->result_count == 1 && analysis_value_is_light(op->results[0]);
    assert_true(light ? count <= taken->axis_count : count == taken->axis_count);
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int k = 0; k < taken->axis_count; k++)
            found |= taken->axes[k] == space[i];
        assert_true(found);
    }
}

static inline int64_t law_accesses(const ir_op *op, law_access at, law_access *all, int64_t count) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE) {
        at.op = op;
        all[count++] = at;
    }
    for (int r = 0; r < op->region_count; r++)
        for (const ir_op *inner = op->regions[r]->first; inner != NULL; inner = inner->next)
            count = law_accesses(inner, at, all, count);
    return count;
}

/* `all` is in text order: what conflicts runs in that order. */
static inline void law_memory(const analysed *a, const law_access *all, int64_t count) {
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < j; i++) {
            const ir_op *first = all[i].op, *second = all[j].op;
            bool conflict = first->operands[0] == second->operands[0] &&
                            (first->opcode == IR_STORE || second->opcode == IR_STORE);
            if (!conflict)
                continue;
            assert_true(all[i].item <= all[j].item);
            if (all[i].item == all[j].item && first->parent == second->parent &&
                all[i].within >= 0) {
                assert_int_equal(first->opcode, IR_LOAD); /* then the store of the same elements */
                assert_true(all[i].within < all[j].within);
                assert_true(analysis_access_same_elements(&a->axes, first, second));
            }
        }
}

static inline void law_region(law_state *s, const ir_region *region) {
    const analysis_schedule *schedule = analysis_sweeps_schedule(&s->a->sweeps, region);
    assert_non_null(schedule);
    int64_t ops = 0, seen = 0, accesses = 0;
    law_access *all = BASE_NEW_ARRAY(&s->f->arena, law_access, s->f->module->next_value + 512);
    for (const ir_op *op = region->first; op != NULL; op = op->next, ops++)
        accesses = law_accesses(op, (law_access){.item = -1, .within = -1}, all, accesses);
    for (int i = 0; i < region->argument_count; i++)
        s->done[region->arguments[i]->number] = 1;
    for (int64_t i = 0; i < schedule->count; i++) {
        const analysis_item *item = &schedule->items[i];
        const analysis_sweep *sweep = item->op != NULL ? NULL : &s->a->sweeps.sweeps[item->sweep];
        int64_t count = sweep == NULL ? 1 : sweep->op_count;
        for (int64_t k = 0; k < count; k++, seen++) {
            const ir_op *op = sweep == NULL ? item->op : sweep->ops[k];
            assert_ptr_equal(op->parent, region);
            law_uses(s, op, item->sweep);
            for (int r = 0; r < op->region_count; r++)
                law_region(s, op->regions[r]);
            for (int r = 0; r < op->result_count; r++) {
                assert_int_equal(sweep_of(s->a, op->results[r]), item->sweep);
                s->done[op->results[r]->number] = 1;
            }
            law_access inside[256];
            int64_t found = law_accesses(op, (law_access){0}, inside, 0);
            for (int64_t x = 0; x < found; x++)
                for (int64_t y = 0; y < accesses; y++)
                    if (all[y].op == inside[x].op) {
                        all[y].item = i;
                        all[y].within = sweep == NULL ? -1 : k;
                    }
        }
    }
    assert_int_equal(ops, seen);
    law_memory(s->a, all, accesses);
}

static inline void check_laws(fixture *f, const analysed *a) {
    law_state s = {.f = f, .a = a};
    s.done = BASE_NEW_ARRAY(&f->arena, char, f->module->next_value + 1);
    law_region(&s, &f->module->body);
}

#endif
