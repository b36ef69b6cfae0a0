/* The simulator's machine: all lanes that run in lock step, their values and their memory.
 *
 * A `team` is what runs together: one group, the groups of a cluster, or, for a program with a sync
 * of scope grid, all groups. Its threads are numbered through: thread = block * lanes + subgroup *
 * subgroup_lanes + lane, where a block is a group of the team. Each op is run for all threads
 * before the next one; control narrows the set of `active` threads. An op without effect computes
 * for all of them: what an inactive thread has computed is never looked at.
 *
 *     narrow   one element, the same in every thread and slot     constants, sizes, uniform loads
 *     wide     slots * threads elements, slot by slot             element (s, t) at s * threads + t
 *
 * Whether a value is wide is found while running: a uniform of a cluster, or one that differs
 * between lanes since a wrong program let it, is wide with one slot.
 */
#ifndef SIM_THREAD_INTERNAL_H
#define SIM_THREAD_INTERNAL_H

#include "sim/thread.h"

#include <stdbool.h>

typedef enum sim_finding {
#define FINDING(ID, slug, doc) SIM_##ID,
#include "sim/findings.def"
#undef FINDING
    SIM_FINDING_COUNT
} sim_finding;

/* What a value holds. */
typedef struct sim_lanes {
    void *data; /* room for slots * threads elements */
    int slots;
    bool wide;
} sim_lanes;

/* An affine form, as the sum of a part of the slot and a part of the thread. */
typedef struct sim_affine {
    const int64_t *by_slot, *by_thread;
    bool moves; /* it is not 0 everywhere */
} sim_affine;

/* What is computed once for each access. */
typedef struct sim_form {
    const ir_op *op;
    int slots;
    sim_affine index[IR_MAX_RANK], mask;
    bool by_lane; /* some operand or form differs between lanes: each lane acts for itself */
} sim_form;

/* Who touched a cell, and when. Threads of a team; EVERY lane of block b is -1 - b. */
typedef struct sim_moment {
    int64_t time; /* 0: nobody */
    int64_t group;
    const ir_op *op;
    int32_t thread;
    int32_t slot;
} sim_moment;

/* The latest two readers of a cell, by different threads or groups, among those that every sync
 * orders alike. */
typedef struct sim_readers {
    int64_t next;
    int32_t atom;
    sim_moment last[2];
} sim_readers;

typedef struct sim_cell {
    sim_moment write;
    bool torn;       /* of a tensor: lanes that are late may still make the store before `write` */
    int64_t readers; /* the first, as a number in team->readers; 0: none */
} sim_cell;

/* Memory by number of the value that names it: scratch arrays have a copy for each block, private
 * arrays a cell for each thread. */
typedef struct sim_array {
    int64_t cells;
    int64_t born;     /* when the op that makes it ran last */
    void *data;       /* scratch: block * cells + cell. private: cell * slots * threads + ... */
    sim_cell *shadow; /* scratch */
    bool differs;     /* private: lanes may have pushed different values */
} sim_array;

enum { SIM_PAGE = 1024 };

typedef struct sim_parameter {
    const ir_parameter *parameter;
    void *data;
    int64_t extent[IR_MAX_RANK];
    int64_t stride[IR_MAX_RANK];
    sim_cell **pages; /* by flat number of the cell */
    int64_t page_count;
} sim_parameter;

typedef struct sim_seen {
    const ir_op *op;
    sim_finding finding;
} sim_seen;

typedef struct sim_team {
    base_arena *arena;
    const ir_module *module;
    const int64_t *words;
    const sim_options *options;
    base_diagnostics *diagnostics;
    int lanes;          /* of a group */
    int subgroup_lanes; /* of a subgroup */
    int64_t groups;     /* in the grid */
    int cluster;        /* groups of a cluster */
    int blocks;         /* groups of a team */
    int64_t threads;    /* of a team */
    int64_t first_group;
    uint8_t *active; /* by thread */
    int64_t active_count;
    uint8_t **masks; /* room for nested control */
    int64_t mask_count, mask_capacity, mask_depth;
    int when_depth;
    bool one_thread;   /* planned for a cpu: a team is one thread, lanes are parts of a register */
    sim_lanes *values; /* by number of the value */
    sim_array *arrays; /* likewise */
    sim_parameter *parameters;
    int *parameter_of; /* by number of the value, -1 for others */
    const int64_t *scalars;
    sim_form *forms; /* a hash table by op */
    int64_t form_mask;
    void *room[4];    /* threads elements of any type */
    int64_t *offsets; /* of a row: places in memory */
    int64_t *flats;   /* flat numbers of cells */
    uint8_t *on;      /* threads that take part */
    uint8_t *began;   /* those that took part in the first slot of a group */
    /* time and order */
    int64_t now, started;
    int32_t *class_of[IR_SCOPE_COUNT];    /* by thread: its set of that scope */
    int64_t *synced[IR_SCOPE_COUNT];      /* by class: when it was brought together last */
    int64_t *every_class[IR_SCOPE_COUNT]; /* by block: the set that all its lanes are in, or -1 */
    int64_t *firsts;                      /* by class: room for one thread of it */
    bool *absent;                         /* by class: some lane did not reach the sync */
    int32_t *atom_of;
    sim_readers *readers;
    int64_t reader_count, reader_capacity, reader_free;
    sim_moment *remote; /* by block: the latest access of its scratch by another block */
    sim_seen *seen;
    int64_t seen_count, seen_capacity;
    int64_t ops; /* run so far */
    bool refused;
    jmp_buf stopped; /* past the limit */
} sim_team;

