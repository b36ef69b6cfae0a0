/* Runs of a group: sums, multiples, quotients; see group_run_internal.h.
 *
 *     (128*u + r) // 4          32*u + r//4                  the divisor divides the unit
 *     (k + r) mod 5             k + r                        k in [0, 3], r in [0, 1]: below 5
 *     (8*u + k + r) mod 16      8*(u mod 2) + k + r          k + r in [0, 7]
 */
#include "verify/group_run_internal.h"

#include "base/checked.h"

static bool is_live(group_live live, int j) {
    return (live >> j & 1) != 0;
}

/* Behind the last element that is there. */
static int end_of(group_live live) {
    return live == 0 ? 0 : GROUP_WIDTH - __builtin_clzll(live);
}

/* ---- parts ---- */
static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static group_part sum_of_parts(const group_part *a, const group_part *b) {
    group_part sum = {.unit = greatest_divisor(a->unit, b->unit)};
    sum.bounded = a->bounded && b->bounded && base_checked_add(a->low, b->low, &sum.low) &&
                  base_checked_add(a->high, b->high, &sum.high);
    return sum;
}

/* The last two become one where there is no room. */
static void add_part(group_run *run, const group_part *part) {
    if (run->part_count < GROUP_PARTS)
        run->parts[run->part_count++] = *part;
    else
        run->parts[GROUP_PARTS - 1] = sum_of_parts(&run->parts[GROUP_PARTS - 1], part);
}

group_run group_run_number(int64_t number) {
    group_run run = {.part_count = 0};
    for (int j = 0; j < GROUP_WIDTH; j++)
        run.offset[j] = number;
    return run;
}

void group_run_add_unknown(group_run *run, int64_t unit) {
    add_part(run, &(group_part){.unit = unit});
}

group_run group_run_unknown(void) {
    group_run run = group_run_number(0);
    group_run_add_unknown(&run, 1);
    return run;
}

group_run group_run_between(int64_t low, int64_t high) {
    if (low == high)
        return group_run_number(low);
    group_run run = group_run_number(0);
    add_part(&run, &(group_part){.unit = 1, .bounded = true, .low = low, .high = high});
    return run;
}

/* ---- questions ---- */
static int first_live(group_live live) {
    return live == 0 ? 0 : __builtin_ctzll(live);
}

bool group_run_is_common(const group_run *run, group_live live) {
    int first = first_live(live);
    for (int j = first; j < end_of(live); j++)
        if (is_live(live, j) && run->offset[j] != run->offset[first])
            return false;
    return true;
}

bool group_run_is_number(const group_run *run, group_live live, int64_t *number) {
    *number = run->offset[first_live(live)];
    return run->part_count == 0 && group_run_is_common(run, live);
}

/* Bounds of the sum of the parts whose unit the divisor divides, or of those whose it does not. */
static bool bounds_of(const group_run *run, int64_t divisor, bool multiples, int64_t *low,
                      int64_t *high) {
    *low = *high = 0;
    for (int i = 0; i < run->part_count; i++) {
        const group_part *part = &run->parts[i];
        if ((part->unit % divisor == 0) == multiples &&
            (!part->bounded || !base_checked_add(*low, part->low, low) ||
             !base_checked_add(*high, part->high, high)))
            return false;
    }
    return true;
}

bool group_run_is_between(const group_run *run, group_live live, int64_t low, int64_t high) {
    int64_t least, greatest;
    if (!bounds_of(run, 1, true, &least, &greatest))
        return false;
    for (int j = 0; j < end_of(live); j++) {
        int64_t first, last;
        if (is_live(live, j) &&
            (!base_checked_add(run->offset[j], least, &first) ||
             !base_checked_add(run->offset[j], greatest, &last) || first < low || last > high))
            return false;
    }
    return true;
}

/* ---- sums and multiples ---- */
bool group_run_scale(const group_run *a, int64_t factor, group_live live, group_run *product) {
    *product = group_run_number(0);
    for (int j = 0; j < end_of(live); j++)
        if (!base_checked_mul(a->offset[j], factor, &product->offset[j]) && is_live(live, j))
            return false;
    for (int i = 0; i < a->part_count && factor != 0; i++) {
        const group_part *from = &a->parts[i];
        group_part part = {.unit = 1};
        int64_t first = 0, last = 0;
        if (!base_checked_mul(from->unit, factor, &part.unit) || part.unit == INT64_MIN)
            return false;
        part.unit = part.unit < 0 ? -part.unit : part.unit;
        part.bounded = from->bounded && base_checked_mul(from->low, factor, &first) &&
                       base_checked_mul(from->high, factor, &last);
        part.low = first < last ? first : last;
        part.high = first < last ? last : first;
        add_part(product, &part);
    }
    return true;
}

