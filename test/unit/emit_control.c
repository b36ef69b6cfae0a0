/* The cpu target's control, reductions and private arrays, and the form of its text: names,
 * comments, one result for one module. */
#include "emit_fixture.h"

/* ---- loops ---- */

static ir_value *load_at(emit_fixture *f, ir_value *tensor, ir_value *index) {
    ir_access *access = emit_fixture_access(f, 1);
    access->index[0].operand = 1;
    return emit_fixture_load(f, tensor, access, 1, &index, ir_type_uniform(tensor->type.dtype))
        ->results[0];
}

static void store_at(emit_fixture *f, ir_value *tensor, int64_t index, ir_value *value) {
    ir_access *access = emit_fixture_access(f, 1);
    access->index[0].operand = 1;
    ir_value *at = emit_fixture_integer(f, index);
    emit_fixture_store(f, tensor, access, 1, &at, value);
}

/* Opens a loop: its body is the builder's region until loop_end. */
static ir_op *loop_begin(emit_fixture *f, ir_value *low, ir_value *high, ir_value *step,
                         int carries, ir_value *const *initial) {
    ir_value *operands[16] = {low, high, step};
    ir_type types[8] = {{0}};
    for (int i = 0; i < carries; i++) {
        operands[3 + i] = initial[i];
        types[i] = initial[i]->type;
    }
    ir_op *op = ir_build_op(&f->builder, IR_FOR, 3 + carries, operands, carries, types, 1);
    op->regions[0]->owner = op;
    ir_region_add_argument(f->module, op->regions[0], ir_type_uniform(BASE_I64), "k");
    for (int i = 0; i < carries; i++)
        ir_region_add_argument(f->module, op->regions[0], types[i], "carry");
    f->builder.region = op->regions[0];
    return op;
}

static void loop_end(emit_fixture *f, ir_op *op, int count, ir_value *const *values) {
    ir_build_yield(&f->builder, count, values);
    f->builder.region = op->parent;
}

typedef struct loop_case {
    int64_t low, high, step;
} loop_case;

static const loop_case loop_cases[] = {
    {0, 5, 1},
    {5, 5, 1},
    {7, 3, 2},
    {0, 10, 3},
    {INT64_MAX - 5, INT64_MAX, 4},
    {INT64_MIN, INT64_MIN + 3, 2},
    {INT64_MIN, INT64_MAX, INT64_MAX},
    {-3, 100, INT64_MAX},
};
enum { LOOPS = sizeof loop_cases / sizeof loop_cases[0] };

static void check_loops(void *state, const emitted *kernel) {
    (void)state;
    int64_t input[3 * LOOPS], out[5 * LOOPS + 1];
    for (int i = 0; i < LOOPS; i++) {
        input[3 * i] = loop_cases[i].low;
        input[3 * i + 1] = loop_cases[i].high;
        input[3 * i + 2] = loop_cases[i].step;
    }
    void *pointers[] = {input, out};
    int64_t words[] = {3 * LOOPS, 5 * LOOPS, 1, 1};
    kernel->entry(pointers, words, 0, 1, NULL);
    for (int i = 0; i < LOOPS; i++) {
        uint64_t trips = 0, sum = 0;
        int64_t rotated[3] = {10, 20, 30};
        const loop_case *c = &loop_cases[i];
        for (int64_t k = c->low; k < c->high; trips++) {
            sum += (uint64_t)k;
            int64_t first = rotated[0];
            rotated[0] = rotated[1];
            rotated[1] = rotated[2];
            rotated[2] = first;
            if (k > INT64_MAX - c->step)
                k = INT64_MAX; /* past the end: the loop is over */
            else
                k += c->step;
        }
        assert_int_equal(out[5 * i], trips);
        assert_int_equal(out[5 * i + 1], sum);
        for (int r = 0; r < 3; r++)
            assert_int_equal(out[5 * i + 2 + r], rotated[r]);
    }
}

