/* IR text: what is printed reads back and prints the same bytes, at every level; what is no module
 * is refused with a location, and no bytes crash the reader. */
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/print.h"
#include "text/ir_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    base_source source;
} fixture;

static int set_up(void **state) {
    static fixture f;
    base_arena_init(&f.arena, base_allocator_default(), &f.exhausted);
    f.source = (base_source){.name = "k.croft", .text = ""};
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(&((fixture *)*state)->arena);
    return 0;
}

static const char *print(fixture *f, const ir_module *module, bool facts) {
    base_text out;
    base_text_init(&out, &f->arena);
    ir_module_print(&out, module, facts);
    return out.bytes;
}

static ir_module *read_bytes(fixture *f, const char *text, size_t length) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "text.ir", .text = text, .length = length};
    base_diagnostics_init(&f->diagnostics, &f->arena);
    return text_ir_parse(&f->arena, source, &f->diagnostics);
}

static ir_module *read(fixture *f, const char *text) {
    ir_module *module = read_bytes(f, text, strlen(text));
    if (module == NULL) {
        base_text out;
        base_text_init(&out, &f->arena);
        base_diagnostics_render(&out, &f->diagnostics);
        fail_msg("%s\n%s", text, out.bytes);
    }
    return module;
}

static void check_comes_back(fixture *f, const ir_module *module) {
    for (int facts = 0; facts < 2; facts++) {
        const char *text = print(f, module, facts == 1);
        assert_string_equal(print(f, read(f, text), facts == 1), text);
        assert_string_equal(print(f, ir_module_clone(&f->arena, module), facts == 1), text);
    }
}

/* ---- modules made by hand ---- */
static ir_value *add_tensor(fixture *f, ir_module *m, const char *name, ir_access_mode mode,
                            int rank, const layout_extent *const *extents) {
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = BASE_F32, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.extent[i] = extents[i];
    ir_parameter *grown = BASE_NEW_ARRAY(&f->arena, ir_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++)
        grown[i] = m->parameters[i];
    ir_value *value = ir_value_create(m, type, name);
    grown[m->parameter_count] =
        (ir_parameter){.name = name,
                       .is_tensor = true,
                       .mode = mode,
                       .value = value,
                       .dtype = BASE_F32,
                       .location = {.source = m->source, .line = 1, .column = 8, .length = 3}};
    m->parameters = grown;
    m->parameter_count++;
    return value;
}

static ir_access *add_access(fixture *f, ir_op *op, int rank) {
    ir_access *access = BASE_NEW(&f->arena, ir_access);
    *access = (ir_access){.rank = rank, .fill = -1, .mask = -1, .width = 1};
    for (int i = 0; i < IR_MAX_RANK; i++)
        access->index[i] = (ir_index){.operand = -1, .vector = -1};
    op->attributes.access = access;
    return access;
}

/* y[row, :] = x[row, :] - max(x[row, :]), with a name that two values share. */
static ir_module *make_tile(fixture *f) {
    ir_module *m = ir_module_create(&f->arena, "centre", &f->source);
    const layout_extent *r =
        layout_extent_symbol(&m->extents, layout_extents_declare(&m->extents, "R"));
    const layout_extent *n =
        layout_extent_symbol(&m->extents, layout_extents_declare(&m->extents, "N"));
    m->extents.symbols[1].known = true;
    m->extents.symbols[1].value = 4096;
    const layout_extent *shape[] = {r, n};
    ir_value *x = add_tensor(f, m, "x", IR_IN, 2, shape);
    ir_value *y = add_tensor(f, m, "y", IR_OUT, 2, shape);
    m->programs[m->program_count++] = (ir_program){.name = "row", .extent = r, .step = 1};
    ir_builder b = {.module = m,
                    .region = &m->body,
                    .location = {.source = &f->source, .line = 3, .column = 5, .length = 9}};
    ir_type index = ir_type_scalar(BASE_INDEX);
    ir_value *row = ir_build_op(&b, IR_PROGRAM, 0, NULL, 1, &index, 0)->results[0];
    row->name = "row";
    ir_type tile = {.dtype = BASE_F32, .rank = 1, .extent = {n}};
    ir_op *load = ir_build_op(&b, IR_LOAD, 2, (ir_value *[]){x, row}, 1, &tile, 0);
    ir_access *read_access = add_access(f, load, 2);
    read_access->index[0] = (ir_index){.kind = IR_INDEX_POINT, .operand = 1, .inside = true};
    read_access->index[1] = (ir_index){.kind = IR_INDEX_RANGE, .operand = -1, .length = n};
    load->results[0]->name = "t";
    load->anchor = "x.0";
    ir_type scalar = ir_type_scalar(BASE_F32);
    ir_op *reduce = ir_build_op(&b, IR_REDUCE, 1, load->results, 1, &scalar, 0);
    reduce->attributes.monoid = IR_MONOID_MAX;
    reduce->anchor = "max.0";
    ir_value *difference = ir_build_binary(&b, IR_SUB, load->results[0], reduce->results[0]);
    difference->name = "t";
    b.location = (base_location){0};
    ir_op *store = ir_build_op(&b, IR_STORE, 3, (ir_value *[]){y, row, difference}, 0, NULL, 0);
    *add_access(f, store, 2) = *read_access;
    store->attributes.access->injective = true;
    return m;
}

