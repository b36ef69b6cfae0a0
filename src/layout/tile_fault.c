/* Faults of layout texts, and the words and numbers of all spellings.
 *
 *     bits(0, 1, 1)
 *                ^ layout-duplicate-bit: bit 1 stands in the order twice; 2 is missing
 *     neighbour: bits(0, 1, 2)
 *
 * A neighbour is made by replacing a piece of the text; layout_tile_parse reads it before it shows
 * it, so that what is proposed is legal.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_NEIGHBOUR = 4096 };

static const char *const slugs[TILE_FAULT_COUNT] = {
#define FAULT(id, slug, doc) [TILE_FAULT_##id] = slug,
#include "layout/faults.def"
#undef FAULT
};

bool tile_fault(tile_reader *r, tile_fault_id id, size_t at, size_t length, const char *format,
                ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    at = at < r->length ? at : r->length;
    *r->fault = (layout_fault){.slug = slugs[id],
                               .reason = base_arena_copy(r->arena, reason, strlen(reason)),
                               .at = at,
                               .length = length < r->length - at ? length : r->length - at,
                               .neighbour = ""};
    return false;
}

void tile_propose(tile_reader *r, size_t at, size_t length, const char *format, ...) {
    char piece[1024];
    va_list arguments;
    base_text text;
    if (r->length > LONGEST_NEIGHBOUR)
        return;
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    base_text_init(&text, r->arena);
    base_text_append(&text, r->text, at);
    base_text_string(&text, piece);
    base_text_append(&text, r->text + at + length, r->length - at - length);
    r->fault->neighbour = text.bytes;
}

/* ---- words and numbers ---- */
void tile_skip_spaces(tile_reader *r) {
    while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t' ||
                                 r->text[r->at] == '\n' || r->text[r->at] == '\r'))
        r->at++;
}

char tile_peek(tile_reader *r) {
    tile_skip_spaces(r);
    return r->at < r->length ? r->text[r->at] : '\0';
}

bool tile_accept(tile_reader *r, char sign) {
    if (tile_peek(r) != sign || r->at == r->length)
        return false;
    r->at++;
    return true;
}

bool tile_expect(tile_reader *r, char sign) {
    if (tile_accept(r, sign))
        return true;
    tile_fault(r, TILE_FAULT_SYNTAX, r->at, 1, "expected `%c`", sign);
    tile_propose(r, r->at, 0, "%c", sign);
    return false;
}

size_t tile_word(const tile_reader *r) {
    size_t length = 0;
    while (r->at + length < r->length &&
           ((r->text[r->at + length] >= 'a' && r->text[r->at + length] <= 'z') ||
            r->text[r->at + length] == '_'))
        length++;
    return length;
}

bool tile_word_is(const tile_reader *r, size_t at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(r->text + at, word, length) == 0;
}

static int digit_value(char c, int base) {
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : base;
    return value < base ? value : -1;
}

bool tile_read_number(tile_reader *r, int64_t *number) {
    tile_skip_spaces(r);
    size_t start = r->at;
    bool hexadecimal = r->length - r->at > 2 && r->text[r->at] == '0' && r->text[r->at + 1] == 'x';
    int base = hexadecimal ? 16 : 10;
    r->at += hexadecimal ? 2 : 0;
    size_t digits = r->at;
    int64_t value = 0;
    for (; r->at < r->length && digit_value(r->text[r->at], base) >= 0; r->at++) {
        if (!base_checked_mul(value, base, &value) ||
            !base_checked_add(value, digit_value(r->text[r->at], base), &value))
            return tile_fault(r, TILE_FAULT_LIMIT, start, r->at - start + 1,
                              "a number that does not fit 64 bits");
    }
    if (r->at == digits)
        return tile_fault(r, TILE_FAULT_SYNTAX, start, 1, "expected a number from 0");
    *number = value;
    return true;
}