/* Each loop counts its iterations, sums its index, and rotates three carries. */
static void loops_of_any_bounds_and_carries_that_swap(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "loops", 8);
    f.traps = true;
    ir_value *input = emit_fixture_tensor(&f, "for", BASE_I64, IR_IN, 1);
    ir_value *out = emit_fixture_tensor(&f, "int", BASE_I64, IR_OUT, 1);
    ir_builder *b = &f.builder;
    for (int i = 0; i < LOOPS; i++) {
        ir_value *bounds[3];
        for (int j = 0; j < 3; j++)
            bounds[j] = i % 2 == 0 ? load_at(&f, input, emit_fixture_integer(&f, 3 * i + j))
                                   : emit_fixture_integer(&f, (&loop_cases[i].low)[j]);
        ir_value *initial[5] = {emit_fixture_integer(&f, 0), emit_fixture_integer(&f, 0),
                                emit_fixture_integer(&f, 10), emit_fixture_integer(&f, 20),
                                emit_fixture_integer(&f, 30)};
        ir_op *loop = loop_begin(&f, bounds[0], bounds[1], bounds[2], 5, initial);
        ir_value **a = loop->regions[0]->arguments;
        ir_value *next[5] = {ir_build_binary(b, IR_ADD, a[1], emit_fixture_integer(&f, 1)),
                             ir_build_binary(b, IR_ADD, a[2], a[0]), a[4], a[5], a[3]};
        loop_end(&f, loop, 5, next);
        for (int r = 0; r < 5; r++)
            store_at(&f, out, 5 * i + r, loop->results[r]);
    }
    emit_fixture_each(&f, check_loops, NULL);
    emit_fixture_end(&f);
}

/* ---- branches in a loop ---- */

static void check_branches(void *state, const emitted *kernel) {
    (void)state;
    int64_t out[2] = {0, 0}, even = 0, odd = 100;
    void *pointers[] = {out};
    int64_t words[] = {2, 1};
    kernel->entry(pointers, words, 0, 1, NULL);
    for (int64_t k = 0; k < 7; k++) {
        if (k % 2 == 0)
            even += k;
        else
            odd -= even;
    }
    assert_int_equal(out[0], even);
    assert_int_equal(out[1], odd);
}

static void branches_choose_carries(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "branches", 4);
    f.traps = true;
    ir_value *out = emit_fixture_tensor(&f, "out", BASE_I64, IR_OUT, 1);
    ir_builder *b = &f.builder;
    ir_value *initial[2] = {emit_fixture_integer(&f, 0), emit_fixture_integer(&f, 100)};
    ir_op *loop = loop_begin(&f, emit_fixture_integer(&f, 0), emit_fixture_integer(&f, 7),
                             emit_fixture_integer(&f, 1), 2, initial);
    ir_value **a = loop->regions[0]->arguments;
    ir_value *rest = ir_build_binary(b, IR_FLOOR_MOD, a[0], emit_fixture_integer(&f, 2));
    ir_value *is_even = ir_build_binary(b, IR_EQ, rest, emit_fixture_integer(&f, 0));
    ir_type types[2] = {a[1]->type, a[2]->type};
    ir_op *branch = ir_build_op(b, IR_IF, 1, &is_even, 2, types, 2);
    ir_region *outer = b->region;
    b->region = branch->regions[0];
    ir_build_yield(b, 2, (ir_value *[]){ir_build_binary(b, IR_ADD, a[1], a[0]), a[2]});
    b->region = branch->regions[1];
    ir_build_yield(b, 2, (ir_value *[]){a[1], ir_build_binary(b, IR_SUB, a[2], a[1])});
    b->region = outer;
    loop_end(&f, loop, 2, branch->results);
    store_at(&f, out, 0, loop->results[0]);
    store_at(&f, out, 1, loop->results[1]);
    emit_fixture_each(&f, check_branches, NULL);
    emit_fixture_end(&f);
}

/* ---- fold and combine ---- */

enum { FOLDED = 4, FOLD_LANES = 8, FOLD_COUNT = FOLDED * FOLD_LANES };

static const struct {
    ir_monoid monoid;
    ir_nan nan;
} reductions[] = {
    {IR_MONOID_SUM, IR_NAN_PROPAGATE}, {IR_MONOID_PROD, IR_NAN_PROPAGATE},
    {IR_MONOID_MAX, IR_NAN_PROPAGATE}, {IR_MONOID_MAX, IR_NAN_IGNORE},
    {IR_MONOID_MIN, IR_NAN_PROPAGATE}, {IR_MONOID_MIN, IR_NAN_IGNORE},
};
enum { REDUCTIONS = sizeof reductions / sizeof reductions[0] };

