/* Layouts of whole tiles: every position (slot, lane, subgroup, block, step, group) to the logical
 * index that it owns, as a value with one grammar.
 *
 *     identity(1024, slots=4)                          thread t owns t + slot * 256
 *     bits(3, 4, 5, 0, 1, 2, xor=5, slots=1)           a permutation of the bits, XORed
 *     blocked_cyclic(4096, workers=256, vector=4)      i = (chunk * W + worker) * V + element
 *     blocked_cyclic(1009, workers=32, vector=4, shift=3)
 *     digits(slot 4 | lane 32 | subgroup 8 | slot 4, size=4096)
 *     digits(lane 8 | slot 4; lane 4 | group *, size=(29, *))       axes separated by `;`
 *     gf2(lane 1 2 4 8 16 | slot 32, xor=0)            columns of a matrix over GF(2)
 *
 * Two ways to hold a map, and either gives the canonical form:
 *     digits   per axis, least significant first; any radix; a prefix `size` of the box is valid; a
 *              shift s moves the valid part: index = position - s
 *     bits     GF(2) columns and a constant (layout/bits.h)
 * A digit without an axis (`replicate lane 4`, after the axes) and a column in the kernel of the
 * matrix make replicas: several positions, one index.
 *
 * Equality is equality of the functions, not of the spellings. Nothing here enumerates: sizes may
 * be runtime values, and huge.
 */
#ifndef LAYOUT_TILE_H
#define LAYOUT_TILE_H

#include "base/arena.h"
#include "base/diagnostic.h"
#include "base/text.h"
#include "layout/bits.h"
#include "layout/layout.h"

typedef enum layout_kind { LAYOUT_DIGITS, LAYOUT_BITS } layout_kind;

typedef struct layout_tile {
    layout_kind kind;
    int rank; /* axes; LAYOUT_BITS: 1 */
    layout_axis axis[LAYOUT_MAX_RANK];
    int64_t size[LAYOUT_MAX_RANK];  /* valid: 0 <= index < size; 0 = runtime */
    int64_t shift[LAYOUT_MAX_RANK]; /* index = position - shift; in [0, innermost slot digit) */
    layout_axis replicas;           /* digits without an axis */
    layout_bits bits;               /* LAYOUT_BITS */
} layout_tile;

/* Numbers in the holders; index by layout_holder. */
typedef struct layout_position {
    int64_t number[LAYOUT_HOLDER_COUNT];
} layout_position;

/* Why a text or a layout is refused: what is wrong, where in the text, and the nearest text that
 * would be legal ("" where there is none). */
typedef struct layout_fault {
    const char *slug; /* layout-syntax, layout-bijection, ...: the rows of layout/faults.def */
    const char *reason;
    size_t at, length; /* bytes of the text */
    const char *neighbour;
} layout_fault;

/* "legal is, for one: ...", or NULL. */
const char *layout_fault_hint(base_diagnostics *diagnostics, const layout_fault *fault);
/* Of a source that is the layout's text. */
void layout_fault_report(base_diagnostics *diagnostics, const base_source *source,
                         const layout_fault *fault);

/* ---- text ---- */
/* Reads any spelling, the CuTe form `(4,8):(1,4)` and the Triton basis form included. False: *fault
 * says why. Texts live in the arena. */
bool layout_tile_parse(base_arena *arena, const char *text, size_t length, layout_tile *tile,
                       layout_fault *fault);
/* The spellings of a layout; false when the layout has none of that kind. */
typedef enum layout_spelling {
    LAYOUT_SPELL_IDENTITY,
    LAYOUT_SPELL_BITS,
    LAYOUT_SPELL_BLOCKED_CYCLIC,
    LAYOUT_SPELL_DIGITS,
    LAYOUT_SPELL_GF2,
    LAYOUT_SPELL_CUTE,   /* shape:stride, modes (thread, value) */
    LAYOUT_SPELL_TRITON, /* register=[..] lane=[..] warp=[..] block=[..] */
    LAYOUT_SPELLING_COUNT
} layout_spelling;
const char *layout_spelling_name(layout_spelling spelling);
bool layout_tile_print(base_text *out, const layout_tile *tile, layout_spelling spelling);
/* The first spelling of the list above that the layout has among identity, bits, blocked_cyclic,
 * digits, gf2: what messages show. */
