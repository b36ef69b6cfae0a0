/* Comparing a mapped or thread module with the tile program that it implements: both are run at
 * chosen sizes, on signatures in place of data, and what they store is compared.
 *
 *     setting     what both runs agree on: sizes, and what the elements of tensors are
 *     tile run    signature_tile*.c: whole tiles, program by program; mapped modules too
 *     thread run  replay*.c: lanes and slots, group by group
 *     compared    signature_compare.c: rules covers and same-elements
 */
#ifndef VERIFY_SIGNATURE_INTERNAL_H
#define VERIFY_SIGNATURE_INTERNAL_H

#include "verify/explore_internal.h"
#include "verify/signature_memory_internal.h"

typedef struct signature_setting {
    signature_table *table;
    const int64_t *sizes; /* by symbol */
    int64_t size_count;
    int round;
    int64_t loaded;         /* one of the integers that tensors hold */
    bool models;            /* numbers stand for floats too, and integers are chosen at random */
    const int64_t *extents; /* of tensors, that those integers lie around */
    int extent_count;
} signature_setting;

/* ---- signature_setting.c ---- */
/* An element of a tensor as the caller gives it. */
signature_value signature_element(const signature_setting *setting, int tensor, base_dtype dtype,
                                  int64_t cell);
/* The same where an index is not known: the numbers and marks of all indices name it. */
signature_value signature_element_at(const signature_setting *setting, int tensor,
                                     const signature_value *index, int rank);
signature_value signature_parameter(const signature_setting *setting, int parameter,
                                    base_dtype dtype);
signature_value signature_of_literal(const signature_setting *setting, const ir_constant *constant);
/* What a load gives where an index is outside: as an element. */
signature_value signature_filled(const signature_setting *setting, signature_value fill);
signature_value signature_of_number(const signature_setting *setting, int64_t number);
/* One position of an op of the op table, of a conversion, or of one that hands an element on. */
signature_value signature_computed(const signature_setting *setting, const ir_op *op,
                                   const signature_value *operands, int count);
/* Whether many positions of the op can be computed at once, and by marks alone: it makes floats of
 * floats, of which one has no numbers. */
bool signature_has_rows(const signature_setting *setting, const ir_op *op);
void signature_compute_rows(const signature_setting *setting, const ir_op *op,
                            const signature_row *operands, int count, signature *result,
                            int64_t positions);
/* Two states of a reduction, or a state and an element, in values of the dtype. */
signature_value signature_combined(const signature_setting *setting, ir_opcode opcode,
                                   base_dtype dtype, signature_value a, signature_value b);
ir_opcode signature_joining_opcode(ir_monoid monoid, ir_nan nan, base_dtype dtype);
/* What may be any of several: a choice that is not known. */
signature_value signature_either(const signature_setting *setting, signature_value condition,
                                 signature_value a, signature_value b);

/* Which side a branch takes whose condition is not known: the same for the same condition, so that
 * both runs go one way. False: its sources are not known. */
bool signature_side(const signature_setting *setting, signature_value condition, bool *side);

/* ---- signature_model.c ---- */
/* The float of a name. */
int64_t signature_model_named(uint64_t name);
/* The same of an element: now and then one near 0, so that it lies on either side of a constant. */
int64_t signature_model_element(uint64_t name);
/* False: NaN. */
bool signature_model_literal(const ir_constant *constant, int64_t *number);
/* `value`, which an op makes of the operands, with its number where it is not known. `op` is asked
 * for the types of a cast only. */
signature_value signature_model_op(const signature_setting *setting, const ir_op *op,
                                   ir_opcode opcode, base_dtype dtype,
                                   const signature_value *operands, int count,
                                   signature_value value);
/* The same of a choice. */
signature_value signature_model_either(signature_value condition, signature_value a,
                                       signature_value b, signature_value value);

static inline signature_value signature_nothing(signature mark) {
    return (signature_value){.mark = mark};
}

/* ---- signature_tile.c ---- */
typedef struct signature_tile_run signature_tile_run;

/* A run of a module of level tile or mapped. */
signature_tile_run *signature_tile_create(verify_state *state, const ir_module *module,
                                          const signature_setting *setting,
                                          signature_memory *memory);
/* What it may still compute, in elements. */
int64_t *signature_tile_work(signature_tile_run *run);
/* Parameters from this one on are handed on by runs in the same memory. */
void signature_tile_chain(signature_tile_run *run, int parameters);
/* One program, by the indices of its axes, after all before it. False: the work is used up. */
bool signature_tile_program(signature_tile_run *run, const int64_t programs[IR_MAX_PROGRAMS],
                            int32_t writer);

/* ---- signature_compare.c ---- */
/* Reports what one memory has that the other has not. `stored` is by the module of the state. */
void signature_compare(verify_state *state, const signature_setting *setting,
                       const signature_memory *wanted, const signature_memory *stored);

#endif