static float joined(int reduction, float a, float b) {
    switch (reduction) {
    case 0:
        return a + b;
    case 1:
        return a * b;
    case 2:
        return a > b || a != a ? a : b;
    case 3:
        return a > b || b != b ? a : b;
    case 4:
        return a < b || a != a ? a : b;
    default:
        return a < b || b != b ? a : b;
    }
}

static void check_reductions(void *state, const emitted *kernel) {
    (void)state;
    float input[FOLD_COUNT], out[REDUCTIONS];
    int64_t integers[FOLD_COUNT], integer_out[3];
    for (int kind = 0; kind < 4; kind++) {
        uint64_t sum = 0;
        int64_t greatest = INT64_MIN;
        for (int i = 0; i < FOLD_COUNT; i++) {
            input[i] = (float)(i * 7919 % 97 - 40) / 7.0f;
            if (kind == 1 && i % 5 == 2)
                input[i] = NAN;
            if (kind == 2)
                input[i] = i % 3 == 0 ? -0.0f : 0.0f;
            integers[i] = (int64_t)((uint64_t)(i + kind + 1) * UINT64_C(0x9e3779b97f4a7c15));
            sum += (uint64_t)integers[i];
            greatest = integers[i] > greatest ? integers[i] : greatest;
        }
        void *pointers[] = {input, out, integers, integer_out};
        int64_t words[] = {FOLD_COUNT, REDUCTIONS, FOLD_COUNT, 3, 1, 1, 1, 1};
        kernel->entry(pointers, words, 0, 1, NULL);
        for (int r = 0; r < REDUCTIONS; r++) {
            float v[FOLD_COUNT];
            memcpy(v, input, sizeof v);
            for (int h = FOLD_COUNT / 2; h > 0; h /= 2) /* slots first, then lanes */
                for (int i = 0; i < h; i++)
                    v[i] = joined(r, v[i], v[i + h]);
            if (isnan(v[0]))
                assert_true(isnan(out[r]));
            else
                assert_memory_equal(&out[r], &v[0], sizeof v[0]);
        }
        assert_int_equal(integer_out[0], sum);
        assert_int_equal(integer_out[1], greatest);
        assert_int_equal(integer_out[2], 1); /* any is greater than all but the greatest */
    }
}

static ir_value *reduce(emit_fixture *f, ir_monoid monoid, ir_nan nan, ir_value *x) {
    ir_type one = ir_type_slots(x->type.dtype, 1), uniform = ir_type_uniform(x->type.dtype);
    ir_op *fold = ir_build_op(&f->builder, IR_FOLD, 1, &x, 1, &one, 0);
    ir_op *combine = ir_build_op(&f->builder, IR_COMBINE, 1, fold->results, 1, &uniform, 0);
    fold->attributes.monoid = combine->attributes.monoid = monoid;
    fold->attributes.nan = combine->attributes.nan = nan;
    return combine->results[0];
}

static void folds_and_combines_halve(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "reductions", FOLD_LANES);
    f.traps = true;
    ir_value *x = emit_fixture_tensor(&f, "x", BASE_F32, IR_IN, 1);
    ir_value *y = emit_fixture_tensor(&f, "y", BASE_F32, IR_OUT, 1);
    ir_value *n = emit_fixture_tensor(&f, "n", BASE_I64, IR_IN, 1);
    ir_value *m = emit_fixture_tensor(&f, "m", BASE_I64, IR_OUT, 1);
    ir_value *t = emit_fixture_load_chunk(&f, x, FOLDED);
    for (int r = 0; r < REDUCTIONS; r++)
        store_at(&f, y, r, reduce(&f, reductions[r].monoid, reductions[r].nan, t));
    ir_value *i = emit_fixture_load_chunk(&f, n, FOLDED);
    ir_value *greatest = reduce(&f, IR_MONOID_MAX, IR_NAN_PROPAGATE, i);
    store_at(&f, m, 0, reduce(&f, IR_MONOID_SUM, IR_NAN_PROPAGATE, i));
    store_at(&f, m, 1, greatest);
    ir_value *equal = ir_build_binary(&f.builder, IR_EQ, i, greatest);
    ir_value *any = reduce(&f, IR_MONOID_ANY, IR_NAN_PROPAGATE, equal);
    ir_value *all = reduce(&f, IR_MONOID_ALL, IR_NAN_PROPAGATE, equal);
    ir_value *some = ir_build_binary(&f.builder, IR_NE, any, all);
    store_at(&f, m, 2, ir_build_cast(&f.builder, some, BASE_I64, IR_ROUND_ZERO));
    emit_fixture_each(&f, check_reductions, NULL);
    emit_fixture_end(&f);
}

