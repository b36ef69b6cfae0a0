/* Reads the canonical text of a module at any level, as ir_module_print writes it (with or without
 * facts). */
#ifndef TEXT_IR_PARSE_H
#define TEXT_IR_PARSE_H

#include "ir/module.h"

/* NULL with diagnostics when the text is not a module; several findings a run. Structure only
 * (names resolve, types are well formed): whether the module is legal is the verifier's business.
 */
ir_module *text_ir_parse(base_arena *arena, const base_source *source,
                         base_diagnostics *diagnostics);

/* The same, but ops are located where they stand in this text, not in the kernel that they came
 * from: for findings about the text itself. */
ir_module *text_ir_parse_in_place(base_arena *arena, const base_source *source,
                                  base_diagnostics *diagnostics);

#endif