void layout_tile_print_shortest(base_text *out, const layout_tile *tile);

/* ---- makers ---- */
/* What the arguments cannot make is a tile that layout_tile_check refuses. Threads above 32 are
 * whole subgroups of 32. */
layout_tile layout_tile_identity(int64_t size, int64_t slots);
/* Workers are lanes and subgroups of `subgroup` lanes: as many or fewer, or whole subgroups. Chunks
 * are held by `chunk_holder` (slot, or step; size 0 = runtime needs step). */
layout_tile layout_tile_blocked_cyclic(int64_t size, int64_t workers, int64_t vector, int64_t shift,
                                       layout_holder chunk_holder, int64_t subgroup);

/* ---- queries ---- */
int64_t layout_tile_threads(const layout_tile *tile); /* lanes * subgroups (* blocks) */
int64_t
layout_tile_slots(const layout_tile *tile); /* live ones: floor(N/(WV))*V + min(N mod WV, V) */
int64_t layout_tile_capacity(const layout_tile *tile); /* of the box */
/* Where the numbers of each holder end; 0 = runtime. */
void layout_tile_ranges(const layout_tile *tile, int64_t range[LAYOUT_HOLDER_COUNT]);
/* The logical indices (by axis) that a position owns; false when it owns nothing (past the size).
 */
bool layout_tile_logical(const layout_tile *tile, const layout_position *position,
                         int64_t index[LAYOUT_MAX_RANK]);
/* The canonical owner of an index inside the sizes: its least position. */
bool layout_tile_owner(const layout_tile *tile, const int64_t index[LAYOUT_MAX_RANK],
                       layout_position *position);
int64_t layout_tile_replication(const layout_tile *tile); /* positions per index */
/* The same function: holders with the same ranges, the same sizes, and at every position the same
 * index, or none. (So layouts that differ in registers which own nothing differ.) */
bool layout_tile_equal(const layout_tile *a, const layout_tile *b);
/* As bits where the tile has them, else with adjacent digits merged, radix 1 dropped and strides
 * written. Bit forms are unique; digits past the size may still differ: compare with equal. */
void layout_tile_canonicalise(layout_tile *tile);
/* As GF(2) columns; false when a radix is no power of two, a size is no box, a shift moves it,
 * steps or groups hold a digit, or there are more than 24 bits. Several axes: the last in the low
 * bits. */
bool layout_tile_to_bits(const layout_tile *tile, layout_bits *bits);
/* ---- as one axis ---- */
/* The digits of a tile of one axis, strides resolved: a bit tile whose columns are single bits has
 * its constant as exclusive_or. False: several axes, a shift, or bits mixed over GF(2). Replicas
 * are left out: the axis then has fewer positions than the tile. */
bool layout_tile_to_axis(const layout_tile *tile, layout_axis *axis);
/* Two well-formed axes with constant radices: the same function of lane, subgroup, slot, ...,
 * however it is spelled (`lane 4 | lane 8` and `lane 32`). */
bool layout_axis_same(const layout_axis *a, const layout_axis *b);
/* The shortest spelling of such an axis of all its positions: what messages show. */
void layout_axis_spell(base_text *out, const layout_axis *axis);
/* An axis as a tile of `size` elements (0 = runtime) on lanes and subgroups of a team, those that
 * its digits leave out being replicas. False: an exclusive_or needs all of its box, and the amount
 * of a shift is not known. */
bool layout_tile_of_axis(const layout_axis *axis, int64_t size, int64_t lanes, int64_t subgroups,
                         layout_tile *tile);

/* Well-formed? False: *fault says why; it has no position. */
bool layout_tile_check(base_arena *arena, const layout_tile *tile, layout_fault *fault);
/* What `bits(...)` and `identity(...)` in a kernel's text may ask for: 32 to 1024 threads and 1 to
 * 32 slots, powers of two, so at most 32768 elements. The neighbour has the nearest geometry. */
bool layout_tile_check_kernel(base_arena *arena, const layout_tile *tile, layout_fault *fault);

#endif
