/* The search: loops over the dimensions, each from its smallest value on, so that the first of
 * several candidates with the lowest price is the simplest.
 *
 *     for workers: for V: for programs of a group: for chunks: for rules of storage   a candidate
 *     for numbers of parts, while prices fall: for workers: for V: ...                a candidate
 *
 * A dimension that the setting fixes has that one value, even one that the search would never try:
 * the rules of candidates then say whether it is possible. Rules of storage that decide the same
 * for every value make one candidate. */
#include "planner/search.h"

#include "planner/launches.h"
#include "planner/settle.h"

enum {
    CLUSTER_THREADS = 128, /* of a group of a cluster, at least */
    MOST_BLOCKS = 8,       /* that every device with clusters can place */
    MOST_CHOICES = 64,
    USUAL_IN_PARTS = 128,
    PACKED_THREADS = 256,
    MOST_PACKED = 8,
    MOST_UNROLL = 4, /* that the search looks at; a plan may have more */
    MOST_ACCUMULATORS = 8
};

typedef struct choice_list {
    int64_t value[MOST_CHOICES];
    int count;
} choice_list;

typedef struct search_state {
    planner_program *program;
    const planner_setting *setting;
    const cost_coefficients *coefficients;
    planner_search *search;
    /* By stepped and rule; NULL: the rule decides what an earlier one does, or is not asked for. */
    planner_storages *storages[2][PLANNER_KEEPING_COUNT];
    int choices[2];           /* how many of them are not NULL */
    planner_candidate *forms; /* candidates without storages, refused ones too */
    int64_t form_count, form_capacity;
    int64_t priced_count;             /* forms that were made candidates already, from the first */
    const planner_launches *launches; /* of the number of parts that is looked at; NULL: not made */
    planner_keeping parts_keeping;    /* the one rule of storage for rows in parts */
} search_state;

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

/* A loop of one step is the same plan as chunks in slots. It is refused, and listed as refused only
 * where the setting asks for steps. */
static void add_form(search_state *s, planner_candidate form) {
    planner_candidate_check_form(s->program, &form);
    bool asked = s->setting->stepped == 1 || s->setting->unroll > 1;
    if (form.refusal != PLANNER_REFUSED_STEPS || asked)
        BASE_PUSH(s->program->state->arena, s->forms, s->form_count, s->form_capacity, form);
}

/* As it is and shifted. A shift that is refused is listed only where the setting asks for it. */
static void add_shifts(search_state *s, planner_candidate form) {
    if (s->setting->shifted != 1)
        add_form(s, form);
    form.shifted = true;
    bool gains = s->setting->shifted < 0 && planner_candidate_shifts(s->program, &form);
    if (s->setting->shifted == 1 || gains)
        add_form(s, form);
}

