/* The search: loops over the dimensions from the least of each, so that of equal prices the first
 * one is the tie's winner.
 *
 * What a setting fixes is a list of one value, also where the search would not come to it itself:
 * the rules then say whether it can be. Rules of storage that come to the same for all values are
 * one candidate.
 */
#include "planner/search.h"

#include "planner/launches.h"

#include "base/text.h"
#include "ir/print.h"

#include <string.h>

/* Of the standard plan, which is known by measurements; of the others among themselves. */
static const double STANDARD_PRICE = 1.1, SAME_PRICE = 1.04;
/* Of the best of one launch, above which no parts are taken. */
static const double PARTS_PRICE = 0.9;

enum { MOST_CHOICES = 64, USUAL_IN_PARTS = 128, PACKED_THREADS = 256, MOST_PACKED = 8 };

typedef struct choice_list {
    int64_t value[MOST_CHOICES];
    int count;
} choice_list;

typedef struct search_state {
    planner_program *program;
    const planner_setting *setting;
    const cost_coefficients *coefficients;
    planner_search *search;
    planner_storages *storages[2][PLANNER_KEEPING_COUNT]; /* [stepped]; NULL: as an earlier one */
    int choices[2];                                       /* of them; [stepped] */
    planner_candidate *forms;                             /* without storages; refused ones too */
    int64_t form_count, form_capacity, priced_count;      /* priced_count of them are candidates */
    const planner_launches *launches; /* for the parts at work; NULL: not made yet */
    planner_keeping parts_keeping;    /* of rows in parts */
    bool in_parts;                    /* what may be taken */
} search_state;

/* ---- settings ---- */

static const struct {
    const char *key;
    size_t offset;
} number_keys[] = {
    {"w", offsetof(planner_setting, workers)}, {"s", offsetof(planner_setting, subgroups)},
    {"v", offsetof(planner_setting, vector)},  {"u", offsetof(planner_setting, unroll)},
    {"p", offsetof(planner_setting, packed)},  {"g", offsetof(planner_setting, parts)},
};
enum { NUMBER_KEYS = sizeof number_keys / sizeof number_keys[0] };