/* ---- private arrays, when, scalars ---- */

enum { CELLS = 5 };

static void check_privates(void *state, const emitted *kernel) {
    (void)state;
    static float x[CELLS * 16 * 2], y[CELLS * 16 * 2];
    static _Alignas(64) char workspace[4096];
    for (int i = 0; i < CELLS * 32; i++)
        x[i] = (float)i - 40;
    float scale = 3.0f;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    int64_t words[] = {CELLS, CELLS * 32, CELLS * 32, 1, 1, bits, -7, (int64_t)0xff01};
    void *pointers[] = {x, y};
    int64_t size = kernel->workspace(words);
    assert_int_equal(size, CELLS * 16 * 4 + 64);
    assert_int_equal(kernel->groups(words), CELLS * 32 / 80);
    memset(workspace, 0x77, sizeof workspace);
    kernel->entry(pointers, words, 0, 2, workspace);
    for (int64_t i = size; i < (int64_t)sizeof workspace; i++)
        assert_int_equal(workspace[i], 0x77);
    for (int g = 0; g < 2; g++)
        for (int c = 0; c < CELLS; c++)
            for (int l = 0; l < 16; l++) {
                int at = (g * CELLS + c) * 16 + l;
                float value = x[at] > 0 && l < 8 ? x[at] * 3 + 1 : x[at];
                float cell = (float)(c - 7) * 3;
                assert_true(y[at] == (l % 8 < 3 ? value + cell : 0.0f));
            }
}

static ir_value *make_private(emit_fixture *f, base_dtype dtype, int slots, const char *name) {
    ir_type type = {.form = IR_FORM_PRIVATE, .dtype = dtype, .slots = slots};
    type.extent[0] = layout_extent_symbol(&f->module->extents, 0);
    ir_op *op = ir_build_op(&f->builder, IR_PRIVATE, 0, NULL, 1, &type, 0);
    op->attributes.extent = type.extent[0];
    op->results[0]->name = name;
    return op->results[0];
}

static ir_value *pull(emit_fixture *f, ir_value *array, ir_value *cell, ir_type type) {
    return ir_build_op(&f->builder, IR_PULL, 2, (ir_value *[]){array, cell}, 1, &type, 0)
        ->results[0];
}

static void push(emit_fixture *f, ir_value *array, ir_value *cell, ir_value *value) {
    ir_build_op(&f->builder, IR_PUSH, 3, (ir_value *[]){array, cell, value}, 0, NULL, 0);
}

static ir_value *add_parameter(emit_fixture *f, const char *name, base_dtype dtype) {
    ir_module *m = f->module;
    ir_parameter *grown = BASE_NEW_ARRAY(&f->arena, ir_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++)
        grown[i] = m->parameters[i];
    m->parameters = grown;
    m->parameters[m->parameter_count++] = (ir_parameter){.name = name, .dtype = dtype};
    ir_type type = ir_type_uniform(dtype);
    ir_op *op = ir_build_op(&f->builder, IR_PARAMETER, 0, NULL, 1, &type, 0);
    op->attributes.parameter = m->parameter_count - 1;
    return op->results[0];
}

static ir_op *when_begin(emit_fixture *f, ir_value *mask) {
    ir_op *when = ir_build_op(&f->builder, IR_WHEN, 1, &mask, 0, NULL, 1);
    f->builder.region = when->regions[0];
    return when;
}

