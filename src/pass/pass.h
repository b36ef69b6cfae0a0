/* Passes: each one legal-to-legal step, a row of passes.def, a file of the same name. A pass has no
 * globals, prints nothing, asks no clock or environment, and gives the same output for the same
 * input. pass/runner.h runs them. */
#ifndef PASS_PASS_H
#define PASS_PASS_H

#include "base/diagnostic.h"
#include "ir/module.h"
#include "ir/plan.h"
#include "machine/machine.h"

typedef enum pass_result { PASS_SAME, PASS_CHANGED, PASS_FAILED } pass_result;

/* A conversion of owners that was not needed. */
typedef enum pass_conversion_kind {
    PASS_CONVERSION_SAME,    /* the operand's class is fixed alike: it is the operand */
    PASS_CONVERSION_INVERSE, /* it undoes the conversions before it: it is the first value */
    PASS_CONVERSION_CHAIN,   /* it converts the first value instead of a converted one */
    PASS_CONVERSION_KIND_COUNT
} pass_conversion_kind;

typedef struct pass_conversion {
    pass_conversion_kind kind;
    const char *anchor;  /* as it was before */
    const char *through; /* INVERSE, CHAIN: the conversion before it */
    base_location location;
    const layout_axis *source; /* that the first value is fixed to; NULL: free */
    const layout_axis *destination;
} pass_conversion;

/* What passes have done and a report says. Zeroed at first; lives in the module's arena. */
typedef struct pass_log {
    pass_conversion *conversions;
    int64_t conversion_count, conversion_capacity;
    int64_t erased; /* layouts that the machine has no use for */
} pass_log;

typedef struct pass_context {
    const ir_plan *plan; /* for passes that apply it; NULL else */
    base_diagnostics *diagnostics;
    const machine *machine; /* that is compiled for; NULL: not known */
    bool strict;            /* a plan must give one result whatever it says else */
    pass_log *log;          /* may be NULL */
} pass_context;

const char *pass_conversion_kind_name(pass_conversion_kind kind); /* same, inverse, chain */

/* pass_canonicalise, pass_map, ...: passes.def says what each does. */
#define PASS(name, from, to, doc) pass_result pass_##name(ir_module *module, pass_context *context);
#include "pass/passes.def"
#undef PASS

enum { PASS_STAYS = -1 };

typedef struct pass_row {
    const char *name;
    int from; /* IR_LEVEL_BIT_* of the levels at which it may run */
    int to;   /* the ir_level afterwards, or PASS_STAYS */
    pass_result (*run)(ir_module *module, pass_context *context);
    const char *doc;
} pass_row;

/* A step of the pipeline. Neighbours that are `again` run in turn until none changes anything. */
typedef struct pass_step {
    const pass_row *pass;
    ir_level to; /* the level afterwards */
    bool again;
} pass_step;

/* The table, for messages and docs: NULL past the end. */
const pass_row *pass_at(int index);
/* NULL when no pass has the name. */
const pass_row *pass_find(const char *name, size_t length);
/* The steps of the pipeline in their order: false past the end. */
bool pass_pipeline_at(int index, pass_step *step);

/* Whether every op that a plan may speak of has the anchor that canonicalise would give it. */
bool pass_is_anchored(ir_module *module);

/* The name-free hash of a canonical tile module: every name replaced by its number in canonical
 * order. */
uint64_t pass_canonical_hash(const ir_module *module);

#endif
