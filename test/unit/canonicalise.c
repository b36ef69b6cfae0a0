/* The canonical form: one hash for all ways to write a kernel, another for every other kernel. */
#include "tile_fixture.h"

#include "analysis/axes.h"
#include "pass/pass.h"

static uint64_t canonical(fixture *f) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_canonicalise(f->module, &context);
    uint64_t hash = pass_canonical_hash(f->module);
    assert_int_equal(pass_canonicalise(f->module, &context), PASS_SAME);
    assert_true(pass_canonical_hash(f->module) == hash);
    return hash;
}

/* One word per op, in order: its anchor, or its opcode when it has none. */
static const char *words(fixture *f) {
    base_text text;
    base_text_init(&text, &f->arena);
    base_text_string(&text, "");
    for (const ir_op *op = f->module->body.first; op != NULL; op = op->next)
        base_text_format(&text, "%s%s", op == f->module->body.first ? "" : " ",
                         op->anchor != NULL ? op->anchor : ir_op_describe(op->opcode)->text);
    return text.bytes;
}

typedef struct variant {
    const char *row, *rows, *columns, *x, *w, *y, *z; /* names */
    bool swapped;       /* independent statements in the other order */
    bool repeated;      /* subexpressions written out again */
    bool named;         /* subexpressions have names */
    double scale;       /* of the variance */
    ir_monoid monoid;   /* of the first reduction */
    base_dtype dtype;   /* of x */
    int64_t known;      /* N, 0 = not known */
    bool second_weight; /* z is multiplied too */
} variant;

static const variant plain = {.row = "row",
                              .rows = "R",
                              .columns = "N",
                              .x = "x",
                              .w = "w",
                              .y = "y",
                              .z = "z",
                              .scale = 0.5,
                              .monoid = IR_MONOID_MAX,
                              .dtype = BASE_F32};

static ir_value *named(const variant *v, ir_value *value, const char *name) {
    if (v->named)
        value->name = name;
    return value;
}

/* y = exp(x - max(x)) * w; z = (x * scale) * 1 */
static void write_y(fixture *f, const variant *v, ir_value *x, ir_value *w, ir_value *y) {
    ir_builder *b = &f->builder;
    ir_value *weights = fixture_load_at(f, w, NULL, NULL);
    ir_value *t = named(v, fixture_load(f, x, NULL), "t");
    ir_value *again = v->repeated ? fixture_load(f, x, "again") : t;
    ir_value *m = named(v, fixture_reduce(f, v->monoid, again, 0, NULL), "m");
    ir_value *e = named(v, ir_build_unary(b, IR_EXP, ir_build_binary(b, IR_SUB, t, m)), "e");
    fixture_store(f, y, ir_build_binary(b, IR_MUL, e, weights));
}

static void write_z(fixture *f, const variant *v, ir_value *x, ir_value *w, ir_value *z) {
    ir_builder *b = &f->builder;
    ir_value *scale = ir_build_real(b, BASE_F32, v->scale);
    ir_value *t = fixture_load(f, x, NULL);
    ir_value *scaled = named(v, ir_build_binary(b, IR_MUL, t, scale), "s");
    if (v->repeated)
        scaled = ir_build_binary(b, IR_MUL, scaled, ir_build_real(b, BASE_F32, 1.0));
    if (v->second_weight)
        scaled = ir_build_binary(b, IR_MUL, scaled, fixture_load_at(f, w, NULL, NULL));
    fixture_store(f, z, scaled);
}

static uint64_t hash_variant(const variant *v, char *text, size_t size) {
    fixture f;
    fixture_open_bare(&f);
    f.row = fixture_program(&f, v->row, v->rows);
    ir_value *x = fixture_tensor(&f, v->x, IR_IN, v->dtype, 2, v->rows, v->columns);
    ir_value *w = fixture_tensor(&f, v->w, IR_IN, BASE_F32, 1, v->columns);
    ir_value *y = fixture_tensor(&f, v->y, IR_OUT, BASE_F32, 2, v->rows, v->columns);
    ir_value *z = fixture_tensor(&f, v->z, IR_OUT, BASE_F32, 2, v->rows, v->columns);
    if (v->known > 0)
        fixture_know(&f, v->columns, v->known);
    if (v->swapped)
        write_z(&f, v, x, w, z);
    write_y(&f, v, x, w, y);
    if (!v->swapped)
        write_z(&f, v, x, w, z);
    uint64_t hash = canonical(&f);
    if (text != NULL)
        snprintf(text, size, "%s", words(&f));
    fixture_close(&f);
    return hash;
}

static void anchors_count_in_the_order_of_the_data_flow(void **unused) {
    (void)unused;
    char text[256];
    hash_variant(&plain, text, sizeof text);
    assert_string_equal(text, "program x.0 max.0 sub.0 exp.0 w.0 mul.0 y.0 constant mul.1 z.0");
}

