/* Generated modules: whatever order independent statements stand in, whatever things are called,
 * and whether subexpressions are written twice, the canonical form is one, and so is the plan that
 * a search finds; it computes what was written; and both plans map and expand it.
 *
 *     CROFT_SEED=7 unit_canonical_forms     another seed
 */
#include "sanitized.h"
#include "sweep_laws.h"

#include "ir/print.h"
#include "pass/runner.h"
#include "planner/planner.h"
#include "sim/reference.h"
#include "verify/verify.h"

#include <stdlib.h>

enum {
    MODULES = SANITIZED ? 40 : 90,
    MODULES_IN_PART = 15, /* in check under sanitizers */
    POOL = 64,
    ROWS = 3,
    COLUMNS = 7,
    MOST_COLUMNS = 100,
    TENSORS = 6
};

typedef struct generator {
    fixture f;
    uint64_t state;
    ir_value *tensors[TENSORS]; /* a b in, w in [N], c inout, y out, s out [R] */
    ir_value *tiles[POOL], *scalars[POOL];
    int tile_count, scalar_count;
    bool twice; /* pure ops are now and then built twice */
} generator;

static int module_count(void) {
    return sanitized_in_part() ? MODULES_IN_PART : MODULES;
}

static uint32_t pick(generator *g, uint32_t below) {
    g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(g->state >> 33) % below;
}

/* ---- writing ---- */
static ir_value *keep_tile(generator *g, ir_value *value) {
    int at = g->tile_count < POOL ? g->tile_count++ : (int)pick(g, POOL);
    return g->tiles[at] = value;
}

static ir_value *keep_scalar(generator *g, ir_value *value) {
    int at = g->scalar_count < POOL ? g->scalar_count++ : (int)pick(g, POOL);
    return g->scalars[at] = value;
}

/* Mostly one of the last three, so that much of a module matters. */
static uint32_t pick_recent(generator *g, int count) {
    if (count > 3 && pick(g, 4) > 0)
        return (uint32_t)count - 1 - pick(g, 3);
    return pick(g, (uint32_t)count);
}

static ir_value *any_tile(generator *g) {
    return g->tiles[pick_recent(g, g->tile_count)];
}

static ir_value *any_scalar(generator *g) {
    return g->scalars[pick_recent(g, g->scalar_count)];
}

/* Draws are sequenced, not arguments of one call: compilers evaluate those in any order, and a seed
 * should mean one module. */
static ir_value *binary(generator *g, ir_value *(*first)(generator *),
                        ir_value *(*second)(generator *)) {
    ir_value *a = first(g);
    ir_value *b = second(g);
    static const ir_opcode opcodes[] = {IR_ADD, IR_SUB, IR_MUL, IR_MAXIMUM, IR_MINIMUM};
    ir_opcode opcode = opcodes[pick(g, 5)];
    ir_value *value = ir_build_binary(&g->f.builder, opcode, a, b);
    uint32_t again = pick(g, 4);
    return g->twice && again == 0 ? ir_build_binary(&g->f.builder, opcode, a, b) : value;
}

/* A row of a matrix, now and then row 0 for all programs; or the vector. */
static ir_value *load(generator *g, int tensor) {
    bool vector = tensor == 2;
    ir_value *first = g->f.row;
    if (pick(g, 3) == 0)
        first = ir_build_integer(&g->f.builder, BASE_INDEX, pick(g, 2));
    return fixture_load_at(&g->f, g->tensors[tensor], vector ? NULL : first, NULL);
}

static void store(generator *g) {
    ir_value *tensor = g->tensors[3 + pick(g, 2)];
    fixture_store(&g->f, tensor, any_tile(g));
}

static ir_value *reduce(generator *g) {
    ir_monoid monoid = pick(g, 2) == 0 ? IR_MONOID_MAX : IR_MONOID_SUM;
    return fixture_reduce(&g->f, monoid, any_tile(g), 0, NULL);
}

static void write_loop(generator *g, int depth);
static void write_branch(generator *g, int depth);

static void write_statement(generator *g, int depth) {
    ir_builder *b = &g->f.builder;
    uint32_t kind = pick(g, depth < 2 ? 13 : 10);
    if (kind < 2)
        keep_tile(g, load(g, pick(g, 2) == 0 ? 3 : (int)pick(g, 4)));
    else if (kind < 4)
        keep_tile(g, binary(g, any_tile, any_tile));
    else if (kind == 4)
        keep_tile(g, binary(g, any_tile, any_scalar));
    else if (kind == 5)
        keep_tile(g, ir_build_unary(b, pick(g, 2) == 0 ? IR_ABS : IR_TANH, any_tile(g)));
    else if (kind < 8)
        keep_scalar(g, reduce(g));
    else if (kind == 8)
        keep_scalar(g, binary(g, any_scalar, any_scalar));
    else if (kind == 9)
        store(g);
    else if (kind < 12)
        write_loop(g, depth);
    else
        write_branch(g, depth);
}

