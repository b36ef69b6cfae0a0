/* Closed forms of index tiles (analysis/index_form.h, index_digits.h, access_width.h) against
 * enumeration: random arithmetic on an arange, over random digits.
 *
 *     CROFT_SEED=7 unit_index_forms     another seed
 *
 * A form must give what the ops give at every element; over digits it must give that at every
 * position; and a width must be a run of neighbours wherever it stands. Some of each must be found.
 */
#include "tile_fixture.h"

#include "analysis/access_width.h"
#include "analysis/index_digits.h"
#include "base/checked.h"

enum { CASES = 3000, MOST_OPS = 6 };

typedef struct chance {
    uint64_t state;
} chance;

static int64_t below(chance *c, int64_t bound) {
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return (int64_t)(c->state >> 11) % bound;
}

static chance chance_of(int number) {
    const char *text = getenv("CROFT_SEED");
    uint64_t seed = text == NULL ? 1 : (uint64_t)strtoull(text, NULL, 10);
    chance c = {seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)number * UINT64_C(2654435761) + 1};
    below(&c, 2);
    return c;
}

/* ---- what ops give ---- */
static int64_t narrowed(base_dtype dtype, int64_t value) {
    if (dtype == BASE_I32)
        return (int32_t)(uint32_t)(uint64_t)value;
    return dtype == BASE_U8 ? (int64_t)((uint64_t)value & 255) : value;
}

static int64_t value_at(const ir_value *value, int64_t index, int64_t row) {
    const ir_op *op = value->definer;
    if (op->opcode == IR_PROGRAM)
        return row;
    if (op->opcode == IR_CONSTANT)
        return op->attributes.constant.integer;
    if (op->opcode == IR_ARANGE)
        return index;
    int64_t a = value_at(op->operands[0], index, row), b = 0;
    if (op->operand_count > 1)
        b = value_at(op->operands[1], index, row);
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    int64_t result = op->opcode == IR_ADD         ? (int64_t)(x + y)
                     : op->opcode == IR_SUB       ? (int64_t)(x - y)
                     : op->opcode == IR_MUL       ? (int64_t)(x * y)
                     : op->opcode == IR_NEG       ? (int64_t)(0 - x)
                     : op->opcode == IR_FLOOR_DIV ? base_floor_div(a, b)
                     : op->opcode == IR_FLOOR_MOD ? base_floor_mod(a, b)
                     : op->opcode == IR_AND       ? (a & b)
                     : op->opcode == IR_SHL       ? (int64_t)(x << b)
                     : op->opcode == IR_SHR       ? a >> b
                                                  : a;
    return narrowed(value->type.dtype, result);
}

static int64_t scalar_of(const ir_value *value, int64_t row) {
    return value_at(value, 0, row);
}

static int64_t form_at(const analysis_index_form *form, int64_t index, int64_t row) {
    uint64_t sum = (uint64_t)form->constant;
    for (int i = 0; i < form->scalar_count; i++)
        sum += (uint64_t)scalar_of(form->scalars[i].value, row) * (uint64_t)form->scalars[i].weight;
    for (int i = 0; i < form->term_count; i++) {
        int64_t number = index / form->terms[i].divide;
        if (form->terms[i].modulus != 0)
            number %= form->terms[i].modulus;
        sum += (uint64_t)number * (uint64_t)form->terms[i].stride;
    }
    return (int64_t)sum;
}