static void tile_module_prints_as_documented_and_comes_back(void **state) {
    fixture *f = *state;
    ir_module *m = make_tile(f);
    assert_string_equal(print(f, m, true),
                        "kernel @centre[R, N = 4096](%x: in f32[R, N] @1:8+3, %y: out f32[R, N] "
                        "@1:8+3) level tile\n"
                        "  source \"k.croft\"\n"
                        "  program row: R\n"
                        "{\n"
                        "  %row = program row : index @3:5+9\n"
                        "  %t.3 = load %x[%row inside, : N] : f32<N> !x.0 @3:5+9\n"
                        "  %4 = reduce max %t.3 nan=propagate axis=0 : f32 !max.0 @3:5+9\n"
                        "  %t.5 = sub %t.3, %4 : f32<N> @3:5+9\n"
                        "  store %y[%row inside, : N], %t.5 injective\n"
                        "}\n");
    check_comes_back(f, m);
}

static void numbers_of_removed_values_do_not_show(void **state) {
    fixture *f = *state;
    ir_module *m = make_tile(f);
    const char *before = print(f, m, true);
    for (int i = 0; i < 10; i++)
        ir_value_create(m, ir_type_scalar(BASE_F32), "t");
    assert_string_equal(print(f, m, true), before);
}

static void mapped_module_keeps_layouts_and_storage(void **state) {
    fixture *f = *state;
    ir_module *m = make_tile(f);
    m->level = IR_MAPPED;
    m->lanes = 8;
    m->machine = "a \"machine\" \x01";
    m->plan_hash = UINT64_C(0x5d1e8c0a91b2f733);
    m->axis_count = 2;
    m->axes = BASE_NEW_ARRAY(&f->arena, ir_axis, 2);
    m->axes[0] =
        (ir_axis){.anchor = "row",
                  .extent = m->programs[0].extent,
                  .is_program = true,
                  .digits = {.count = 1, .digits = {{.holder = LAYOUT_GROUP, .radix = 0}}}};
    m->axes[1] = (ir_axis){.anchor = "N",
                           .extent = layout_extent_symbol(&m->extents, 1),
                           .digits = {.count = 3,
                                      .digits = {{.holder = LAYOUT_LANE, .radix = 8},
                                                 {.holder = LAYOUT_SLOT, .radix = 4},
                                                 {.holder = LAYOUT_STEP, .radix = 0}}}};
    ir_op *load = m->body.first->next;
    load->results[0]->layout.axis[0] = 1;
    load->results[0]->storage = IR_STORAGE_PRIVATE;
    load->attributes.access->width = 8;
    ir_builder b = {.module = m, .region = &m->body};
    ir_op *sweep = ir_build_op(&b, IR_SWEEP, 0, NULL, 0, NULL, 1);
    sweep->attributes.axis_count = 1;
    sweep->attributes.axes[0] = 1;
    b.region = sweep->regions[0];
    ir_build_yield(&b, 0, NULL);
    const char *text = print(f, m, true);
    assert_non_null(strstr(text, "  axis N extent N digits lane 8 | slot 4 | step *\n"));
    assert_non_null(strstr(text, ": f32<N> on (N) in private !x.0"));
    assert_non_null(strstr(text, "  sweep axes=(N) {\n    yield\n  }\n"));
    check_comes_back(f, m);
}

