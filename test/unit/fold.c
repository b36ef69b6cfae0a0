/* Constant folding: exact in every dtype, and nothing that changes a bit. */
#include "tile_fixture.h"

#include "pass/pass.h"
#include "pass/simplify.h"

#include <math.h>

typedef struct integer_row {
    ir_opcode opcode;
    base_dtype dtype;
    int64_t a, b, expected;
} integer_row;

static const integer_row integers[] = {
    {IR_ADD, BASE_I32, INT32_MAX, 1, INT32_MIN},
    {IR_ADD, BASE_U32, UINT32_MAX, 2, 1},
    {IR_SUB, BASE_U32, 0, 1, UINT32_MAX},
    {IR_SUB, BASE_INDEX, INT64_MIN, 1, INT64_MAX},
    {IR_MUL, BASE_I64, INT64_MAX, 2, -2},
    {IR_FLOOR_DIV, BASE_I32, -7, 2, -4},
    {IR_FLOOR_DIV, BASE_I32, 7, 0, 0},
    {IR_FLOOR_DIV, BASE_I32, INT32_MIN, -1, INT32_MIN},
    {IR_FLOOR_DIV, BASE_INDEX, INT64_MIN, -1, INT64_MIN},
    {IR_FLOOR_DIV, BASE_U32, UINT32_MAX, 2, INT32_MAX},
    {IR_FLOOR_MOD, BASE_I32, -7, 2, 1},
    {IR_FLOOR_MOD, BASE_I32, 7, -2, -1},
    {IR_FLOOR_MOD, BASE_I32, 7, 0, 0},
    {IR_MAXIMUM, BASE_I32, -1, 1, 1},
    {IR_MAXIMUM, BASE_U32, UINT32_MAX, 1, UINT32_MAX},
    {IR_MINIMUM, BASE_I64, -1, 1, -1},
    {IR_AND, BASE_I32, -1, 6, 6},
    {IR_OR, BASE_U32, 1, 6, 7},
    {IR_XOR, BASE_I64, 5, 1, 4},
    {IR_SHL, BASE_I32, 1, 31, INT32_MIN},
    {IR_SHL, BASE_I32, 3, 33, 6},
    {IR_SHR, BASE_I32, -8, 1, -4},
    {IR_SHR, BASE_U32, UINT32_MAX, 4, 0x0fffffff},
    {IR_SHR, BASE_I64, -1, 64, -1},
    {IR_LT, BASE_U32, 1, UINT32_MAX, 1},
    {IR_LE, BASE_I32, 2, 2, 1},
    {IR_NE, BASE_I32, 2, 2, 0},
};

static void integers_wrap_and_floor(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        const integer_row *row = &integers[i];
        ir_value *a = ir_build_integer(&f.builder, row->dtype, row->a);
        ir_value *b = ir_build_integer(&f.builder, row->dtype, row->b);
        ir_value *v = ir_build_binary(&f.builder, row->opcode, a, b);
        ir_constant got;
        if (!pass_fold_constant(v->definer, &got) || got.integer != row->expected)
            fail_msg("row %zu: got %lld", i, (long long)got.integer);
        assert_int_equal(got.dtype, v->type.dtype);
    }
    fixture_close(&f);
}

/* At level tile only what is exact folds: the reference evaluates that level unrounded. */
static void reals_round_once_in_their_dtype(void **unused) {
    (void)unused;
    static const struct {
        ir_opcode opcode;
        double a, b, expected;
        bool exact;
    } rows[] = {
        {IR_ADD, 16777216.0, 1.0, 16777216.0, false},
        {IR_ADD, 1.5, 2.0, 3.5, true},
        {IR_DIV, 1.0, 3.0, 0x1.555556p-2, false},
        {IR_DIV, 1.0, 4.0, 0.25, true},
        {IR_MUL, 0x1p-140, 0x1p-9, 0x1p-149, true},
        {IR_MUL, 0x1p-140, 0x1p-10, 0.0, false},
        {IR_MUL, 3e38, 10.0, (double)INFINITY, false},
        {IR_MAXIMUM, -0.0, 0.0, 0.0, true}, /* not greater: the second */
        {IR_MINIMUM, 1.0, -(double)INFINITY, -(double)INFINITY, true},
    };
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_constant got;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ir_value *x = ir_build_real(b, BASE_F32, rows[i].a);
        ir_value *y = ir_build_real(b, BASE_F32, rows[i].b);
        const ir_op *tile = ir_build_binary(b, rows[i].opcode, x, y)->definer;
        assert_int_equal(pass_fold_constant(tile, &got), rows[i].exact);
        f.module->level = IR_THREAD;
        x = ir_build_real(b, BASE_F32, rows[i].a);
        y = ir_build_real(b, BASE_F32, rows[i].b);
        assert_true(pass_fold_constant(ir_build_binary(b, rows[i].opcode, x, y)->definer, &got));
        assert_memory_equal(&got.real, &rows[i].expected, sizeof got.real);
        f.module->level = IR_TILE;
    }
    ir_value *inf = ir_build_real(b, BASE_F32, (double)INFINITY);
    assert_false(pass_fold_constant(ir_build_binary(b, IR_SUB, inf, inf)->definer, &got));
    ir_value *one = ir_build_real(b, BASE_F32, 1.0);
    assert_false(pass_fold_constant(ir_build_unary(b, IR_EXP, one)->definer, &got));
    fixture_close(&f);
}

