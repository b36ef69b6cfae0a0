/* The verifier: derives the facts of a module at its level again, or searches for a counterexample
 * (docs/ir.md, Facts), and collects what is wrong.
 *
 *     k.croft:4: error: a value is used outside the region that defines it [dominance]
 *
 * Up to 20 findings, each with a rule slug (rules.def), found and expected. It never asserts, and
 * shares no code with the passes it checks. Always compiled in. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "base/diagnostic.h"
#include "ir/module.h"

/* True when no rule is broken. `disabled` (may be NULL) is a slug that is skipped, or with a `*`
 * behind it all slugs that begin so: for tests of the rules. */
bool verify_module(const ir_module *module, const char *disabled, base_diagnostics *diagnostics);

/* How much is computed in search of counterexamples: USUAL takes low milliseconds, THOROUGH up to
 * hundreds of them, EXHAUSTIVE seconds. verify_module: USUAL. */
typedef enum verify_effort { VERIFY_USUAL, VERIFY_THOROUGH, VERIFY_EXHAUSTIVE } verify_effort;

bool verify_module_with(const ir_module *module, const char *disabled, verify_effort effort,
                        base_diagnostics *diagnostics);

/* Whether launches that run one after the other, all programs of each, store what the kernel stores
 * (rules covers and same-elements, compared at a few programs and sizes). Parameters behind the
 * kernel's own are handed on: a launch loads of them what those before it have stored. A program
 * axis behind the kernel's own counts parts of its programs. The modules are of level tile and have
 * been verified; sizes too large to be run are passed over. */
bool verify_sequence(const ir_module *kernel, const ir_module *const *launches, int count,
                     verify_effort effort, base_diagnostics *diagnostics);

#endif
