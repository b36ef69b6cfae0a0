/* Reading layouts: the spelling is told by its beginning; identity, bits and blocked_cyclic are
 * lists of arguments.
 *
 *     identity(SIZE, slots=1)
 *     bits(ORDER.., xor=0, slots=1)
 *     blocked_cyclic(SIZE, workers=W, vector=1, shift=0, chunks=slot, subgroup=32)
 *     digits(..)  gf2(..)                 tile_digits.c, tile_basis.c
 *     register=[..] lane=[..]             tile_basis.c
 *     (32,4):(1,32)                       tile_cute.c
 *
 * Only a bounded number of arguments is read, so that garbage of any length is refused at once. A
 * fault's neighbour is shown only after it was read and found legal; a neighbour that has a fault
 * is replaced by its own neighbour, a few times.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_NUMBERS = 64, MAX_REPAIRS = 32 };

/* A number and where it stands. */
typedef struct argument {
    int64_t number;
    size_t at, length;
} argument;

typedef struct keyword {
    const char *name;
    int64_t value; /* default; -1 = must be given */
    int64_t least;
    bool is_holder; /* `slot` or `step` */
    bool given;
    size_t at, length;
} keyword;

typedef struct arguments {
    const char *form;
    int most; /* numbers */
    int count;
    argument numbers[MAX_NUMBERS];
    keyword keywords[5];
    size_t close; /* of `)` */
} arguments;