static void thread_module_keeps_affine_accesses_and_masks(void **state) {
    fixture *f = *state;
    ir_module *m = make_tile(f);
    m->level = IR_THREAD;
    m->body = (ir_region){0};
    m->groups = m->programs[0].extent;
    ir_builder b = {.module = m, .region = &m->body};
    ir_type uniform = ir_type_uniform(BASE_I64), slots = ir_type_slots(BASE_F32, 4);
    ir_value *group = ir_build_op(&b, IR_GROUP, 0, NULL, 1, &uniform, 0)->results[0];
    ir_value *x = m->parameters[0].value;
    ir_op *load = ir_build_op(&b, IR_LOAD, 3, (ir_value *[]){x, group, group}, 1, &slots, 0);
    ir_access *access = add_access(f, load, 2);
    access->index[0] = (ir_index){.kind = IR_INDEX_AFFINE, .operand = 1, .vector = -1};
    access->index[1] = (ir_index){
        .kind = IR_INDEX_AFFINE, .operand = -1, .vector = 2, .affine = ir_affine_of(1, -8)};
    access->mask_kind = IR_MASK_RANGE;
    access->mask = 2;
    access->mask_affine = ir_affine_of(1, 8);
    access->width = 8;
    ir_type cells = {
        .form = IR_FORM_PRIVATE, .dtype = BASE_F32, .extent = {m->programs[0].extent}, .slots = 4};
    ir_op *array = ir_build_op(&b, IR_PRIVATE, 0, NULL, 1, &cells, 0);
    array->attributes.extent = cells.extent[0];
    ir_build_op(&b, IR_PUSH, 3, (ir_value *[]){array->results[0], group, load->results[0]}, 0, NULL,
                0);
    const char *text = print(f, m, true);
    assert_non_null(strstr(text, "%3 = load %x[%2, lane*1 + slot*-8 + vector %2] mask=lane*1 + "
                                 "slot*8 < %2 width=8 : f32(4)\n"));
    assert_non_null(strstr(text, "  %4 = private R : private f32(4)[R]\n  push %4, %2, %3\n"));
    check_comes_back(f, m);
}

/* ---- texts ---- */
#define BODY "kernel @k[N](%x: in f32[N]) level tile\n{\n"
#define HEAD "kernel @k[N](%x: inout f32[N], i: i32 = -3, e: f32 = -0.0) level "

