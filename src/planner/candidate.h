/* Candidates: the ways in which a row program can be mapped to a machine, as plain data.
 *
 *     W = 256, V = 4, U = 1, P = 1, chunks in slots, keep registers
 *     axis row  group *       axis N  slot 4 | lane 32 | subgroup 8 | slot 4
 *
 *     W  workers of a program: lanes of a subgroup, times subgroups
 *     V  neighbours that a worker owns            U  chunks of a step: unrolled, in slots
 *     P  programs of a group                      chunks lie in slots, or are walked in steps
 *     B  groups of a cluster that share a row: `.. | subgroup 8 | block 4 | slot 4`
 *     G  parts of a row, each of a group: the kernel is then a sequence of launches (launches.h)
 *     shifted  positions count from the border of vectors before the row (shift.h)
 *
 * On a cpu the lanes of one register are the workers, V is 1, and U are the accumulators. What a
 * plan says beside the digits follows: storage by a rule, widths as wide as the machine has.
 *
 * Each dimension has a rule of its own that refuses what the lowering does not take or the machine
 * has not, with the least number of words that say why. The digits of explicit layouts are no
 * candidates (owners.c). */
#ifndef PLANNER_CANDIDATE_H
#define PLANNER_CANDIDATE_H

#include "planner/cost/cost.h"
#include "planner/totals.h"

/* Which of the ways that a value may take it does take; each rule falls back on the next way. */
typedef enum planner_keeping {
    PLANNER_KEEP_MIXED,     /* loads and what is dear in registers, what is cheap computed again */
    PLANNER_KEEP_REGISTERS, /* everything in registers */
    PLANNER_KEEP_AGAIN,     /* loads read again, what is cheap computed again */
    PLANNER_KEEP_OUTPUT,    /* the same; what is dear waits in an output */
    PLANNER_KEEP_PRIVATE,   /* loads and what is dear in private arrays */
    PLANNER_KEEP_NOTHING,   /* loads read again, all else computed again, whatever it costs */
    PLANNER_KEEPING_COUNT
} planner_keeping;

const char *planner_keeping_name(planner_keeping keeping);

/* What a rule makes of all crossing values of a program. */
typedef struct planner_storages {
    ir_storage *storage;          /* by crossing */
    const ir_op **outputs;        /* by crossing: the store in whose cells it waits, or NULL */
    const planner_totals *totals; /* of the work that there is then */
} planner_storages;

typedef struct planner_launches planner_launches;
typedef struct planner_early planner_early;
typedef struct planner_prefetch planner_prefetch;

typedef enum planner_refusal {
    PLANNER_LEGAL,
    /* for the form */
    PLANNER_REFUSED_LANES,
    PLANNER_REFUSED_GROUP,
    PLANNER_REFUSED_VECTOR,
    PLANNER_REFUSED_UNROLL,
    PLANNER_REFUSED_PACKED,
    PLANNER_REFUSED_SHARING,
    PLANNER_REFUSED_RUNTIME,
    PLANNER_REFUSED_SLOTS,
    PLANNER_REFUSED_STEPS,
    PLANNER_REFUSED_ORDER,
    PLANNER_REFUSED_BLOCKS,
    PLANNER_REFUSED_BLOCKS_SHARED,
    PLANNER_REFUSED_SHIFT,
    PLANNER_REFUSED_PARTS,
    PLANNER_REFUSED_PARTS_ORDER,
    PLANNER_REFUSED_PARTS_PACKED,
    PLANNER_REFUSED_PARTS_KEEP,
    PLANNER_REFUSED_PARTS_SPLIT,
    /* for what is kept */
    PLANNER_REFUSED_BUDGET,
    PLANNER_REFUSED_REGISTERS,
    PLANNER_REFUSED_SCRATCH,
    PLANNER_REFUSAL_COUNT
} planner_refusal;

typedef struct planner_refusal_row {
    const char *slug;
    const char *what;     /* that `found` counts, in words */
    const char *expected; /* what is allowed, in words; `limit` may stand behind it */
} planner_refusal_row;

const planner_refusal_row *planner_refusal_describe(planner_refusal refusal);

