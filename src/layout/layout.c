/* Layouts: digits of one axis, their map in both directions, and their text form.
 *
 * The logical index is the mixed-radix number of the digits, least significant first, so that the
 * weight of a digit is the product of the radices before it:
 *
 *     lane 8 | slot 4 | step *       weights 1, 8, 32
 *
 * A runtime radix (0 here, `*` in text) is the most significant, so that no weight depends on it;
 * that of steps below groups is read, printed and compared, and nothing else is asked of it.
 */
#include "layout/layout.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

static const char *const holder_names[LAYOUT_HOLDER_COUNT] = {
    [LAYOUT_SLOT] = "slot",         [LAYOUT_STEP] = "step",   [LAYOUT_LANE] = "lane",
    [LAYOUT_SUBGROUP] = "subgroup", [LAYOUT_BLOCK] = "block", [LAYOUT_GROUP] = "group",
};

const char *layout_holder_name(layout_holder holder) {
    return holder_names[holder];
}

int64_t layout_axis_radix(const layout_axis *axis, layout_holder holder) {
    int64_t radix = 1;
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            radix *= axis->digits[i].radix;
    }
    return radix;
}

int64_t layout_axis_digit_weight(const layout_axis *axis, int digit) {
    int64_t weight = 1;
    for (int i = 0; i < digit; i++)
        weight *= axis->digits[i].radix;
    return weight;
}

int64_t layout_axis_weight(const layout_axis *axis, layout_holder holder) {
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            return layout_axis_digit_weight(axis, i);
    }
    return 0;
}

int64_t layout_axis_default_stride(const layout_axis *axis, int digit) {
    int64_t stride = 1;
    for (int i = 0; i < digit; i++) {
        if (axis->digits[i].holder == axis->digits[digit].holder)
            stride *= axis->digits[i].radix;
    }
    return stride;
}

int64_t layout_axis_digit_stride(const layout_axis *axis, int digit) {
    int64_t stride = axis->digits[digit].stride;
    return stride != 0 ? stride : layout_axis_default_stride(axis, digit);
}

int64_t layout_axis_range(const layout_axis *axis, layout_holder holder) {
    int64_t range = 1;
    for (int i = 0; i < axis->count; i++) {
        int64_t end = layout_axis_digit_stride(axis, i) * axis->digits[i].radix;
        if (axis->digits[i].holder == holder && axis->digits[i].radix > 1 && end > range)
            range = end;
    }
    return range;
}

int64_t layout_axis_chunk(const layout_axis *axis) {
    return layout_axis_radix(axis, LAYOUT_SLOT) * layout_axis_radix(axis, LAYOUT_LANE) *
           layout_axis_radix(axis, LAYOUT_SUBGROUP) * layout_axis_radix(axis, LAYOUT_BLOCK);
}

int64_t layout_axis_shifts(const layout_axis *axis) {
    if (axis->shift == NULL)
        return 1;
    return axis->count > 0 ? axis->digits[0].radix : 0;
}

bool layout_axis_has(const layout_axis *axis, layout_holder holder) {
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            return true;
    }
    return false;
}

static bool same_shift(const layout_axis *a, const layout_axis *b) {
    return a->shift == NULL || b->shift == NULL ? a->shift == b->shift
                                                : strcmp(a->shift, b->shift) == 0;
}

bool layout_axis_equal(const layout_axis *a, const layout_axis *b) {
    if (a->count != b->count || a->exclusive_or != b->exclusive_or || !same_shift(a, b))
        return false;
    for (int i = 0; i < a->count; i++) {
        if (a->digits[i].holder != b->digits[i].holder ||
            a->digits[i].radix != b->digits[i].radix ||
            layout_axis_digit_stride(a, i) != layout_axis_digit_stride(b, i))
            return false;
    }
    return true;
}

int64_t layout_axis_logical(const layout_axis *axis, const int64_t position[LAYOUT_HOLDER_COUNT]) {
    int64_t index = 0, weight = 1;
    for (int i = 0; i < axis->count; i++) {
        int64_t radix = axis->digits[i].radix;
        int64_t number = position[axis->digits[i].holder] / layout_axis_digit_stride(axis, i);
        index += (radix == 0 ? number : base_floor_mod(number, radix)) * weight;
        weight *= radix;
    }
    return index ^ axis->exclusive_or;
}

