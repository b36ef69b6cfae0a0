/* Random programs of level thread, in text form, that any implementation must agree on: no race, no
 * access outside an array, nothing read that was not written, control alike in all lanes.
 *
 *     thread_program p;
 *     thread_program_write(&p, arena, seed);      p.text: the module, p.lanes, ...
 *
 * Tensors: an input x_T and an output y_T, which is read too, for each type T. Every store writes a
 * row of its own of an output, each group its part of the row. Bits of NaNs are not made into
 * integers: their payload is nobody's promise. */
#ifndef TEST_THREAD_PROGRAM_H
#define TEST_THREAD_PROGRAM_H

#include "base/dtype.h"
#include "base/text.h"
#include "ir/affine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROGRAM_INPUT = 8192, /* elements of an input */
    PROGRAM_ROWS = 12,    /* of an output */
    PROGRAM_GROUPS = 2,
    PROGRAM_VALUES = 400,
    PROGRAM_SLOTS = 4, /* at most; a row has so many elements for each lane */
    PROGRAM_STATEMENTS = 30
};

static const base_dtype program_dtypes[] = {BASE_F32,  BASE_I32, BASE_U32, BASE_I64,
                                            BASE_BOOL, BASE_I8,  BASE_F16, BASE_BF16};
enum { PROGRAM_DTYPES = sizeof program_dtypes / sizeof program_dtypes[0] };

typedef struct program_value {
    int number;
    base_dtype dtype;
    int slots; /* 0: uniform */
} program_value;

typedef struct thread_program {
    base_text text;
    uint64_t random;
    int lanes, subgroup, depth;
    program_value values[PROGRAM_VALUES];
    int count, next;
    int rows[PROGRAM_DTYPES];
} thread_program;

/* ---- choices ---- */

static inline int program_random(thread_program *p, int below) {
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((p->random >> 33) % (uint64_t)below);
}

static inline bool program_chance(thread_program *p, int percent) {
    return program_random(p, 100) < percent;
}

static inline int program_slots(thread_program *p) {
    return 1 << program_random(p, 3);
}

static inline const char *program_type(thread_program *p, base_dtype dtype, int slots) {
    static char texts[8][40];
    char *text = texts[p->next++ % 8];
    if (slots == 0)
        snprintf(text, sizeof texts[0], "%s", base_dtype_name(dtype));
    else
        snprintf(text, sizeof texts[0], "%s(%d)", base_dtype_name(dtype), slots);
    return text;
}

static inline int program_dtype_index(base_dtype dtype) {
    int i = 0;
    while (program_dtypes[i] != dtype)
        i++;
    return i;
}

static inline base_dtype program_dtype(thread_program *p) {
    return program_dtypes[program_random(p, PROGRAM_DTYPES)];
}

/* One that computes: f32, i32, u32, i64. */
static inline base_dtype program_number_dtype(thread_program *p) {
    return program_dtypes[program_random(p, 4)];
}

/* ---- values ---- */

static inline int program_define(thread_program *p, base_dtype dtype, int slots) {
    int number = p->next++;
    if (p->count < PROGRAM_VALUES)
        p->values[p->count++] = (program_value){number, dtype, slots};
    return number;
}

static inline int program_constant(thread_program *p, base_dtype dtype, long long value) {
    int number = p->next++;
    if (dtype == BASE_BOOL)
        base_text_format(&p->text, "%%v%d = constant %s : bool\n", number,
                         value % 2 != 0 ? "true" : "false");
    else if (base_dtype_is_float(dtype))
        base_text_format(&p->text, "%%v%d = constant %lld.%d : %s\n", number, value,
                         value % 2 != 0 ? 5 : 25, base_dtype_name(dtype));
    else
        base_text_format(&p->text, "%%v%d = constant %lld : %s\n", number, value,
                         base_dtype_name(dtype));
    return number;
}