/* The first half: cells of two slots; x where it is positive becomes x * scale + 1, in slot 0. */
static void build_first_sweep(emit_fixture *f, ir_value *x, ir_value *cells, ir_value *scalars,
                              ir_value *scale, ir_value *offset, ir_access *access,
                              ir_value **operands) {
    ir_builder *b = &f->builder;
    ir_op *loop = loop_begin(f, emit_fixture_integer(f, 0), emit_fixture_integer(f, CELLS),
                             emit_fixture_integer(f, 1), 0, NULL);
    ir_value *k = loop->regions[0]->arguments[0];
    operands[1] = ir_build_binary(b, IR_MUL, k, emit_fixture_integer(f, 16));
    operands[0] = ir_build_binary(b, IR_ADD, operands[0], operands[1]);
    ir_value *t =
        emit_fixture_load(f, x, access, 1, operands, ir_type_slots(BASE_F32, 2))->results[0];
    push(f, cells, k, t);
    ir_value *zero = ir_build_real(b, BASE_F32, 0.0), *one = ir_build_real(b, BASE_F32, 1.0);
    ir_value *lanes =
        ir_build_op(b, IR_IOTA, 0, NULL, 1, (ir_type[]){ir_type_slots(BASE_I64, 2)}, 0)->results[0];
    lanes->definer->attributes.affine = ir_affine_of(1, 8);
    ir_value *low = ir_build_binary(b, IR_LT, lanes, emit_fixture_integer(f, 8));
    ir_value *positive = ir_build_binary(b, IR_LT, zero, t);
    ir_value *chosen = ir_build_binary(b, IR_AND, low, positive);
    ir_value *scaled = ir_build_fma(b, t, scale, one);
    push(f, cells, k, ir_build_select(b, chosen, scaled, t));
    ir_value *shifted =
        ir_build_cast(b, ir_build_binary(b, IR_ADD, k, offset), BASE_F32, IR_ROUND_EVEN);
    push(f, scalars, k, ir_build_binary(b, IR_MUL, shifted, scale));
    loop_end(f, loop, 0, NULL);
}

static void privates_when_and_parameters(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "privates", 8);
    f.traps = true;
    layout_extents_declare(&f.module->extents, "cells");
    ir_value *x = emit_fixture_tensor(&f, "x", BASE_F32, IR_IN, 1);
    ir_value *y = emit_fixture_tensor(&f, "y", BASE_F32, IR_OUT, 1);
    ir_builder *b = &f.builder;
    ir_value *scale = add_parameter(&f, "scale", BASE_F32);
    ir_value *offset = add_parameter(&f, "offset", BASE_I64);
    ir_value *flag = add_parameter(&f, "flag", BASE_BOOL);
    layout_extents *pool = &f.module->extents;
    f.module->groups = layout_extent_binary(pool, LAYOUT_EXTENT_DIV, layout_extent_symbol(pool, 1),
                                            layout_extent_constant(pool, 80));
    ir_value *cells = make_private(&f, BASE_F32, 2, "cells");
    ir_value *scalars = make_private(&f, BASE_F32, 0, "cells");
    ir_access *access = emit_fixture_access(&f, 1);
    access->index[0] = (ir_index){
        .kind = IR_INDEX_AFFINE, .operand = 1, .vector = -1, .affine = ir_affine_of(1, 8)};
    ir_value *base =
        ir_build_binary(b, IR_MUL, emit_fixture_group(&f), emit_fixture_integer(&f, CELLS * 16));
    ir_value *operands[2] = {base, NULL};
    build_first_sweep(&f, x, cells, scalars, scale, offset, access, operands);

    ir_op *loop = loop_begin(&f, emit_fixture_integer(&f, 0), emit_fixture_integer(&f, CELLS),
                             emit_fixture_integer(&f, 1), 0, NULL);
    ir_value *k = loop->regions[0]->arguments[0];
    operands[0] = ir_build_binary(b, IR_ADD, base,
                                  ir_build_binary(b, IR_MUL, k, emit_fixture_integer(&f, 16)));
    ir_value *t = pull(&f, cells, k, ir_type_slots(BASE_F32, 2));
    ir_value *s = pull(&f, scalars, k, ir_type_uniform(BASE_F32));
    ir_type wide = ir_type_slots(BASE_F32, 2);
    ir_value *zero = ir_build_real(b, BASE_F32, 0.0);
    ir_value *zeros = ir_build_op(b, IR_BROADCAST, 1, &zero, 1, &wide, 0)->results[0];
    emit_fixture_store(&f, y, access, 1, operands, zeros);
    ir_value *lane =
        ir_build_op(b, IR_IOTA, 0, NULL, 1, (ir_type[]){ir_type_slots(BASE_I64, 1)}, 0)->results[0];
    lane->definer->attributes.affine = ir_affine_of(1, 0);
    ir_value *few = ir_build_binary(b, IR_LT, lane, emit_fixture_integer(&f, 3));
    ir_value *acts = ir_build_binary(b, IR_AND, few, flag);
    ir_value *sum = ir_build_binary(b, IR_ADD, t, s);
    ir_region *outer = b->region;
    when_begin(&f, acts);
    emit_fixture_store(&f, y, access, 1, operands, sum);
    push(&f, cells, k, zeros);
    b->region = outer;
    when_begin(&f, ir_build_unary(b, IR_NOT, flag)); /* nothing */
    emit_fixture_store(&f, y, access, 1, operands, t);
    b->region = outer;
    loop_end(&f, loop, 0, NULL);
    f.cpu_only = true; /* its workspace */
    emit_fixture_each(&f, check_privates, NULL);
    emit_fixture_end(&f);
}