void layout_axis_owner(const layout_axis *axis, int64_t index,
                       int64_t position[LAYOUT_HOLDER_COUNT]) {
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        position[holder] = 0;
    index ^= axis->exclusive_or;
    for (int i = 0; i < axis->count; i++) {
        int64_t radix = axis->digits[i].radix;
        int64_t digit = radix == 0 ? index : base_floor_mod(index, radix);
        position[axis->digits[i].holder] += digit * layout_axis_digit_stride(axis, i);
        index = base_floor_div(index, radix);
    }
}

/* ---- form ---- */
static bool holder_may_be_runtime(layout_holder holder) {
    return holder == LAYOUT_STEP || holder == LAYOUT_GROUP;
}

/* The steps of a part: `step * | group 16`, where the extent makes how many they are. */
static bool stands_below_parts(const layout_axis *axis, int digit) {
    const layout_digit *digits = axis->digits;
    return digit == axis->count - 2 && digits[digit].holder == LAYOUT_STEP &&
           digits[digit + 1].holder == LAYOUT_GROUP && digits[digit + 1].radix > 0;
}

static const char *radix_fault(const layout_axis *axis, int *fault) {
    int64_t size = 1;
    bool bits = true;
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        *fault = i;
        if (digit.radix < 0)
            return "a radix is at least 1";
        if (digit.radix == 0 && i != axis->count - 1 && !stands_below_parts(axis, i))
            return "only the most significant digit may have a runtime radix";
        if (digit.radix == 0 && !holder_may_be_runtime(digit.holder))
            return "slot, lane, subgroup and block digits have constant radices";
        if (digit.radix != 0 && !base_checked_mul(size, digit.radix, &size))
            return "the product of the radices does not fit 64 bits";
        bits = bits && digit.radix != 0 && (digit.radix & (digit.radix - 1)) == 0;
    }
    if (axis->exclusive_or != 0 && !bits)
        return "with xor every radix is a power of two";
    if (axis->exclusive_or < 0 || (axis->exclusive_or > 0 && axis->exclusive_or >= size))
        return "xor is below the product of the radices";
    return NULL;
}

/* Digits of one holder count in different places of its number: sorted by stride, each stride is a
 * multiple of stride times radix of the one before. Nothing stands above a runtime radix. */
static bool digits_are_apart(layout_digit a, layout_digit b) {
    layout_digit low = a.stride <= b.stride ? a : b, high = a.stride <= b.stride ? b : a;
    int64_t end = 0;
    if (a.holder != b.holder || a.radix == 1 || b.radix == 1)
        return true;
    return base_checked_mul(low.stride, low.radix, &end) && end != 0 && high.stride % end == 0;
}

/* The first digit, in the order written, whose resolved stride fits not with those before it. */
static const char *overlap_fault(const layout_axis *axes, int count, int *axis, int *digit) {
    int64_t end = 0;
    for (int i = 0; i < count * LAYOUT_MAX_DIGITS; i++) {
        *axis = i / LAYOUT_MAX_DIGITS;
        *digit = i % LAYOUT_MAX_DIGITS;
        if (*digit >= axes[*axis].count)
            continue;
        layout_digit here = axes[*axis].digits[*digit];
        if (here.stride < 0 || (here.stride == 0 && here.radix != 1))
            return here.stride < 0 ? "a stride is at least 1"
                                   : "nothing of a holder stands above its runtime radix";
        if (!base_checked_mul(here.stride, here.radix, &end))
            return "stride times radix does not fit 64 bits";
        for (int k = 0; k < i; k++) {
            const layout_axis *other = &axes[k / LAYOUT_MAX_DIGITS];
            if (k % LAYOUT_MAX_DIGITS < other->count &&
                !digits_are_apart(here, other->digits[k % LAYOUT_MAX_DIGITS]))
                return "two digits of one holder overlap: a stride is a multiple of stride times "
                       "radix of the digit below it";
        }
    }
    return NULL;
}