/* A value at hand of the type, uniform if `or_uniform`; -1 when there is none. */
static inline int program_find(thread_program *p, base_dtype dtype, int slots, bool or_uniform) {
    int start = p->count > 0 ? program_random(p, p->count) : 0;
    for (int i = 0; i < p->count; i++) {
        const program_value *v = &p->values[(start + i) % p->count];
        if (v->dtype == dtype && (v->slots == slots || (or_uniform && v->slots == 0)))
            return v->number;
    }
    return -1;
}

/* The same, made if need be. */
static int program_need(thread_program *p, base_dtype dtype, int slots);

/* ---- positions ---- */

typedef struct program_position {
    ir_affine affine;
    char text[200];
    int64_t most; /* the least is 0 */
} program_position;

static inline void program_term(program_position *position, layout_holder holder, int divide,
                                int modulus, int stride) {
    static const char *const names[LAYOUT_HOLDER_COUNT] = {
        [LAYOUT_SLOT] = "slot", [LAYOUT_LANE] = "lane", [LAYOUT_SUBGROUP] = "subgroup"};
    if (stride == 0)
        return;
    ir_affine_add(&position->affine, (ir_term){holder, divide, modulus, stride});
    size_t length = strlen(position->text);
    char *at = position->text + length;
    size_t left = sizeof position->text - length;
    at += snprintf(at, left, "%s%s", length > 0 ? " + " : "", names[holder]);
    left = sizeof position->text - (size_t)(at - position->text);
    if (divide > 1)
        at += snprintf(at, left, "/%d", divide);
    left = sizeof position->text - (size_t)(at - position->text);
    if (modulus > 0)
        at += snprintf(at, left, " %% %d", modulus);
    left = sizeof position->text - (size_t)(at - position->text);
    snprintf(at, left, "*%d", stride);
}

static inline void program_finish(const thread_program *p, int slots, program_position *position) {
    if (position->text[0] == '\0')
        snprintf(position->text, sizeof position->text, "0");
    position->most = 0;
    for (int t = 0; t < p->lanes; t++)
        for (int s = 0; s < (slots > 0 ? slots : 1); s++) {
            ir_position here = {.slot = s, .lane = t % p->subgroup, .subgroup = t / p->subgroup};
            int64_t value = ir_affine_at(&position->affine, here);
            position->most = value > position->most ? value : position->most;
        }
}

/* Each element once: lanes first, or the slots of a lane. */
static inline program_position program_whole(thread_program *p, int slots) {
    program_position position = {0};
    int first = slots > 1 && program_chance(p, 40) ? slots : 1; /* slots that are neighbours */
    if (first > 2 && program_chance(p, 30))
        first = 2;
    program_term(&position, LAYOUT_LANE, 1, 0, first);
    program_term(&position, LAYOUT_SUBGROUP, 1, 0, first * p->subgroup);
    if (first > 1 && first < slots)
        program_term(&position, LAYOUT_SLOT, 1, first, 1);
    if (first < slots)
        program_term(&position, LAYOUT_SLOT, first, 0, first * p->lanes);
    else if (first > 1)
        program_term(&position, LAYOUT_SLOT, 1, 0, 1);
    program_finish(p, slots, &position);
    return position;
}

static inline void program_any_terms(thread_program *p, layout_holder holder,
                                     program_position *position) {
    static const int strides[] = {0, 1, 1, 2, 3, 4, 8, 33};
    int stride = strides[program_random(p, 8)], modulus;
    switch (program_random(p, 4)) {
    case 0:
        program_term(position, holder, 1, 1 << (1 + program_random(p, 3)), stride);
        program_term(position, holder, 4, 0, program_random(p, 6));
        break;
    case 1:
        modulus = 1 + program_random(p, 6);
        program_term(position, holder, 1 + program_random(p, 4), modulus, stride);
        break;
    default:
        program_term(position, holder, 1, 0, stride);
    }
}

