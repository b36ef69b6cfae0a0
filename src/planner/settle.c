/* Which candidate becomes the plan where prices are times: not simply the cheapest.
 *
 *     price   W    V  chunk                 within
 *     70.1   256   2  step                   the lowest
 *     71.0   512   4  slot                   4%: the same to the model, chunks in slots are better
 *     75.9   256   4  slot  standard        10%: taken
 *
 * 1. Rows are split into parts, or shared by clusters, only if that saves a tenth of the best time
 *    of one launch by single groups.
 * 2. Of that kind the standard plan is taken if it is within a tenth of the lowest price: its times
 *    were measured, the others' are estimates. Not where lanes are threads: there all kinds were.
 * 3. Else prices that differ by less than 4% are the same, and the simpler form of them is taken.
 *
 * Before 2, rows that begin at any address are shifted, if that costs no more than the accesses
 * that it saves (shift.h), which no model sees.
 */
#include "planner/settle.h"

#include "planner/facts.h"
#include "planner/shift.h"

/* Factors of the lowest price, below which the standard plan is taken, and prices are the same. */
static const double STANDARD_PRICE = 1.1, STANDARD_OF_THREADS = 1, SAME_PRICE = 1.04;

typedef enum settle_kind { OF_GROUPS, OF_CLUSTERS, IN_PARTS, KINDS } settle_kind;

/* Factors of the best price of single groups, below which rows are shared by clusters or split. */
static const double kind_price[KINDS] = {[OF_GROUPS] = 1, [OF_CLUSTERS] = 0.9, [IN_PARTS] = 0.9};

/* A third of 48 registers: the estimate is as near for four plans in five (docs/cost-models.md). */
enum { REGISTERS_MORE = 16 };

/* Part of the price that a shift of rows saves, at least. */
static const double SHIFT_SAVES = 0.02;

typedef struct settle_state {
    planner_search *search;
    const planner_program *program;
    const planner_setting *setting;
    const cost_coefficients *coefficients;
    settle_kind kind; /* candidates of this kind are eligible */
    bool shifted;     /* those whose rows are shifted are, else those whose rows are not */
    bool either;      /* both of them */
} settle_state;

static settle_kind kind_of(const planner_candidate *c) {
    return c->parts > 1 ? IN_PARTS : c->blocks > 1 ? OF_CLUSTERS : OF_GROUPS;
}

static bool same_choice(const planner_candidate *a, const planner_candidate *b) {
    return a->lanes == b->lanes && a->subgroups == b->subgroups && a->vector == b->vector &&
           a->unroll == b->unroll && a->packed == b->packed && a->parts == b->parts &&
           a->blocks == b->blocks && a->stepped == b->stepped && a->shifted == b->shifted &&
           a->keeping == b->keeping;
}

/* Whether the plan may become this candidate. Numbers of subgroups that are no power of two are
 * left out unless the setting asks for one: such plans were measured to take up to 3.5 times as
 * long as the model says (rows of 43 elements a worker on three subgroups), and nothing explains
 * it. */
static bool is_eligible(const settle_state *s, const planner_candidate *c) {
    const planner_setting *setting = s->setting;
    bool asked = setting->workers != 0 || setting->subgroups != 0;
    return c->priced && (asked || (c->subgroups & (c->subgroups - 1)) == 0) &&
           kind_of(c) == s->kind && (s->either || c->shifted == s->shifted);
}

/* The first of the eligible candidates with the lowest price; NULL: there are none. */
static const planner_candidate *find_cheapest(const settle_state *s) {
    const planner_candidate *cheapest = NULL;
    for (int64_t i = 0; i < s->search->count; i++) {
        const planner_candidate *c = &s->search->candidates[i];
        if (is_eligible(s, c) && (cheapest == NULL || c->price < cheapest->price))
            cheapest = c;
    }
    return cheapest;
}

/* Its price; -1: there are none. */
static double find_least(const settle_state *s) {
    const planner_candidate *cheapest = find_cheapest(s);
    return cheapest != NULL ? cheapest->price : -1;
}

/* Decides what takes a row. */
static void choose_kind(settle_state *s) {
    double least[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        s->kind = (settle_kind)kind;
        least[kind] = find_least(s);
    }
    s->kind = OF_GROUPS;
    for (int kind = OF_CLUSTERS; kind < KINDS; kind++) {
        double most = least[OF_GROUPS] < 0 ? least[kind] : least[OF_GROUPS] * kind_price[kind];
        bool first = s->kind == OF_GROUPS;
        if (least[kind] >= 0 && least[kind] <= most && (first || least[kind] < least[s->kind]))
            s->kind = (settle_kind)kind;
    }
}