static const char *stride_fault(const layout_axis *axis, int *fault) {
    layout_axis resolved = *axis;
    int alone = 0;
    layout_axes_resolve(&resolved, 1);
    return overlap_fault(&resolved, 1, &alone, fault);
}

static const char *axis_fault(const layout_axis *axis, int *digit) {
    *digit = 0;
    if (axis->count < 0 || axis->count > LAYOUT_MAX_DIGITS)
        return "an axis has at most 16 digits";
    const char *reason = radix_fault(axis, digit);
    return reason != NULL ? reason : stride_fault(axis, digit);
}

const char *layout_axis_check(const layout_axis *axis) {
    int digit = 0;
    return axis_fault(axis, &digit);
}

void layout_axes_resolve(layout_axis *axes, int count) {
    int64_t next[LAYOUT_HOLDER_COUNT];
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        next[holder] = 1;
    for (int a = 0; a < count; a++) {
        for (int i = 0; i < axes[a].count; i++) {
            layout_digit *digit = &axes[a].digits[i];
            if (digit->stride == 0)
                digit->stride = next[digit->holder];
            if (!base_checked_mul(next[digit->holder], digit->radix, &next[digit->holder]))
                next[digit->holder] = 0; /* found by layout_axes_partition */
        }
    }
}

/* Where the number of the holder ends that the digits below `stride` make up: the next one begins
 * there. The digits are apart. */
static int64_t end_below(const layout_axis *axes, int count, layout_holder holder, int64_t stride) {
    int64_t end = 1;
    for (int a = 0; a < count; a++) {
        for (int i = 0; i < axes[a].count; i++) {
            layout_digit digit = axes[a].digits[i];
            if (digit.holder == holder && digit.radix > 1 && digit.stride < stride &&
                digit.stride * digit.radix > end)
                end = digit.stride * digit.radix;
        }
    }
    return end;
}

const char *layout_axes_partition(const layout_axis *axes, int count, int *axis, int *digit) {
    const char *reason = overlap_fault(axes, count, axis, digit);
    if (reason != NULL)
        return reason;
    for (*axis = 0; *axis < count; ++*axis) {
        for (*digit = 0; *digit < axes[*axis].count; ++*digit) {
            layout_digit here = axes[*axis].digits[*digit];
            if (here.radix != 1 && here.stride != end_below(axes, count, here.holder, here.stride))
                return "the strides of a holder leave a gap: each is stride times radix of the one "
                       "below it";
        }
    }
    return NULL;
}

/* ---- text ---- */
void layout_axis_print(base_text *out, const layout_axis *axis) {
    if (axis->count == 0)
        base_text_string(out, "none");
    for (int i = 0; i < axis->count; i++) {
        base_text_format(out, "%s%s ", i == 0 ? "" : " | ",
                         layout_holder_name(axis->digits[i].holder));
        if (axis->digits[i].radix == 0)
            base_text_string(out, "*");
        else
            base_text_format(out, "%" PRId64, axis->digits[i].radix);
        if (layout_axis_digit_stride(axis, i) != layout_axis_default_stride(axis, i))
            base_text_format(out, " @%" PRId64, axis->digits[i].stride);
    }
    if (axis->exclusive_or != 0)
        base_text_format(out, " xor %" PRId64, axis->exclusive_or);
    if (axis->shift != NULL)
        base_text_format(out, " shift %s", axis->shift);
}

typedef struct reader {
    const char *text;
    size_t length, at;
    const char *reason;
} reader;

static void skip_spaces(reader *r) {
    while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t' ||
                                 r->text[r->at] == '\n' || r->text[r->at] == '\r'))
        r->at++;
}

static size_t word_length(const reader *r) {
    size_t length = 0;
    while (r->at + length < r->length && r->text[r->at + length] >= 'a' &&
           r->text[r->at + length] <= 'z')
        length++;
    return length;
}

static bool read_holder(reader *r, layout_holder *holder) {
    size_t length = word_length(r);
    for (int i = 0; i < LAYOUT_HOLDER_COUNT; i++) {
        if (strlen(holder_names[i]) == length &&
            memcmp(holder_names[i], r->text + r->at, length) == 0) {
            *holder = (layout_holder)i;
            r->at += length;
            return true;
        }
    }
    r->reason = "expected a holder: slot, step, lane, subgroup, block or group";
    return false;
}