static void write_body(generator *g, int depth, int statements) {
    for (int i = 0; i < statements; i++)
        write_statement(g, depth + 1);
}

/* Values of an inner region are forgotten at its end. */
static void write_loop(generator *g, int depth) {
    ir_value *carries[2] = {any_scalar(g), any_tile(g)};
    int tiles = g->tile_count, scalars = g->scalar_count;
    if (tiles > POOL - 16 || scalars > POOL - 16)
        return;
    ir_value *hi = ir_build_integer(&g->f.builder, BASE_INDEX, pick(g, 4));
    ir_op *loop = fixture_for(&g->f, hi, 2, carries);
    keep_scalar(g, loop->regions[0]->arguments[1]);
    keep_tile(g, loop->regions[0]->arguments[2]);
    write_body(g, depth, 3 + (int)pick(g, 6));
    ir_value *next[2] = {any_scalar(g), any_tile(g)};
    fixture_end_for(&g->f, loop, 2, next);
    g->tile_count = tiles;
    g->scalar_count = scalars;
    keep_scalar(g, loop->results[0]);
    keep_tile(g, loop->results[1]);
}

static void write_branch(generator *g, int depth) {
    ir_builder *b = &g->f.builder;
    ir_value *left = any_scalar(g);
    ir_value *condition = ir_build_binary(b, IR_LT, left, any_scalar(g));
    ir_type types[2] = {any_scalar(g)->type, any_tile(g)->type};
    int tiles = g->tile_count, scalars = g->scalar_count;
    if (tiles > POOL - 16 || scalars > POOL - 16)
        return;
    ir_op *branch = ir_build_op(b, IR_IF, 1, &condition, 2, types, 2);
    for (int side = 0; side < 2; side++) {
        b->region = branch->regions[side];
        write_body(g, depth, 1 + (int)pick(g, 3));
        ir_build_yield(b, 2, (ir_value *[]){any_scalar(g), any_tile(g)});
        g->tile_count = tiles;
        g->scalar_count = scalars;
    }
    b->region = branch->parent;
    keep_scalar(g, branch->results[0]);
    keep_tile(g, branch->results[1]);
}

static void generate(generator *g, uint64_t seed, bool twice) {
    memset(g, 0, sizeof *g);
    g->state = seed * UINT64_C(2654435761) + 1;
    g->twice = twice;
    fixture *f = &g->f;
    fixture_open(f);
    g->tensors[0] = fixture_tensor(f, "a", IR_IN, BASE_F32, 2, "R", "N");
    g->tensors[1] = fixture_tensor(f, "b", IR_IN, BASE_F32, 2, "R", "N");
    g->tensors[2] = fixture_tensor(f, "w", IR_IN, BASE_F32, 1, "N");
    g->tensors[3] = fixture_tensor(f, "c", IR_INOUT, BASE_F32, 2, "R", "N");
    g->tensors[4] = fixture_tensor(f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    g->tensors[5] = fixture_tensor(f, "s", IR_OUT, BASE_F32, 1, "R");
    for (int i = 0; i < 4; i++)
        keep_tile(g, load(g, i));
    keep_scalar(g, ir_build_real(&f->builder, BASE_F32, 0.25));
    keep_scalar(g, fixture_reduce(f, IR_MONOID_MAX, g->tiles[0], 0, NULL));
    int statements = 6 + (int)pick(g, 16);
    for (int i = 0; i < statements; i++)
        write_statement(g, 0);
    fixture_store(f, g->tensors[4], any_tile(g));
    fixture_store(f, g->tensors[5], any_scalar(g));
}

/* ---- another order, other names ---- */
static bool depends(const ir_op *later, const ir_op *earlier) {
    for (int i = 0; i < later->operand_count; i++)
        if (later->operands[i]->definer == earlier)
            return true;
    for (int r = 0; r < later->region_count; r++)
        for (const ir_op *op = later->regions[r]->first; op != NULL; op = op->next)
            if (depends(op, earlier))
                return true;
    return false;
}

static bool accesses(const ir_op *op, const ir_value *tensor, bool stores_only) {
    if ((op->opcode == IR_STORE || (op->opcode == IR_LOAD && !stores_only)) &&
        op->operands[0] == tensor)
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const ir_op *inner = op->regions[r]->first; inner != NULL; inner = inner->next)
            if (accesses(inner, tensor, stores_only))
                return true;
    return false;
}

static bool must_follow(const generator *g, const ir_op *later, const ir_op *earlier) {
    if (later->opcode == IR_YIELD || depends(later, earlier))
        return true;
    for (int i = 0; i < TENSORS; i++)
        if ((accesses(later, g->tensors[i], true) && accesses(earlier, g->tensors[i], false)) ||
            (accesses(later, g->tensors[i], false) && accesses(earlier, g->tensors[i], true)))
            return true;
    return false;
}