/* The name of the list with the longest common beginning; NULL when no first letter fits. */
static const char *nearest_name(const tile_reader *r, size_t at, size_t length,
                                const char *const *names, int count) {
    const char *nearest = NULL;
    size_t longest = 0;
    for (int i = 0; i < count; i++) {
        size_t same = 0;
        while (same < length && names[i][same] != '\0' && names[i][same] == r->text[at + same])
            same++;
        if (same > longest) {
            longest = same;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- arguments ---- */
static bool unknown_keyword(tile_reader *r, const arguments *a, size_t at, size_t length) {
    const char *names[5];
    int count = 0;
    base_text known;
    base_text_init(&known, r->arena);
    for (int i = 0; i < 5 && a->keywords[i].name != NULL; i++) {
        names[count++] = a->keywords[i].name;
        base_text_format(&known, "%s%s", i == 0 ? "" : ", ", a->keywords[i].name);
    }
    const char *nearest = nearest_name(r, at, length, names, count);
    tile_fault(r, TILE_FAULT_ARGUMENT, at, length, "%s takes %s and no other argument", a->form,
               known.bytes);
    if (nearest != NULL)
        tile_propose(r, at, length, "%s", nearest);
    return false;
}

static bool read_holder_value(tile_reader *r, keyword *k) {
    size_t length = tile_word(r);
    bool slot = tile_word_is(r, r->at, length, "slot");
    if (!slot && !tile_word_is(r, r->at, length, "step")) {
        tile_fault(r, TILE_FAULT_ARGUMENT, r->at, length, "chunks are held by slot or step");
        tile_propose(r, r->at, length, "slot");
        return false;
    }
    k->value = slot ? LAYOUT_SLOT : LAYOUT_STEP;
    r->at += length;
    return true;
}

static bool read_keyword(tile_reader *r, arguments *a) {
    size_t at = r->at, length = tile_word(r);
    keyword *k = NULL;
    for (int i = 0; i < 5 && a->keywords[i].name != NULL; i++)
        if (tile_word_is(r, at, length, a->keywords[i].name))
            k = &a->keywords[i];
    if (k == NULL)
        return unknown_keyword(r, a, at, length);
    if (k->given)
        return tile_fault(r, TILE_FAULT_ARGUMENT, at, length, "%s stands twice", k->name);
    r->at += length;
    if (!tile_expect(r, '='))
        return false;
    tile_skip_spaces(r);
    k->given = true;
    k->at = r->at;
    if (k->is_holder ? !read_holder_value(r, k) : !tile_read_number(r, &k->value))
        return false;
    k->length = r->at - k->at;
    if (!k->is_holder && k->value < k->least) {
        tile_fault(r, TILE_FAULT_ARGUMENT, k->at, k->length, "%s is at least %" PRId64, k->name,
                   k->least);
        tile_propose(r, k->at, k->length, "%" PRId64, k->least);
        return false;
    }
    return true;
}

static bool read_positional(tile_reader *r, arguments *a) {
    argument *next = &a->numbers[a->count];
    tile_skip_spaces(r);
    next->at = r->at;
    if (a->count == a->most) {
        tile_fault(r, a->most == 1 ? TILE_FAULT_ARGUMENT : TILE_FAULT_LIMIT, r->at, 1,
                   "%s has at most %d number%s", a->form, a->most, a->most == 1 ? "" : "s");
        return false;
    }
    if (!tile_accept(r, '*') && !tile_read_number(r, &next->number))
        return false;
    next->length = r->at - next->at;
    a->count++;
    return true;
}

/* Everything up to the closing parenthesis. */
static bool read_arguments(tile_reader *r, arguments *a) {
    for (bool named = false;;) {
        char next = tile_peek(r);
        if (tile_word(r) > 0) {
            named = true;
            if (!read_keyword(r, a))
                return false;
        } else if (named && next >= '0' && next <= '9') {
            return tile_fault(r, TILE_FAULT_SYNTAX, r->at, 1, "numbers stand before NAME=NUMBER");
        } else if (!read_positional(r, a)) {
            return false;
        }
        if (!tile_accept(r, ','))
            break;
    }
    tile_skip_spaces(r);
    a->close = r->at;
    if (!tile_expect(r, ')'))
        return false;
    for (int i = 0; i < 5 && a->keywords[i].name != NULL; i++) {
        if (a->keywords[i].value >= 0)
            continue;
        tile_fault(r, TILE_FAULT_ARGUMENT, a->close, 1, "%s needs %s=", a->form,
                   a->keywords[i].name);
        tile_propose(r, a->close, 0, ", %s=32", a->keywords[i].name);
        return false;
    }
    if (a->count == 0)
        return tile_fault(r, TILE_FAULT_ARGUMENT, a->close, 1, "%s begins with numbers", a->form);
    return true;
}

/* ---- identity ---- */
/* Threads above a subgroup are whole subgroups: `at` is the number that decides them. */
static bool fail_threads(tile_reader *r, int64_t threads, int64_t subgroup, const argument *size,
                         int64_t slots) {
    int64_t below = threads / subgroup * subgroup, above = 0, nearest = below;
    if (base_checked_add(below, subgroup, &above) && above - threads < threads - below)
        nearest = above;
    tile_fault(r, TILE_FAULT_THREADS, size->at, size->length,
               "%" PRId64 " threads are more than a subgroup of %" PRId64
               ", and not whole ones, as %" PRId64 " are",
               threads, subgroup, nearest);
    if (base_checked_mul(nearest, slots, &nearest))
        tile_propose(r, size->at, size->length, "%" PRId64, nearest);
    return false;
}

static bool fail_size(tile_reader *r, const argument *size) {
    tile_fault(r, TILE_FAULT_SIZE, size->at, size->length, "a size is at least 1");
    tile_propose(r, size->at, size->length, "1");
    return false;
}

/* The divisor of `size` next to `slots`, looked for nearby. */
static int64_t near_divisor(int64_t size, int64_t slots) {
    for (int64_t apart = 1; apart <= 64; apart++) {
        if (slots - apart >= 1 && size % (slots - apart) == 0)
            return slots - apart;
        if (slots <= size - apart && size % (slots + apart) == 0)
            return slots + apart;
    }
    return 1;
}

static bool read_identity(tile_reader *r, layout_tile *tile) {
    arguments a = {
        .form = "identity", .most = 1, .keywords = {{.name = "slots", .value = 1, .least = 1}}};
    if (!read_arguments(r, &a))
        return false;
    int64_t size = a.numbers[0].number, slots = a.keywords[0].value;
    if (size < 1)
        return fail_size(r, &a.numbers[0]);
    if (size % slots != 0) {
        tile_fault(r, TILE_FAULT_SLOTS, a.keywords[0].at, a.keywords[0].length,
                   "%" PRId64 " elements cannot be %" PRId64 " slots of each thread", size, slots);
        tile_propose(r, a.keywords[0].at, a.keywords[0].length, "%" PRId64,
                     near_divisor(size, slots));
        return false;
    }
    int64_t threads = size / slots;
    if (threads > TILE_SUBGROUP_LANES && threads % TILE_SUBGROUP_LANES != 0)
        return fail_threads(r, threads, TILE_SUBGROUP_LANES, &a.numbers[0], slots);
    *tile = layout_tile_identity(size, slots);
    return true;
}

/* ---- bits ---- */
static int lowest_missing(uint64_t seen) {
    int bit = 0;
    while ((seen >> bit) & 1)
        bit++;
    return bit;
}

static bool check_order(tile_reader *r, const arguments *a) {
    uint64_t seen = 0, all = 0;
    for (int i = 0; i < a->count; i++)
        if (a->numbers[i].number < a->count)
            all |= UINT64_C(1) << a->numbers[i].number;
    int missing = lowest_missing(all);
    for (int i = 0; i < a->count; i++) {
        const argument *here = &a->numbers[i];
        bool inside = here->number < a->count;
        if (inside && !((seen >> here->number) & 1)) {
            seen |= UINT64_C(1) << here->number;
            continue;
        }
        if (inside)
            tile_fault(r, TILE_FAULT_DUPLICATE_BIT, here->at, here->length,
                       "bit %" PRId64 " stands twice; %d is missing", here->number, missing);
        else
            tile_fault(r, TILE_FAULT_BIJECTION, here->at, here->length,
                       "the order of %d bits is a permutation of 0 to %d; %d is missing", a->count,
                       a->count - 1, missing);
        tile_propose(r, here->at, here->length, "%d", missing);
        return false;
    }
    return true;
}

static bool check_slots(tile_reader *r, int bits, const keyword *slots) {
    int64_t most = INT64_C(1) << bits, below = 1;
    while (below <= slots->value / 2 && below < most)
        below *= 2;
    if (below == slots->value)
        return true;
    if (slots->value > most)
        tile_fault(r, TILE_FAULT_SLOTS, slots->at, slots->length,
                   "%d bits are at most %" PRId64 " slots", bits, most);
    else
        tile_fault(r, TILE_FAULT_SLOTS, slots->at, slots->length,
                   "slots are a power of two: %" PRId64 " or %" PRId64, below, below * 2);
    tile_propose(r, slots->at, slots->length, "%" PRId64, below);
    return false;
}

static bool check_mask(tile_reader *r, int bits, const keyword *mask) {
    if (mask->value >> bits == 0)
        return true;
    tile_fault(r, TILE_FAULT_MASK, mask->at, mask->length,
               "the constant is below the size, 2^%d = %" PRId64, bits, INT64_C(1) << bits);
    tile_propose(r, mask->at, mask->length, "%" PRId64, mask->value & ((INT64_C(1) << bits) - 1));
    return false;
}

/* Too many bits: the order of those that layouts can have. */
static bool fail_bits(tile_reader *r, const arguments *a) {
    base_text order;
    base_text_init(&order, r->arena);
    for (int i = 0; i < a->count; i++)
        if (a->numbers[i].number < LAYOUT_MAX_BITS)
            base_text_format(&order, "%s%" PRId64, order.length == 0 ? "" : ", ",
                             a->numbers[i].number);
    const argument *first = &a->numbers[0], *last = &a->numbers[a->count - 1];
    tile_fault(r, TILE_FAULT_LIMIT, a->numbers[LAYOUT_MAX_BITS].at,
               a->numbers[LAYOUT_MAX_BITS].length, "bits has at most %d numbers", LAYOUT_MAX_BITS);
    tile_propose(r, first->at, last->at + last->length - first->at, "%s", order.bytes);
    return false;
}

static bool read_bits(tile_reader *r, layout_tile *tile) {
    arguments a = {.form = "bits",
                   .most = MAX_NUMBERS,
                   .keywords = {{.name = "slots", .value = 1, .least = 1}, {.name = "xor"}}};
    if (!read_arguments(r, &a))
        return false;
    if (a.count > LAYOUT_MAX_BITS)
        return fail_bits(r, &a);
    if (!check_order(r, &a) || !check_slots(r, a.count, &a.keywords[0]) ||
        !check_mask(r, a.count, &a.keywords[1]))
        return false;
    layout_bits bits = {.index_bits = a.count, .constant = (uint32_t)a.keywords[1].value};
    while (INT64_C(1) << bits.slot_bits < a.keywords[0].value)
        bits.slot_bits++;
    int threads = a.count - bits.slot_bits;
    bits.lane_bits = threads < TILE_SUBGROUP_BITS ? threads : TILE_SUBGROUP_BITS;
    bits.subgroup_bits = threads - bits.lane_bits;
    for (int i = 0; i < a.count; i++)
        bits.column[a.numbers[i].number] = 1u << i;
    *tile = (layout_tile){
        .kind = LAYOUT_BITS, .rank = 1, .size = {INT64_C(1) << a.count}, .bits = bits};
    return true;
}

/* ---- blocked_cyclic ---- */
enum { BLOCKED_WORKERS, BLOCKED_VECTOR, BLOCKED_SHIFT, BLOCKED_CHUNKS, BLOCKED_SUBGROUP };

static bool check_blocked(tile_reader *r, const arguments *a) {
    const keyword *k = a->keywords;
    int64_t workers = k[BLOCKED_WORKERS].value, subgroup = k[BLOCKED_SUBGROUP].value;
    int64_t chunk = 0, end = 0;
    bool runtime = r->text[a->numbers[0].at] == '*';
    argument at = {.at = k[BLOCKED_WORKERS].at, .length = k[BLOCKED_WORKERS].length};
    if (a->numbers[0].number < 1 && !runtime)
        return fail_size(r, &a->numbers[0]);
    if (workers > subgroup && workers % subgroup != 0)
        return fail_threads(r, workers, subgroup, &at, 1);
    if (k[BLOCKED_SHIFT].value >= k[BLOCKED_VECTOR].value) {
        tile_fault(r, TILE_FAULT_SHIFT, k[BLOCKED_SHIFT].at, k[BLOCKED_SHIFT].length,
                   "a shift is less than vector");
        tile_propose(r, k[BLOCKED_SHIFT].at, k[BLOCKED_SHIFT].length, "%" PRId64,
                     k[BLOCKED_VECTOR].value - 1);
        return false;
    }
    if (runtime && k[BLOCKED_CHUNKS].value == LAYOUT_SLOT) {
        tile_fault(r, TILE_FAULT_SLOTS, a->numbers[0].at, 1,
                   "a runtime size has its chunks in steps");
        if (k[BLOCKED_CHUNKS].given)
            tile_propose(r, k[BLOCKED_CHUNKS].at, k[BLOCKED_CHUNKS].length, "step");
        else
            tile_propose(r, a->close, 0, ", chunks=step");
        return false;
    }
    if (!base_checked_mul(workers, k[BLOCKED_VECTOR].value, &chunk) ||
        !base_checked_add(a->numbers[0].number, k[BLOCKED_SHIFT].value, &end) ||
        !base_checked_mul(end / chunk + (end % chunk != 0), chunk, &end))
        return tile_fault(r, TILE_FAULT_LIMIT, at.at, at.length,
                          "the positions of all workers do not fit 64 bits");
    return true;
}

static bool read_blocked_cyclic(tile_reader *r, layout_tile *tile) {
    arguments a = {.form = "blocked_cyclic",
                   .most = 1,
                   .keywords = {{.name = "workers", .value = -1, .least = 1},
                                {.name = "vector", .value = 1, .least = 1},
                                {.name = "shift"},
                                {.name = "chunks", .value = LAYOUT_SLOT, .is_holder = true},
                                {.name = "subgroup", .value = TILE_SUBGROUP_LANES, .least = 1}}};
    if (!read_arguments(r, &a) || !check_blocked(r, &a))
        return false;
    const keyword *k = a.keywords;
    *tile = layout_tile_blocked_cyclic(
        a.numbers[0].number, k[BLOCKED_WORKERS].value, k[BLOCKED_VECTOR].value,
        k[BLOCKED_SHIFT].value, (layout_holder)k[BLOCKED_CHUNKS].value, k[BLOCKED_SUBGROUP].value);
    return true;
}

/* ---- spellings ---- */
static const struct {
    const char *name;
    bool (*read)(tile_reader *r, layout_tile *tile);
} forms[] = {
    {"identity", read_identity},  {"bits", read_bits},    {"blocked_cyclic", read_blocked_cyclic},
    {"digits", tile_read_digits}, {"gf2", tile_read_gf2},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

static bool unknown_form(tile_reader *r, size_t length) {
    const char *names[FORM_COUNT];
    for (int i = 0; i < FORM_COUNT; i++)
        names[i] = forms[i].name;
    const char *nearest = nearest_name(r, r->at, length, names, FORM_COUNT);
    tile_fault(r, TILE_FAULT_NAME, r->at, length,
               "layouts are identity, bits, blocked_cyclic, digits, gf2, shape:stride, or bases "
               "such as lane=[1, 2]");
    if (nearest != NULL)
        tile_propose(r, r->at, length, "%s", nearest);
    return false;
}

static bool read_form(tile_reader *r, layout_tile *tile) {
    char first = tile_peek(r);
    if (first == '(' || first == '_' || (first >= '0' && first <= '9'))
        return tile_read_cute(r, tile);
    size_t length = tile_word(r), start = r->at;
    while (length > 0 && start + length < r->length && r->text[start + length] >= '0' &&
           r->text[start + length] <= '9')
        length++;
    if (length == 0)
        return tile_fault(r, TILE_FAULT_SYNTAX, r->at, 1, "expected a layout");
    r->at += length;
    char next = tile_peek(r);
    r->at = start;
    if (next == '=')
        return tile_read_basis(r, tile);
    for (int i = 0; i < FORM_COUNT; i++) {
        if (!tile_word_is(r, start, length, forms[i].name))
            continue;
        r->at += length;
        return tile_expect(r, '(') && forms[i].read(r, tile);
    }
    return unknown_form(r, length);
}

static bool parse_once(base_arena *arena, const char *text, size_t length, layout_tile *tile,
                       layout_fault *fault) {
    tile_reader r = {.arena = arena, .text = text, .length = length, .fault = fault};
    tile_finding finding;
    if (!read_form(&r, tile))
        return false;
    tile_skip_spaces(&r);
    if (r.at != r.length) {
        tile_fault(&r, TILE_FAULT_SYNTAX, r.at, r.length - r.at, "text after the layout");
        tile_propose(&r, r.at, r.length - r.at, "%s", "");
        return false;
    }
    return tile->kind == LAYOUT_BITS || tile_digits_check(tile, &finding) ||
           tile_fault(&r, finding.id, 0, length, "%s", finding.reason);
}

bool layout_tile_parse(base_arena *arena, const char *text, size_t length, layout_tile *tile,
                       layout_fault *fault) {
    layout_tile repaired;
    layout_fault other;
    *tile = (layout_tile){0};
    if (parse_once(arena, text, length, tile, fault))
        return true;
    const char *candidate = fault->neighbour;
    fault->neighbour = "";
    for (int i = 0; i < MAX_REPAIRS && candidate[0] != '\0'; i++) {
        if (parse_once(arena, candidate, strlen(candidate), &repaired, &other)) {
            fault->neighbour = candidate;
            return false;
        }
        candidate = other.neighbour;
    }
    return false;
}
