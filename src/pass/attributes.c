/* Attributes of ops, compared and hashed: what an op says beside its operands and types.
 *
 *     reduce max axis 1 nan=ignore     the words 1, max, ignore
 *     load %x[%row, :]                 per dimension: point by operand 1, range of length N
 *
 * Names, locations, anchors and facts (inside, injective) are no part of it.
 */
#include "pass/simplify.h"

#include "base/hash.h"

#include <string.h>

uint64_t pass_hash_word(uint64_t hash, int64_t word) {
    return base_hash_bytes(hash, &word, sizeof word);
}

static int64_t real_bits(double value) {
    int64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t pass_hash_extent(uint64_t hash, const layout_extent *extent) {
    if (extent == NULL)
        return pass_hash_word(hash, -1);
    hash = pass_hash_word(hash, (int64_t)extent->kind);
    hash = pass_hash_word(hash, extent->value);
    if (extent->left == NULL)
        return hash;
    return pass_hash_extent(pass_hash_extent(hash, extent->left), extent->right);
}

static uint64_t hash_affine(uint64_t hash, const ir_affine *affine) {
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        int64_t words[] = {(int64_t)term->holder, term->divide, term->modulus, term->stride};
        hash = base_hash_bytes(hash, words, sizeof words);
    }
    return pass_hash_word(hash, affine->count);
}

static uint64_t hash_list(uint64_t hash, const ir_list *list) {
    for (int i = 0; i < list->count; i++)
        hash = pass_hash_word(hash, list->items[i]);
    return pass_hash_word(hash, list->count);
}

uint64_t pass_hash_layout(uint64_t hash, const layout_axis *layout) {
    for (int i = 0; layout != NULL && i < layout->count; i++) {
        int64_t words[] = {(int64_t)layout->digits[i].holder, layout->digits[i].radix,
                           layout_axis_digit_stride(layout, i)};
        hash = base_hash_bytes(hash, words, sizeof words);
    }
    return layout == NULL ? hash : pass_hash_word(hash, layout->exclusive_or);
}

static uint64_t hash_access(uint64_t hash, const ir_access *access) {
    int64_t words[] = {access->rank,
                       access->fill,
                       access->fill_declared,
                       access->unique,
                       (int64_t)access->mask_kind,
                       access->mask,
                       access->block,
                       access->width,
                       (int64_t)access->policy};
    hash = hash_affine(base_hash_bytes(hash, words, sizeof words), &access->mask_affine);
    if (access->early)
        hash = pass_hash_word(hash, 1);
    if (access->prefetch > 0)
        hash = pass_hash_word(pass_hash_word(hash, 2), access->prefetch);
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        int64_t parts[] = {(int64_t)index->kind, index->operand, index->vector};
        hash = hash_affine(base_hash_bytes(hash, parts, sizeof parts), &index->affine);
        hash = pass_hash_extent(hash, index->length);
    }
    return hash;
}

static bool has_monoid(ir_opcode opcode) {
    return opcode == IR_REDUCE || opcode == IR_FOLD || opcode == IR_COMBINE;
}

uint64_t pass_attributes_hash(uint64_t hash, const ir_op *op) {
    const ir_attributes *a = &op->attributes;
    hash = pass_hash_word(hash, (int64_t)op->opcode);
    if (op->opcode == IR_CONSTANT) {
        bool real = base_dtype_is_float(a->constant.dtype);
        hash = pass_hash_word(hash, (int64_t)a->constant.dtype);
        hash = pass_hash_word(hash, real ? real_bits(a->constant.real) : a->constant.integer);
    }
    if (op->opcode == IR_SIZE || op->opcode == IR_ARANGE || op->opcode == IR_PRIVATE)
        hash = pass_hash_extent(hash, a->extent);
    if (has_monoid(op->opcode))
        hash = pass_hash_word(pass_hash_word(hash, (int64_t)a->monoid), (int64_t)a->nan);
    if (op->opcode == IR_REDUCE && (a->order != IR_ORDER_TREE || a->zero != IR_ZERO_RELAXED))
        hash = pass_hash_word(pass_hash_word(hash, (int64_t)a->order), (int64_t)a->zero);
    int64_t words[] = {a->parameter,      a->axis,       (int64_t)a->rounding,
                       (int64_t)a->scope, a->axis_count, (int64_t)a->mechanism};
    hash = hash_affine(base_hash_bytes(hash, words, sizeof words), &a->affine);
    hash = hash_list(hash_list(hash, &a->lanes), &a->slots);
    for (int i = 0; i < a->axis_count; i++)
        hash = pass_hash_word(hash, a->axes[i]);
    hash = pass_hash_layout(hash, a->layout);
    if (a->form != IR_MATH_PORTABLE)
        hash = pass_hash_word(hash, (int64_t)a->form);
    return a->access == NULL ? hash : hash_access(hash, a->access);
}

static bool array_equal(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool access_equal(const ir_access *a, const ir_access *b) {
    if (a == NULL || b == NULL)
        return a == b;
    bool same = a->rank == b->rank && a->fill == b->fill && a->fill_declared == b->fill_declared &&
                a->unique == b->unique && a->mask_kind == b->mask_kind && a->mask == b->mask &&
                a->block == b->block && ir_affine_equal(&a->mask_affine, &b->mask_affine) &&
                a->width == b->width && a->align == b->align && a->whole == b->whole &&
                a->policy == b->policy && a->early == b->early && a->prefetch == b->prefetch;
    for (int i = 0; same && i < a->rank; i++) {
        const ir_index *x = &a->index[i], *y = &b->index[i];
        same = x->kind == y->kind && x->operand == y->operand && x->length == y->length &&
               x->vector == y->vector && ir_affine_equal(&x->affine, &y->affine);
    }
    return same;
}

static bool constant_equal(const ir_constant *a, const ir_constant *b) {
    if (a->dtype != b->dtype)
        return false;
    return base_dtype_is_float(a->dtype) ? real_bits(a->real) == real_bits(b->real)
                                         : a->integer == b->integer;
}

static bool list_equal(const ir_list *a, const ir_list *b) {
    bool equal = a->count == b->count;
    for (int i = 0; equal && i < a->count; i++)
        equal = a->items[i] == b->items[i];
    return equal;
}

static bool layout_equal(const layout_axis *a, const layout_axis *b) {
    return a == NULL || b == NULL ? a == b : layout_axis_equal(a, b);
}

bool pass_attributes_equal(const ir_op *left, const ir_op *right) {
    const ir_attributes *a = &left->attributes, *b = &right->attributes;
    if (left->opcode != right->opcode)
        return false;
    if (left->opcode == IR_CONSTANT && !constant_equal(&a->constant, &b->constant))
        return false;
    if (has_monoid(left->opcode) &&
        (a->monoid != b->monoid || a->nan != b->nan || a->order != b->order || a->zero != b->zero))
        return false;
    return a->extent == b->extent && a->parameter == b->parameter && a->axis == b->axis &&
           a->rounding == b->rounding && a->scope == b->scope && a->mechanism == b->mechanism &&
           a->form == b->form && array_equal(a->array, b->array) &&
           ir_affine_equal(&a->affine, &b->affine) && list_equal(&a->lanes, &b->lanes) &&
           list_equal(&a->slots, &b->slots) && layout_equal(a->layout, b->layout) &&
           access_equal(a->access, b->access);
}