static void shuffle(generator *g, ir_region *region) {
    ir_op *left[512];
    int count = 0;
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        assert_true(count < 512);
        left[count++] = op;
        for (int r = 0; r < op->region_count; r++)
            shuffle(g, op->regions[r]);
    }
    region->first = region->last = NULL;
    while (count > 0) {
        int ready[512], ready_count = 0;
        for (int i = 0; i < count; i++) {
            bool waits = false;
            for (int k = 0; k < i && !waits; k++)
                waits = must_follow(g, left[i], left[k]);
            if (!waits)
                ready[ready_count++] = i;
        }
        int taken = ready[pick(g, (uint32_t)ready_count)];
        ir_op_append(region, left[taken]);
        memmove(&left[taken], &left[taken + 1], sizeof left[0] * (size_t)(count - taken - 1));
        count--;
    }
}

static void swap_values(ir_value **a, ir_value **b) {
    ir_value *swap = *a;
    *a = *b;
    *b = swap;
}

/* The two results of each loop and branch change places, now and then. */
static void swap_carries(generator *g, ir_region *region) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            swap_carries(g, op->regions[r]);
        if (op->region_count == 0 || pick(g, 2) == 0)
            continue;
        swap_values(&op->results[0], &op->results[1]);
        for (int r = 0; r < op->region_count; r++) {
            ir_op *yield = ir_region_yield(op->regions[r]);
            swap_values(&yield->operands[0], &yield->operands[1]);
        }
        if (op->opcode == IR_FOR) {
            swap_values(&op->operands[3], &op->operands[4]);
            swap_values(&op->regions[0]->arguments[1], &op->regions[0]->arguments[2]);
        }
    }
}

static void rename_values(generator *g, ir_region *region) {
    static const char *const names[] = {"t", "u", "max", "x", "exp"};
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            op->results[i]->name = pick(g, 3) == 0 ? NULL : names[pick(g, 5)];
        for (int r = 0; r < op->region_count; r++)
            rename_values(g, op->regions[r]);
    }
}

/* ---- checks ---- */
static uint64_t canonical(generator *g) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &g->f.arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_canonicalise(g->f.module, &context);
    return pass_canonical_hash(g->f.module);
}

static const char *text_of(generator *g) {
    base_text text;
    base_text_init(&text, &g->f.arena);
    ir_module_print(&text, g->f.module, false);
    return text.bytes;
}

static void assert_legal(generator *g, int module, const char *after) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &g->f.arena);
    if (verify_module(g->f.module, NULL, &diagnostics))
        return;
    fail_msg("module %d after %s: %s\n%s", module, after, diagnostics.items[0].slug, text_of(g));
}

/* Inputs of ROWS rows and `columns` columns. */
typedef struct inputs {
    float data[TENSORS][ROWS * MOST_COLUMNS];
    sim_tensor tensors[TENSORS];
    ir_constant scalars[TENSORS];
    int64_t sizes[2];
} inputs;

static inputs *make_inputs(generator *g, int64_t columns) {
    inputs *in = BASE_NEW(&g->f.arena, inputs);
    for (int i = 0; i < TENSORS; i++) {
        for (int k = 0; k < ROWS * columns; k++)
            in->data[i][k] = (float)((k * 7 + i * 5) % 11) / 4.0F - 1.0F;
        sim_tensor *tensor = &in->tensors[i];
        *tensor = (sim_tensor){.dtype = BASE_F32, .data = in->data[i]};
        tensor->rank = g->tensors[i]->type.rank;
        bool vector = i == 2;
        for (int d = 0; d < tensor->rank; d++) {
            bool last = d == tensor->rank - 1;
            tensor->extent[d] = vector || (d == 1) ? columns : ROWS;
            tensor->stride[d] = last ? 1 : columns;
        }
    }
    for (int64_t i = 0; i < g->f.module->extents.symbol_count; i++)
        in->sizes[i] = g->f.module->extents.symbols[i].name[0] == 'R' ? ROWS : columns;
    return in;
}

static void run_reference(generator *g, sim_reference *result) {
    inputs *in = make_inputs(g, COLUMNS);
    sim_reference_run(&g->f.arena, g->f.module, NULL, in->sizes, in->tensors, in->scalars, result);
}

static void assert_same_results(generator *g, const sim_reference *a, const sim_reference *b) {
    (void)g;
    for (int i = 3; i < TENSORS; i++)
        for (int64_t k = 0; k < a->tensors[i].count; k++) {
            assert_memory_equal(&a->tensors[i].value[k], &b->tensors[i].value[k], sizeof(double));
            assert_int_equal(a->tensors[i].written[k], b->tensors[i].written[k]);
        }
}