/* ---- random tiles ---- */
static ir_value *random_op(fixture *f, chance *c, ir_value *tile, ir_value *other) {
    static const int64_t numbers[] = {1, 2, 3, 4, 8, 16, 32, 64, 5, 12, -1, 7, 63, 1 << 20};
    static const ir_opcode opcodes[] = {IR_FLOOR_DIV, IR_FLOOR_MOD, IR_MUL, IR_ADD, IR_SUB,
                                        IR_FLOOR_DIV, IR_FLOOR_MOD, IR_AND, IR_SHL, IR_SHR};
    ir_builder *b = &f->builder;
    base_dtype dtype = tile->type.dtype;
    int64_t choice = below(c, 16);
    if (choice == 0)
        return ir_build_cast(b, tile, dtype == BASE_INDEX ? BASE_I32 : BASE_INDEX, IR_ROUND_ZERO);
    if (choice == 1 && dtype == BASE_INDEX)
        return ir_build_cast(b, tile, BASE_U8, IR_ROUND_ZERO);
    if (choice == 2)
        return ir_build_unary(b, IR_NEG, tile);
    if (choice <= 4 && dtype == BASE_INDEX) {
        ir_value *scale = ir_build_integer(b, BASE_INDEX, numbers[below(c, 9)]);
        return ir_build_binary(b, IR_ADD, tile, ir_build_binary(b, IR_MUL, f->row, scale));
    }
    if (choice <= 6 && dtype == other->type.dtype)
        return ir_build_binary(b, below(c, 2) == 0 ? IR_ADD : IR_SUB, tile, other);
    ir_opcode opcode = opcodes[below(c, 10)];
    int64_t number = opcode == IR_AND                       ? ((int64_t)1 << below(c, 7)) - 1
                     : opcode == IR_SHL || opcode == IR_SHR ? below(c, 5)
                                                            : numbers[below(c, 14)];
    number = dtype == BASE_U8 ? narrowed(dtype, number < 0 ? 1 : number % 128) : number;
    return ir_build_binary(b, opcode, tile, ir_build_integer(b, dtype, number));
}

static ir_value *random_tile(fixture *f, chance *c, ir_value *base) {
    ir_value *tile = base, *other = base;
    for (int64_t i = below(c, MOST_OPS); i > 0; i--) {
        ir_value *next = random_op(f, c, tile, other);
        other = tile;
        tile = next;
    }
    return tile;
}

/* ---- random digits ---- */
/* The last digit of each holder is the least of its number. */
static void reverse_strides(layout_axis *digits) {
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        int64_t stride = 1;
        for (int k = digits->count - 1; k >= 0; k--)
            if (digits->digits[k].holder == (layout_holder)h) {
                digits->digits[k].stride = stride;
                stride *= digits->digits[k].radix;
            }
    }
}

/* Slots, lanes, subgroups and steps in any order, of powers of two, sometimes with an exclusive or,
 * which no step takes part in; sometimes slots by three. */
static layout_axis random_digits(chance *c) {
    layout_axis digits = {0};
    bool odd = below(c, 8) == 0;
    for (int64_t i = 1 + below(c, 4); i > 0; i--) {
        static const layout_holder holders[] = {LAYOUT_SLOT, LAYOUT_LANE, LAYOUT_SUBGROUP,
                                                LAYOUT_SLOT};
        layout_holder holder = holders[below(c, 4)];
        int64_t radix = odd && holder == LAYOUT_SLOT ? 3 : (int64_t)2 << below(c, 2);
        digits.digits[digits.count++] = (layout_digit){.holder = holder, .radix = radix};
    }
    if (below(c, 3) == 0)
        reverse_strides(&digits);
    int64_t chunk = layout_axis_chunk(&digits);
    if (!odd && below(c, 4) == 0)
        digits.exclusive_or = below(c, chunk);
    else if (below(c, 2) == 0)
        digits.digits[digits.count++] =
            (layout_digit){.holder = LAYOUT_STEP, .radix = below(c, 2) == 0 ? 0 : 3};
    return digits;
}

typedef struct position_walk {
    int64_t counts[LAYOUT_HOLDER_COUNT];
    int64_t all;
} position_walk;

static position_walk walk_of(const layout_axis *digits) {
    position_walk walk = {.all = 1};
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        walk.counts[h] = layout_axis_radix(digits, (layout_holder)h);
        walk.counts[h] = walk.counts[h] == 0 ? 3 : walk.counts[h];
        walk.all *= walk.counts[h];
    }
    return walk;
}

static void position_at(const position_walk *walk, int64_t number,
                        int64_t position[LAYOUT_HOLDER_COUNT]) {
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        position[h] = number % walk->counts[h];
        number /= walk->counts[h];
    }
}

