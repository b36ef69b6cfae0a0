/* The simulator: runs level thread lane by lane, and sees what a machine would not tell.
 *
 * Every lane of a group has its own values; control follows the lanes that are active. Results are
 * those of the emitted code bit for bit (f32 arithmetic with one rounding an op, no contraction);
 * but native forms of functions, which only their target has, are computed in the portable form.
 * Scratch and tensors have a shadow: who wrote and read each cell since when. Findings, by slug:
 *
 *     sim-race          two lanes touch a scratch cell, one of them writes, and no sync of a scope
 *                       that holds both stands between
 *     sim-divergent     a sync or a collective that not all lanes of its scope reach
 *     sim-not-uniform   a value that is used as one for the whole group differs between its lanes
 *     sim-unwritten     a get, or a load of an output, of a cell that nobody wrote
 *     sim-outside       an access outside its tensor, scratch or private array; a slot, lane or
 *                       block that does not exist
 *     sim-two-writers   a cell of a tensor stored by two groups, or by two lanes or slots with no
 *                       sync between, or read by another lane than wrote it
 *     sim-exit          a group may end while another one's access of its scratch is under way
 *     sim-gather        a load outside its tensor where no fill is declared (checked mode)
 *     sim-fact          a value outside its recorded range, or not the same over its recorded scope
 *     sim-step          a loop whose step is not above 0; it runs no iteration
 *
 * Each names source line, value, group, subgroup, lane, slot and cell, and the other party. Scratch
 * of a team planned for a cpu has the same rules as any; tensors are then stored op by op. A
 * program that the verifier refuses can be run: the simulator relies on structure only (counts of
 * operands and results, values defined before use; else `sim-refused` says what is missing), and
 * shares no code with the verifier. Control may differ between lanes: then both ways are gone with
 * some of them, and only a sync or collective that misses a lane is a finding. What an inactive
 * lane or one behind a mask would have touched is not touched; an access outside touches nothing
 * and reads the fill.
 *
 *     sim_thread_run(arena, module, pointers, words, &options, diagnostics)
 *
 * `pointers` and `words` are those of the compiled entry: a pointer for each tensor, then the
 * sizes, the strides (in elements) of each tensor, the scalars as 64-bit words. Groups that form a
 * cluster run together.
 */
#ifndef SIM_THREAD_H
#define SIM_THREAD_H

#include "base/diagnostic.h"
#include "ir/module.h"

enum { SIM_MAX_LANES = 1024 };

typedef struct sim_options {
    int64_t first_group, last_group; /* [first, last); last < 0: all groups of the grid */
    bool checked;                    /* report indices outside where no fill is declared */
    bool watch;                      /* shadow state; off: values only */
    int64_t limit; /* ops and iterations that are run at most, over all groups; past them
                      SIM_REFUSED. 0: none */
} sim_options;

typedef enum sim_status {
    SIM_OK,
    SIM_FOUND, /* findings were added to the diagnostics; what was computed stands in the outputs */
    SIM_REFUSED, /* structure, sizes or lanes that cannot be run: a diagnostic says why */
} sim_status;

/* The findings in the order of sim/findings.def; NULL past the end. */
const char *sim_finding_slug(int finding);
const char *sim_finding_doc(int finding);

/* Groups of the grid under these sizes; -1 when a size formula leaves 64 bits. */
int64_t sim_thread_groups(const ir_module *module, const int64_t *sizes);

/* Runs the groups. At most BASE_DIAGNOSTIC_LIMIT findings are kept, each op and kind once. Memory
 * of the run is taken from the arena. */
sim_status sim_thread_run(base_arena *arena, const ir_module *module, void *const *pointers,
                          const int64_t *words, const sim_options *options,
                          base_diagnostics *diagnostics);

#endif