static const char *const canonical[] = {
    "kernel @empty() level tile\n{\n}\n",
    "kernel @scalars(a: f32, b: bool = true, c: bf16 = nan, d: i64 = -9223372036854775808) level "
    "tile\n{\n}\n",
    "kernel @checks[R, N = 0](%x: in f32[R, min(N, 2)], %s: out f16[]) level tile\n"
    "  program a: R\n  program b: (N + 1) // 2 step 64\n"
    "  check x[1] == N * 2 - R % 3\n{\n}\n",
    HEAD "tile\n  source none\n{\n"
         "  %1 = constant inf : f32\n  %2 = constant -0.0 : f32\n  %3 = constant -5 : index\n"
         "  %4 = constant false : bool\n  %5 = constant i32 7 : f32\n"
         "  %6 = size max(N - 1, 0) : index\n  %e = parameter e : f32\n"
         "  %8 = arange N // 2 : index<N // 2>\n  %9 = expand %8 axis=1 : index<N // 2, 1>\n"
         "  %10 = cast %9 rounding=even : i8<N // 2, 1>\n"
         "  %11 = load %x[gather %8 inside] fill=%e declared : f32<N // 2>\n"
         "  %12 = load %x[%3 : +64 inside] : f32<64 below %6>\n"
         "  store %x[gather %8], %11 unique\n"
         "}\n",
    HEAD "mapped\n  team 8\n  axis N extent N digits slot 2 | lane 4 | step *\n"
         "  axis N extent 5 digits none\n{\n"
         "  %1 = for %x, %x, %x, %x : f32 (%k: index, %a: f32) {\n    yield %a\n  }\n"
         "  %4, %5 = if %1 : f32, f32<N> {\n    yield %1, %x\n  } else {\n    yield %1, %x\n  }\n"
         "  sweep axes=(N, 1) {\n  }\n"
         "}\n",
    HEAD "thread\n  team 32\n  groups (N + 31) // 32\n{\n"
         "  %1 = group : i64\n  %2 = iota lane*1 + slot*32 : i64(4)\n"
         "  %3 = load %x[vector %2] mask=%1 : f32(4)\n  %4 = fold sum %3 nan=ignore : f32(1)\n"
         "  %5 = combine max %4 nan=propagate : f32\n"
         "  when %5 {\n    store %x[0], %4 mask=0 < %1\n  }\n"
         "  %6 = private N : private bool[N]\n  %7 = pull %6, %1 : bool\n"
         "  %8 = bitcast %5 : f32<>\n  %9 = load %x[point %1] : f32\n"
         "}\n",
    "kernel @k(%x: in f32[]) level tile\n  source none\n{\n  %1 = load %x[] : f32 !v @7:1+0\n}\n",
    "kernel @t[N](%x: in f32[N], %y: out f32[N]) level thread\n"
    "  source none\n"
    "  team 64\n"
    "  subgroup 32\n"
    "  groups 1\n"
    "  implements {\n"
    "    %t = load %x[: N] : f32<N>\n"
    "    store %y[: N], %t\n"
    "  }\n"
    "{\n"
    "  %one = constant 1 : i64\n"
    "  %s, %f = scratch 64 : scratch f32[64], token free\n"
    "  %l = iota lane*1 + subgroup*32 + slot/2 % 4*16 : i64(1) uniform subgroup range [0, 63]\n"
    "  %t = load %x[lane*1 + subgroup*32] : f32(1)\n"
    "  %w = put %s[lane*1 + subgroup*32], %t, %f mask=lane*1 < %one : token written %s\n"
    "  %p = sync group %w : token published %s\n"
    "  %u = get %s[vector %l], %p : f32(1)\n"
    "  %a = combine max %u nan=propagate lanes=(16, 8) : f32(1)\n"
    "  %b = shuffle %a lanes=(1, 2, 4, 8, 16) xor=(3) : f32(1)\n"
    "  store %y[lane*1 + subgroup*32], %b injective\n"
    "}\n",
};

static void canonical_texts_come_back_byte_for_byte(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof canonical / sizeof canonical[0]; i++) {
        bool facts = strstr(canonical[i], "source") != NULL;
        assert_string_equal(print(f, read(f, canonical[i]), facts), canonical[i]);
    }
}

static void types_of_other_levels_are_spelled_out(void **state) {
    fixture *f = *state;
    ir_module *tile = read(f, BODY "  %a = neg %x : uniform f32\n  %b = neg %x : f32<>\n}\n");
    assert_int_equal(tile->body.first->results[0]->type.form, IR_FORM_UNIFORM);
    assert_int_equal(tile->body.last->results[0]->type.form, IR_FORM_TILE);
    assert_non_null(
        strstr(print(f, tile, false), "%a = neg %x : uniform f32\n  %b = neg %x : f32\n"));
}

static void blanks_comments_and_labels_are_free(void **state) {
    fixture *f = *state;
    ir_module *m = read(f, "\n  kernel @k [N] ( %x:in f32[ N ] ) level tile # head\n{\n"
                           "%anything.9=size N:index # n\n\n  %77 = neg %anything.9 : index }\n");
    assert_string_equal(print(f, m, false), "kernel @k[N](%x: in f32[N]) level tile\n{\n"
                                            "  %anything = size N : index\n"
                                            "  %2 = neg %anything : index\n}\n");
}

/* ---- refusals ---- */
typedef struct refusal {
    const char *text;
    const char *slug;
    int line, column;
} refusal;