static void casts_round_and_saturate(void **unused) {
    (void)unused;
    static const struct {
        base_dtype from, to;
        ir_rounding rounding;
        double value, expected;
    } rows[] = {
        {BASE_F32, BASE_I8, IR_ROUND_EVEN, 2.5, 2},
        {BASE_F32, BASE_I8, IR_ROUND_ZERO, -2.9, -2},
        {BASE_F32, BASE_I8, IR_ROUND_EVEN, 300.0, 127},
        {BASE_F32, BASE_U8, IR_ROUND_EVEN, -1.0, 0},
        {BASE_F32, BASE_I32, IR_ROUND_ZERO, 3e9, 2147483647.0},
        {BASE_F32, BASE_U32, IR_ROUND_ZERO, 3e9, 3e9},
        {BASE_I32, BASE_I8, IR_ROUND_EVEN, 200, 127},
        {BASE_I32, BASE_I8, IR_ROUND_ZERO, 200, -56},
        {BASE_I32, BASE_U32, IR_ROUND_ZERO, -1, 4294967295.0},
        {BASE_F32, BASE_F16, IR_ROUND_ZERO, 65520.0, (double)INFINITY},
        {BASE_I64, BASE_F32, IR_ROUND_ZERO, 16777217, 16777216},
        {BASE_F32, BASE_BOOL, IR_ROUND_ZERO, 0.5, 1},
        {BASE_I32, BASE_BOOL, IR_ROUND_ZERO, 0, 0},
    };
    fixture f;
    fixture_open(&f);
    f.module->level = IR_THREAD;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool real = base_dtype_is_float(rows[i].from);
        ir_value *x = real ? ir_build_real(&f.builder, rows[i].from, rows[i].value)
                           : ir_build_integer(&f.builder, rows[i].from, (int64_t)rows[i].value);
        ir_value *v = ir_build_cast(&f.builder, x, rows[i].to, rows[i].rounding);
        ir_constant got;
        assert_true(pass_fold_constant(v->definer, &got));
        double number = base_dtype_is_float(rows[i].to) ? got.real : (double)got.integer;
        if (number != rows[i].expected)
            fail_msg("row %zu: got %lld", i, (long long)number);
    }
    fixture_close(&f);
}

/* What a store of `value` stores after folding. */
static ir_value *folded(fixture *f, ir_value *y, ir_value *value) {
    ir_op *store = fixture_store(f, y, value);
    pass_fold(f->module, &(pass_context){0});
    return store->operands[store->operand_count - 1];
}

static void floats_fold_only_where_every_bit_stays(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *zero = ir_build_real(b, BASE_F32, 0.0), *one = ir_build_real(b, BASE_F32, 1.0);
    assert_ptr_equal(folded(&f, y, ir_build_binary(b, IR_MUL, one, t)), t);
    assert_ptr_equal(folded(&f, y, ir_build_binary(b, IR_DIV, t, one)), t);
    assert_ptr_equal(folded(&f, y, ir_build_unary(b, IR_NEG, ir_build_unary(b, IR_NEG, t))), t);
    assert_ptr_not_equal(folded(&f, y, ir_build_binary(b, IR_ADD, t, zero)), t);
    assert_int_equal(folded(&f, y, ir_build_binary(b, IR_MUL, t, zero))->definer->opcode, IR_MUL);
    assert_int_equal(folded(&f, y, ir_build_binary(b, IR_SUB, t, t))->definer->opcode, IR_SUB);
    ir_value *half = ir_build_cast(b, t, BASE_F16, IR_ROUND_EVEN);
    ir_value *back = ir_build_cast(b, half, BASE_F32, IR_ROUND_ZERO);
    assert_ptr_equal(folded(&f, y, back), back);
    ir_value *again = ir_build_cast(b, back, BASE_F16, IR_ROUND_EVEN);
    assert_ptr_equal(folded(&f, y, again), half);
    fixture_close(&f);
}