/* Any form with values below `limit`. */
static inline program_position program_any_position(thread_program *p, int slots, int64_t limit) {
    for (;;) {
        program_position position = {0};
        program_any_terms(p, LAYOUT_LANE, &position);
        program_any_terms(p, LAYOUT_SUBGROUP, &position);
        if (slots > 1)
            program_any_terms(p, LAYOUT_SLOT, &position);
        program_finish(p, slots, &position);
        if (position.most < limit)
            return position;
    }
}

/* ---- accesses ---- */

/* Appends `[..]` of one dimension of `cells` cells behind the operands that are made before: first
 * this, then the line of the op. */
typedef struct program_index {
    char text[260];
} program_index;

static inline program_index program_any_index(thread_program *p, int slots, int64_t cells) {
    program_index index;
    if (slots > 0 && program_chance(p, 25)) {
        int vector = program_need(p, BASE_I64, slots);
        int modulus = program_constant(p, BASE_I64, 1 + program_random(p, (int)cells));
        int number = p->next++;
        base_text_format(&p->text, "%%v%d = floormod %%v%d, %%v%d : i64(%d)\n", number, vector,
                         modulus, slots);
        snprintf(index.text, sizeof index.text, "vector %%v%d", number);
        return index;
    }
    if (slots == 0) {
        int place = program_constant(p, BASE_I64, program_random(p, (int)cells));
        snprintf(index.text, sizeof index.text, "%%v%d", place);
        return index;
    }
    program_position position = program_chance(p, 40) && slots * p->lanes <= cells
                                    ? program_whole(p, slots)
                                    : program_any_position(p, slots, cells);
    int base = program_constant(p, BASE_I64, program_random(p, (int)(cells - position.most)));
    bool still = position.affine.count == 0;
    snprintf(index.text, sizeof index.text, "%%v%d%s%s", base, still ? "" : " + ",
             still ? "" : position.text);
    return index;
}

/* ` mask=..` or nothing; for slots. */
static inline program_index program_any_mask(thread_program *p, int slots) {
    program_index mask = {""};
    int kind = program_random(p, 6);
    if (slots == 0 || kind > 3)
        return mask;
    if (kind == 3 || program_chance(p, 20)) {
        int bits = program_need(p, BASE_BOOL, kind == 3 ? slots : 0);
        snprintf(mask.text, sizeof mask.text, " mask=%%v%d", bits);
        return mask;
    }
    program_position position =
        kind == 0 ? program_any_position(p, slots, 1 << 20) : program_whole(p, slots);
    int count = program_constant(p, BASE_I64, program_random(p, (int)position.most + 3) - 1);
    snprintf(mask.text, sizeof mask.text, " mask=%s < %%v%d", position.text, count);
    return mask;
}

static inline int program_load(thread_program *p, base_dtype dtype, int slots) {
    program_index index = program_any_index(p, slots, PROGRAM_INPUT);
    program_index mask = program_any_mask(p, slots);
    char fill[40] = "";
    if (mask.text[0] != '\0' && program_chance(p, 60))
        snprintf(fill, sizeof fill, " fill=%%v%d",
                 program_need(p, dtype, program_chance(p, 50) ? slots : 0));
    const char *type = program_type(p, dtype, slots);
    int number = program_define(p, dtype, slots);
    base_text_format(&p->text, "%%v%d = load %%x_%s[%s]%s%s : %s\n", number, base_dtype_name(dtype),
                     index.text, fill, mask.text, type);
    return number;
}

static inline int program_need(thread_program *p, base_dtype dtype, int slots) {
    int found = program_find(p, dtype, slots, false);
    return found >= 0 ? found : program_load(p, dtype, slots);
}

/* An operand of an op on slots: now and then a uniform one. */
static inline int program_operand(thread_program *p, base_dtype dtype, int slots) {
    return program_need(p, dtype, program_chance(p, 20) ? 0 : slots);
}