static const refusal refusals[] = {
    {"", "ir-syntax", 1, 1},
    {"kernel", "ir-syntax", 1, 7},
    {"kernel @k() level high\n{\n}\n", "unknown-name", 1, 19},
    {"kernel @k[N, N]() level tile\n{\n}\n", "duplicate-name", 1, 15},
    {"kernel @k(%x: in f33[]) level tile\n{\n}\n", "unknown-type", 1, 18},
    {"kernel @k(%x: f32[]) level tile\n{\n}\n", "ir-syntax", 1, 15},
    {"kernel @k(%x: in f32[M]) level tile\n{\n}\n", "unknown-name", 1, 22},
    {"kernel @k(%x: in f32[1,1,1,1,1]) level tile\n{\n}\n", "ir-rank", 1, 29},
    {"kernel @k(a: i32 = 1.5) level tile\n{\n}\n", "ir-number", 1, 20},
    {"kernel @k[N]() level tile\n  colour N\n{\n}\n", "ir-syntax", 2, 3},
    {"kernel @k[N]() level tile\n  axis N extent N digits lane 8 | lane 2 @4\n{\n}\n", "ir-digits",
     2, 35},
    {"kernel @k[N]() level tile\n  plan 123\n{\n}\n", "ir-number", 2, 8},
    {"kernel @k() level tile\n", "ir-syntax", 2, 1},
    {"kernel @k() level tile\n{\n", "ir-syntax", 3, 1},
    {"kernel @k() level tile\n{\n}\n}\n", "ir-syntax", 4, 1},
    {BODY "  %a = frobnicate %x : f32\n}\n", "unknown-op", 3, 8},
    {BODY "  %a = neg %b : f32\n}\n", "unknown-value", 3, 12},
    {BODY "  %a = neg %a : f32\n}\n", "unknown-value", 3, 12},
    {BODY "  %a = neg %x : f32<4 below %d>\n}\n", "unknown-value", 3, 29},
    {BODY "  %x = neg %x : f32\n}\n", "duplicate-value", 3, 3},
    {BODY "  %a = neg %x\n}\n", "result-count", 3, 14},
    {BODY "  %a = neg %x : f32, f32\n}\n", "result-count", 3, 25},
    {BODY "  %a = constant 99999999999999999999 : i64\n}\n", "ir-number", 3, 17},
    {BODY "  %a = reduce max %x axis=0 : f32\n}\n", "ir-syntax", 3, 22},
    {BODY "  %a = reduce best %x nan=ignore axis=0 : f32\n}\n", "unknown-name", 3, 15},
    {BODY "  %a = load %x[: 9223372036854775807 + 1] : f32\n}\n", "ir-number", 3, 41},
    {BODY "  %a = load %x[0, 0, 0, 0, 0] : f32\n}\n", "ir-rank", 3, 26},
    {BODY "  %a = load %x[%x : 4] : f32\n}\n", "ir-syntax", 3, 21},
    {BODY "  %a = program row : index\n}\n", "unknown-name", 3, 16},
    {BODY "  when %x\n}\n", "ir-syntax", 3, 10},
    {BODY "  if %x {\n  }\n}\n", "ir-syntax", 4, 4},
    {BODY "  yield %x extra\n}\n", "ir-syntax", 3, 12},
    {BODY "  \x01\n}\n", "ir-syntax", 3, 3},
};

static void faults_are_reported_where_they_stand(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const refusal *r = &refusals[i];
        assert_null(read_bytes(f, r->text, strlen(r->text)));
        const base_diagnostic *first = &f->diagnostics.items[0];
        if (strcmp(first->slug, r->slug) != 0 || first->location.line != r->line ||
            first->location.column != r->column || f->diagnostics.count != 1)
            fail_msg("%s\ngave %s at %d:%d, %d findings", r->text, first->slug,
                     first->location.line, first->location.column, f->diagnostics.count);
    }
}

