/* Targets: emit source text for a device from level thread, and nothing else. */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "base/diagnostic.h"
#include "ir/module.h"
#include "machine/machine.h"

typedef struct target_source {
    const char *text;      /* that has the entry point */
    const char *entry;     /* `croft_NAME`: the entry point */
    int threads;           /* of a group, for targets whose device starts groups of them: whole
                              subgroups, the lanes of the team or more. 0: its text counts them */
    int64_t scratch_bytes; /* the same targets: of a group, which the launch must give, beyond what
                              the text itself declares */
    const layout_extent *workspace; /* the same targets: bytes of memory that each running group
                                       needs, in the module's extents; NULL: none */
    bool overlaps; /* the same targets: the text waits for the launches in front of its own before
                      it touches memory, so that its launch may start before they have ended */
} target_source;

typedef struct target {
    const char *name; /* cpu, cuda, opencl, metal */
    /* Its text is better where a module has conditions (layout/condition.h). */
    bool uses_conditions;
    /* NULL when the target can run the op on the machine; else the reason. */
    const char *(*supports)(const ir_module *module, const ir_op *op, const machine *machine);
    /* Why the policy of a load or store does not reach the machine; NULL: it does. */
    const char *(*ignores_policy)(base_arena *arena, const ir_module *module, const ir_op *op,
                                  const machine *machine);
    /* Deterministic, readable text with source lines in comments and the plan hash at the end. The
     * modules are the launches of one dispatch, with different names: their entry points stand in
     * one text. sources[i]: that of module i. */
    void (*emit)(base_arena *arena, const ir_module *const *modules, int count,
                 const machine *machine, target_source *sources);
} target;

/* Of a dispatch that is one launch. */
target_source target_emit(const target *emitter, base_arena *arena, const ir_module *module,
                          const machine *on);

/* One version of the code in a file for embedders (c_embed.c): the launches of a dispatch. */
typedef struct target_version {
    const char *name;       /* `avx2` */
    const machine *machine; /* a cpu, that it is written for */
    const ir_module *const *modules;
    int count;
    const char *plan; /* its text */
} target_version;

/* What becomes a file for embedders. */
typedef struct target_embedding {
    const ir_module *kernel; /* level tile: the parameters are its own */
    const target_version *versions;
    int count;          /* at least 1; each may ask more of a processor than the ones before */
    const char *source; /* the names of the two files and of the kernel's, for comments */
    const char *header;
    const char *origin;
    const char *croft; /* the version of the compiler */
} target_embedding;

typedef struct target_embedded {
    const char *source; /* C11, one file */
    const char *header; /* C11 and C++ */
} target_embedded;

/* NULL, or why there is no such file. Nothing else than `embedding` decides what is in it. */
const char *target_embed(base_arena *arena, const target_embedding *embedding,
                         target_embedded *made);

/* NULL when unknown. */
const target *target_find(const char *name);
const target *target_at(int index); /* NULL past the end */

#endif
