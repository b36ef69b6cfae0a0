/* The cpu target on teams of every width: positions by lane and subgroup, values that go from lane
 * to lane, scratch, and control, in every type. A kernel has a row of the output per case; what the
 * row must hold is computed here, lane by lane, from the op table's words. */
#include "emit_fixture.h"
#include "text/ir_parse.h"

enum { SLOTS = 4, TEAM_MAX = 1024, ELEMENTS = SLOTS * TEAM_MAX };

/* An element: its bits, from the least. */
typedef uint64_t bits;

typedef struct team {
    base_dtype dtype;
    int lanes, subgroup;
    bits in[ELEMENTS]; /* element slot * lanes + thread is the one of a position */
} team;

static int lane_of(const team *t, int thread) {
    return thread % t->subgroup;
}

static int subgroup_of(const team *t, int thread) {
    return thread / t->subgroup;
}

static bits own(const team *t, int thread, int slot) {
    return t->in[slot * t->lanes + thread];
}

/* ---- monoids, as the table has them ---- */

static float f32_of(bits a) {
    uint32_t low = (uint32_t)a;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static bits of_f32(float a) {
    uint32_t low;
    memcpy(&low, &a, sizeof low);
    return low;
}

static bits join_sum(const team *t, bits a, bits b) {
    switch (t->dtype) {
    case BASE_F32:
        return of_f32(f32_of(a) + f32_of(b));
    case BASE_I64:
    case BASE_INDEX:
        return a + b;
    case BASE_BOOL:
        return a | b;
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return (uint32_t)(a + b);
}

static bits join_max(const team *t, bits a, bits b) {
    switch (t->dtype) {
    case BASE_F32:
        return f32_of(a) > f32_of(b) || f32_of(a) != f32_of(a) ? a : b;
    case BASE_I64:
    case BASE_INDEX:
        return (int64_t)a > (int64_t)b ? a : b;
    case BASE_BOOL:
        return a & b;
    case BASE_I32:
        return (int32_t)a > (int32_t)b ? a : b;
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return a > b ? a : b;
}

/* What a thread has after the masks, starting from in[], of one slot. */
static bits combined(const team *t, int thread, int slot, const int *masks,
                     bits (*join)(const team *t, bits a, bits b)) {
    bits now[TEAM_MAX], next[TEAM_MAX];
    int first = thread - lane_of(t, thread);
    for (int l = 0; l < t->subgroup; l++)
        now[l] = own(t, first + l, slot);
    for (; *masks > 0; masks++) {
        int top = 1;
        while (top * 2 <= *masks)
            top *= 2;
        for (int l = 0; l < t->subgroup; l++)
            next[l] = join(t, now[l & ~top], now[(l & ~top) ^ *masks]);
        memcpy(now, next, sizeof now);
    }
    return now[lane_of(t, thread)];
}

static bits halved(const team *t, int thread, int slot,
                   bits (*join)(const team *t, bits a, bits b)) {
    int masks[16] = {0}, count = 0;
    for (int h = t->subgroup / 2; h > 0; h /= 2)
        masks[count++] = h;
    return combined(t, thread, slot, masks, join);
}

/* ---- cases: text, and what thread and slot store ----
 *
 * $T the type; lanes: $W of the team, $F four times and $Y three times as many, $S of a subgroup,
 * $Q four times and $V seven times as many, $H half, $Z one less; $G subgroups; $i the number of
 * the case; $P the place of an element; $rotate, $gray, $slots, $none: columns by lane bit; $sum
 * and $max: or and and of bools. The text defines %v$i, or stores. */

typedef struct lane_case {
    const char *text;
    bits (*expected)(const team *t, int thread, int slot);
    enum { ANY, STATES, ONE_SUBGROUP } needs;
    int least; /* lanes of a subgroup */
} lane_case;

static bits pieces(const team *t, int thread, int slot) {
    int l = lane_of(t, thread);
    return t->in[l % 4 + l / 4 * 8 + subgroup_of(t, thread) * t->subgroup + slot % 2 * 4];
}

static bits odd_pieces(const team *t, int thread, int slot) {
    int l = lane_of(t, thread);
    return t->in[l % 3 * 2 + l / 5 * 7 + subgroup_of(t, thread) % 3 + slot * 3];
}

static bits rows_of_four(const team *t, int thread, int slot) {
    return t->in[thread * 4 + slot];
}

static bits whole_before(const team *t, int thread, int slot, int count, bits otherwise) {
    return slot * t->lanes + thread < count ? own(t, thread, slot) : otherwise;
}

static bits first_elements(const team *t, int thread, int slot) {
    return whole_before(t, thread, slot, 2 * t->lanes + 5, t->in[7]);
}

static bits first_of_rows(const team *t, int thread, int slot) {
    return thread * 4 + slot < 4 * t->lanes - 13 ? t->in[thread * 4 + slot] : 0;
}

static bits odd_mask(const team *t, int thread, int slot) {
    int l = lane_of(t, thread);
    return l % 3 + slot < 3 ? own(t, thread, slot) : 0;
}

static bits bits_mask(const team *t, int thread, int slot) {
    return (thread + slot * 3) % 5 < 2 ? own(t, thread, slot) : t->in[3];
}

static bits gathered(const team *t, int thread, int slot) {
    return t->in[(thread * 7 + slot) % (4 * t->lanes)];
}

static bits two_masks_sum(const team *t, int thread, int slot) {
    const int masks[] = {t->subgroup / 2, 3, 0};
    return combined(t, thread, slot, masks, join_sum);
}

static bits two_masks_max(const team *t, int thread, int slot) {
    const int masks[] = {t->subgroup - 1, 1, 0};
    return combined(t, thread, slot, masks, join_max);
}

static bits all_sum(const team *t, int thread, int slot) {
    return halved(t, thread, slot, join_sum);
}

static bits all_max(const team *t, int thread, int slot) {
    (void)slot;
    return halved(t, thread, 1, join_max);
}

static int lane_bits(const team *t) {
    int count = 0;
    while (1 << count < t->subgroup)
        count++;
    return count;
}

static int rotate_column(const team *t, int bit) {
    return 1 << (bit + 1) % lane_bits(t);
}

static int gray_column(const team *t, int bit) {
    (void)t;
    return 1 << bit | (bit > 0 ? 1 << (bit - 1) : 0);
}

static int slot_column(const team *t, int bit) {
    (void)t;
    return (bit * 3 + 1) % 4;
}

static int linear(const team *t, int lane, int (*column)(const team *t, int bit)) {
    int sum = 0;
    for (int b = 0; b < lane_bits(t); b++)
        if ((lane >> b & 1) != 0)
            sum ^= column(t, b);
    return sum;
}

static bits rotated(const team *t, int thread, int slot) {
    int lane = lane_of(t, thread), constant = slot * 3 % t->subgroup;
    return own(t, thread - lane + (linear(t, lane, rotate_column) ^ constant), slot);
}

static bits grayed(const team *t, int thread, int slot) {
    int lane = lane_of(t, thread);
    return own(t, thread - lane + linear(t, lane, gray_column), slot);
}

static bits first_lane_of_all(const team *t, int thread, int slot) {
    return own(t, thread - lane_of(t, thread) + 5, slot);
}

static bits renamed(const team *t, int thread, int slot) {
    static const int of[SLOTS] = {1, 0, 3, 1};
    return own(t, thread, of[slot]);
}

static bits slots_mixed(const team *t, int thread, int slot) {
    return own(t, thread, slot ^ linear(t, lane_of(t, thread), slot_column));
}

static bits through_scratch(const team *t, int thread, int slot) {
    int place = thread * 4 + slot;
    return own(t, place % t->lanes, place / t->lanes);
}

static bits sums_of_subgroups(const team *t, int thread, int slot) {
    (void)thread;
    bits sum[4];
    for (int s = 0; s < 4; s++) {
        int subgroup = s < t->lanes / t->subgroup ? s : 0;
        sum[s] = halved(t, subgroup * t->subgroup, 0, join_sum);
    }
    (void)slot;
    return join_sum(t, join_sum(t, sum[0], sum[2]), join_sum(t, sum[1], sum[3]));
}

static bits kept_in_when(const team *t, int thread, int slot) {
    bool acts =
        lane_of(t, thread) >= t->subgroup / 2 + 1 && slot * t->lanes + thread < 3 * t->lanes;
    return acts ? own(t, thread, slot) : t->in[0];
}

static bits from_cells(const team *t, int thread, int slot) {
    return thread % 3 == 0 ? t->in[2] : own(t, thread, slot);
}

static bits moved_three_times(const team *t, int thread, int slot) {
    return own(t, (thread + t->lanes - 3) % t->lanes, slot);
}

static bits chosen(const team *t, int thread, int slot) {
    (void)slot;
    return own(t, thread, 3);
}

static bits folded(const team *t, int thread, int slot) {
    (void)slot;
    return join_sum(t, join_sum(t, own(t, thread, 0), own(t, thread, 2)),
                    join_sum(t, own(t, thread, 1), own(t, thread, 3)));
}

static bits by_position(const team *t, int thread, int slot) {
    int l = lane_of(t, thread), g = subgroup_of(t, thread);
    return (l % 5 * 3 + l / 2 + g * 2 + slot * 7) % 4 < 2 ? own(t, thread, slot) : t->in[1];
}

static bits by_loop(const team *t, int thread, int slot) {
    return own(t, thread, slot % 2 == 0 ? (slot + 1) % 4 : (slot + 3) % 4);
}

static bits by_renaming_loop(const team *t, int thread, int slot) {
    return own(t, thread, slot ^ 1);
}

static bits rows_stored(const team *t, int thread, int slot) {
    int place = slot * t->lanes + thread;
    return own(t, place / 4, place % 4);
}

static bits rows_stored_in_part(const team *t, int thread, int slot) {
    int place = slot * t->lanes + thread;
    return place < 4 * t->lanes - 13 ? own(t, place / 4, place % 4) : t->in[0];
}

static bits rows_filled(const team *t, int thread, int slot) {
    return thread * 4 + slot < 2 * t->lanes + 5 ? t->in[thread * 4 + slot] : t->in[7];
}

static bits pairs_of_slots(const team *t, int thread, int slot) {
    return t->in[thread * 2 + slot % 2 + slot / 2 * 2 * t->lanes];
}

static bits first_of_pairs(const team *t, int thread, int slot) {
    int number = thread * 2 + slot % 2 + slot / 2 * 2;
    return number < t->lanes + 1 ? pairs_of_slots(t, thread, slot) : 0;
}

static bits pairs_stored(const team *t, int thread, int slot) {
    int place = slot * t->lanes + thread;
    return own(t, place % (2 * t->lanes) / 2, place / (2 * t->lanes) * 2 + place % 2);
}

static bits own_block(const team *t, int thread, int slot) {
    return own(t, thread, slot);
}

static bits turned_round(const team *t, int thread, int slot) {
    return t->in[4 * t->lanes - 1 - (slot * t->lanes + thread)];
}

/* A team planned for a cpu is one thread: op follows op, also on tensors. */
static const lane_case cases[] = {
    {"%b$i = block : i64\n%v$i = load %x[%b$i + $P] : $T(4)\n", own_block, ANY, 1},
    {"store %y[%row$i, $P], %t injective\n%i$i = iota $P : i64(4)\n"
     "%one$i = constant 1 : i64\n%last$i = sub %all, %one$i : i64\n"
     "%back$i = sub %last$i, %i$i : i64(4)\n"
     "%b$i = load %y[%row$i, vector %back$i] : $T(4)\nstore %y[%row$i, $P], %b$i injective\n",
     turned_round, ANY, 1},
    {"store %y[%row$i, lane*4 + subgroup*$Q + slot*1], %t injective width=4\n", rows_stored, ANY,
     1},
    {"%f$i = broadcast %in0 : $T(4)\n"
     "store %y[%row$i, lane*4 + subgroup*$Q + slot*1], %f$i injective width=4\n"
     "store %y[%row$i, lane*4 + subgroup*$Q + slot*1], %t injective "
     "mask=lane*4 + subgroup*$Q + slot*1 < %end width=4\n",
     rows_stored_in_part, ANY, 1},
    {"%v$i = load %x[lane*4 + subgroup*$Q + slot*1] fill=%in7 "
     "mask=lane*4 + subgroup*$Q + slot*1 < %limit width=4 : $T(4)\n",
     rows_filled, ANY, 1},
    {"%v$i = load %x[lane*2 + subgroup*$D + slot % 2*1 + slot/2*$E] width=2 : $T(4)\n",
     pairs_of_slots, ANY, 1},
    {"%n$i = constant $N : i64\n"
     "%v$i = load %x[lane*2 + subgroup*$D + slot % 2*1 + slot/2*$E] "
     "mask=lane*2 + subgroup*$D + slot*1 < %n$i width=2 : $T(4)\n",
     first_of_pairs, ANY, 1},
    {"store %y[%row$i, lane*2 + subgroup*$D + slot % 2*1 + slot/2*$E], %t injective width=2\n",
     pairs_stored, ANY, 1},
    {"%v$i = load %x[lane % 4*1 + lane/4*8 + subgroup*$S + slot % 2*4] : $T(4)\n", pieces, ANY, 1},
    {"%v$i = load %x[lane % 3*2 + lane/5*7 + subgroup % 3*1 + slot*3] : $T(4)\n", odd_pieces, ANY,
     1},
    {"%v$i = load %x[lane*4 + subgroup*$Q + slot*1] width=4 : $T(4)\n", rows_of_four, ANY, 1},
    {"%v$i = load %x[$P] fill=%in7 mask=$P < %limit : $T(4)\n", first_elements, ANY, 1},
    {"%v$i = load %x[lane*4 + subgroup*$Q + slot*1] mask=lane*4 + subgroup*$Q + slot*1 < %end "
     "width=4 : $T(4)\n",
     first_of_rows, ANY, 1},
    {"%v$i = load %x[$P] mask=lane % 3*1 + slot*1 < %three : $T(4)\n", odd_mask, ANY, 1},
    {"%i$i = iota lane*1 + subgroup*$S + slot*3 : i64(4)\n"
     "%five$i = constant 5 : i64\n%two$i = constant 2 : i64\n"
     "%r$i = floormod %i$i, %five$i : i64(4)\n%m$i = lt %r$i, %two$i : bool(4)\n"
     "%v$i = load %x[$P] fill=%in3 mask=%m$i : $T(4)\n",
     bits_mask, ANY, 1},
    {"%i$i = iota lane*7 + subgroup*$V + slot*1 : i64(4)\n%r$i = floormod %i$i, %all : i64(4)\n"
     "%v$i = load %x[vector %r$i] : $T(4)\n",
     gathered, ANY, 1},
    {"%v$i = combine $sum %t nan=propagate lanes=($H, 3) : $T(4)\n", two_masks_sum, STATES, 8},
    {"%v$i = combine $max %t nan=propagate lanes=($Z, 1) : $T(4)\n", two_masks_max, STATES, 4},
    {"%v$i = combine $sum %t nan=propagate : $T(4)\n", all_sum, STATES, 1},
    {"%a$i = rename %t slots=(1) : $T(1)\n%c$i = combine $max %a$i nan=propagate : $T(1)\n"
     "%v$i = rename %c$i slots=(0, 0, 0, 0) : $T(4)\n",
     all_max, STATES, 1},
    {"%a$i = rename %t slots=(1) : $T(1)\n%c$i = combine $max %a$i nan=propagate : $T\n"
     "%v$i = broadcast %c$i : $T(4)\n",
     all_max, ONE_SUBGROUP, 1},
    {"%v$i = shuffle %t lanes=($rotate) xor=($xor) : $T(4)\n", rotated, ANY, 2},
    {"%v$i = shuffle %t lanes=($gray) : $T(4)\n", grayed, ANY, 2},
    {"%v$i = shuffle %t lanes=($none) xor=(5, 5, 5, 5) : $T(4)\n", first_lane_of_all, ANY, 8},
    {"%a$i = rename %t slots=(3, 1, 1, 0, 2) : $T(5)\n"
     "%v$i = rename %a$i slots=(2, 3, 0, 1) : $T(4)\n",
     renamed, ANY, 1},
    {"%v$i = xorslot %t lanes=($slots) : $T(4)\n", slots_mixed, ANY, 2},
    {"%s$i, %f$i = scratch $F : scratch $T[$F], token free\n"
     "%w$i = put %s$i[$P], %t, %f$i : token written %s$i\n"
     "%p$i = sync group %w$i : token published %s$i\n"
     "%v$i = get %s$i[lane*4 + subgroup*$Q + slot*1], %p$i width=4 : $T(4)\n"
     "%e$i = sync group %p$i : token free %s$i\n",
     through_scratch, ANY, 1},
    {"%s$i, %f$i = scratch 4 : scratch $T[4], token free\n"
     "%a$i = rename %t slots=(0) : $T(1)\n%c$i = combine $sum %a$i nan=propagate : $T(1)\n"
     "%u$i = constant 1 : i64\n%four$i = constant 4 : i64\n%i$i = iota lane*1 : i64(1)\n"
     "%z$i = lt %i$i, %u$i : bool(1)\n%g$i = iota subgroup*1 : i64(1)\n"
     "%gl$i = lt %g$i, %four$i : bool(1)\n%gz$i = and %z$i, %gl$i : bool(1)\n"
     "%w0$i = put %s$i[slot*1], %c$i, %f$i mask=lane*1 + subgroup*1 < %u$i : token written %s$i\n"
     "%p0$i = sync group %w0$i : token published %s$i\n"
     "%first$i = get %s$i[0], %p0$i : $T(1)\n%uni$i = uniform %first$i : $T\n"
     "%f2$i = sync group %p0$i : token free %s$i\n"
     "%w$i = put %s$i[subgroup*1], %c$i, %f2$i mask=%gz$i : token written %s$i\n"
     "%p$i = sync group %w$i : token published %s$i\n%count$i = constant $G : i64\n"
     "%all$i = get %s$i[slot*1], %p$i fill=%uni$i mask=slot*1 < %count$i : $T(4)\n"
     "%sum$i = fold $sum %all$i nan=propagate : $T(1)\n%v$i = rename %sum$i slots=(0, 0, 0, 0) : "
     "$T(4)\n",
     sums_of_subgroups, STATES, 1},
    {"%h$i = constant $H : i64\n%i$i = iota lane*1 : i64(1)\n%m$i = lt %h$i, %i$i : bool(1)\n"
     "%n$i = constant $Y : i64\n"
     "%f$i = broadcast %in0 : $T(4)\nstore %y[%row$i, $P], %f$i injective\n"
     "when %m$i {\nstore %y[%row$i, $P], %t injective mask=$P < %n$i\n}\n",
     kept_in_when, ANY, 1},
    {"%c$i = private 3 : private $T(4)[3]\n%zero$i = constant 0 : i64\n%one$i = constant 1 : i64\n"
     "%k3$i = constant 3 : i64\n%fill$i = broadcast %in2 : $T(4)\n"
     "%i$i = iota lane*1 + subgroup*$S : i64(1)\n%r$i = floormod %i$i, %k3$i : i64(1)\n"
     "%m$i = lt %zero$i, %r$i : bool(1)\n"
     "for %zero$i, %k3$i, %one$i (%k$i: i64) {\npush %c$i, %k$i, %fill$i\nyield\n}\n"
     "when %m$i {\npush %c$i, %one$i, %t\n}\n"
     "%v$i = pull %c$i, %one$i : $T(4)\n",
     from_cells, ANY, 1},
    {"%s$i, %f$i = scratch $F : scratch $T[$F], token free\n%zero$i = constant 0 : i64\n"
     "%one$i = constant 1 : i64\n%three$i = constant 3 : i64\n%w$i = constant $W : i64\n"
     "%i$i = iota lane*1 + subgroup*$S : i64(4)\n%less$i = sub %i$i, %one$i : i64(4)\n"
     "%from$i = floormod %less$i, %w$i : i64(4)\n"
     "%v$i, %last$i = for %zero$i, %three$i, %one$i, %t, %f$i : $T(4), token free "
     "%s$i (%k$i: i64, %now$i: $T(4), %free$i: token free %s$i) {\n"
     "%put$i = put %s$i[$P], %now$i, %free$i : token written %s$i\n"
     "%pub$i = sync group %put$i : token published %s$i\n"
     "%next$i = get %s$i[slot*$W + vector %from$i], %pub$i : $T(4)\n"
     "%again$i = sync group %pub$i : token free %s$i\nyield %next$i, %again$i\n}\n",
     moved_three_times, ANY, 1},
    {"%three$i = rename %t slots=(3, 3, 3, 3) : $T(4)\n%g$i = group : i64\n"
     "%one$i = constant 1 : i64\n%c$i = lt %g$i, %one$i : bool\n"
     "%v$i = if %c$i : $T(4) {\nyield %three$i\n} else {\nyield %t\n}\n",
     chosen, ANY, 1},
    {"%a$i = fold $sum %t nan=propagate : $T(1)\n%v$i = rename %a$i slots=(0, 0, 0, 0) : $T(4)\n",
     folded, STATES, 1},
    {"%i$i = iota lane % 5*3 + lane/2*1 + subgroup*2 + slot*7 : i64(4)\n%q$i = constant 4 : i64\n"
     "%two$i = constant 2 : i64\n%r$i = floormod %i$i, %q$i : i64(4)\n"
     "%m$i = lt %r$i, %two$i : bool(4)\n%v$i = select %m$i, %t, %in1 : $T(4)\n",
     by_position, ANY, 1},
    {"%a$i = rename %t slots=(1, 1, 3, 3) : $T(4)\n%b$i = rename %t slots=(0, 0, 2, 2) : $T(4)\n"
     "%zero$i = constant 0 : i64\n%one$i = constant 1 : i64\n%five$i = constant 5 : i64\n"
     "%x$i, %y$i = for %zero$i, %five$i, %one$i, %a$i, %b$i : $T(4), $T(4) "
     "(%k$i: i64, %p$i: $T(4), %q$i: $T(4)) {\nyield %q$i, %p$i\n}\n"
     "%i$i = iota slot*1 : i64(4)\n%two$i = constant 2 : i64\n"
     "%r$i = floormod %i$i, %two$i : i64(4)\n%m$i = eq %r$i, %zero$i : bool(4)\n"
     "%v$i = select %m$i, %y$i, %x$i : $T(4)\n",
     by_loop, ANY, 1},
    {"%zero$i = constant 0 : i64\n%one$i = constant 1 : i64\n%b$i = rename %t slots=(1, 0, 3, 2) : "
     "$T(4)\n"
     "%a$i, %w$i = for %zero$i, %one$i, %one$i, %t, %b$i : $T(4), $T(4) "
     "(%k$i: i64, %p$i: $T(4), %q$i: $T(4)) {\n"
     "%r$i = rename %p$i slots=(0, 1, 2, 3) : $T(4)\nyield %q$i, %r$i\n}\n"
     "%x$i = rename %w$i slots=(1, 0, 3, 2) : $T(4)\nstore %y[%row$i, $P], %x$i injective\n",
     by_renaming_loop, ANY, 1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- the kernel's text ---- */

static const char head[] =
    "kernel @lanes(%x: in $T[$F], %y: out $T[$C, $F]) level thread\n"
    "  team $W\n  subgroup $S\n  machine \"cpu-avx2\"\n  groups 1\n{\n"
    "%t = load %x[$P] : $T(4)\n%one = constant 1 : i64\n%two = constant 2 : i64\n"
    "%three = constant 3 : i64\n%seven = constant 7 : i64\n%all = constant $F : i64\n"
    "%zero = constant 0 : i64\n%limit = constant $A : i64\n%end = constant $B : i64\n"
    "%in0 = load %x[%zero] : $T\n%in1 = load %x[%one] : $T\n%in2 = load %x[%two] : $T\n"
    "%in3 = load %x[%three] : $T\n%in7 = load %x[%seven] : $T\n";

static int none_column(const team *t, int bit) {
    (void)t;
    (void)bit;
    return 0;
}

static void append_columns(base_text *out, const team *t, int (*column)(const team *t, int bit)) {
    for (int b = 0; b < lane_bits(t); b++)
        base_text_format(out, "%s%d", b > 0 ? ", " : "", column(t, b));
}

/* Appends what a word behind a $ stands for; its length. */
static size_t append_word(base_text *out, const team *t, const char *word, int number) {
    const struct {
        const char *word;
        int (*column)(const team *t, int bit);
    } columns[] = {{"rotate", rotate_column},
                   {"gray", gray_column},
                   {"slots", slot_column},
                   {"none", none_column}};
    if (strncmp(word, "xor", 3) == 0) {
        for (int slot = 0; slot < SLOTS; slot++)
            base_text_format(out, "%s%d", slot > 0 ? ", " : "", slot * 3 % t->subgroup);
        return 3;
    }
    bool any = t->dtype == BASE_BOOL;
    const struct {
        const char *word, *text;
    } texts[] = {{"T", base_dtype_name(t->dtype)},
                 {"P", "lane*1 + subgroup*$S + slot*$W"},
                 {"sum", any ? "any" : "sum"},
                 {"max", any ? "all" : "max"}};
    const struct {
        const char *word;
        int value;
    } numbers[] = {{"W", t->lanes},
                   {"F", 4 * t->lanes},
                   {"Y", 3 * t->lanes},
                   {"S", t->subgroup},
                   {"Q", 4 * t->subgroup},
                   {"V", 7 * t->subgroup},
                   {"H", t->subgroup / 2},
                   {"Z", t->subgroup - 1},
                   {"G", t->lanes / t->subgroup},
                   {"A", 2 * t->lanes + 5},
                   {"B", 4 * t->lanes - 13},
                   {"C", CASES},
                   {"D", 2 * t->subgroup},
                   {"E", 2 * t->lanes},
                   {"N", t->lanes + 1},
                   {"i", number}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (strncmp(word, columns[i].word, strlen(columns[i].word)) == 0) {
            append_columns(out, t, columns[i].column);
            return strlen(columns[i].word);
        }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strncmp(word, texts[i].word, strlen(texts[i].word)) == 0) {
            if (word[0] == 'P')
                base_text_format(out, "lane*1 + subgroup*%d + slot*%d", t->subgroup, t->lanes);
            else
                base_text_string(out, texts[i].text);
            return strlen(texts[i].word);
        }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (word[0] == numbers[i].word[0]) {
            base_text_format(out, "%d", numbers[i].value);
            return 1;
        }
    fail_msg("no word: %s", word);
    return 0;
}

static void append_text(base_text *out, const team *t, const char *text, int number) {
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        base_text_append(out, text, plain);
        text += plain;
        if (*text == '$')
            text += 1 + append_word(out, t, text + 1, number);
    }
}

static bool is_state(base_dtype dtype) {
    return base_dtype_size(dtype) >= 4 || dtype == BASE_BOOL;
}

static bool case_applies(const team *t, const lane_case *c) {
    if (t->subgroup < c->least)
        return false;
    switch (c->needs) {
    case ANY:
        return true;
    case STATES:
        return is_state(t->dtype);
    case ONE_SUBGROUP:
        return is_state(t->dtype) && t->lanes == t->subgroup;
    }
    return false;
}

static void parse_kernel(emit_fixture *f, const team *t) {
    base_text out;
    base_text_init(&out, &f->arena);
    append_text(&out, t, head, 0);
    for (int i = 0; i < CASES; i++) {
        if (!case_applies(t, &cases[i]))
            continue;
        append_text(&out, t, "%row$i = constant $i : i64\n", i);
        append_text(&out, t, cases[i].text, i);
        if (strstr(cases[i].text, "%v$i =") != NULL || strstr(cases[i].text, "%v$i, ") != NULL)
            append_text(&out, t, "store %y[%row$i, $P], %v$i injective\n", i);
        else if (strstr(cases[i].text, "store ") == NULL)
            append_text(&out, t, "store %y[%row$i, $P], %y$i injective\n", i);
    }
    base_text_string(&out, "}\n");
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "lanes.ir", .text = out.bytes, .length = (size_t)out.length};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    f->module = text_ir_parse(&f->arena, source, &diagnostics);
    if (f->module == NULL) {
        base_text said;
        base_text_init(&said, &f->arena);
        base_diagnostics_render(&said, &diagnostics);
        fprintf(stderr, "%s\n%s", out.bytes, said.bytes);
        fail_msg("the text is no module");
    }
}

/* ---- running ---- */

typedef struct lanes_run {
    team t;
    int round;
    _Alignas(64) char in[ELEMENTS * 8], out[CASES * ELEMENTS * 8];
} lanes_run;

static bits random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

/* Floats: of a size in the first round, with all that is special in the second. */
static bits input_bits(const team *t, int round, uint64_t *state) {
    static const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-42f, 3e38f, -1.0f};
    bits any = random_bits(state);
    if (t->dtype == BASE_BOOL)
        return any >> 7 & 1;
    if (t->dtype != BASE_F32)
        return (round == 0 ? any : any << 40 ^ any) &
               (~UINT64_C(0) >> (64 - 8 * base_dtype_size(t->dtype)));
    if (round > 0 && any % 5 == 0)
        return of_f32(special[any / 5 % 8]);
    return of_f32((float)((double)(int64_t)(any % 2000001) - 1e6) / 7.0f);
}

static void fill_inputs(lanes_run *r) {
    uint64_t state = (uint64_t)r->t.lanes * 131 + (uint64_t)r->t.dtype + (uint64_t)r->round * 7;
    size_t size = (size_t)base_dtype_size(r->t.dtype);
    for (int e = 0; e < SLOTS * r->t.lanes; e++) {
        r->t.in[e] = input_bits(&r->t, r->round, &state);
        memcpy(r->in + (size_t)e * size, &r->t.in[e], size);
    }
}

static bool same(const team *t, bits got, bits expected) {
    if (t->dtype == BASE_F32 && isnan(f32_of(expected)))
        return isnan(f32_of(got));
    return got == expected;
}

static void check_case(const lanes_run *r, int i) {
    const team *t = &r->t;
    size_t size = (size_t)base_dtype_size(t->dtype);
    for (int e = 0; e < SLOTS * t->lanes; e++) {
        bits got = 0, expected = cases[i].expected(t, e % t->lanes, e / t->lanes);
        memcpy(&got, r->out + ((size_t)(i * SLOTS * t->lanes) + (size_t)e) * size, size);
        if (!same(t, got, expected))
            fail_msg("case %d, %s, team %d of %d, thread %d, slot %d: %llx instead of %llx\n%s", i,
                     base_dtype_name(t->dtype), t->lanes, t->subgroup, e % t->lanes, e / t->lanes,
                     (unsigned long long)got, (unsigned long long)expected, cases[i].text);
    }
}

static void check_lanes(void *state, const emitted *kernel) {
    lanes_run *r = state;
    int64_t row = SLOTS * r->t.lanes, words[] = {1, row, 1};
    size_t bytes = (size_t)kernel->workspace(words);
    char *workspace = aligned_alloc(64, bytes + 64);
    assert_non_null(workspace);
    assert_int_equal(kernel->groups(words), 1);
    for (r->round = 0; r->round < 2; r->round++) {
        fill_inputs(r);
        memset(r->out, 0x5a, sizeof r->out);
        memset(workspace, 0xa5, bytes + 64);
        kernel->entry((void *[]){r->in, r->out}, words, 0, 1, workspace);
        for (int i = 0; i < CASES; i++)
            if (case_applies(&r->t, &cases[i]))
                check_case(r, i);
        for (int b = 0; b < 64; b++)
            assert_int_equal((unsigned char)workspace[bytes + (size_t)b], 0xa5);
    }
    free(workspace);
}

/* Every second one, all of them with CROFT_TEST_LONG set. */
static void check_team(base_dtype dtype, int lanes, int subgroup) {
    static int turn;
    if (turn++ % 2 != 0 && getenv("CROFT_TEST_LONG") == NULL)
        return;
    lanes_run *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->t.dtype = dtype;
    r->t.lanes = lanes;
    r->t.subgroup = subgroup;
    emit_fixture f;
    emit_fixture_begin(&f, "lanes", lanes);
    parse_kernel(&f, &r->t);
    f.traps = dtype == BASE_F32 && lanes == 64;
    emit_fixture_each(&f, check_lanes, r);
    emit_fixture_end(&f);
    free(r);
}

static void one_subgroup_of_several_registers(void **state) {
    (void)state;
    check_team(BASE_F32, 32, 32);
    check_team(BASE_I64, 32, 32);
    check_team(BASE_U32, 64, 64);
}

static void one_register(void **state) {
    (void)state;
    check_team(BASE_F32, 16, 16);
    check_team(BASE_BOOL, 8, 8);
}

static void subgroups_of_32(void **state) {
    (void)state;
    check_team(BASE_F32, 64, 32);
    check_team(BASE_F32, 256, 32);
    check_team(BASE_F32, 1024, 32);
    check_team(BASE_I32, 96, 32);
}

static void subgroups_of_8_and_16(void **state) {
    (void)state;
    check_team(BASE_F32, 32, 8);
    check_team(BASE_F32, 128, 16);
    check_team(BASE_I64, 256, 16);
}

static void narrow_subgroups(void **state) {
    (void)state;
    check_team(BASE_F32, 32, 4);
    check_team(BASE_F32, 8, 1);
    check_team(BASE_I32, 32, 2);
    check_team(BASE_I64, 16, 4);
    check_team(BASE_I64, 16, 2);
    check_team(BASE_BOOL, 24, 1);
}

static void every_type(void **state) {
    (void)state;
    check_team(BASE_I64, 64, 32);
    check_team(BASE_BOOL, 128, 32);
    check_team(BASE_I8, 64, 32);
    check_team(BASE_U8, 64, 16);
    check_team(BASE_F16, 64, 32);
    check_team(BASE_BF16, 256, 32);
    check_team(BASE_U32, 64, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_register),     cmocka_unit_test(one_subgroup_of_several_registers),
        cmocka_unit_test(subgroups_of_32),  cmocka_unit_test(subgroups_of_8_and_16),
        cmocka_unit_test(narrow_subgroups), cmocka_unit_test(every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