static void integer_identities_keep_the_shape(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_I32, 2, "R", "N");
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_I32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *zero = ir_build_integer(b, BASE_I32, 0), *one = ir_build_integer(b, BASE_I32, 1);
    assert_ptr_equal(folded(&f, y, ir_build_binary(b, IR_ADD, zero, t)), t);
    assert_ptr_equal(folded(&f, y, ir_build_binary(b, IR_FLOOR_DIV, t, one)), t);
    assert_ptr_equal(folded(&f, y, ir_build_binary(b, IR_MAXIMUM, t, t)), t);
    /* a scalar plus a tile of zeros is a tile */
    ir_value *zeros = ir_build_binary(b, IR_MUL, t, zero);
    ir_value *sum = ir_build_binary(b, IR_ADD, one, zeros);
    assert_ptr_equal(folded(&f, y, sum), sum);
    fixture_close(&f);
}

/* The passes that the pipeline repeats until none changes anything: whether one did. */
static void clean(ir_module *module, pass_result expected) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, module->arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_result result = PASS_SAME;
    pass_step step;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; pass_pipeline_at(i, &step); i++)
            again |= step.again && step.pass->run(module, &context) == PASS_CHANGED;
        if (again)
            result = PASS_CHANGED;
    }
    assert_int_equal(result, expected);
}

static void clean_leaves_a_lean_thread_program(void **unused) {
    (void)unused;
    fixture f;
    fixture_open_bare(&f);
    f.module->level = IR_THREAD;
    ir_builder *b = &f.builder;
    ir_type uniform = ir_type_uniform(BASE_I64), slots = ir_type_slots(BASE_F32, 4);
    ir_value *group = ir_build_op(b, IR_GROUP, 0, NULL, 1, &uniform, 0)->results[0];
    ir_type array = {.form = IR_FORM_PRIVATE, .dtype = BASE_F32, .slots = 4};
    array.extent[0] = fixture_extent(&f, "N");
    ir_value *unread = ir_build_op(b, IR_PRIVATE, 0, NULL, 1, &array, 0)->results[0];
    ir_value *read = ir_build_op(b, IR_PRIVATE, 0, NULL, 1, &array, 0)->results[0];
    unread->definer->attributes.extent = read->definer->attributes.extent = array.extent[0];
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    ir_op *loop = fixture_for(&f, ir_build_size(b, array.extent[0]), 0, NULL);
    loop->regions[0]->arguments[0]->type = uniform;
    ir_value *k = loop->regions[0]->arguments[0];
    ir_value *base = ir_build_binary(b, IR_MUL, group, ir_build_integer(b, BASE_I64, 8));
    ir_value *cell = ir_build_binary(b, IR_ADD, ir_build_binary(b, IR_ADD, k, base), zero);
    ir_value *same = ir_build_binary(b, IR_ADD, base, k);
    ir_value *pulled =
        ir_build_op(b, IR_PULL, 2, (ir_value *[]){read, cell}, 1, &slots, 0)->results[0];
    ir_build_op(b, IR_PUSH, 3, (ir_value *[]){read, same, pulled}, 0, NULL, 0);
    ir_build_op(b, IR_PUSH, 3, (ir_value *[]){unread, cell, pulled}, 0, NULL, 0);
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "N");
    ir_op *store = ir_build_op(b, IR_STORE, 2, (ir_value *[]){y, pulled}, 0, NULL, 0);
    store->attributes.access = BASE_NEW(&f.arena, ir_access);
    *store->attributes.access = (ir_access){.rank = 1, .fill = -1, .mask = -1, .width = 1};
    store->attributes.access->index[0] = (ir_index){
        .kind = IR_INDEX_AFFINE, .operand = -1, .vector = -1, .affine = ir_affine_of(1, 0)};
    fixture_end_for(&f, loop, 0, NULL);
    clean(f.module, PASS_CHANGED);
    int ops = 0, inner = 0;
    for (const ir_op *op = f.module->body.first; op != NULL; op = op->next)
        ops++;
    for (const ir_op *op = loop->regions[0]->first; op != NULL; op = op->next)
        inner++;
    assert_int_equal(inner, 5); /* add, pull, push, store, yield */
    assert_ptr_equal(base->definer->parent, &f.module->body);
    assert_int_equal(ops, 8); /* group, private, 0, size, 1, 8, mul, for */
    clean(f.module, PASS_SAME);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_and_floor),
        cmocka_unit_test(reals_round_once_in_their_dtype),
        cmocka_unit_test(casts_round_and_saturate),
        cmocka_unit_test(floats_fold_only_where_every_bit_stays),
        cmocka_unit_test(integer_identities_keep_the_shape),
        cmocka_unit_test(clean_leaves_a_lean_thread_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