static uint64_t seed_of(int module) {
    const char *text = getenv("CROFT_SEED");
    uint64_t seed = text == NULL ? 1 : (uint64_t)strtoull(text, NULL, 10);
    return seed * 100000 + (uint64_t)module;
}

static uint64_t searched_plan(generator *g, const char *device) {
    planner_options options = {.all = true};
    planner_report report;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &g->f.arena);
    ir_plan *plan = planner_choose(&g->f.arena, g->f.module, machine_find(device),
                                   PLANNER_AUTOMATIC, &options, &diagnostics, &report);
    assert_non_null(plan);
    return ir_plan_hash(&g->f.arena, plan);
}

static void one_form_for_every_way_to_write(void **unused) {
    (void)unused;
    for (int i = 0; i < module_count(); i++) {
        generator plain, other;
        generate(&plain, seed_of(i), false);
        generate(&other, seed_of(i), true);
        rename_values(&other, &other.f.module->body);
        shuffle(&other, &other.f.module->body);
        swap_carries(&other, &other.f.module->body);
        uint64_t hash = canonical(&plain);
        if (hash != canonical(&other))
            fail_msg("seed %llu:\n%s\nand\n%s", (unsigned long long)seed_of(i), text_of(&plain),
                     text_of(&other));
        assert_true(canonical(&plain) == hash);
        if (searched_plan(&plain, "cpu-avx2") != searched_plan(&other, "cpu-avx2") ||
            searched_plan(&plain, "sm_90") != searched_plan(&other, "sm_90"))
            fail_msg("plans of seed %llu:\n%s\nand\n%s", (unsigned long long)seed_of(i),
                     text_of(&plain), text_of(&other));
        fixture_close(&plain.f);
        fixture_close(&other.f);
    }
}

static void the_form_computes_what_was_written(void **unused) {
    (void)unused;
    for (int i = 0; i < module_count(); i++) {
        generator g;
        generate(&g, seed_of(i), true);
        sim_reference before, after;
        run_reference(&g, &before);
        canonical(&g);
        run_reference(&g, &after);
        assert_same_results(&g, &before, &after);
        fixture_close(&g.f);
    }
}

static void run_pass(generator *g, pass_runner *runner, const char *name) {
    if (!pass_runner_run(runner, g->f.module, pass_find(name, strlen(name)), NULL))
        fail_msg("%s: %s %s\n%s\n%s", name, runner->diagnostics->items[0].slug,
                 runner->diagnostics->items[0].message, runner->diagnostics->items[0].found,
                 text_of(g));
}

/* Each pass tells the truth, and level mapped computes what was written. */
static void both_plans_apply(void **unused) {
    (void)unused;
    static const char *const anywhere[] = {"fold", "hoist", "merge", "dead"};
    static const int64_t widths[] = {0, 7, 20, 100}; /* 0: not known */
    for (int i = 0; i < 2 * module_count(); i++) {
        generator g;
        int64_t width = widths[i / 2 % 4];
        generate(&g, seed_of(i / 2), true);
        if (width > 0)
            fixture_know(&g.f, "N", width);
        assert_legal(&g, i, "generating");
        inputs *in = make_inputs(&g, width > 0 ? width : COLUMNS);
        pass_fixture given = {in->sizes, in->tensors, in->scalars};
        base_diagnostics diagnostics;
        base_diagnostics_init(&diagnostics, &g.f.arena);
        pass_runner runner = {.diagnostics = &diagnostics, .checks = PASS_CHECK_ALL};
        pass_runner_interpret(&runner, &given);
        for (int k = 0; k < 4 && i % 2 == 0; k++)
            run_pass(&g, &runner, anywhere[k]);
        run_pass(&g, &runner, "canonicalise");
        analysed a;
        analyse(&g.f, &a);
        check_laws(&g.f, &a);
        runner.plan =
            planner_plan(&g.f.arena, g.f.module, machine_find("cpu-avx2"),
                         i % 2 == 0 ? PLANNER_ROW : PLANNER_FALLBACK, false, &diagnostics);
        run_pass(&g, &runner, "map");
        for (int k = 0; k < 4; k++)
            run_pass(&g, &runner, anywhere[k]);
        run_pass(&g, &runner, "expand");
        if (!pass_runner_pipeline(&runner, g.f.module, IR_THREAD, IR_THREAD))
            fail_msg("seed %llu: %s %s\n%s", (unsigned long long)seed_of(i / 2),
                     diagnostics.items[0].slug, diagnostics.items[0].message, text_of(&g));
        fixture_close(&g.f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_form_for_every_way_to_write),
        cmocka_unit_test(the_form_computes_what_was_written),
        cmocka_unit_test(both_plans_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
