/* Cost models: what a candidate plan is estimated to cost, and because of what.
 *
 * A model is a pure function of typed facts: no IR, no device, no state. The planner fills
 * the facts of each candidate (planner/facts.h); tests fill them by hand, also with facts that were
 * recorded elsewhere. A fact that is not known makes the models that need it unavailable, never
 * wrong.
 *
 *     facts of softmax 1024x4096, W = 256, V = 4     analytic: 16/Q + rounds + 2 * R * S
 *                                                    cuda:     memory 6.9 us + exchange 0.9 us + ..
 *
 * Coefficients are data: each model has its own, and a file can replace them
 * (cost_coefficients_parse).
 */
#ifndef PLANNER_COST_COST_H
#define PLANNER_COST_COST_H

#include "base/arena.h"
#include "base/diagnostic.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stdint.h>

enum { COST_MAX_DOMAINS = 64, COST_MAX_CAUSES = 14 };
#define COST_UNKNOWN (-1) /* of any fact below */

/* One pass over elements: a sweep, or work beside the sweeps that one lane does for all. */
typedef struct cost_domain {
    int64_t elements;
    int64_t times; /* that it runs for each program: in a loop more than once */
} cost_domain;

/* What one candidate does. Bytes are of logical accesses: each element that an access reads or
 * writes, once for each time that its sweep runs; they say nothing of caches. */
typedef struct cost_facts {
    /* the program */
    int64_t programs; /* that run; where the call decides, as many as fill the machine */
    cost_domain domains[COST_MAX_DOMAINS];
    int domain_count;
    int64_t reductions;    /* over the row axis; in a loop once for each trip */
    int64_t element_bytes; /* of the widest accesses of the row */
    /* the mapping */
    int64_t subgroup;   /* lanes of one: 32 on GPUs; of a vector register on a cpu */
    int64_t workers;    /* W: lanes of one program */
    int64_t vector;     /* V: neighbours that a worker owns */
    int64_t unroll;     /* U */
    int64_t step_slots; /* values of a worker that one step has side by side: computed whole, each
                            * with a carry of its own in a reduction */
    int64_t packed;     /* P: programs of a group */
    int64_t blocks;     /* B: groups of a cluster that share a program; 0, 1: no cluster */
    int64_t private_slots; /* values that a worker keeps past a sweep, of all tiles together */
    int64_t private_bytes; /* read and written of them by one worker */
    int64_t array_bytes;   /* read and written for one program, of what is kept in memory: in
                            * private arrays, or in an output until it is stored there */
    int64_t kept_slots;    /* values that a worker keeps in registers at one time, at most */
    int64_t live_slots;    /* values that a worker holds at once, at most: an estimate */
    int64_t scratch_bytes; /* of a group */
    int64_t barriers;      /* that a group waits at, for all programs of one round of it */
    int64_t cluster_waits; /* that the groups of a cluster meet at, each after an exchange */
    int64_t shuffles;      /* of one subgroup, for one program */
    /* the memory, bytes for one program */
    int64_t read_bytes;        /* first reads of what belongs to the program */
    int64_t reread_bytes;      /* reads of what an earlier sweep has read */
    int64_t prefetch_bytes;    /* of the first reads: asked for by the program before */
    int64_t shared_read_bytes; /* reads of what all programs read: weights */
    int64_t write_bytes;
    int64_t streamed_bytes;   /* of those: stored past the caches */
    int64_t torn_bytes;       /* written in parts of sectors, each part by an access of its own */
    int64_t worker_bytes;     /* read and written by the worker with most to do */
    int64_t accesses;         /* instructions that one worker issues for all those */
    int64_t guarded_accesses; /* of them under a mask of their own */
    int64_t sectors;          /* of 32 bytes that accesses of a program touch, each time anew */
    int64_t bytes_in_flight;  /* that one worker can have asked for before it waits */
    /* arithmetic, elements for one program */
    int64_t exps, divisions, square_roots, other_ops;
    bool native_math, reciprocals;
} cost_facts;

/* What the models know of a machine; 0: not known. */
typedef machine_capacity cost_machine;

/* What the machine table says of a device, with as many processors as stated; 0: as in the table.
 * Caches of processors and what they share grow with them, memory does not. */
cost_machine cost_machine_of(const machine *device, int64_t processors);

typedef struct cost_cause {
    const char *name; /* memory, exchange, arithmetic, launch, ...: a constant text */
    double amount;    /* in the model's unit */
} cost_cause;

typedef struct cost_estimate {
    bool available;
    const char *missing; /* not available: the fact that is not known */
    double total;        /* lower is better */
    bool is_time;        /* in microseconds; else a score of no unit */
    cost_cause causes[COST_MAX_CAUSES];
    int cause_count;
} cost_estimate;

typedef enum cost_model {
    COST_ANALYTIC,
    COST_SERVICE,
    COST_CUDA,
    COST_CPU,
    COST_MODEL_COUNT
} cost_model;

/* NULL past the end; `analytic`, `service`, `cuda`, `cpu`. */
const char *cost_model_name(cost_model model);
bool cost_model_find(const char *name, cost_model *model);

/* Named coefficients of all models; the defaults are rows of coefficients.def. */
typedef struct cost_coefficients cost_coefficients;
const cost_coefficients *cost_coefficients_default(void);

typedef struct cost_coefficient_row {
    const char *name; /* service.D */
    double value;     /* the default */
    const char *unit, *source;
} cost_coefficient_row;

/* The rows of coefficients.def, for messages and docs; false past the end. */
bool cost_coefficient_at(int index, cost_coefficient_row *row);

/* Lines `service.D 3.29`, `# comment`; every name must be a known one, stand once, and no value be
 * negative. NULL: the diagnostics say why (coefficient-name, coefficient-twice, coefficient-value).
 * What a file does not name keeps its default. */
const cost_coefficients *cost_coefficients_parse(base_arena *arena, const base_source *source,
                                                 base_diagnostics *diagnostics);
/* Canonical text of all coefficients; cost_coefficients_parse reads it. */
void cost_coefficients_print(base_text *out, const cost_coefficients *coefficients);

/* The machine may be NULL for analytic and service, which look at none. A candidate that is out of
 * budget or illegal is priced all the same: who may be chosen is decided before. */
cost_estimate cost_of(cost_model model, const cost_facts *facts, const cost_machine *device,
                      const cost_coefficients *coefficients);

/* Launches one behind the other: begin, then add each. The causes are those of all of them, and
 * `behind` for each that waits for the one before. Models that know no sequences are unavailable:
 * `launches` is missing. */
bool cost_knows_sequences(cost_model model);
cost_estimate cost_sequence_begin(cost_model model);
void cost_sequence_add(cost_estimate *sum, cost_model model, const cost_facts *launch,
                       const cost_machine *device, const cost_coefficients *coefficients);

/* Registers of a thread as the cuda model has them, and the groups that are resident on one
 * processor at once and are there to be run; 0: a fact is not known. */
double cost_cuda_registers(const cost_facts *facts, const cost_coefficients *coefficients);
int64_t cost_cuda_resident(const cost_facts *facts, const cost_machine *device,
                           const cost_coefficients *coefficients);

/* Values that a worker keeps of a tile with n elements: floor(n/(W*V))*V + min(n mod (W*V), V). */
int64_t cost_slots(int64_t elements, int64_t workers, int64_t vector);

#endif