/* Into the next row of the output, if one is left. */
static inline void program_store(thread_program *p, const program_value *value) {
    int type = program_dtype_index(value->dtype);
    if (p->rows[type] >= PROGRAM_ROWS || value->slots == 0)
        return;
    int row = program_constant(p, BASE_I64, p->rows[type]++);
    program_position position = program_whole(p, value->slots);
    program_index mask = program_any_mask(p, value->slots);
    base_text_format(&p->text, "store %%y_%s[%%v%d, %%part + %s], %%v%d injective%s\n",
                     base_dtype_name(value->dtype), row, position.text, value->number, mask.text);
}

/* ---- statements ---- */

static inline void program_arithmetic(thread_program *p) {
    static const char *const floats[] = {"add",     "sub",    "mul",    "div", "maximum",
                                         "minimum", "maxnum", "minnum", "sub", "add"};
    static const char *const integers[] = {"add",      "sub",     "mul",     "floordiv",
                                           "floormod", "maximum", "minimum", "and",
                                           "or",       "xor",     "shl",     "shr"};
    static const char *const bools[] = {"and", "or", "xor"};
    int slots = program_chance(p, 15) ? 0 : program_slots(p);
    base_dtype dtype = program_chance(p, 10) ? BASE_BOOL : program_number_dtype(p);
    const char *op = dtype == BASE_F32    ? floats[program_random(p, 10)]
                     : dtype == BASE_BOOL ? bools[program_random(p, 3)]
                                          : integers[program_random(p, 12)];
    int a = program_need(p, dtype, slots), b = program_operand(p, dtype, slots);
    if (program_chance(p, 15)) { /* by a constant */
        b = program_constant(p, dtype, program_random(p, 9));
    }
    const char *type = program_type(p, dtype, slots);
    base_text_format(&p->text, "%%v%d = %s %%v%d, %%v%d : %s\n", program_define(p, dtype, slots),
                     op, a, b, type);
}

static inline void program_unary(thread_program *p) {
    static const char *const words[] = {"neg", "abs", "sqrt", "not", "fma"};
    int slots = program_slots(p), which = program_random(p, 5);
    base_dtype dtype = which == 2 || which == 4 ? BASE_F32
                       : which == 3             ? program_dtypes[1 + program_random(p, 4)]
                                                : program_number_dtype(p);
    int a = program_need(p, dtype, slots);
    int b = which == 4 ? program_operand(p, dtype, slots) : -1;
    int c = which == 4 ? program_operand(p, dtype, slots) : -1;
    const char *type = program_type(p, dtype, slots);
    int number = program_define(p, dtype, slots);
    if (which == 4)
        base_text_format(&p->text, "%%v%d = fma %%v%d, %%v%d, %%v%d : %s\n", number, a, b, c, type);
    else
        base_text_format(&p->text, "%%v%d = %s %%v%d : %s\n", number, words[which], a, type);
}

static inline void program_choice(thread_program *p) {
    static const char *const words[] = {"lt", "le", "eq", "ne"};
    int slots = program_chance(p, 15) ? 0 : program_slots(p);
    base_dtype dtype = program_number_dtype(p), chosen = program_dtype(p);
    int a = program_need(p, dtype, slots), b = program_operand(p, dtype, slots);
    const char *bits = program_type(p, BASE_BOOL, slots);
    int mask = program_define(p, BASE_BOOL, slots);
    base_text_format(&p->text, "%%v%d = %s %%v%d, %%v%d : %s\n", mask, words[program_random(p, 4)],
                     a, b, bits);
    int x = program_need(p, chosen, slots), y = program_operand(p, chosen, slots);
    const char *type = program_type(p, chosen, slots);
    base_text_format(&p->text, "%%v%d = select %%v%d, %%v%d, %%v%d : %s\n",
                     program_define(p, chosen, slots), mask, x, y, type);
}