static void add_forms(search_state *s, planner_candidate form) {
    const planner_setting *setting = s->setting;
    choice_list unrolls =
        powers(lanes_are_threads(s) ? MOST_UNROLL : MOST_ACCUMULATORS, setting->unroll);
    form.unroll = 1;
    if (setting->stepped != 1 && setting->unroll <= 1)
        add_shifts(s, form);
    form.stepped = true;
    for (int u = 0; setting->stepped != 0 && u < unrolls.count; u++) {
        form.unroll = unrolls.value[u];
        add_shifts(s, form);
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

/* A form that is refused becomes one candidate, whatever the rules of storage. */
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

/* Makes candidates of the forms that are new. Room for them is asked for once, as many as whole
 * rows have; it grows for parts, which are few. */
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

/* A model that was made for one target has the target's name. */
cost_model planner_model_of(const machine *device) {
    cost_model model;
    return cost_model_find(device->target, &model) ? model : COST_ANALYTIC;
}

cost_estimate planner_price(const planner_program *program, const planner_candidate *candidate,
                            cost_model model, const cost_coefficients *coefficients) {
    cost_facts facts;
    if (candidate->blocks > 1 && model != COST_CUDA)
        return (cost_estimate){.missing = "clusters"};
    if (candidate->parts > 1)
        return planner_launches_price(program, candidate, model, coefficients);
    planner_facts_find(program, candidate, &facts);
    return cost_of(model, &facts, &program->device, coefficients);
}

/* ---- rows in parts ---- */

/* Whether the form is legal, in steps if they are possible and allowed, else in slots. Where it is
 * not, its refusal says why. */
static bool fits(const search_state *s, planner_candidate *form) {
    form->stepped = s->setting->stepped != 0;
    bool fit = planner_candidate_check_form(s->program, form);
    if (fit || form->refusal != PLANNER_REFUSED_STEPS || s->setting->stepped >= 0)
        return fit;
    form->stepped = false;
    return planner_candidate_check_form(s->program, form);
}

/* Adds the form with its number of parts, with chunks in slots and in steps. False: this number of
 * parts is refused whatever the form. */
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
        for (int64_t v = standard->vector; v <= planner_vector_limit(s->program->state->machine);
             v *= 2)
            list_add(vectors, v);
}

/* Adds candidates that split each row into this many parts; the lowest price of them, -1: none has
 * a price. */
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
    form.blocks = setting->blocks != 0 ? setting->blocks : 1;
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

/* ---- rows on clusters ---- */

/* Whether the best so far reads its rows again, or keeps them in memory: several groups may hold
 * what one cannot. */
static bool reads_again(const search_state *s) {
    cost_facts facts;
    if (s->search->best < 0)
        return false;
    planner_facts_find(s->program, &s->search->candidates[s->search->best], &facts);
    return facts.reread_bytes > 0 || facts.array_bytes > 0;
}

/* Rows of a known width in the registers of 2, 4 and 8 groups; what is refused is not listed. */
static void look_at_clusters(search_state *s) {
    const machine *device = s->program->state->machine;
    int64_t subgroup = device->subgroup, most = planner_vector_limit(device);
    for (int64_t blocks = 2; blocks <= MOST_BLOCKS; blocks *= 2)
        for (int64_t w = CLUSTER_THREADS; w <= device->lanes_limit; w *= 2)
            for (int64_t v = 1; v <= most; v *= 2) {
                planner_candidate form = {.lanes = subgroup,
                                          .subgroups = w / subgroup,
                                          .vector = v,
                                          .unroll = 1,
                                          .packed = 1,
                                          .blocks = blocks,
                                          .parts = 1};
                if (planner_candidate_check_form(s->program, &form))
                    add_form(s, form);
            }
    price_forms(s);
}

/* ---- the search ---- */

static void add_rows(search_state *s) {
    int64_t subgroup = s->program->state->machine->subgroup;
    choice_list workers = list_workers(s);
    choice_list vectors =
        powers(planner_vector_limit(s->program->state->machine), s->setting->vector);
    for (int w = 0; w < workers.count; w++) {
        choice_list packed = list_packed(s, workers.value[w]);
        for (int v = 0; v < vectors.count; v++)
            for (int p = 0; p < packed.count; p++) {
                int64_t lanes = workers.value[w] < subgroup ? workers.value[w] : subgroup;
                planner_candidate form = {.lanes = lanes,
                                          .subgroups = workers.value[w] / lanes,
                                          .vector = vectors.value[v],
                                          .packed = packed.value[p],
                                          .blocks = s->setting->blocks > 1 ? s->setting->blocks : 1,
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
    else if (setting->parts == 0 && setting->blocks <= 1 &&
             planner_parts_are_wanted(program, model))
        look_at_parts(&s);
    const planner_state *state = program->state;
    bool clusters = state->machine->cluster_limit > 0 && program->known && !state->portable;
    if (clusters && planner_setting_is_free(setting) && model == COST_CUDA && s.search->is_time &&
        reads_again(&s))
        look_at_clusters(&s);
    if (s.search->best >= 0 && s.search->is_time)
        planner_settle(s.search, program, setting, coefficients);
    return s.search;
}
