/* What the files of tile.h share: a tile's digits with every default filled in, faults with their
 * neighbours, and the reader of texts.
 *
 *     digits(lane 4 | slot 2; lane 8, size=(7, 8))     lane 4 @1 and lane 8 @4: lanes 0..31
 */
#ifndef LAYOUT_TILE_INTERNAL_H
#define LAYOUT_TILE_INTERNAL_H

#include "layout/tile.h"

/* Lanes of a subgroup where a text does not say. */
enum { TILE_SUBGROUP_BITS = 5, TILE_SUBGROUP_LANES = 1 << TILE_SUBGROUP_BITS };

/* ---- digits (tile.c) ---- */
/* The axes with resolved strides; axis[rank] holds the replicas. LAYOUT_DIGITS only. */
typedef struct tile_axes {
    int rank;
    layout_axis axis[LAYOUT_MAX_RANK + 1];
    int64_t range[LAYOUT_HOLDER_COUNT]; /* of a holder's number; 0 = runtime */
    int64_t box[LAYOUT_MAX_RANK];       /* product of the radices; 0 = runtime */
} tile_axes;
tile_axes tile_axes_of(const layout_tile *tile);

/* Adds a digit; radix 1 and a digit that continues the one before are merged. False past 16. */
bool tile_axis_push(layout_axis *axis, layout_digit digit);
/* The axis with adjacent digits of one holder merged and radix 1 dropped; strides resolved. */
layout_axis tile_axis_merged(const layout_axis *axis);
/* Bit tiles whose columns are single bits or zero, and whose constant is zero, as digits. */
bool tile_bits_to_digits(const layout_bits *bits, layout_tile *tile);

/* The replicas sorted by holder and stride and merged: unique for their set of positions. */
layout_axis tile_replicas_merged(const tile_axes *axes); /* tile_equal.c */
/* Places first, first + period, ... with 1 <= first <= period; how many below `end` are in both. */
typedef struct tile_progression {
    int64_t first, period;
} tile_progression;
int64_t tile_count_common(tile_progression a, tile_progression b, int64_t end); /* tile_equal.c */
/* Shifts are less than this: the radix of the innermost digit when slots hold it, else 1. */
int64_t tile_shift_limit(const layout_axis *axis);

/* ---- faults (tile_fault.c) ---- */
typedef enum tile_fault_id {
#define FAULT(id, slug, doc) TILE_FAULT_##id,
#include "layout/faults.def"
#undef FAULT
    TILE_FAULT_COUNT
} tile_fault_id;

/* What is wrong with a tile of digits, and which part of it. */
typedef enum tile_part {
    TILE_PART_WHOLE,
    TILE_PART_DIGIT,
    TILE_PART_SIZE,
    TILE_PART_SHIFT
} tile_part;
typedef struct tile_finding {
    tile_fault_id id;
    tile_part part;
    int axis, digit; /* axis == rank: the replicas */
    const char *reason;
} tile_finding;
bool tile_digits_check(const layout_tile *tile, tile_finding *finding); /* tile_forms.c */

/* A text being read. Readers return false after filling *fault. */
typedef struct tile_reader {
    base_arena *arena;
    const char *text;
    size_t length, at;
    layout_fault *fault;
} tile_reader;

/* Fills the fault; the neighbour stays "". Always false. */
bool tile_fault(tile_reader *r, tile_fault_id id, size_t at, size_t length, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Proposes the text with `length` bytes from `at` replaced. Long texts have no neighbour. */
void tile_propose(tile_reader *r, size_t at, size_t length, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- words and numbers (tile_fault.c) ---- */
void tile_skip_spaces(tile_reader *r);
char tile_peek(tile_reader *r); /* the next byte after spaces; 0 at the end */
bool tile_accept(tile_reader *r, char sign);
bool tile_expect(tile_reader *r, char sign);
size_t tile_word(const tile_reader *r); /* length of the word that begins here */
bool tile_word_is(const tile_reader *r, size_t at, size_t length, const char *word);
/* A decimal or hexadecimal number from 0. */
bool tile_read_number(tile_reader *r, int64_t *number);

/* ---- forms ---- */
bool tile_read_digits(tile_reader *r, layout_tile *tile); /* tile_digits.c, after `digits(` */
bool tile_read_gf2(tile_reader *r, layout_tile *tile);    /* tile_basis.c, after `gf2(` */
bool tile_read_basis(tile_reader *r, layout_tile *tile);  /* tile_basis.c, Triton */
bool tile_read_cute(tile_reader *r, layout_tile *tile);   /* tile_cute.c */

#endif