static inline void program_conversion(thread_program *p) {
    int slots = program_slots(p);
    base_dtype from = program_dtype(p), to = program_dtype(p);
    bool bits = program_chance(p, 20);
    if (bits) {
        from = program_chance(p, 50) ? BASE_I32 : BASE_U32;
        to = program_dtypes[program_random(p, 3)];
    }
    int a = program_need(p, from, slots);
    const char *type = program_type(p, to, slots);
    base_text_format(&p->text, "%%v%d = %s %%v%d%s : %s\n", program_define(p, to, slots),
                     bits ? "bitcast" : "cast", a,
                     bits                    ? ""
                     : program_chance(p, 50) ? " rounding=even"
                                             : " rounding=zero",
                     type);
}

static inline void program_position_value(thread_program *p) {
    int slots = program_slots(p);
    program_position position = program_any_position(p, slots, 1 << 20);
    base_text_format(&p->text, "%%v%d = iota %s : i64(%d)\n", program_define(p, BASE_I64, slots),
                     position.text, slots);
}

static inline void program_spread(thread_program *p) {
    base_dtype dtype = program_dtype(p);
    int slots = program_slots(p), a = program_need(p, dtype, 0);
    base_text_format(&p->text, "%%v%d = broadcast %%v%d : %s(%d)\n",
                     program_define(p, dtype, slots), a, base_dtype_name(dtype), slots);
}

/* A monoid with its way of NaN, for a type that has one. */
static inline const char *program_monoid(thread_program *p, base_dtype dtype, const char **nan) {
    static const char *const words[] = {"sum", "max", "min", "prod"};
    *nan = dtype == BASE_F32 && program_chance(p, 30) ? "ignore" : "propagate";
    if (dtype == BASE_BOOL)
        return program_chance(p, 50) ? "any" : "all";
    return words[program_random(p, 4)];
}

static inline void program_reduction(thread_program *p) {
    const char *nan;
    base_dtype dtype = program_chance(p, 15) ? BASE_BOOL : program_number_dtype(p);
    const char *monoid = program_monoid(p, dtype, &nan);
    int slots = program_slots(p), a = program_need(p, dtype, slots);
    if (program_chance(p, 40)) {
        base_text_format(&p->text, "%%v%d = fold %s %%v%d nan=%s : %s(1)\n",
                         program_define(p, dtype, 1), monoid, a, nan, base_dtype_name(dtype));
        return;
    }
    char lanes[80] = "";
    bool uniform = slots == 1 && p->lanes == p->subgroup && program_chance(p, 50);
    if (!uniform && p->subgroup > 1 && program_chance(p, 60)) {
        int mask = 1 + program_random(p, p->subgroup - 1),
            other = 1 + program_random(p, p->subgroup - 1);
        if (mask != other)
            snprintf(lanes, sizeof lanes, " lanes=(%d, %d)", mask, other);
        else
            snprintf(lanes, sizeof lanes, " lanes=(%d)", mask);
    }
    const char *type = program_type(p, dtype, uniform ? 0 : slots);
    base_text_format(&p->text, "%%v%d = combine %s %%v%d nan=%s%s : %s\n",
                     program_define(p, dtype, uniform ? 0 : slots), monoid, a, nan, lanes, type);
}

static inline void program_columns(thread_program *p, const char *word, int below) {
    base_text_format(&p->text, " %s=(", word);
    for (int bit = 1; bit < p->subgroup; bit *= 2)
        base_text_format(&p->text, "%s%d", bit > 1 ? ", " : "", program_random(p, below));
    base_text_string(&p->text, ")");
}

static inline void program_movement(thread_program *p) {
    base_dtype dtype = program_dtype(p);
    int slots = program_slots(p), a = program_need(p, dtype, slots), kind = program_random(p, 3);
    const char *word = kind == 0 ? "shuffle" : kind == 1 ? "xorslot" : "rename";
    int others = kind == 2 ? program_slots(p) : slots;
    if (kind < 2 && p->subgroup == 1)
        return;
    base_text_format(&p->text, "%%v%d = %s %%v%d", p->next, word, a);
    if (kind < 2)
        program_columns(p, "lanes", kind == 0 ? p->subgroup : slots);
    for (int s = 0; kind != 1 && s < others; s++)
        base_text_format(&p->text, "%s%d",
                         s > 0       ? ", "
                         : kind == 0 ? " xor=("
                                     : " slots=(",
                         program_random(p, kind == 0 ? p->subgroup : slots));
    base_text_string(&p->text, kind != 1 ? ")" : "");
    int number = program_define(p, dtype, others);
    (void)number;
    base_text_format(&p->text, " : %s(%d)\n", base_dtype_name(dtype), others);
}