typedef void sim_operation_of_team(sim_team *team, const ir_op *op);

static inline sim_lanes *sim_lanes_of(const sim_team *team, const ir_value *value) {
    return &team->values[value->number];
}

/* Room for the value; its elements are whatever was there. */
sim_lanes *sim_lanes_begin(sim_team *team, const ir_value *value, bool wide);
/* A narrow value gets an element for each slot and thread. */
void sim_lanes_widen(sim_team *team, const ir_value *value);
/* `from` becomes what `to` holds, in the active threads when `partial`. */
void sim_lanes_assign(sim_team *team, const ir_value *to, const sim_lanes *from, bool partial);
/* The elements of a slot, one for each thread: in place, or copied to team->room[room]. */
const void *sim_lanes_row(sim_team *team, const ir_value *value, int slot, int room);
/* An i64 element. */
int64_t sim_lanes_integer(const sim_team *team, const ir_value *value, int slot, int64_t thread);
/* Integer element number i of those that a value holds. */
int64_t sim_lanes_number(const sim_team *team, const ir_value *value, int64_t i);
/* count copies of an element. */
void sim_fill(void *to, const void *element, int64_t size, int64_t count);

/* ---- thread_check.c: whether a module can be run ---- */
bool sim_thread_check(sim_team *team);
/* A diagnostic, and nothing is run any more. */
void sim_refuse(sim_team *team, const ir_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- thread_compute.c ---- */
typedef void sim_kernel(int64_t count, void *to, const void *a, const void *b, const void *c);
/* The loop of an op on operands of a dtype, NULL when there is none. */
sim_kernel *sim_kernel_of(ir_opcode opcode, base_dtype dtype);
sim_operation_of_team sim_do_compute;

/* ---- thread_cast.c ---- */
sim_operation_of_team sim_do_cast, sim_do_bitcast;

/* ---- thread_lanes.c ---- */
sim_operation_of_team sim_do_broadcast, sim_do_iota, sim_do_uniform, sim_do_fold, sim_do_combine;
sim_operation_of_team sim_do_shuffle, sim_do_rename, sim_do_xorslot;

/* ---- thread_memory.c ---- */
sim_operation_of_team sim_do_load, sim_do_store, sim_do_put, sim_do_get;
sim_operation_of_team sim_do_scratch, sim_do_private, sim_do_pull, sim_do_push;
void sim_forms_build(sim_team *team);

/* ---- thread_shadow.c: order, races, writers ---- */
void sim_shadow_begin(sim_team *team); /* a run */
void sim_shadow_start(sim_team *team); /* a team starts */
void sim_shadow_end(sim_team *team);   /* it has ended */
sim_operation_of_team sim_do_sync;
/* Reports lanes that do not reach a collective. */
void sim_check_converged(sim_team *team, const ir_op *op, ir_scope scope);
/* thread: -1 - b is every lane of block b. */
void sim_watch_put(sim_team *team, const ir_op *op, sim_array *array, int64_t block, int64_t cell,
                   int64_t thread, int slot);
void sim_watch_get(sim_team *team, const ir_op *op, sim_array *array, int64_t block, int64_t cell,
                   int64_t thread, int slot);
void sim_watch_store(sim_team *team, const ir_op *op, sim_parameter *tensor, int64_t flat,
                     int64_t thread, int slot);
void sim_watch_load(sim_team *team, const ir_op *op, sim_parameter *tensor, int64_t flat,
                    int64_t thread, int slot);

/* ---- thread_facts.c ---- */
/* The ranges and scopes that are recorded of the op's results. */
void sim_check_facts(sim_team *team, const ir_op *op);
/* What is recorded of the groups of a load or store: a row of `count` threads in a slot, at
 * team->offsets elements of `size` bytes from `memory`. Slots come in order. */
void sim_check_groups(sim_team *team, const ir_op *op, const void *memory, int64_t size, int slot,
                      int64_t count);

/* ---- thread_gather.c ---- */
/* Reports an index outside that a mask keeps from memory, if the kernel meant the element. */
void sim_watch_gather(sim_team *team, const ir_op *op, int dimension, int slot, int64_t thread,
                      int64_t position, int64_t extent);

/* ---- thread_report.c ---- */
/* Whether this op and kind has not been reported yet; it has then. */
bool sim_is_news(sim_team *team, sim_finding finding, const ir_op *op);
/* A finding at a thread (or every lane of a block) and slot; slot -1: none. `other` may be NULL. */
void sim_report(sim_team *team, sim_finding finding, const ir_op *op, int64_t thread, int slot,
                const sim_moment *other, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* `%s.1`, as the module's text has it. */
const char *sim_label(sim_team *team, const ir_value *value);
/* `cell [2, 5] of %y` */
const char *sim_cell_name(sim_team *team, const sim_parameter *tensor, int64_t flat);

#endif