static void one_run_reports_several_faults_and_no_consequences(void **state) {
    fixture *f = *state;
    const char *text = BODY "  %a = neg %b : f32\n"
                            "  %c = neg %a : f32\n"
                            "  %d = for %x, %zero, %x (%k: index) {\n"
                            "    %e = neg %k : f33\n"
                            "    %g = neg %e : f32\n"
                            "  }\n"
                            "  oops\n"
                            "}\n";
    assert_null(read_bytes(f, text, strlen(text)));
    assert_int_equal(f->diagnostics.count, 4);
    const int lines[] = {3, 5, 6, 9};
    for (int i = 0; i < 4; i++)
        assert_int_equal(f->diagnostics.items[i].location.line, lines[i]);
}

static char *repeat(fixture *f, const char *head, const char *part, int count, const char *tail) {
    base_text out;
    base_text_init(&out, &f->arena);
    base_text_string(&out, head);
    for (int i = 0; i < count; i++)
        base_text_string(&out, part);
    base_text_string(&out, tail);
    return out.bytes;
}

static void nesting_is_bounded(void **state) {
    fixture *f = *state;
    const char *texts[] = {repeat(f, BODY, "when %x {\n", 50000, ""),
                           repeat(f, BODY "when %q {\n", "when %q {\n", 50000, ""),
                           repeat(f, BODY "%a = size ", "(", 50000, ""),
                           repeat(f, BODY "%a = size ", "min(", 50000, "")};
    for (int i = 0; i < 4; i++) {
        assert_null(read_bytes(f, texts[i], strlen(texts[i])));
        bool found = false;
        for (int k = 0; k < f->diagnostics.count; k++)
            found = found || strcmp(f->diagnostics.items[k].slug, "nesting") == 0;
        assert_true(found || f->diagnostics.count == BASE_DIAGNOSTIC_LIMIT);
    }
    const char *chain = repeat(f, BODY "%a = size N", " - N * N", 50000, " : index\n}\n");
    assert_null(read_bytes(f, chain, strlen(chain)));
    const char *deep = repeat(f, BODY, "when %x {\n", 60, "");
    deep = repeat(f, deep, "}\n", 61, "");
    check_comes_back(f, read(f, deep));
}

/* Any cut and any changed byte of a canonical text: a module or findings; what is a module comes
 * back. */
static void damaged_texts_are_refused_or_come_back(void **state) {
    fixture *f = *state;
    static const char changes[] = {'\0', '\n', '"', '%', '{', '}', '(', '<', '9', 'a', ' ', '\x80'};
    for (size_t i = 0; i < sizeof canonical / sizeof canonical[0]; i++) {
        size_t length = strlen(canonical[i]);
        for (size_t at = 0; at < length; at++) {
            assert_true(read_bytes(f, canonical[i], at) == NULL || at >= length - 1);
            for (size_t c = 0; c < sizeof changes; c++) {
                char *text = base_arena_copy(&f->arena, canonical[i], length);
                text[at] = changes[c];
                ir_module *m = read_bytes(f, text, length);
                assert_true((m == NULL) == (f->diagnostics.count > 0));
                if (m != NULL)
                    check_comes_back(f, m);
            }
        }
    }
}

static void ten_megabytes_of_garbage_end_in_findings(void **state) {
    fixture *f = *state;
    size_t length = 10 << 20;
    char *text = base_arena_alloc(&f->arena, length);
    memcpy(text, BODY, strlen(BODY));
    uint64_t random = 1;
    for (size_t i = strlen(BODY); i < length; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        text[i] = (char)(random >> 56);
    }
    assert_null(read_bytes(f, text, length));
    assert_int_equal(f->diagnostics.count, BASE_DIAGNOSTIC_LIMIT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tile_module_prints_as_documented_and_comes_back),
        TEST(numbers_of_removed_values_do_not_show),
        TEST(mapped_module_keeps_layouts_and_storage),
        TEST(thread_module_keeps_affine_accesses_and_masks),
        TEST(canonical_texts_come_back_byte_for_byte),
        TEST(types_of_other_levels_are_spelled_out),
        TEST(blanks_comments_and_labels_are_free),
        TEST(faults_are_reported_where_they_stand),
        TEST(one_run_reports_several_faults_and_no_consequences),
        TEST(nesting_is_bounded),
        TEST(damaged_texts_are_refused_or_come_back),
        TEST(ten_megabytes_of_garbage_end_in_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