/* Put whole, read anywhere, put again in part, read again. */
static inline void program_exchange(thread_program *p) {
    base_dtype dtype = program_dtype(p);
    const char *name = base_dtype_name(dtype);
    int slots = program_slots(p), cells = slots * p->lanes, s = p->next++;
    int a = program_need(p, dtype, slots);
    program_position whole = program_whole(p, slots);
    base_text_format(&p->text,
                     "%%s%d, %%f%d = scratch %d : scratch %s[%d], token free\n"
                     "%%w%d = put %%s%d[%s], %%v%d, %%f%d : token written %%s%d\n",
                     s, s, cells, name, cells, s, s, whole.text, a, s, s);
    if (program_chance(p, 40)) {
        int b = program_need(p, dtype, slots);
        program_index mask = program_any_mask(p, slots);
        base_text_format(&p->text, "%%w%dx = put %%s%d[%s], %%v%d, %%w%d%s : token written %%s%d\n",
                         s, s, whole.text, b, s, mask.text, s);
        base_text_format(&p->text, "%%p%d = sync group %%w%dx : token published %%s%d\n", s, s, s);
    } else {
        base_text_format(&p->text, "%%p%d = sync group %%w%d : token published %%s%d\n", s, s, s);
    }
    int reads = 1 + program_random(p, 2);
    for (int i = 0; i < reads; i++) {
        int k = program_chance(p, 20) ? 0 : program_slots(p);
        program_index index = program_any_index(p, k, cells);
        program_index mask = program_any_mask(p, k);
        const char *type = program_type(p, dtype, k);
        base_text_format(&p->text, "%%v%d = get %%s%d[%s], %%p%d%s : %s\n",
                         program_define(p, dtype, k), s, index.text, s, mask.text, type);
    }
    int place = program_constant(p, BASE_I64, program_random(p, cells)), one = p->next++;
    base_text_format(&p->text, "%%v%d = get %%s%d[%%v%d], %%p%d : %s(1)\n", one, s, place, s, name);
    base_text_format(&p->text, "%%v%d = uniform %%v%d : %s\n", program_define(p, dtype, 0), one,
                     name);
    base_text_format(&p->text, "%%e%d = sync group %%p%d : token free %%s%d\n", s, s, s);
}

static inline void program_cells(thread_program *p) {
    base_dtype dtype = program_dtype(p);
    const char *name = base_dtype_name(dtype);
    int slots = program_slots(p), array = p->next++;
    base_text_format(&p->text, "%%c%d = private 2 : private %s(%d)[2]\n", array, name, slots);
    int cells[2];
    for (int i = 0; i < 2; i++) {
        cells[i] = program_constant(p, BASE_I64, i);
        int value = program_need(p, dtype, slots);
        base_text_format(&p->text, "push %%c%d, %%v%d, %%v%d\n", array, cells[i], value);
    }
    int mask = program_need(p, BASE_BOOL, 1), value = program_need(p, dtype, slots);
    base_text_format(&p->text, "when %%v%d {\npush %%c%d, %%v%d, %%v%d\n}\n", mask, array, cells[1],
                     value);
    for (int i = 0; i < 2; i++)
        base_text_format(&p->text, "%%v%d = pull %%c%d, %%v%d : %s(%d)\n",
                         program_define(p, dtype, slots), array, cells[i], name, slots);
}

