/* What the models share: coefficients by number, known facts, and adding up an estimate. */
#ifndef COST_INTERNAL_H
#define COST_INTERNAL_H

#include "planner/cost/cost.h"

#include <stddef.h>

typedef enum cost_coefficient {
#define COEFFICIENT(ID, name, value, unit, source) COST_##ID,
#include "planner/cost/coefficients.def"
#undef COEFFICIENT
    COST_COEFFICIENT_COUNT
} cost_coefficient;

struct cost_coefficients {
    double value[COST_COEFFICIENT_COUNT];
};

/* A fact that a model needs, and the least value that it can have. */
typedef struct cost_need {
    const char *name;
    size_t offset;
    int64_t least;
} cost_need;
#define COST_NEED(fact, least)                                                                     \
    { #fact, offsetof(cost_facts, fact), least }

typedef struct cost_machine_need {
    const char *name; /* machine.clock */
    size_t offset;
    bool is_real;
} cost_machine_need;
#define COST_MACHINE_NEED(field)                                                                   \
    {                                                                                              \
        "machine." #field, offsetof(cost_machine, field),                                          \
            _Generic(((cost_machine *)0)->field, double                                            \
                     : true, int64_t                                                               \
                     : false)                                                                      \
    }

/* Whether all of them are known, and the domains too; else the estimate says which is missing. */
bool cost_knows(cost_estimate *estimate, const cost_facts *facts, const cost_need *needs,
                int count);

/* Whether the machine is there, and has all of them above 0. */
bool cost_knows_machine(cost_estimate *estimate, const cost_machine *device,
                        const cost_machine_need *needs, int count);

/* A part of the total; causes of nothing are left out. */
void cost_add(cost_estimate *estimate, const char *name, double amount);

/* Elements that one worker passes over in all domains: cost_slots of each, as often as it runs. */
double cost_rounds(const cost_facts *facts);
/* Subgroups that work on one program, at least 1; known facts alone. */
double cost_subgroups(const cost_facts *facts);

/* The models. Each is given what cost_of is given; the machine may be NULL. */
cost_estimate cost_analytic(const cost_facts *facts, const cost_machine *device,
                            const cost_coefficients *coefficients);
cost_estimate cost_service(const cost_facts *facts, const cost_machine *device,
                           const cost_coefficients *coefficients);
cost_estimate cost_cuda(const cost_facts *facts, const cost_machine *device,
                        const cost_coefficients *coefficients);
cost_estimate cost_cpu(const cost_facts *facts, const cost_machine *device,
                       const cost_coefficients *coefficients);

#endif