/* ---- the text ---- */

static const char hostile_text[] = "first\n  t = x[:] \\\n y[:] = t?\?/ # \xc3\xa9\n";

/* Names that are words of C, of the prelude and of each other; a source line that would continue.
 */
static void build_hostile(emit_fixture *f, const base_source *source) {
    emit_fixture_begin(f, "hostile", 8);
    f->traps = true;
    ir_value *x = emit_fixture_tensor(f, "while", BASE_F32, IR_IN, 1);
    ir_value *y = emit_fixture_tensor(f, "words", BASE_F32, IR_OUT, 1);
    f->builder.location = (base_location){.source = source, .line = 2, .column = 1};
    ir_value *t = emit_fixture_load_chunk(f, x, 2);
    t->name = "maximum_f32x8";
    static const char *const names[] = {"for",   "t_0",      "t", "t",     "group",
                                        "f32x8", "INLINE",   "v", "v2",    "__x",
                                        "1",     "\xc3\xa9", "",  "linux", "splat_f32x8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        t = ir_build_binary(&f->builder, IR_MAXIMUM, t,
                            ir_build_real(&f->builder, BASE_F32, (double)i * 0.1 - 0.5));
        t->name = names[i];
    }
    f->builder.location.line = 3;
    ir_value *operand;
    ir_access *access = emit_fixture_chunk(f, 1, 2, &operand);
    emit_fixture_store(f, y, access, 1, &operand, t);
}

static void check_hostile(void *state, const emitted *kernel) {
    (void)state;
    float x[16], y[16];
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i - 8) / 4;
    void *pointers[] = {x, y};
    kernel->entry(pointers, (int64_t[]){16, 16, 1, 1}, 0, 1, NULL);
    for (int i = 0; i < 16; i++)
        assert_true(y[i] == fmaxf(x[i], (float)(14 * 0.1 - 0.5)));
}

static void hostile_names_and_lines_compile(void **state) {
    (void)state;
    base_source source = {"a\\b.croft", hostile_text, sizeof hostile_text - 1};
    emit_fixture f;
    build_hostile(&f, &source);
    const machine *m = machine_find("cpu-avx2");
    const char *text = target_emit(target_find("cpu"), &f.arena, f.module, m).text;
    assert_non_null(strstr(text, "// a.b.croft:2   t = x[:] .\n"));
    assert_non_null(strstr(text, "// a.b.croft:3   y[:] = t../\n"));
    assert_non_null(strstr(text, "plan 0000000000000000"));
    assert_null(strstr(text, "#include"));
    emit_fixture_each(&f, check_hostile, NULL);
    emit_fixture_end(&f);
}