static int64_t digits_at(const analysis_index_digits *digits,
                         const int64_t position[LAYOUT_HOLDER_COUNT]) {
    uint64_t sum = (uint64_t)digits->constant +
                   (uint64_t)ir_affine_at(&digits->affine,
                                          (ir_position){.slot = position[LAYOUT_SLOT],
                                                        .lane = position[LAYOUT_LANE],
                                                        .subgroup = position[LAYOUT_SUBGROUP]});
    for (int i = 0; i < digits->step_count; i++) {
        int64_t number = position[LAYOUT_STEP] / digits->steps[i].divide;
        if (digits->steps[i].modulus != 0)
            number %= digits->steps[i].modulus;
        sum += (uint64_t)number * (uint64_t)digits->steps[i].stride;
    }
    return (int64_t)sum;
}

/* ---- the tests ---- */
static const int64_t rows[] = {0, 1, 5, 1000000007, INT64_MAX / 3, INT64_MAX};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Rows of a tensor of R = 6 rows are 0 to 5. */
static int known_rows(bool known) {
    return known ? 3 : ROWS;
}

static void forms_are_what_the_ops_give(void **unused) {
    (void)unused;
    int found = 0;
    for (int number = 0; number < CASES; number++) {
        chance c = chance_of(number);
        fixture f;
        fixture_open(&f);
        int64_t extent = 1 + below(&c, 300);
        bool known = below(&c, 2) == 0;
        if (known)
            fixture_know(&f, "R", 6);
        fixture_know(&f, "N", extent);
        ir_value *tile = random_tile(&f, &c, fixture_arange(&f, "N"));
        analysis_index_form form;
        analysis_axes axes = analysis_axes_find(&f.arena, f.module);
        bool has = analysis_index_form_find(f.module, axes.of_value, tile, &form);
        found += has;
        for (int r = 0; has && r < known_rows(known); r++)
            for (int64_t i = 0; i < extent; i++)
                if (form_at(&form, i, rows[r]) != value_at(tile, i, rows[r]))
                    fail_msg("case %d: at %lld of row %lld the form gives %lld, the ops %lld",
                             number, (long long)i, (long long)rows[r],
                             (long long)form_at(&form, i, rows[r]),
                             (long long)value_at(tile, i, rows[r]));
        fixture_close(&f);
    }
    assert_true(found > CASES / 2);
}

static void forms_over_digits_are_the_same_at_every_position(void **unused) {
    (void)unused;
    static const int64_t unknown[LAYOUT_HOLDER_COUNT] = {0};
    int found = 0;
    for (int number = 0; number < CASES; number++) {
        chance c = chance_of(number);
        layout_axis axis = random_digits(&c);
        const layout_axis *axes[] = {&axis};
        analysis_index_form form = {.term_count = (int)(1 + below(&c, 3))};
        for (int i = 0; i < form.term_count; i++)
            form.terms[i] = (analysis_index_term){
                .divide = below(&c, 4) == 0 ? 1 + below(&c, 7) : (int64_t)1 << below(&c, 7),
                .modulus = below(&c, 2) == 0   ? 0
                           : below(&c, 4) == 0 ? 1 + below(&c, 7)
                                               : (int64_t)1 << below(&c, 7),
                .stride = below(&c, 21) - 10,
                .limit = INT64_MAX};
        position_walk walk = walk_of(&axis);
        int64_t ranges[LAYOUT_HOLDER_COUNT];
        for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++)
            ranges[h] = h == LAYOUT_STEP ? 0 : walk.counts[h];
        analysis_index_digits digits;
        bool has =
            analysis_index_digits_find(&form, axes, number % 2 == 0 ? ranges : unknown, &digits);
        found += has;
        for (int64_t i = 0; has && i < walk.all; i++) {
            int64_t position[LAYOUT_HOLDER_COUNT];
            position_at(&walk, i, position);
            int64_t index = layout_axis_logical(&axis, position);
            if (digits_at(&digits, position) != form_at(&form, index, 0))
                fail_msg("case %d: element %lld: the digits give %lld, the form %lld", number,
                         (long long)index, (long long)digits_at(&digits, position),
                         (long long)form_at(&form, index, 0));
        }
    }
    assert_true(found > CASES / 3);
}

