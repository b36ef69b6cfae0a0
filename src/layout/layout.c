/* Layouts: digits of one axis, their map in both directions, and their text form.
 *
 * The logical index is the mixed-radix number of the digits, least significant first, so that the
 * weight of a digit is the product of the radices before it:
 *
 *     lane 8 | slot 4 | step *       weights 1, 8, 32
 *
 * A runtime radix (0 here, `*` in text) is the most significant, so that no weight depends on it.
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

static bool holder_is_inner(layout_holder holder) {
    return holder == LAYOUT_SLOT || holder == LAYOUT_LANE || holder == LAYOUT_SUBGROUP;
}

int64_t layout_axis_radix(const layout_axis *axis, layout_holder holder) {
    int64_t radix = 1;
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            radix *= axis->digits[i].radix;
    }
    return radix;
}

int64_t layout_axis_weight(const layout_axis *axis, layout_holder holder) {
    int64_t weight = 1;
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            return weight;
        weight *= axis->digits[i].radix;
    }
    return 0;
}

int64_t layout_axis_chunk(const layout_axis *axis) {
    return layout_axis_radix(axis, LAYOUT_SLOT) * layout_axis_radix(axis, LAYOUT_LANE) *
           layout_axis_radix(axis, LAYOUT_SUBGROUP);
}

bool layout_axis_has(const layout_axis *axis, layout_holder holder) {
    for (int i = 0; i < axis->count; i++) {
        if (axis->digits[i].holder == holder)
            return true;
    }
    return false;
}

bool layout_axis_equal(const layout_axis *a, const layout_axis *b) {
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        if (a->digits[i].holder != b->digits[i].holder || a->digits[i].radix != b->digits[i].radix)
            return false;
    }
    return true;
}

int64_t layout_axis_logical(const layout_axis *axis, const int64_t position[LAYOUT_HOLDER_COUNT]) {
    int64_t index = 0, weight = 1;
    for (int i = 0; i < axis->count; i++) {
        index += position[axis->digits[i].holder] * weight;
        weight *= axis->digits[i].radix;
    }
    return index;
}

void layout_axis_owner(const layout_axis *axis, int64_t index,
                       int64_t position[LAYOUT_HOLDER_COUNT]) {
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        position[holder] = 0;
    for (int i = 0; i < axis->count; i++) {
        int64_t radix = axis->digits[i].radix;
        position[axis->digits[i].holder] = radix == 0 ? index : base_floor_mod(index, radix);
        index = base_floor_div(index, radix);
    }
}

const char *layout_axis_check(const layout_axis *axis) {
    int seen = 0;
    bool outer = false;
    int64_t size = 1;
    if (axis->count < 0 || axis->count > LAYOUT_MAX_DIGITS)
        return "an axis has at most 12 digits";
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        bool last = i == axis->count - 1;
        if (digit.radix < 0 || (digit.radix == 0 && !last))
            return digit.radix < 0 ? "a radix is at least 1"
                                   : "only the most significant digit may have a runtime radix";
        if ((seen >> digit.holder) & 1)
            return "a holder has one digit of an axis";
        if (holder_is_inner(digit.holder) && outer)
            return "slot, lane and subgroup digits stand below step and group digits";
        if (holder_is_inner(digit.holder) && digit.radix == 0)
            return "slot, lane and subgroup digits have constant radices";
        if (digit.radix != 0 && !base_checked_mul(size, digit.radix, &size))
            return "the product of the radices does not fit 64 bits";
        seen |= 1 << digit.holder;
        outer = outer || !holder_is_inner(digit.holder);
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
    }
}

typedef struct reader {
    const char *text;
    size_t length, at;
    const char *reason;
} reader;

static void skip_spaces(reader *r) {
    while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t'))
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

static bool read_radix(reader *r, int64_t *radix) {
    if (r->at < r->length && r->text[r->at] == '*') {
        r->at++;
        *radix = 0;
        return true;
    }
    size_t start = r->at;
    int64_t value = 0;
    for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
        if (!base_checked_mul(value, 10, &value) ||
            !base_checked_add(value, r->text[r->at] - '0', &value)) {
            r->reason = "a radix that does not fit 64 bits";
            r->at = start;
            return false;
        }
    }
    if (value < 1) {
        r->reason = "expected a radix: a number from 1, or *";
        r->at = start;
        return false;
    }
    *radix = value;
    return true;
}

static bool read_digits(reader *r, layout_axis *axis) {
    for (;;) {
        skip_spaces(r);
        if (axis->count == LAYOUT_MAX_DIGITS) {
            r->reason = "an axis has at most 12 digits";
            return false;
        }
        layout_digit *digit = &axis->digits[axis->count];
        if (!read_holder(r, &digit->holder))
            return false;
        skip_spaces(r);
        if (!read_radix(r, &digit->radix))
            return false;
        axis->count++;
        size_t end = r->at;
        skip_spaces(r);
        if (r->at == r->length || r->text[r->at] != '|') {
            r->at = end;
            return true;
        }
        r->at++;
    }
}

bool layout_axis_parse(const char *text, size_t length, layout_axis *axis, size_t *used,
                       const char **reason) {
    reader r = {.text = text, .length = length};
    *axis = (layout_axis){0};
    skip_spaces(&r);
    size_t start = r.at;
    bool ok = true;
    if (word_length(&r) == 4 && memcmp(text + r.at, "none", 4) == 0)
        r.at += 4;
    else
        ok = read_digits(&r, axis);
    const char *fault = ok ? layout_axis_check(axis) : NULL;
    if (fault != NULL) {
        ok = false;
        r.reason = fault;
        r.at = start;
    }
    *used = r.at;
    if (!ok)
        *reason = r.reason;
    return ok;
}