typedef struct planner_candidate {
    int64_t lanes, subgroups, vector, unroll, packed;
    int64_t blocks; /* groups of a cluster, each with W workers; 1: no cluster */
    int64_t parts;  /* of a row; 1: it is whole */
    bool stepped;
    bool streams;     /* stores of neighbours go past the caches (stream.h) */
    bool evicts_last; /* lines that loads bring leave the last cache last (evict.h) */
    bool shifted;
    planner_keeping keeping;
    const planner_storages *storages;
    const planner_launches *launches; /* of several parts, once they are looked at */
    int64_t kept_slots; /* values that a worker keeps in registers: at one time where those of the
                           machine are documented, else all together */
    int64_t live_slots; /* that it has at once, loads under way too, at most: an estimate */
    const planner_early *early;         /* early.h: loads that may be early; NULL: not looked at */
    int64_t early_count;                /* so many of them are, the first ones: */
    int64_t early_slots;                /* values of a worker that they hold over the reductions */
    int64_t early_bytes;                /* of a worker, under way with the first reads */
    const planner_prefetch *prefetches; /* prefetch.h: loads that have the next row fetched */
    int64_t prefetch_count;
    int64_t prefetch_bytes; /* of a program, fetched so */
    planner_refusal refusal;
    int64_t found, limit; /* of the refusal: limit 0, it has none */
    double price;         /* of the model that was asked for; lower is better */
    bool priced;          /* the model could say */
} planner_candidate;

/* The largest V: on a cpu the lanes of a register are neighbours already, and it is 1. */
int64_t planner_vector_limit(const machine *device);
/* Values that a worker may have where groups have so many threads. */
int64_t planner_budget(const machine *device, int64_t threads);

/* Sets the storages and what follows from them. */
void planner_candidate_keep(const planner_program *program, planner_candidate *candidate,
                            const planner_storages *storages);

/* Set refusal, found and limit. False: refused; what is refused for its form, that is for anything
 * but its storages, needs none. */
bool planner_candidate_check_form(const planner_program *program, planner_candidate *candidate);
bool planner_candidate_check_storages(const planner_program *program, planner_candidate *candidate);

/* Values that a worker has at once, early loads too. Needs the storages. */
int64_t planner_candidate_live(const planner_program *program, const planner_candidate *candidate);

/* Bytes of scratch that the reductions of a group meet in: each has an array of its own, of a cell
 * for each subgroup, or, in the canonical order, for each slot of a vector of each worker. Needs
 * the storages. */
int64_t planner_candidate_scratch(const planner_candidate *candidate);
/* Workers of a program, of all groups that share it. */
int64_t planner_candidate_owners(const planner_candidate *candidate);
/* Those of one group. */
int64_t planner_candidate_workers(const planner_candidate *candidate);
/* Digits of the lane axis. */
layout_axis planner_candidate_digits(const planner_program *program,
                                     const planner_candidate *candidate);
/* Appends those of the axis of programs that shares groups, below its group digit. */
void planner_candidate_programs(const planner_program *program, const planner_candidate *candidate,
                                layout_axis *digits);
/* Elements of the lane axis that a program goes through: of a part, where there are several. */
int64_t planner_candidate_extent(const planner_program *program,
                                 const planner_candidate *candidate);
/* The plan, every decision of it; of a program, or of what stands in for it. */
ir_plan *planner_candidate_plan(planner_program *program, const planner_candidate *candidate);
/* Positions that the digits of a whole row count: its elements, and where it is shifted those that
 * may lie before it. */
int64_t planner_candidate_positions(const planner_program *program,
                                    const planner_candidate *candidate);
/* Elements of one access of a worker where lanes are threads, with V as in the candidate. */
int64_t planner_candidate_width(const planner_candidate *candidate, const planner_access *access);
/* Whether rows may be shifted so, and an access that is narrow otherwise is wide then. */
bool planner_candidate_shifts(const planner_program *program, const planner_candidate *candidate);
/* Slots of a worker in one step, of the lane axis. */
int64_t planner_candidate_slots(const planner_program *program, const planner_candidate *candidate);

/* The row plan that is made where nothing is priced: a row over as many subgroups as leave a worker
 * 16 elements in registers, else in steps; on a cpu 4 accumulators. Storages are not set. */
planner_candidate planner_candidate_standard(const planner_program *program);
/* The same for each of so many parts, by the rule of storage that parts ask for. */
planner_candidate planner_candidate_standard_part(const planner_program *program, int64_t parts);

/* keep.c: the storages of a rule; `stepped` as in a candidate. */
planner_storages *planner_storages_find(planner_program *program, planner_keeping keeping,
                                        bool stepped);
/* By the rule `nothing`, of a row in parts: its launches load or compute again whatever they need
 * of it, also what one launch could not compute again in each of its sweeps. */
planner_storages *planner_storages_of_parts(planner_program *program);

#endif