/* Whether the shift saves so much of the time that it is worth a look, and more than it costs. */
static bool is_worth_a_shift(const settle_state *s, const planner_candidate *straight,
                             const planner_candidate *shifted) {
    if (shifted == NULL || straight == NULL)
        return straight == NULL;
    double saved = planner_shift_saves(s->program, straight, shifted);
    return saved > straight->price * SHIFT_SAVES && shifted->price < straight->price + saved;
}

/* Decides whether rows are shifted, and returns the lowest price of that kind. */
static double choose_shift(settle_state *s) {
    s->either = false;
    const planner_candidate *straight = find_cheapest(s);
    s->shifted = true;
    const planner_candidate *shifted = find_cheapest(s);
    s->shifted = is_worth_a_shift(s, straight, shifted);
    const planner_candidate *cheapest = s->shifted ? shifted : straight;
    return cheapest != NULL ? cheapest->price : -1;
}

/* Whether a row is read once, and as many registers more as the estimate may lack would not halve
 * the groups that are resident. A row that is read again comes from some cache: from which, models
 * know less well than what registers hold. */
static bool reads_once(const settle_state *s, const planner_candidate *c) {
    const cost_machine *device = &s->program->device;
    cost_facts facts;
    planner_facts_find(s->program, c, &facts);
    int64_t resident = cost_cuda_resident(&facts, device, s->coefficients);
    facts.live_slots += REGISTERS_MORE;
    return facts.reread_bytes == 0 &&
           cost_cuda_resident(&facts, device, s->coefficients) * 2 > resident;
}

/* Of two whose prices are the same to the model: the one with its chunks in slots, then the one
 * that unrolls less, then where lanes are threads the one that reads its row once, then the cheaper
 * one. */
static bool is_better(const settle_state *s, const planner_candidate *c,
                      const planner_candidate *best) {
    if (c->stepped != best->stepped)
        return best->stepped;
    if (c->unroll != best->unroll)
        return c->unroll < best->unroll;
    if (s->search->model != COST_CUDA)
        return c->price < best->price;
    bool once = reads_once(s, c), best_once = reads_once(s, best);
    if (once != best_once)
        return once;
    return c->price < best->price;
}

/* Whether it is the standard plan: of the whole row, or of each of as many parts. */
static bool is_standard(const settle_state *s, const planner_candidate *c) {
    planner_candidate standard = s->kind == IN_PARTS
                                     ? planner_candidate_standard_part(s->program, c->parts)
                                     : planner_candidate_standard(s->program);
    standard.shifted = c->shifted;
    return same_choice(c, &standard);
}

/* Of two standard plans: the one with fewer parts where prices are the same, else the cheaper. */
static bool is_better_standard(const planner_candidate *c, const planner_candidate *best,
                               double least) {
    bool same = c->price <= least * SAME_PRICE && best->price <= least * SAME_PRICE;
    return same && c->parts != best->parts ? c->parts < best->parts : c->price < best->price;
}

/* The standard plan, if it is within its factor of the lowest price; -1: it is not. */
static int64_t find_standard(const settle_state *s, double least) {
    const planner_candidate *candidates = s->search->candidates;
    bool threads = s->program->state->machine->lanes_are_threads;
    double most = least * (threads ? STANDARD_OF_THREADS : STANDARD_PRICE);
    int64_t standard = -1;
    for (int64_t i = 0; i < s->search->count; i++) {
        const planner_candidate *c = &candidates[i];
        bool kind = kind_of(c) == s->kind && c->shifted == s->shifted;
        if (c->priced && kind && c->price <= most && is_standard(s, c) &&
            (standard < 0 || is_better_standard(c, &candidates[standard], least)))
            standard = i;
    }
    return standard;
}

/* The first of the cheapest, or a better form whose price is the same to the model. */
static int64_t find_best(const settle_state *s, double least) {
    const planner_candidate *candidates = s->search->candidates;
    int64_t best = s->search->best;
    for (int64_t i = s->search->count - 1; i >= 0; i--)
        if (is_eligible(s, &candidates[i]) && candidates[i].price == least)
            best = i;
    for (int64_t i = 0; i < s->search->count; i++) {
        const planner_candidate *c = &candidates[i];
        if (is_eligible(s, c) && c->price <= least * SAME_PRICE &&
            is_better(s, c, &candidates[best]))
            best = i;
    }
    return best;
}

void planner_settle(planner_search *search, const planner_program *program,
                    const planner_setting *setting, const cost_coefficients *coefficients) {
    settle_state s = {.search = search,
                      .program = program,
                      .setting = setting,
                      .coefficients = coefficients,
                      .either = true};
    choose_kind(&s);
    double least = choose_shift(&s);
    int64_t standard = find_standard(&s, least);
    search->best = standard >= 0 ? standard : find_best(&s, least);
}
