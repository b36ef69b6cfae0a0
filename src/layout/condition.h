/* Conditions: what a program takes for granted of its arguments beyond their types and shapes.
 *
 *     x aligned 16      the tensor x begins at a multiple of 16 bytes, and its rows do
 *     x begins 16       it begins there; its rows may lie anywhere
 *     x spaced 16       its rows follow each other without gaps, or with gaps of such multiples
 *     N % 4 == 0        the size N is a multiple of 4
 *
 * A module records those under which it is valid (ir/module.h); a launch examines them against the
 * arguments at hand (runtime/condition.h). The kinds are rows of conditions.def. A count of rows,
 * that is a size of a program axis, is never the subject of a condition: one program serves any
 * number of rows. */
#ifndef LAYOUT_CONDITION_H
#define LAYOUT_CONDITION_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum layout_condition_kind {
#define CONDITION(ID, name, SUBJECT, word, tail, doc) LAYOUT_CONDITION_##ID,
#include "layout/conditions.def"
#undef CONDITION
    LAYOUT_CONDITION_COUNT
} layout_condition_kind;

typedef enum layout_condition_subject {
    LAYOUT_CONDITION_TENSOR,
    LAYOUT_CONDITION_SIZE
} layout_condition_subject;

typedef struct layout_condition {
    layout_condition_kind kind;
    int subject;    /* TENSOR: number of the parameter, SIZE: of the size symbol */
    int64_t amount; /* a power of two */
} layout_condition;

typedef struct layout_condition_info {
    const char *name;
    layout_condition_subject subject;
    const char *word, *tail; /* tail: "" where nothing follows the amount */
    const char *doc;
} layout_condition_info;

const layout_condition_info *layout_condition_describe(layout_condition_kind kind);

/* `x aligned 16`; `subject`: what it is called. */
void layout_condition_print(base_text *out, const layout_condition *condition, const char *subject);

/* The largest amount that conditions of a kind state of a subject; 1: none. */
int64_t layout_conditions_amount(const layout_condition *conditions, int64_t count,
                                 layout_condition_kind kind, int64_t subject);

#endif