/* A number from 1; `what` when there is none. */
static bool read_count(reader *r, int64_t *count, const char *what) {
    size_t start = r->at;
    int64_t value = 0;
    for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
        if (!base_checked_mul(value, 10, &value) ||
            !base_checked_add(value, r->text[r->at] - '0', &value)) {
            r->reason = "a number that does not fit 64 bits";
            r->at = start;
            return false;
        }
    }
    if (value < 1) {
        r->reason = what;
        r->at = start;
        return false;
    }
    *count = value;
    return true;
}

static bool accept(reader *r, char sign) {
    if (r->at == r->length || r->text[r->at] != sign)
        return false;
    r->at++;
    return true;
}

/* `8`, `*`, `4 @8` */
static bool read_radix(reader *r, layout_digit *digit) {
    if (accept(r, '*'))
        digit->radix = 0;
    else if (!read_count(r, &digit->radix, "expected a radix: a number from 1, or *"))
        return false;
    size_t end = r->at;
    skip_spaces(r);
    if (accept(r, '@'))
        return read_count(r, &digit->stride, "expected a stride: a number from 1");
    r->at = end;
    return true;
}

/* ` xor 5`, or nothing */
static bool read_exclusive_or(reader *r, layout_axis *axis) {
    size_t end = r->at;
    skip_spaces(r);
    if (word_length(r) != 3 || memcmp(r->text + r->at, "xor", 3) != 0) {
        r->at = end;
        return true;
    }
    r->at += 3;
    skip_spaces(r);
    return read_count(r, &axis->exclusive_or, "expected what to xor with: a number from 1");
}

static bool read_digits(reader *r, layout_axis *axis, size_t at[LAYOUT_MAX_DIGITS]) {
    for (;;) {
        skip_spaces(r);
        if (axis->count == LAYOUT_MAX_DIGITS) {
            r->reason = "an axis has at most 16 digits";
            return false;
        }
        layout_digit *digit = &axis->digits[axis->count];
        at[axis->count] = r->at;
        if (!read_holder(r, &digit->holder))
            return false;
        skip_spaces(r);
        if (!read_radix(r, digit))
            return false;
        axis->count++;
        size_t end = r->at;
        skip_spaces(r);
        if (!accept(r, '|')) {
            r->at = end;
            return true;
        }
    }
}

static bool read_axis(reader *r, layout_axis *axis, size_t at[LAYOUT_MAX_DIGITS]) {
    *axis = (layout_axis){0};
    skip_spaces(r);
    if (word_length(r) == 4 && memcmp(r->text + r->at, "none", 4) == 0) {
        r->at += 4;
        return true;
    }
    return read_digits(r, axis, at);
}

bool layout_axis_read(const char *text, size_t length, layout_axis *axis, size_t *used,
                      size_t at[LAYOUT_MAX_DIGITS], const char **reason) {
    reader r = {.text = text, .length = length};
    int digit = 0;
    bool ok = read_axis(&r, axis, at);
    const char *fault = ok ? radix_fault(axis, &digit) : NULL;
    *used = fault == NULL ? r.at : at[digit];
    if (!ok || fault != NULL)
        *reason = fault != NULL ? fault : r.reason;
    return ok && fault == NULL;
}

bool layout_axis_parse(const char *text, size_t length, layout_axis *axis, size_t *used,
                       const char **reason) {
    size_t at[LAYOUT_MAX_DIGITS];
    int digit = 0;
    if (!layout_axis_read(text, length, axis, used, at, reason))
        return false;
    reader r = {.text = text, .length = length, .at = *used};
    bool ok = read_exclusive_or(&r, axis);
    *used = r.at;
    const char *fault = ok ? axis_fault(axis, &digit) : r.reason;
    if (!ok) {
        *reason = fault;
        return false;
    }
    if (fault != NULL) {
        *used = at[digit];
        *reason = fault;
    }
    return fault == NULL;
}