static inline void program_when(thread_program *p) {
    int mask = program_need(p, BASE_BOOL, 1);
    program_value value = p->values[program_random(p, p->count)];
    int type = program_dtype_index(value.dtype);
    if (value.slots == 0 || p->rows[type] >= PROGRAM_ROWS)
        return;
    int row = program_constant(p, BASE_I64, p->rows[type]++);
    program_position position = program_whole(p, value.slots);
    program_index bits = program_any_mask(p, value.slots);
    base_text_format(&p->text,
                     "when %%v%d {\nstore %%y_%s[%%v%d, %%part + %s], %%v%d injective%s\n}\n", mask,
                     base_dtype_name(value.dtype), row, position.text, value.number, bits.text);
}

/* Stored, and read back by other lanes in the next op. */
static inline void program_step_in_lock(thread_program *p) {
    program_value value = p->values[program_random(p, p->count)];
    int type = program_dtype_index(value.dtype);
    if (value.slots == 0 || p->rows[type] >= PROGRAM_ROWS)
        return;
    const char *name = base_dtype_name(value.dtype);
    int row = program_constant(p, BASE_I64, p->rows[type]++);
    program_position position = program_whole(p, value.slots);
    base_text_format(&p->text, "store %%y_%s[%%v%d, %%part + %s], %%v%d injective\n", name, row,
                     position.text, value.number);
    program_position other = program_any_position(p, value.slots, value.slots * p->lanes);
    int number = program_define(p, value.dtype, value.slots);
    base_text_format(&p->text, "%%v%d = load %%y_%s[%%v%d, %%part%s%s] : %s(%d)\n", number, name,
                     row, other.affine.count > 0 ? " + " : "",
                     other.affine.count > 0 ? other.text : "", name, value.slots);
    if (program_chance(p, 50))
        base_text_format(&p->text, "store %%y_%s[%%v%d, %%part + %s], %%v%d injective\n", name, row,
                         position.text, number);
}

static void program_statements(thread_program *p, int count);

static inline void program_loop(thread_program *p) {
    base_dtype dtypes[3];
    int slots[3] = {0, 0, 0};
    dtypes[0] = program_dtype(p);
    dtypes[1] = program_dtype(p);
    dtypes[2] = program_number_dtype(p);
    slots[0] = program_slots(p);
    slots[1] = program_slots(p);
    if (program_chance(p, 50)) {
        dtypes[1] = dtypes[0];
        slots[1] = slots[0];
    }
    int first[3], inside[3], next[3], result[3];
    for (int i = 0; i < 3; i++)
        first[i] = program_need(p, dtypes[i], slots[i]);
    int low = program_constant(p, BASE_I64, 0), step = program_constant(p, BASE_I64, 2);
    int high = program_constant(p, BASE_I64, program_random(p, 6));
    int outside = p->count;
    for (int i = 0; i < 3; i++) {
        result[i] = p->next++;
        base_text_format(&p->text, "%s%%v%d", i > 0 ? ", " : "", result[i]);
    }
    base_text_format(&p->text, " = for %%v%d, %%v%d, %%v%d, %%v%d, %%v%d, %%v%d : ", low, high,
                     step, first[0], first[1], first[2]);
    for (int i = 0; i < 3; i++)
        base_text_format(&p->text, "%s%s", i > 0 ? ", " : "", program_type(p, dtypes[i], slots[i]));
    base_text_format(&p->text, " (%%v%d: i64", program_define(p, BASE_I64, 0));
    for (int i = 0; i < 3; i++) {
        const char *type = program_type(p, dtypes[i], slots[i]);
        inside[i] = program_define(p, dtypes[i], slots[i]);
        base_text_format(&p->text, ", %%v%d: %s", inside[i], type);
    }
    base_text_string(&p->text, ") {\n");
    program_statements(p, 1 + program_random(p, 5));
    for (int i = 0; i < 3; i++)
        next[i] = program_need(p, dtypes[i], slots[i]);
    if (dtypes[0] == dtypes[1] && slots[0] == slots[1] && program_chance(p, 50)) {
        next[0] = inside[1];
        next[1] = inside[0];
    }
    base_text_format(&p->text, "yield %%v%d, %%v%d, %%v%d\n}\n", next[0], next[1], next[2]);
    p->count = outside;
    for (int i = 0; i < 3 && p->count < PROGRAM_VALUES; i++)
        p->values[p->count++] = (program_value){result[i], dtypes[i], slots[i]};
}