static void names_and_order_change_nothing(void **unused) {
    (void)unused;
    char expected[256], text[256];
    uint64_t hash = hash_variant(&plain, expected, sizeof expected);
    variant v = plain;
    v.swapped = true;
    assert_true(hash_variant(&v, text, sizeof text) == hash);
    assert_string_equal(text, expected);
    v.repeated = v.named = true;
    assert_true(hash_variant(&v, text, sizeof text) == hash);
    assert_string_equal(text, expected);
    v = (variant){.row = "i",
                  .rows = "a",
                  .columns = "b",
                  .x = "zeta",
                  .w = "b0",
                  .y = "out",
                  .z = "exp",
                  .named = true,
                  .scale = 0.5,
                  .monoid = IR_MONOID_MAX,
                  .dtype = BASE_F32};
    assert_true(hash_variant(&v, NULL, 0) == hash);
}

static void every_meaning_has_its_hash(void **unused) {
    (void)unused;
    uint64_t hashes[7];
    variant v = plain;
    hashes[0] = hash_variant(&v, NULL, 0);
    v.scale = 0.25;
    hashes[1] = hash_variant(&v, NULL, 0);
    v = plain;
    v.monoid = IR_MONOID_MIN;
    hashes[2] = hash_variant(&v, NULL, 0);
    v = plain;
    v.dtype = BASE_I32;
    hashes[3] = hash_variant(&v, NULL, 0);
    v = plain;
    v.known = 128;
    hashes[4] = hash_variant(&v, NULL, 0);
    v.known = 129;
    hashes[5] = hash_variant(&v, NULL, 0);
    v = plain;
    v.second_weight = true;
    hashes[6] = hash_variant(&v, NULL, 0);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < i; j++)
            assert_true(hashes[i] != hashes[j]);
}

static void loads_merge_only_between_stores(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *a = fixture_load(&f, x, NULL), *b = fixture_load(&f, x, NULL);
    fixture_store(&f, x, ir_build_binary(&f.builder, IR_ADD, a, b));
    ir_value *c = fixture_load(&f, x, NULL);
    fixture_store(&f, y, ir_build_binary(&f.builder, IR_MUL, c, a));
    canonical(&f);
    assert_string_equal(words(&f), "program x.0 add.0 x.1 x.2 mul.0 y.0");
    fixture_close(&f);
}

static void loads_in_a_loop_that_stores_stay(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "N");
    ir_value *before = fixture_load(&f, x, NULL);
    ir_value *hi = ir_build_size(&f.builder, fixture_extent(&f, "K"));
    ir_op *loop = fixture_for(&f, hi, 0, NULL);
    ir_value *inside = fixture_load(&f, x, NULL);
    ir_value *invariant = ir_build_unary(&f.builder, IR_EXP, before);
    fixture_store(&f, x, ir_build_binary(&f.builder, IR_ADD, inside, invariant));
    fixture_end_for(&f, loop, 0, NULL);
    canonical(&f);
    assert_ptr_equal(invariant->definer->parent, &f.module->body);
    assert_ptr_equal(inside->definer->parent, loop->regions[0]);
    assert_int_equal(loop->regions[0]->first->opcode, IR_LOAD);
    fixture_close(&f);
}

static void what_nothing_needs_is_dropped(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "R");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *unused_sum = fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL);
    ir_value *hi = ir_build_size(&f.builder, fixture_extent(&f, "K"));
    ir_op *loop = fixture_for(&f, hi, 1, &unused_sum);
    ir_value *next = ir_build_unary(&f.builder, IR_EXP, loop->regions[0]->arguments[1]);
    fixture_end_for(&f, loop, 1, &next);
    fixture_store(&f, y, ir_build_real(&f.builder, BASE_F32, 2.0));
    canonical(&f);
    assert_string_equal(words(&f), "program constant y.0");
    fixture_close(&f);
}

/* for k { t = x[k, :]; s = s + sum(t) } after t was something else: t is no carry. */
static void a_carry_that_nothing_reads_is_dropped(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "R");
    ir_value *scale = ir_build_real(b, BASE_F32, 2.0);
    ir_value *starts[3] = {fixture_load(&f, x, NULL), ir_build_real(b, BASE_F32, 0.0), scale};
    ir_value *hi = ir_build_size(b, fixture_extent(&f, "R"));
    ir_op *loop = fixture_for(&f, hi, 3, starts);
    ir_value **arguments = loop->regions[0]->arguments;
    ir_value *same = arguments[3];
    ir_value *t = fixture_load_at(&f, x, arguments[0], NULL);
    ir_value *sum = ir_build_binary(b, IR_MUL, fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL), same);
    ir_value *next[3] = {t, ir_build_binary(b, IR_ADD, arguments[2], sum), same};
    fixture_end_for(&f, loop, 3, next);
    fixture_store(&f, y, loop->results[1]);
    canonical(&f);
    assert_int_equal(loop->result_count, 1);
    assert_int_equal(loop->operand_count, 4);
    assert_int_equal(loop->regions[0]->argument_count, 2);
    assert_int_equal(ir_region_yield(loop->regions[0])->operand_count, 1);
    assert_ptr_equal(sum->definer->operands[1], scale);
    assert_string_equal(words(&f), "program constant size constant constant constant for.0 y.0");
    fixture_close(&f);
}

