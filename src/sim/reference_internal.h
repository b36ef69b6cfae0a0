/* The machine of the FP64 reference: tiles, operands and the state of a run.
 *
 * Each IR value has one tile, whose memory is taken when the value is computed first and used again
 * for every later program and iteration: the memory of a run is one program's, whatever the grid.
 */
#ifndef SIM_REFERENCE_INTERNAL_H
#define SIM_REFERENCE_INTERNAL_H

#include "sim/reference.h"
#include "sim/reference_number.h"

/* What an IR value holds: C order, `count` elements. value for floats, integer for the others, an
 * error for both. What lies outside the domain is poison: a certain NaN, or `sim_poison_integer`.
 */
typedef struct sim_tile {
    base_dtype dtype;
    int rank;
    int64_t extent[IR_MAX_RANK];
    int64_t domain[IR_MAX_RANK]; /* elements inside, at most extent */
    bool domain_open;            /* a domain was computed from a number that is not certain */
    int64_t count;
    double *value;
    int64_t *integer;
    double *error;
    int64_t capacity; /* elements of memory; 0 for the views that expand and drop make */
} sim_tile;

/* A tile as an elementwise op reads it: element i at i * stride; stride 0 for a scalar. */
typedef struct sim_operand {
    const double *value;
    const int64_t *integer;
    const double *error;
    int64_t stride;
} sim_operand;

enum { SIM_SCRATCH_TILES = IR_MAX_RANK + 2 };

typedef struct sim_machine {
    base_arena *arena;
    const ir_module *module;
    const ir_plan *plan;
    const int64_t *sizes;
    const sim_tensor *tensors;
    const ir_constant *scalars;
    sim_reference *result;
    sim_tile *tiles;                     /* by number of the value */
    int *parameter_of;                   /* by number of the value: the tensor parameter, or -1 */
    sim_tile scratch[SIM_SCRATCH_TILES]; /* operands that had to be broadcast */
    int64_t program[IR_MAX_PROGRAMS];    /* the indices of the program that runs */
    int64_t programs_begun;              /* the one that runs is this many-th */
    bool rounded;                        /* results are rounded to their type, without error */
    int open_branches;                   /* > 0: inside control whose condition is not certain */
} sim_machine;

extern const int64_t sim_poison_integer;

static inline sim_tile *sim_tile_of(const sim_machine *machine, const ir_value *value) {
    return &machine->tiles[value->number];
}

static inline bool sim_tile_is_float(const sim_tile *tile) {
    return base_dtype_is_float(tile->dtype);
}

static inline sim_number sim_operand_number(const sim_operand *operand, int64_t i) {
    return (sim_number){operand->value[i * operand->stride], operand->error[i * operand->stride]};
}

static inline sim_integer sim_operand_integer(const sim_operand *operand, int64_t i) {
    return (sim_integer){operand->integer[i * operand->stride],
                         operand->error[i * operand->stride]};
}

static inline void sim_tile_set_number(sim_tile *tile, int64_t i, sim_number a) {
    tile->value[i] = a.value;
    tile->error[i] = a.error;
}

static inline void sim_tile_set_integer(sim_tile *tile, int64_t i, sim_integer a) {
    tile->integer[i] = a.value;
    tile->error[i] = a.error;
}

/* ---- reference_tile.c ---- */
/* An array of `count` elements; unwinds when that is more than memory can hold. */
void *sim_array(base_arena *arena, int64_t count, size_t element_size);
/* The value's tile with shape, domain and memory; the elements are whatever was there. */
sim_tile *sim_tile_begin(sim_machine *machine, const ir_value *value);
/* As sim_tile_begin, but the elements are those of `source` (of equal count). */
void sim_tile_view(sim_machine *machine, const ir_value *value, const sim_tile *source);
void sim_tile_poison(sim_tile *tile, int64_t first, int64_t count);
/* Nothing is known of any element. */
void sim_tile_loosen(sim_tile *tile);
/* `tile` broadcast to the shape of `shape`; scratch: which scratch tile may hold the copy. */
sim_operand sim_operand_of(sim_machine *machine, const sim_tile *tile, const sim_tile *shape,
                           int scratch);
/* The elements of the value `from` become those of the tile `to`, whose shape it broadcasts to. */
void sim_tile_assign(sim_machine *machine, sim_tile *to, const sim_tile *from);
/* Flat index to index per axis. */
void sim_tile_position(const sim_tile *tile, int64_t flat, int64_t position[IR_MAX_RANK]);
/* Whether the axes before `axes` of a position lie inside the domain. */
bool sim_tile_inside(const sim_tile *tile, const int64_t position[IR_MAX_RANK], int axes);

/* ---- one function per kind of op ---- */
typedef void sim_operation(sim_machine *machine, const ir_op *op);

/* reference_elementwise.c */
sim_operation sim_run_unary, sim_run_math, sim_run_binary, sim_run_fma, sim_run_compare;
sim_operation sim_run_select, sim_run_cast, sim_run_broadcast, sim_run_pad;
/* reference_reduce.c */
sim_operation sim_run_reduce;
/* reference_memory.c */
sim_operation sim_run_load, sim_run_store;

#endif
