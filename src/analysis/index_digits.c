/* Index forms over digits: each term picks the digits of the axis between two borders.
 *
 *     slot 4 | lane 32 | slot 4       weights 1, 4, 128
 *     (i / 8) % 32                    the lane from its second bit on, and the lowest of slot/4
 */
#include "analysis/index_digits.h"

#include "base/checked.h"

/* A digit, or a run of its bits. */
typedef struct digit_piece {
    layout_digit digit; /* its stride filled in */
    int64_t weight;     /* in the index of the axis */
    bool turned;        /* the exclusive or counts it down */
    bool top;           /* no digit is above */
} digit_piece;

typedef struct digit_walk {
    const analysis_index_term *term;
    int axis;
    int64_t end; /* divide * modulus; 0: none */
    const int64_t *ranges;
    analysis_index_digits *out;
} digit_walk;

static bool add_step(const digit_walk *walk, layout_digit digit, int64_t modulus, int64_t stride) {
    analysis_index_digits *out = walk->out;
    if (out->step_count == ANALYSIS_INDEX_TERMS)
        return false;
    out->steps[out->step_count++] = (analysis_index_step){
        .axis = walk->axis, .divide = digit.stride, .modulus = modulus, .stride = stride};
    return true;
}

/* All of a piece, which counts in units of the term. */
static bool add_piece(const digit_walk *walk, digit_piece piece) {
    layout_digit digit = piece.digit;
    int64_t stride = 0, turned = 0;
    if (digit.radix == 1)
        return true;
    if (!base_checked_mul(piece.weight / walk->term->divide, walk->term->stride, &stride))
        return false;
    if (digit.holder == LAYOUT_STEP) /* steps begin at 0 and end where they must */
        return !piece.turned && add_step(walk, digit, piece.top ? 0 : digit.radix, stride);
    if (digit.holder == LAYOUT_BLOCK) /* the same in all lanes: left to the caller */
        return walk->term->divide == 1 && walk->end == 0 && !piece.turned;
    if (digit.holder != LAYOUT_LANE && digit.holder != LAYOUT_SUBGROUP &&
        digit.holder != LAYOUT_SLOT)
        return false;
    if (piece.turned && (!base_checked_mul(digit.radix - 1, stride, &turned) ||
                         !base_checked_add(walk->out->constant, turned, &walk->out->constant)))
        return false;
    bool whole = walk->ranges[digit.holder] == digit.stride * digit.radix;
    ir_affine *affine = &walk->out->affine;
    return ir_affine_add(affine, (ir_term){.holder = digit.holder,
                                           .divide = digit.stride,
                                           .modulus = whole ? 0 : digit.radix,
                                           .stride = piece.turned ? -stride : stride});
}

/* Whether `border` cuts the piece into whole parts: then the radix of the lower one. Steps, which
 * no digit is above, may end within a part. */
static bool cut(const digit_piece *piece, int64_t border, int64_t *lower) {
    *lower = border / piece->weight;
    return border % piece->weight == 0 &&
           (piece->digit.radix % *lower == 0 ||
            (piece->top && !piece->turned && piece->digit.holder == LAYOUT_STEP));
}

/* Where the piece ends; 0: never. False past 64 bits. */
static bool piece_end(const digit_piece *piece, int64_t *end) {
    return base_checked_mul(piece->weight, piece->digit.radix, end);
}

/* The part of the piece between the borders of the term. */
static bool walk_piece(const digit_walk *walk, digit_piece piece) {
    int64_t begin = walk->term->divide, last = 0, lower = 0;
    if (!piece_end(&piece, &last))
        return false;
    if (last != 0 && last <= begin)
        return true;
    if (walk->end != 0 && piece.weight >= walk->end)
        return piece.weight % walk->end == 0;
    if (piece.weight < begin) {
        if (!cut(&piece, begin, &lower))
            return false;
        piece.weight = begin;
        piece.digit.stride *= lower;
        piece.digit.radix = (piece.digit.radix + lower - 1) / lower;
    }
    if (piece.weight % begin != 0 || !piece_end(&piece, &last))
        return false;
    if (walk->end != 0 && (last == 0 || last > walk->end)) {
        if (!cut(&piece, walk->end, &lower))
            return false;
        piece.digit.radix = lower;
        piece.top = false;
    }
    return add_piece(walk, piece);
}

/* A digit in runs of bits that the exclusive or leaves, or turns round. */
static bool walk_digit(const digit_walk *walk, const layout_axis *digits, digit_piece whole) {
    int64_t mask = digits->exclusive_or;
    if (mask == 0)
        return walk_piece(walk, whole);
    for (int64_t left = whole.digit.radix; left > 1;) {
        digit_piece run = whole;
        run.turned = (mask / whole.weight & 1) != 0;
        run.digit.radix = 2;
        while (run.digit.radix < left &&
               ((mask / (whole.weight * run.digit.radix) & 1) != 0) == run.turned)
            run.digit.radix *= 2;
        left /= run.digit.radix;
        run.top = whole.top && left == 1;
        if (!walk_piece(walk, run))
            return false;
        whole.weight *= run.digit.radix;
        whole.digit.stride *= run.digit.radix;
    }
    return true;
}

static bool walk_axis(const digit_walk *walk, const layout_axis *digits) {
    for (int k = 0; k < digits->count; k++) {
        digit_piece piece = {
            .digit = digits->digits[k], .weight = layout_axis_digit_weight(digits, k), .top = true};
        piece.digit.stride = layout_axis_digit_stride(digits, k);
        for (int i = k + 1; i < digits->count; i++)
            piece.top = piece.top && digits->digits[i].radix == 1;
        if (piece.weight < 1 || !walk_digit(walk, digits, piece))
            return false;
    }
    return true;
}

bool analysis_index_digits_find(const analysis_index_form *form, const layout_axis *const *axes,
                                const int64_t ranges[LAYOUT_HOLDER_COUNT],
                                analysis_index_digits *digits) {
    *digits = (analysis_index_digits){0};
    for (int i = 0; i < form->term_count; i++) {
        const analysis_index_term *term = &form->terms[i];
        digit_walk walk = {.term = term, .axis = term->axis, .ranges = ranges, .out = digits};
        bool parts = term->divide != 1 || term->modulus != 0;
        if ((parts && axes[term->axis]->shift != NULL) ||
            (term->modulus != 0 && !base_checked_mul(term->divide, term->modulus, &walk.end)) ||
            !walk_axis(&walk, axes[term->axis]))
            return false;
    }
    return true;
}