static void sizes_become_one_formula(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_INDEX, 1, "R");
    ir_value *n = ir_build_size(b, fixture_extent(&f, "N"));
    ir_value *half = ir_build_binary(b, IR_FLOOR_DIV, n, ir_build_integer(b, BASE_INDEX, 2));
    ir_value *one = ir_build_integer(b, BASE_INDEX, 1);
    fixture_store(&f, y, ir_build_binary(b, IR_MAXIMUM, half, one));
    canonical(&f);
    assert_string_equal(words(&f), "program size y.0");
    base_text text;
    base_text_init(&text, &f.arena);
    const ir_op *size = f.module->body.first->next;
    layout_extent_print(&text, &f.module->extents, size->attributes.extent);
    assert_string_equal(text.bytes, "max(N // 2, 1)");
    fixture_know(&f, "N", 9);
    canonical(&f);
    assert_string_equal(words(&f), "program constant y.0");
    assert_int_equal(f.module->body.first->next->attributes.constant.integer, 4);
    fixture_close(&f);
}

static void names_of_tiles_become_unique(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, "t");
    ir_value *u = fixture_named(ir_build_unary(b, IR_EXP, t), "t");
    ir_value *v = fixture_named(ir_build_unary(b, IR_LOG, u), "x");
    fixture_store(&f, y, v);
    canonical(&f);
    assert_string_equal(t->name, "t");
    assert_string_equal(u->name, "t_1");
    assert_string_equal(v->name, "x");
    fixture_close(&f);
}

/* p = t[:, None] * t[None, :] where t - max(t) was computed once. */
static void a_tile_along_two_axes_is_made_twice(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 3, "R", "N", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *d = ir_build_binary(b, IR_SUB, t, fixture_reduce(&f, IR_MONOID_MAX, t, 0, NULL));
    ir_value *p = ir_build_binary(b, IR_MUL, fixture_expand(&f, d, 0), fixture_expand(&f, d, 1));
    fixture_store(&f, y, p);
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f.arena);
    pass_context context = {.diagnostics = &diagnostics};
    assert_int_equal(pass_canonicalise(f.module, &context), PASS_CHANGED);
    const char *expected = "program x.0 max.0 sub.0 expand.0 x.1 sub.1 expand.1 mul.0 y.0";
    assert_string_equal(words(&f), expected);
    assert_null(analysis_axes_find(&f.arena, f.module).doubled);
    uint64_t hash = pass_canonical_hash(f.module);
    pass_canonicalise(f.module, &context);
    assert_string_equal(words(&f), expected);
    assert_true(pass_canonical_hash(f.module) == hash);
    fixture_close(&f);
}

static void a_carry_along_two_axes_is_refused(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_builder *b = &f.builder;
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 3, "R", "N", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_op *loop = fixture_for(&f, ir_build_size(b, fixture_extent(&f, "K")), 1, &t);
    ir_value *next = ir_build_unary(b, IR_EXP, loop->regions[0]->arguments[1]);
    fixture_end_for(&f, loop, 1, &next);
    ir_value *c = loop->results[0];
    fixture_store(&f, y,
                  ir_build_binary(b, IR_MUL, fixture_expand(&f, c, 0), fixture_expand(&f, c, 1)));
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f.arena);
    pass_context context = {.diagnostics = &diagnostics};
    assert_int_equal(pass_canonicalise(f.module, &context), PASS_FAILED);
    assert_int_equal(diagnostics.count, 1);
    assert_string_equal(diagnostics.items[0].slug, "axis-twice");
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors_count_in_the_order_of_the_data_flow),
        cmocka_unit_test(names_and_order_change_nothing),
        cmocka_unit_test(every_meaning_has_its_hash),
        cmocka_unit_test(loads_merge_only_between_stores),
        cmocka_unit_test(loads_in_a_loop_that_stores_stay),
        cmocka_unit_test(what_nothing_needs_is_dropped),
        cmocka_unit_test(a_carry_that_nothing_reads_is_dropped),
        cmocka_unit_test(sizes_become_one_formula),
        cmocka_unit_test(names_of_tiles_become_unique),
        cmocka_unit_test(a_tile_along_two_axes_is_made_twice),
        cmocka_unit_test(a_carry_along_two_axes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
