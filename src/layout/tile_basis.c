/* Reading bit layouts by their columns: what each bit of a holder's number does to the index.
 *
 *     gf2(lane 1 2 4 8 16 | slot 33, xor=7)
 *     register=[33] lane=[1, 2, 4, 8, 16] warp=[] block=[]      bases, as Triton writes them
 *     register = [[33]], lane = [[1], [2], [4], [8], [16]]      the same
 *
 * The map must reach every index; columns beyond that are replicas.
 */
#include "layout/tile_internal.h"

#include <inttypes.h>
#include <string.h>

enum { PART_COUNT = 4 };

static const struct {
    layout_holder holder;
    const char *basis;
} parts[PART_COUNT] = {{LAYOUT_LANE, "lane"},
                       {LAYOUT_SUBGROUP, "warp"},
                       {LAYOUT_BLOCK, "block"},
                       {LAYOUT_SLOT, "register"}};

/* Columns as they are read, by holder in the order that positions are packed. */
typedef struct columns {
    int count[PART_COUNT];
    bool given[PART_COUNT];
    uint32_t column[PART_COUNT][LAYOUT_MAX_BITS];
    size_t at[PART_COUNT][LAYOUT_MAX_BITS], length[PART_COUNT][LAYOUT_MAX_BITS];
    int64_t constant;
    size_t constant_at, constant_length;
} columns;

static bool read_column(tile_reader *r, columns *c, int part) {
    int64_t number = 0;
    tile_skip_spaces(r);
    size_t at = r->at;
    int total = c->count[0] + c->count[1] + c->count[2] + c->count[3];
    if (total == LAYOUT_MAX_BITS)
        return tile_fault(r, TILE_FAULT_LIMIT, at, 1, "positions have at most %d bits",
                          LAYOUT_MAX_BITS);
    if (!tile_read_number(r, &number))
        return false;
    if (number >> LAYOUT_MAX_BITS != 0)
        return tile_fault(r, TILE_FAULT_LIMIT, at, r->at - at, "indices have at most %d bits",
                          LAYOUT_MAX_BITS);
    int here = c->count[part]++;
    c->column[part][here] = (uint32_t)number;
    c->at[part][here] = at;
    c->length[part][here] = r->at - at;
    return true;
}

/* ---- every index is reached ---- */
static bool reaches(const uint32_t *vectors, int count, uint32_t vector) {
    uint32_t echelon[LAYOUT_MAX_BITS];
    memcpy(echelon, vectors, sizeof vectors[0] * (size_t)count);
    return layout_space_contains(echelon, layout_space_reduce(echelon, count), vector);
}

/* The column to replace: the first that those before it make up, else the last one with the top
 * bit. */
static int replaceable(const layout_bits *bits) {
    int positions = layout_bits_positions(bits), top = 0;
    for (int p = 0; p < positions; p++) {
        if (reaches(bits->column, p, bits->column[p]))
            return p;
        if (bits->column[p] >> (bits->index_bits - 1) != 0)
            top = p;
    }
    return top;
}

/* The lowest bit of the index that the other columns do not make up. */
static uint32_t missing_bit(const layout_bits *bits, int replaced) {
    uint32_t others[LAYOUT_MAX_BITS];
    int count = 0;
    for (int p = 0; p < layout_bits_positions(bits); p++)
        if (p != replaced)
            others[count++] = bits->column[p];
    for (int b = 0; b < LAYOUT_MAX_BITS; b++)
        if (!reaches(others, count, 1u << b))
            return 1u << b;
    return 0;
}

static bool fail_onto(tile_reader *r, const columns *c, const layout_bits *bits) {
    int replaced = replaceable(bits), part = 0, at = replaced;
    uint32_t missing = missing_bit(bits, replaced);
    while (at >= c->count[part])
        at -= c->count[part++];
    tile_fault(r, TILE_FAULT_BIJECTION, c->at[part][at], c->length[part][at],
               "some of the %" PRId64 " indices have no owner: the columns do not make up all %d "
               "bits",
               INT64_C(1) << bits->index_bits, bits->index_bits);
    tile_propose(r, c->at[part][at], c->length[part][at], "%" PRIu32, missing);
    return false;
}