static bool refuse_setting(base_diagnostics *diagnostics, const char *message, const char *word,
                           size_t length, const char *expected) {
    base_diagnostic *d =
        base_diagnostics_add(diagnostics, "plan-set", (base_location){0}, "%s", message);
    d->found = base_diagnostics_text(diagnostics, "%.*s", (int)(length < 80 ? length : 80), word);
    d->expected = expected;
    return false;
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool same_word(const char *word, size_t length, const char *other) {
    if (strlen(other) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (lower(word[i]) != other[i])
            return false;
    return true;
}

static bool set_word(planner_setting *setting, const char *key, size_t key_length,
                     const char *value, size_t length) {
    if (same_word(key, key_length, "chunk")) {
        setting->stepped = same_word(value, length, "step")   ? 1
                           : same_word(value, length, "slot") ? 0
                                                              : -1;
        return setting->stepped >= 0;
    }
    for (int k = 0; k < IR_POLICY_COUNT && same_word(key, key_length, "policy"); k++) {
        setting->policy = (ir_policy)k;
        if (same_word(value, length, ir_policy_name(setting->policy)))
            return true;
    }
    if (!same_word(key, key_length, "keep"))
        return false;
    for (int k = 0; k < PLANNER_KEEPING_COUNT; k++)
        if (same_word(value, length, planner_keeping_name((planner_keeping)k)))
            setting->keeping = k;
    return setting->keeping >= 0;
}

static bool set_number(planner_setting *setting, const char *key, size_t key_length,
                       const char *value, size_t length) {
    double number = 0;
    for (int i = 0; i < NUMBER_KEYS; i++) {
        if (!same_word(key, key_length, number_keys[i].key))
            continue;
        if (!base_number_parse(value, length, &number) || !(number >= 1 && number <= 1e6) ||
            number != (double)(int64_t)number)
            return false;
        int64_t *field = (int64_t *)(void *)((char *)setting + number_keys[i].offset);
        *field = (int64_t)number;
        return true;
    }
    return false;
}

/* The key of a word stands in one before it, which it would contradict. */
static bool is_repeated(const char *text, const char *word, size_t key) {
    for (const char *before = text; before < word; before += strcspn(before, ",") + 1) {
        size_t same = 0;
        while (same <= key && lower(before[same]) == lower(word[same]))
            same++;
        if (same > key)
            return true;
    }
    return false;
}

bool planner_setting_parse(const char *text, planner_setting *setting,
                           base_diagnostics *diagnostics) {
    *setting = (planner_setting){.stepped = -1, .keeping = -1};
    for (const char *word = text != NULL ? text : ""; *word != '\0';) {
        size_t length = strcspn(word, ","), key = strcspn(word, "=");
        if (key < length && is_repeated(text, word, key))
            return refuse_setting(diagnostics, "a setting of the plan is given twice", word, length,
                                  "each of them once");
        bool good =
            key < length && (set_number(setting, word, key, word + key + 1, length - key - 1) ||
                             set_word(setting, word, key, word + key + 1, length - key - 1));
        if (!good)
            return refuse_setting(
                diagnostics, "a setting of the plan cannot be read", word, length,
                "w, s, v, u, p or g and a number, chunk=slot or step, keep=mixed, registers, "
                "again, output, private or nothing, policy=default or stream; with commas between");
        word += length + (word[length] == ',');
    }
    if (setting->workers != 0 && setting->subgroups != 0)
        return refuse_setting(diagnostics, "two settings of the plan count the same", text,
                              strlen(text), "w, all workers of a program, or s, their subgroups");
    return true;
}

bool planner_setting_is_free(const planner_setting *setting) {
    for (int i = 0; i < NUMBER_KEYS; i++)
        if (*(const int64_t *)(const void *)((const char *)setting + number_keys[i].offset) != 0)
            return false;
    return setting->stepped < 0 && setting->keeping < 0;
}

/* ---- lists ---- */

static void list_add(choice_list *list, int64_t value) {
    if (list->count < MOST_CHOICES)
        list->value[list->count++] = value;
}

static choice_list powers(int64_t most, int64_t fixed) {
    choice_list list = {0};
    for (int64_t value = 1; fixed == 0 && value <= most; value *= 2)
        list_add(&list, value);
    if (fixed != 0)
        list_add(&list, fixed);
    return list;
}

static bool lanes_are_threads(const search_state *s) {
    return s->program->state->machine->lanes_are_threads;
}

static choice_list list_workers(const search_state *s) {
    const machine *device = s->program->state->machine;
    const planner_setting *setting = s->setting;
    choice_list list = {0};
    if (setting->workers != 0 || setting->subgroups != 0 || !lanes_are_threads(s)) {
        int64_t subgroups = setting->subgroups != 0 ? setting->subgroups : 1;
        list_add(&list, setting->workers != 0 ? setting->workers : subgroups * device->subgroup);
        return list;
    }
    for (int64_t lanes = 1; lanes < device->subgroup; lanes *= 2)
        list_add(&list, lanes);
    for (int64_t w = device->subgroup; w <= device->lanes_limit; w += device->subgroup)
        list_add(&list, w);
    return list;
}

/* Programs of a group: as many as fill subgroups, up to eight, or a group of 256 threads. Rows of
 * several subgroups share a group only where something is known of what a group costs. */
static choice_list list_packed(const search_state *s, int64_t workers) {
    const planner_program *program = s->program;
    int64_t fills = program->state->machine->subgroup / workers;
    choice_list list = powers(1, s->setting->packed);
    bool alone = fills == 0 && program->device.registers == 0;
    if (s->setting->packed != 0 || !lanes_are_threads(s) || alone ||
        program->packing != PLANNER_NO_OBSTACLE)
        return list;
    for (int64_t p = fills > 1 ? fills : 2;
         p * workers <= PACKED_THREADS && p <= program->programs && (p <= MOST_PACKED || fills > 1);
         p *= 2)
        list_add(&list, p);
    return list;
}

/* ---- candidates ---- */

static bool same_storages(const search_state *s, const planner_storages *a,
                          const planner_storages *b) {
    int64_t count = s->program->state->sweeps.crossing_count;
    for (int64_t i = 0; i < count; i++)
        if (a->storage[i] != b->storage[i] || a->outputs[i] != b->outputs[i])
            return false;
    return true;
}

static void find_storages(search_state *s) {
    for (int stepped = 0; stepped < 2; stepped++)
        for (int k = 0; k < PLANNER_KEEPING_COUNT; k++) {
            bool asked =
                s->setting->keeping >= 0 ? s->setting->keeping == k : k != PLANNER_KEEP_NOTHING;
            if (!asked)
                continue;
            planner_storages *found =
                planner_storages_find(s->program, (planner_keeping)k, stepped == 1);
            for (int earlier = 0; earlier < k && found != NULL; earlier++)
                if (s->storages[stepped][earlier] != NULL &&
                    same_storages(s, found, s->storages[stepped][earlier]))
                    found = NULL;
            s->storages[stepped][k] = found;
            s->choices[stepped] += found != NULL;
        }
}

/* One step is a row in slots: only who asks for it hears so. */
static void add_form(search_state *s, planner_candidate form) {
    planner_candidate_check_form(s->program, &form);
    bool asked = s->setting->stepped == 1 || s->setting->unroll > 1;
    if (form.refusal != PLANNER_REFUSED_STEPS || asked)
        BASE_PUSH(s->program->state->arena, s->forms, s->form_count, s->form_capacity, form);
}

static void add_forms(search_state *s, planner_candidate form) {
    const planner_setting *setting = s->setting;
    choice_list unrolls = powers(lanes_are_threads(s) ? 4 : 8, setting->unroll);
    form.unroll = 1;
    if (setting->stepped != 1 && setting->unroll <= 1)
        add_form(s, form);
    form.stepped = true;
    for (int u = 0; setting->stepped != 0 && u < unrolls.count; u++) {
        form.unroll = unrolls.value[u];
        add_form(s, form);
    }
}

static void add_candidate(search_state *s, planner_candidate candidate) {
    planner_search *search = s->search;
    if (candidate.refusal == PLANNER_LEGAL) {
        cost_estimate estimate =
            planner_price(s->program, &candidate, search->model, s->coefficients);
        search->is_time = estimate.is_time;
        candidate.priced = estimate.available;
        candidate.price = estimate.total;
    }
    BASE_PUSH(s->program->state->arena, search->candidates, search->count, search->capacity,
              candidate);
    if (candidate.priced &&
        (search->best < 0 || candidate.price < search->candidates[search->best].price))
        search->best = search->count - 1;
}

/* Where the form is refused, one rule of storage stands for all. */
static void add_candidates(search_state *s, const planner_candidate *form) {
    for (int k = 0; k < PLANNER_KEEPING_COUNT; k++) {
        planner_candidate candidate = *form;
        bool parts = form->parts > 1;
        const planner_storages *storages = s->storages[form->stepped || parts][k];
        if (storages == NULL || (parts && k != (int)s->parts_keeping))
            continue;
        candidate.keeping = (planner_keeping)k;
        candidate.storages = storages;
        if (form->refusal != PLANNER_LEGAL) {
            add_candidate(s, candidate);
            return;
        }
        planner_candidate_keep(s->program, &candidate, storages);
        planner_candidate_check_storages(s->program, &candidate);
        add_candidate(s, candidate);
    }
}

/* Room for candidates is made once: for all of rows, and the few in parts. */
static void price_forms(search_state *s) {
    planner_search *search = s->search;
    if (search->candidates == NULL)
        search->capacity = USUAL_IN_PARTS;
    for (int64_t i = 0; i < s->form_count && search->candidates == NULL; i++)
        search->capacity +=
            s->forms[i].refusal == PLANNER_LEGAL ? s->choices[s->forms[i].stepped] : 1;
    if (search->candidates == NULL)
        search->candidates =
            BASE_NEW_ARRAY(s->program->state->arena, planner_candidate, search->capacity);
    for (; s->priced_count < s->form_count; s->priced_count++)
        add_candidates(s, &s->forms[s->priced_count]);
}

/* Models of their own are named as what they model. */
cost_model planner_model_of(const machine *device) {
    cost_model model;
    return cost_model_find(device->target, &model) ? model : COST_ANALYTIC;
}

cost_estimate planner_price(const planner_program *program, const planner_candidate *candidate,
                            cost_model model, const cost_coefficients *coefficients) {
    cost_facts facts;
    if (candidate->parts > 1)
        return planner_launches_price(program, candidate, model, coefficients);
    planner_facts_find(program, candidate, &facts);
    return cost_of(model, &facts, &program->device, coefficients);
}

static bool same_choice(const planner_candidate *a, const planner_candidate *b) {
    return a->lanes == b->lanes && a->subgroups == b->subgroups && a->vector == b->vector &&
           a->unroll == b->unroll && a->packed == b->packed && a->parts == b->parts &&
           a->stepped == b->stepped && a->keeping == b->keeping;
}

/* What is taken where a model of time prices and nothing asks for the number of subgroups: powers
 * of two. The others were measured at up to 3.5 times their price (rows of 43 elements a worker on
 * three subgroups), which no fact explains. */
static bool may_settle(const search_state *s, const planner_candidate *c) {
    const planner_setting *setting = s->setting;
    bool asked = setting->workers != 0 || setting->subgroups != 0;
    return c->priced && (asked || (c->subgroups & (c->subgroups - 1)) == 0) &&
           (c->parts > 1) == s->in_parts;
}

/* The least price of what may be taken; -1: nothing. */
static double least_of(const search_state *s) {
    double least = -1;
    for (int64_t i = 0; i < s->search->count; i++) {
        const planner_candidate *c = &s->search->candidates[i];
        if (may_settle(s, c) && (least < 0 || c->price < least))
            least = c->price;
    }
    return least;
}

/* Whether rows are taken in parts; the least price of what is then taken. */
static double choose_parts(search_state *s) {
    double whole = least_of(s);
    s->in_parts = true;
    double parts = least_of(s);
    s->in_parts = parts >= 0 && (whole < 0 || parts < whole * PARTS_PRICE);
    return s->in_parts ? parts : whole;
}

/* Chunks in slots, then the least unrolling, then the lowest price. */
static bool is_better(const planner_candidate *c, const planner_candidate *best) {
    return c->stepped != best->stepped ? best->stepped
           : c->unroll != best->unroll ? c->unroll < best->unroll
                                       : c->price < best->price;
}

/* The form that measurements know: of the row, or of each of its parts. */
static bool is_standard(const search_state *s, const planner_candidate *c) {
    planner_candidate standard = s->in_parts ? planner_candidate_standard_part(s->program, c->parts)
                                             : planner_candidate_standard(s->program);
    return same_choice(c, &standard);
}

/* Of standard forms: of parts whose prices are the same the fewest, else the lower price. */
static bool is_better_standard(const planner_candidate *c, const planner_candidate *best,
                               double least) {
    bool same = c->price <= least * SAME_PRICE && best->price <= least * SAME_PRICE;
    return same && c->parts != best->parts ? c->parts < best->parts : c->price < best->price;
}

/* Prices so near the lowest are the same to the model: then the standard, which measurements know,
 * else the better form. */
static void settle(search_state *s) {
    planner_search *search = s->search;
    double least = choose_parts(s);
    int64_t standard = -1;
    for (int64_t i = search->count - 1; i >= 0; i--)
        if (may_settle(s, &search->candidates[i]) && search->candidates[i].price == least)
            search->best = i;
    for (int64_t i = 0; i < search->count; i++) {
        const planner_candidate *c = &search->candidates[i];
        if (c->priced && (c->parts > 1) == s->in_parts && c->price <= least * STANDARD_PRICE &&
            is_standard(s, c) &&
            (standard < 0 || is_better_standard(c, &search->candidates[standard], least)))
            standard = i;
    }
    for (int64_t i = 0; i < search->count && standard < 0; i++) {
        const planner_candidate *c = &search->candidates[i];
        if (may_settle(s, c) && c->price <= least * SAME_PRICE &&
            is_better(c, &search->candidates[search->best]))
            search->best = i;
    }
    search->best = standard >= 0 ? standard : search->best;
}

/* ---- rows in parts ---- */

/* Whether the form's launches can be made; else refused is why not, first in steps, where there are
 * any. */
static bool fits(const search_state *s, planner_candidate *form) {
    form->stepped = s->setting->stepped != 0;
    bool fit = planner_candidate_check_form(s->program, form);
    if (fit || form->refusal != PLANNER_REFUSED_STEPS || s->setting->stepped >= 0)
        return fit;
    form->stepped = false;
    return planner_candidate_check_form(s->program, form);
}

/* The form in as many parts, each way of its chunks. False: no other form would do either. */
static bool add_part_forms(search_state *s, planner_candidate form) {
    planner_candidate trial = form;
    bool fit = fits(s, &trial);
    if (fit && s->launches == NULL)
        s->launches = planner_launches_find(s->program, &trial);
    if (fit && s->launches->count > 0) {
        form.launches = s->launches;
        form.stepped = false;
        add_forms(s, form);
        return true;
    }
    trial.launches = s->launches;
    planner_candidate_check_form(s->program, &trial);
    BASE_PUSH(s->program->state->arena, s->forms, s->form_count, s->form_capacity, trial);
    return trial.refusal <= PLANNER_REFUSED_PARTS;
}

static void list_part_forms(search_state *s, const planner_candidate *standard,
                            choice_list *workers, choice_list *vectors) {
    const planner_setting *setting = s->setting;
    int64_t most = s->program->state->machine->lanes_limit;
    if (setting->workers != 0 || setting->subgroups != 0 || !lanes_are_threads(s))
        *workers = list_workers(s);
    else
        for (int64_t w = standard->lanes * standard->subgroups; w <= most; w *= 2)
            list_add(workers, w);
    if (setting->vector != 0)
        list_add(vectors, setting->vector);
    else
        for (int64_t v = standard->vector; v <= (lanes_are_threads(s) ? 8 : 1); v *= 2)
            list_add(vectors, v);
}

/* The least price for so many parts; -1: none. */
static double add_parts(search_state *s, int64_t parts) {
    const planner_setting *setting = s->setting;
    int64_t subgroup = s->program->state->machine->subgroup, first = s->search->count;
    planner_candidate form = planner_candidate_standard_part(s->program, parts);
    choice_list workers = {0}, vectors = {0};
    bool good = true;
    if (setting->keeping < 0 || setting->keeping == PLANNER_KEEP_NOTHING)
        s->storages[1][PLANNER_KEEP_NOTHING] = planner_storages_of_parts(s->program);
    s->parts_keeping =
        setting->keeping < 0 ? PLANNER_KEEP_NOTHING : (planner_keeping)setting->keeping;
    s->launches = NULL;
    list_part_forms(s, &form, &workers, &vectors);
    form.keeping = s->parts_keeping;
    form.storages = s->storages[1][form.keeping];
    form.packed = setting->packed != 0 ? setting->packed : 1;
    form.unroll = 1;
    for (int w = 0; w < workers.count; w++)
        for (int v = 0; v < vectors.count; v++) {
            form.lanes = workers.value[w] < subgroup ? workers.value[w] : subgroup;
            form.subgroups = workers.value[w] / form.lanes;
            form.vector = vectors.value[v];
            if (form.lanes * form.subgroups != workers.value[w])
                form.lanes = workers.value[w], form.subgroups = 1; /* refused by its rule */
            good = good && add_part_forms(s, form);
        }
    price_forms(s);
    double least = -1;
    for (int64_t i = first; i < s->search->count; i++) {
        const planner_candidate *c = &s->search->candidates[i];
        least = c->priced && (least < 0 || c->price < least) ? c->price : least;
    }
    return least;
}

/* As many parts as there are processors for each row, then twice as many while that is cheaper,
 * then half. */
static void look_at_parts(search_state *s) {
    int64_t limit = planner_parts_limit(s->program), parts = 1;
    int64_t each = s->program->device.processors / s->program->programs;
    while (parts * 2 <= each && parts * 2 <= limit)
        parts *= 2;
    if (parts < 2)
        return;
    double first = add_parts(s, parts), least = first, price = first;
    for (int64_t g = parts * 2; g <= limit && price >= 0 && price <= least; g *= 2) {
        least = price;
        price = add_parts(s, g);
    }
    least = price = first;
    for (int64_t g = parts / 2; g >= 2 && price >= 0 && price <= least; g /= 2) {
        least = price;
        price = add_parts(s, g);
    }
}

/* ---- the search ---- */

static void add_rows(search_state *s) {
    int64_t subgroup = s->program->state->machine->subgroup;
    choice_list workers = list_workers(s);
    choice_list vectors = powers(lanes_are_threads(s) ? 8 : 1, s->setting->vector);
    for (int w = 0; w < workers.count; w++) {
        choice_list packed = list_packed(s, workers.value[w]);
        for (int v = 0; v < vectors.count; v++)
            for (int p = 0; p < packed.count; p++) {
                int64_t lanes = workers.value[w] < subgroup ? workers.value[w] : subgroup;
                planner_candidate form = {.lanes = lanes,
                                          .subgroups = workers.value[w] / lanes,
                                          .vector = vectors.value[v],
                                          .packed = packed.value[p],
                                          .parts = 1};
                if (form.lanes * form.subgroups != workers.value[w])
                    form.lanes = workers.value[w], form.subgroups = 1; /* refused by its rule */
                add_forms(s, form);
            }
    }
}

planner_search *planner_search_run(planner_program *program, const planner_setting *setting,
                                   cost_model model, const cost_coefficients *coefficients) {
    search_state s = {.program = program, .setting = setting, .coefficients = coefficients};
    s.search = BASE_NEW(program->state->arena, planner_search);
    *s.search = (planner_search){.best = -1, .model = model};
    find_storages(&s);
    if (setting->parts <= 1)
        add_rows(&s);
    price_forms(&s);
    if (setting->parts > 1)
        add_parts(&s, setting->parts);
    else if (setting->parts == 0 && planner_parts_are_wanted(program, model))
        look_at_parts(&s);
    if (s.search->best >= 0 && s.search->is_time)
        settle(&s);
    return s.search;
}