static inline void program_branch(thread_program *p) {
    base_dtype dtype = program_dtype(p);
    int slots = program_slots(p), condition = program_need(p, BASE_BOOL, 0), result = p->next++;
    int outside = p->count;
    base_text_format(&p->text, "%%v%d = if %%v%d : %s(%d) {\n", result, condition,
                     base_dtype_name(dtype), slots);
    for (int side = 0; side < 2; side++) {
        program_statements(p, 1 + program_random(p, 3));
        base_text_format(&p->text, "yield %%v%d\n}%s", program_need(p, dtype, slots),
                         side == 0 ? " else {\n" : "\n");
        p->count = outside;
    }
    p->values[p->count++] = (program_value){result, dtype, slots};
}

static inline void program_statement(thread_program *p) {
    static void (*const kinds[])(thread_program * p) = {
        program_arithmetic, program_arithmetic,   program_arithmetic, program_unary,
        program_choice,     program_conversion,   program_conversion, program_position_value,
        program_spread,     program_reduction,    program_reduction,  program_movement,
        program_movement,   program_exchange,     program_cells,      program_when,
        program_when,       program_step_in_lock, program_loop,       program_branch,
    };
    int kind = program_random(p, 20);
    if (p->count > PROGRAM_VALUES - 60)
        return;
    if (kind >= 18 && p->depth > 1)
        kind = 0;
    if (program_chance(p, 15)) {
        int slots = program_slots(p);
        program_load(p, program_dtype(p), slots);
    }
    kinds[kind](p);
    if (program_chance(p, 15))
        program_store(p, &p->values[program_random(p, p->count)]);
}

static inline void program_statements(thread_program *p, int count) {
    p->depth++;
    for (int i = 0; i < count; i++)
        program_statement(p);
    p->depth--;
}

static inline void thread_program_write(thread_program *p, base_arena *arena, uint64_t seed) {
    static const int teams[][2] = {{8, 8},    {16, 16}, {32, 32}, {64, 32}, {256, 32}, {1024, 32},
                                   {32, 8},   {64, 16}, {96, 32}, {12, 4},  {8, 1},    {16, 2},
                                   {128, 64}, {1, 1},   {64, 64}, {4, 4}};
    *p = (thread_program){.random = seed * 2862933555777941757u + 3037000493u};
    base_text_init(&p->text, arena);
    program_random(p, 2);
    int team = program_random(p, 16);
    p->lanes = teams[team][0];
    p->subgroup = teams[team][1];
    base_text_string(&p->text, "kernel @made(");
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        const char *name = base_dtype_name(program_dtypes[i]);
        base_text_format(&p->text, "%s%%x_%s: in %s[%d], %%y_%s: inout %s[%d, %d]",
                         i > 0 ? ", " : "", name, name, PROGRAM_INPUT, name, name, PROGRAM_ROWS,
                         PROGRAM_GROUPS * PROGRAM_SLOTS * p->lanes);
    }
    base_text_format(&p->text,
                     ") level thread\n  team %d\n  subgroup %d\n  machine \"cpu-avx2\"\n"
                     "  groups %d\n{\n%%group = group : i64\n%%row = constant %d : i64\n"
                     "%%part = mul %%group, %%row : i64\n",
                     p->lanes, p->subgroup, PROGRAM_GROUPS, PROGRAM_SLOTS * p->lanes);
    program_load(p, BASE_F32, 4);
    program_statements(p, PROGRAM_STATEMENTS);
    for (int i = 0; i < 12; i++)
        program_store(p, &p->values[program_random(p, p->count)]);
    base_text_string(&p->text, "}\n");
}

#endif