static void same_module_same_text(void **state) {
    (void)state;
    base_source source = {"hostile.croft", hostile_text, sizeof hostile_text - 1};
    emit_fixture f, g;
    build_hostile(&f, &source);
    void *other = malloc(1000); /* other addresses */
    build_hostile(&g, &source);
    const machine *m = machine_find("cpu-avx2");
    target_source a = target_emit(target_find("cpu"), &f.arena, f.module, m);
    target_source b = target_emit(target_find("cpu"), &g.arena, g.module, m);
    assert_string_equal(a.text, b.text);
    assert_string_equal(a.entry, "croft_hostile");
    free(other);
    emit_fixture_end(&f);
    emit_fixture_end(&g);
}

static void what_is_not_needed_is_not_written(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "unused", 8);
    f.traps = true;
    ir_value *x = emit_fixture_tensor(&f, "x", BASE_F32, IR_IN, 1);
    ir_value *t = emit_fixture_load_chunk(&f, x, 1);
    t->name = "unused_value";
    ir_build_unary(&f.builder, IR_SQRT, t);
    const char *text =
        target_emit(target_find("cpu"), &f.arena, f.module, machine_find("cpu-avx2")).text;
    assert_null(strstr(text, "unused_value"));
    assert_null(strstr(text, "sqrt"));
    emit_fixture_end(&f);
}

static void other_machines_odd_subgroups_and_clusters_are_refused(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "supported", 8);
    f.traps = true;
    ir_op *op = emit_fixture_group(&f)->definer;
    const target *cpu = target_find("cpu");
    machine other = *machine_find("cpu-avx2");
    assert_null(cpu->supports(f.module, op, &other));
    other.target = "cuda";
    assert_non_null(cpu->supports(f.module, op, &other));
    static const struct {
        int lanes, subgroup, cluster;
        bool runs;
    } teams[] = {
        {12, 0, 0, false},    {32, 0, 0, true},   {1024, 32, 1, true},
        {96, 32, 0, true},    {96, 12, 0, false}, {96, 64, 0, false},
        {2048, 32, 0, false}, {64, 32, 2, false}, {64, 64, 0, true},
    };
    for (size_t i = 0; i < sizeof teams / sizeof teams[0]; i++) {
        f.module->lanes = teams[i].lanes;
        f.module->subgroup = teams[i].subgroup;
        f.module->cluster = teams[i].cluster;
        const char *reason = cpu->supports(f.module, op, machine_find("cpu-avx2"));
        assert_int_equal(reason == NULL, teams[i].runs);
    }
    assert_null(target_find("cp"));
    assert_ptr_equal(target_at(0), cpu);
    assert_string_equal(target_at(1)->name, "cuda");
    assert_string_equal(target_at(2)->name, "opencl");
    assert_string_equal(target_at(3)->name, "metal");
    assert_null(target_at(4));
    emit_fixture_end(&f);
}

/* A put into another block's scratch, and a grid that waits. */
static void other_groups_are_out_of_reach(void **state) {
    (void)state;
    emit_fixture f;
    emit_fixture_begin(&f, "reach", 8);
    const target *cpu = target_find("cpu");
    const machine *on = machine_find("cpu-avx2");
    ir_op *put = ir_build_op(&f.builder, IR_PUT, 0, NULL, 0, NULL, 0);
    put->attributes.access = emit_fixture_access(&f, 1);
    assert_null(cpu->supports(f.module, put, on));
    put->attributes.access->block = 1;
    assert_non_null(cpu->supports(f.module, put, on));
    ir_op *sync = ir_build_op(&f.builder, IR_SYNC, 0, NULL, 0, NULL, 0);
    sync->attributes.scope = IR_SCOPE_CLUSTER;
    assert_null(cpu->supports(f.module, sync, on));
    sync->attributes.scope = IR_SCOPE_GRID;
    assert_non_null(cpu->supports(f.module, sync, on));
    emit_fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_of_any_bounds_and_carries_that_swap),
        cmocka_unit_test(branches_choose_carries),
        cmocka_unit_test(folds_and_combines_halve),
        cmocka_unit_test(privates_when_and_parameters),
        cmocka_unit_test(hostile_names_and_lines_compile),
        cmocka_unit_test(same_module_same_text),
        cmocka_unit_test(what_is_not_needed_is_not_written),
        cmocka_unit_test(other_machines_odd_subgroups_and_clusters_are_refused),
        cmocka_unit_test(other_groups_are_out_of_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