static bool finish(tile_reader *r, const columns *c, layout_tile *tile) {
    layout_bits bits = {.lane_bits = c->count[0],
                        .subgroup_bits = c->count[1],
                        .block_bits = c->count[2],
                        .slot_bits = c->count[3]};
    uint32_t all = 0;
    int p = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        for (int i = 0; i < c->count[part]; i++) {
            bits.column[p++] = c->column[part][i];
            all |= c->column[part][i];
        }
    }
    while (bits.index_bits < LAYOUT_MAX_BITS && all >> bits.index_bits != 0)
        bits.index_bits++;
    if (!layout_bits_is_onto(&bits))
        return fail_onto(r, c, &bits);
    int64_t size = INT64_C(1) << bits.index_bits;
    if (c->constant >= size) {
        tile_fault(r, TILE_FAULT_MASK, c->constant_at, c->constant_length,
                   "the constant is below the size, %" PRId64, size);
        tile_propose(r, c->constant_at, c->constant_length, "%" PRId64, c->constant & (size - 1));
        return false;
    }
    bits.constant = (uint32_t)c->constant;
    *tile = (layout_tile){.kind = LAYOUT_BITS, .rank = 1, .size = {size}, .bits = bits};
    return true;
}

/* ---- gf2 ---- */
/* Which part a word names: a holder, or a basis when `of_bases`; else a fault. */
static bool read_part(tile_reader *r, columns *c, bool of_bases, int *part) {
    tile_skip_spaces(r);
    size_t length = tile_word(r);
    for (int i = 0; i < PART_COUNT; i++) {
        const char *name = of_bases ? parts[i].basis : layout_holder_name(parts[i].holder);
        if (!tile_word_is(r, r->at, length, name))
            continue;
        if (c->given[i])
            return tile_fault(r, TILE_FAULT_ARGUMENT, r->at, length, "%s stands twice", name);
        c->given[i] = true;
        r->at += length;
        *part = i;
        return true;
    }
    return tile_fault(r, TILE_FAULT_SYNTAX, r->at, length == 0 ? 1 : length,
                      of_bases ? "expected register, lane, warp or block"
                               : "expected lane, subgroup, block or slot");
}

static bool read_constant(tile_reader *r, columns *c) {
    tile_skip_spaces(r);
    size_t length = tile_word(r);
    if (!tile_word_is(r, r->at, length, "xor")) {
        tile_fault(r, TILE_FAULT_ARGUMENT, r->at, length == 0 ? 1 : length,
                   "gf2 has the argument xor");
        tile_propose(r, r->at, length, "xor");
        return false;
    }
    r->at += length;
    if (!tile_expect(r, '='))
        return false;
    tile_skip_spaces(r);
    c->constant_at = r->at;
    if (!tile_read_number(r, &c->constant))
        return false;
    c->constant_length = r->at - c->constant_at;
    return true;
}

bool tile_read_gf2(tile_reader *r, layout_tile *tile) {
    columns c = {0};
    int part = 0;
    do {
        if (!read_part(r, &c, false, &part))
            return false;
        for (char next = tile_peek(r); next >= '0' && next <= '9'; next = tile_peek(r))
            if (!read_column(r, &c, part))
                return false;
    } while (tile_accept(r, '|'));
    if (tile_accept(r, ',') && !read_constant(r, &c))
        return false;
    return tile_expect(r, ')') && finish(r, &c, tile);
}

/* ---- bases ---- */
/* A vector of one coordinate in brackets, or the number alone. */
static bool read_vector(tile_reader *r, columns *c, int part) {
    bool bracket = tile_accept(r, '[');
    if (!read_column(r, c, part))
        return false;
    if (bracket && tile_peek(r) == ',')
        return tile_fault(r, TILE_FAULT_RANK, r->at, 1, "bases of one axis are read here");
    return !bracket || tile_expect(r, ']');
}

bool tile_read_basis(tile_reader *r, layout_tile *tile) {
    columns c = {0};
    int part = 0;
    do {
        if (!read_part(r, &c, true, &part) || !tile_expect(r, '=') || !tile_expect(r, '['))
            return false;
        if (tile_accept(r, ']'))
            continue;
        do {
            if (!read_vector(r, &c, part))
                return false;
        } while (tile_accept(r, ','));
        if (!tile_expect(r, ']'))
            return false;
    } while (tile_accept(r, ',') || tile_peek(r) != '\0');
    return finish(r, &c, tile);
}