/* x[gather a, gather b]. */
static ir_op *gather(fixture *f, ir_value *tensor, ir_value *a, ir_value *b) {
    ir_type type = a->type;
    type.dtype = BASE_F32;
    ir_op *op = ir_build_op(&f->builder, IR_LOAD, 3, (ir_value *[]){tensor, a, b}, 1, &type, 0);
    ir_access *access = BASE_NEW(f->module->arena, ir_access);
    *access = (ir_access){.rank = 2, .fill = -1, .mask = -1, .width = 1};
    for (int d = 0; d < 2; d++)
        access->index[d] = (ir_index){.kind = IR_INDEX_GATHER, .operand = d + 1, .vector = -1};
    op->attributes.access = access;
    return op;
}

/* Runs of `width` numbers of the holder, from each one that it divides, at all other numbers. */
static bool are_neighbours(const layout_axis *axis, layout_holder holder, int width, int64_t extent,
                           const ir_value *a, const ir_value *b, int64_t row) {
    position_walk walk = walk_of(axis);
    for (int64_t i = 0; i < walk.all; i++) {
        int64_t position[LAYOUT_HOLDER_COUNT], first[LAYOUT_HOLDER_COUNT];
        position_at(&walk, i, position);
        memcpy(first, position, sizeof first);
        first[holder] -= first[holder] % width;
        int64_t here = layout_axis_logical(axis, position);
        int64_t start = layout_axis_logical(axis, first);
        if (here >= extent || start >= extent)
            continue;
        if (value_at(a, here, row) != value_at(a, start, row) ||
            value_at(b, here, row) - value_at(b, start, row) != position[holder] % width)
            return false;
    }
    return true;
}

static void widths_are_runs_of_neighbours(void **unused) {
    (void)unused;
    int found = 0, missed = 0;
    for (int number = 0; number < CASES; number++) {
        chance c = chance_of(number);
        fixture f;
        fixture_open(&f);
        layout_axis axis = random_digits(&c), row = {0};
        position_walk walk = walk_of(&axis);
        int64_t extent = walk.all - below(&c, walk.all / 2 + 1);
        fixture_know(&f, "N", extent);
        fixture_know(&f, "R", 6);
        ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "M", "M");
        ir_value *i = fixture_arange(&f, "N");
        ir_value *cut = ir_build_integer(&f.builder, BASE_INDEX, (int64_t)1 << below(&c, 6));
        ir_value *a = ir_build_binary(&f.builder, IR_FLOOR_DIV, i, cut);
        ir_value *b = ir_build_binary(&f.builder, IR_FLOOR_MOD, i, cut);
        bool swapped = below(&c, 2) == 0;
        ir_value *last = random_tile(&f, &c, swapped ? a : b);
        ir_op *op = gather(&f, x, swapped ? b : a, below(&c, 2) == 0 ? last : swapped ? a : b);
        analysis_axes axes = analysis_axes_find(&f.arena, f.module);
        const layout_axis *digits[2] = {&row, &row};
        int held = axes.of_value[i->number][0];
        if (held < 0) { /* one element */
            fixture_close(&f);
            continue;
        }
        digits[held] = &axis;
        analysis_access_width width = analysis_access_width_find(f.module, &axes, digits, op);
        const ir_value *outer = op->operands[1], *inner = op->operands[2];
        for (int r = 0; r < known_rows(true); r++) {
            if (!are_neighbours(&axis, LAYOUT_SLOT, width.slots, extent, outer, inner, rows[r]) ||
                !are_neighbours(&axis, LAYOUT_LANE, width.lanes, extent, outer, inner, rows[r]))
                fail_msg("case %d: slots in runs of %d, lanes in runs of %d", number, width.slots,
                         width.lanes);
        }
        found += width.slots > 1 || width.lanes > 1;
        int64_t slots = walk.counts[LAYOUT_SLOT];
        bool more = slots % (2 * width.slots) == 0;
        for (int r = 0; more && r < known_rows(true); r++)
            more =
                are_neighbours(&axis, LAYOUT_SLOT, 2 * width.slots, extent, outer, inner, rows[r]);
        missed += more;
        fixture_close(&f);
    }
    assert_true(found > CASES / 8);
    assert_true(missed < CASES / 20); /* ends of tiles, and forms that do not fall apart */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_what_the_ops_give),
        cmocka_unit_test(forms_over_digits_are_the_same_at_every_position),
        cmocka_unit_test(widths_are_runs_of_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