bool group_run_add(const group_run *a, const group_run *b, bool minus, group_live live,
                   group_run *sum) {
    group_run other = *b;
    if (minus && !group_run_scale(b, -1, live, &other))
        return false;
    *sum = *a;
    for (int j = 0; j < end_of(live); j++)
        if (!base_checked_add(a->offset[j], other.offset[j], &sum->offset[j]) && is_live(live, j))
            return false;
    for (int i = 0; i < other.part_count; i++)
        add_part(sum, &other.parts[i]);
    return true;
}

/* ---- quotients ---- */
/* Elements lie between two neighbouring multiples of the unit, whatever the parts whose unit it
 * does not divide: of element j between multiple[j] and the next one. */
static bool find_multiples(const group_run *a, int64_t unit, group_live live,
                           int64_t multiple[GROUP_WIDTH]) {
    int64_t low, high, first, last;
    if (!bounds_of(a, unit, false, &low, &high))
        return false;
    for (int j = 0; j < end_of(live); j++) {
        multiple[j] = 0;
        if (!is_live(live, j))
            continue;
        if (!base_checked_add(a->offset[j], low, &first) ||
            !base_checked_add(a->offset[j], high, &last) ||
            base_floor_div(first, unit) != base_floor_div(last, unit))
            return false;
        multiple[j] = base_floor_div(first, unit);
        if (!base_checked_mul(multiple[j], unit, &first) ||
            !base_checked_sub(a->offset[j], first, &last))
            return false;
    }
    return true;
}

/* Multiples of the divisor, divided. */
static void add_quotients(const group_run *a, int64_t divisor, group_run *result) {
    for (int i = 0; i < a->part_count; i++) {
        group_part part = a->parts[i];
        if (part.unit % divisor != 0)
            continue;
        part.unit /= divisor;
        part.low /= divisor;
        part.high /= divisor;
        add_part(result, &part);
    }
}

/* The parts whose unit it does not divide, and what of the offsets is beyond the multiples. */
static void set_rest(const group_run *a, int64_t unit, group_live live,
                     const int64_t multiple[GROUP_WIDTH], group_run *result) {
    for (int i = 0; i < a->part_count; i++)
        if (a->parts[i].unit % unit != 0)
            add_part(result, &a->parts[i]);
    for (int j = 0; j < end_of(live); j++)
        if (is_live(live, j))
            result->offset[j] = a->offset[j] - multiple[j] * unit;
}

/* Elements between the same two multiples of a unit that divides the divisor. */
static bool divide_by_unit(const group_run *a, int64_t unit, int64_t divisor, bool rest,
                           group_live live, group_run *result) {
    int64_t multiple[GROUP_WIDTH];
    *result = group_run_number(0);
    if (divisor % unit != 0 || !find_multiples(a, unit, live, multiple))
        return false;
    for (int j = 0; j < end_of(live); j++)
        if (is_live(live, j) && multiple[j] != multiple[first_live(live)])
            return false;
    if (rest) {
        set_rest(a, unit, live, multiple, result);
        add_part(result, &(group_part){.unit = unit, .bounded = true, .high = divisor - unit});
    } else {
        group_run_add_unknown(result, 1);
    }
    return true;
}

bool group_run_divide(const group_run *a, int64_t divisor, bool rest, group_live live,
                      group_run *result) {
    int64_t multiple[GROUP_WIDTH], unit = 0;
    *result = group_run_number(0);
    if (divisor < 1)
        return false;
    if (find_multiples(a, divisor, live, multiple)) {
        if (rest)
            set_rest(a, divisor, live, multiple, result);
        else
            add_quotients(a, divisor, result);
        for (int j = 0; j < GROUP_WIDTH && !rest; j++)
            result->offset[j] = multiple[j];
        return true;
    }
    for (int i = 0; i < a->part_count; i++) {
        unit = greatest_divisor(unit, a->parts[i].unit);
        if (divide_by_unit(a, a->parts[i].unit, divisor, rest, live, result))
            return true;
    }
    return unit > 0 && divide_by_unit(a, unit, divisor, rest, live, result);
}
