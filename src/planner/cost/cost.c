/* The models by name, and what they share. */
#include "planner/cost/cost_internal.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

typedef cost_estimate (*model_function)(const cost_facts *, const cost_machine *,
                                        const cost_coefficients *);

static const struct {
    const char *name;
    model_function estimate;
} models[] = {
    [COST_ANALYTIC] = {"analytic", cost_analytic},
    [COST_SERVICE] = {"service", cost_service},
    [COST_CUDA] = {"cuda", cost_cuda},
    [COST_CPU] = {"cpu", cost_cpu},
};

const char *cost_model_name(cost_model model) {
    return (unsigned)model < COST_MODEL_COUNT ? models[model].name : NULL;
}

bool cost_model_find(const char *name, cost_model *model) {
    for (int i = 0; i < COST_MODEL_COUNT; i++) {
        if (strcmp(models[i].name, name) == 0) {
            *model = (cost_model)i;
            return true;
        }
    }
    return false;
}

cost_estimate cost_of(cost_model model, const cost_facts *facts, const cost_machine *device,
                      const cost_coefficients *coefficients) {
    cost_estimate estimate = models[model].estimate(facts, device, coefficients);
    if (!estimate.available)
        return (cost_estimate){.missing = estimate.missing, .is_time = estimate.is_time};
    if (!isfinite(estimate.total))
        return (cost_estimate){.missing = "coefficients above 0", .is_time = estimate.is_time};
    return estimate;
}

/* ---- sequences ---- */

bool cost_knows_sequences(cost_model model) {
    return model == COST_CUDA || model == COST_CPU;
}

cost_estimate cost_sequence_begin(cost_model model) {
    bool known = cost_knows_sequences(model);
    return (cost_estimate){
        .available = known, .missing = known ? NULL : "launches", .is_time = known};
}

static void add_cause(cost_estimate *sum, const char *name, double amount) {
    for (int i = 0; i < sum->cause_count; i++)
        if (strcmp(sum->causes[i].name, name) == 0) {
            sum->causes[i].amount += amount;
            sum->total += amount;
            return;
        }
    cost_add(sum, name, amount);
}

void cost_sequence_add(cost_estimate *sum, cost_model model, const cost_facts *launch,
                       const cost_machine *device, const cost_coefficients *coefficients) {
    if (!sum->available)
        return;
    bool behind = sum->cause_count > 0;
    cost_coefficients later = *coefficients;
    if (behind)
        later.value[COST_CPU_TEAM] = later.value[COST_CPU_TEAM_AWAKE];
    cost_estimate own = cost_of(model, launch, device, &later);
    if (!own.available) {
        *sum = own;
        return;
    }
    for (int i = 0; i < own.cause_count; i++)
        add_cause(sum, own.causes[i].name, own.causes[i].amount);
    if (behind && model == COST_CUDA)
        add_cause(sum, "behind", coefficients->value[COST_CUDA_BEHIND]);
}

static bool lacks(cost_estimate *estimate, const char *name) {
    estimate->available = false;
    estimate->missing = name;
    return false;
}

bool cost_knows(cost_estimate *estimate, const cost_facts *facts, const cost_need *needs,
                int count) {
    for (int i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, (const char *)facts + needs[i].offset, sizeof value);
        if (value < needs[i].least)
            return lacks(estimate, needs[i].name);
    }
    if (facts->domain_count < 0 || facts->domain_count > COST_MAX_DOMAINS)
        return lacks(estimate, "domains");
    for (int i = 0; i < facts->domain_count; i++)
        if (facts->domains[i].elements < 0 || facts->domains[i].times < 0)
            return lacks(estimate, "domains");
    estimate->available = true;
    return true;
}

bool cost_knows_machine(cost_estimate *estimate, const cost_machine *device,
                        const cost_machine_need *needs, int count) {
    if (device == NULL)
        return lacks(estimate, "machine");
    for (int i = 0; i < count; i++) {
        const char *field = (const char *)device + needs[i].offset;
        int64_t whole = 1;
        double real = 1;
        if (needs[i].is_real)
            memcpy(&real, field, sizeof real);
        else
            memcpy(&whole, field, sizeof whole);
        if (whole <= 0 || !(real > 0))
            return lacks(estimate, needs[i].name);
    }
    return true;
}

void cost_add(cost_estimate *estimate, const char *name, double amount) {
    estimate->total += amount;
    if (amount > 0 && estimate->cause_count < COST_MAX_CAUSES)
        estimate->causes[estimate->cause_count++] = (cost_cause){name, amount};
}

double cost_rounds(const cost_facts *facts) {
    double rounds = 0;
    for (int i = 0; i < facts->domain_count; i++)
        rounds += (double)facts->domains[i].times *
                  (double)cost_slots(facts->domains[i].elements, facts->workers, facts->vector);
    return rounds;
}

double cost_subgroups(const cost_facts *facts) {
    return (double)((facts->workers - 1) / facts->subgroup + 1);
}

int64_t cost_slots(int64_t elements, int64_t workers, int64_t vector) {
    int64_t pack;
    if (!base_checked_mul(workers, vector, &pack)) /* wider than any number of elements */
        return elements < vector ? elements : vector;
    int64_t rest = elements % pack;
    return elements / pack * vector + (rest < vector ? rest : vector);
}

cost_machine cost_machine_of(const machine *device, int64_t processors) {
    cost_machine result = device->capacity;
    if (processors > 0 && result.processors > 0) {
        double times = (double)processors / (double)result.processors;
        result.processors = processors;
        result.cache_bandwidth *= times;
    }
    return result;
}
