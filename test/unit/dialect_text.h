/* For tests of what a dialect's text says of single ops: modules of level thread as text, the words
 * that must and must not be in what is emitted, and reasons to refuse. */
#ifndef TEST_DIALECT_TEXT_H
#define TEST_DIALECT_TEXT_H

#include "target/target.h"
#include "text/ir_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct text_case {
    int lanes, subgroup;
    const char *body;
    const char *says[4]; /* all of them */
    const char * not ;   /* NULL: nothing */
} text_case;

/* In kernel @k(%x: in f32[4096], %y: inout f32[4096]). */
static inline ir_module *text_case_parse(base_arena *arena, const text_case *c) {
    base_text text;
    base_text_init(&text, arena);
    base_text_format(&text,
                     "kernel @k(%%x: in f32[4096], %%y: inout f32[4096]) level thread\n  team %d\n"
                     "  subgroup %d\n  machine \"sm_90\"\n  groups 1\n{\n%s}\n",
                     c->lanes, c->subgroup, c->body);
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    base_source *source = BASE_NEW(arena, base_source);
    *source = (base_source){.name = "k.ir", .text = text.bytes, .length = (size_t)text.length};
    ir_module *module = text_ir_parse(arena, source, &diagnostics);
    if (module == NULL)
        fail_msg("%s: %s", text.bytes, diagnostics.items[0].message);
    return module;
}

static inline void text_case_check(const text_case *c, const target_source *source) {
    for (int s = 0; s < 4 && c->says[s] != NULL; s++)
        if (strstr(source->text, c->says[s]) == NULL)
            fail_msg("`%s` is not in\n%s", c->says[s], source->text);
    if (c->not != NULL && strstr(source->text, c->not ) != NULL)
        fail_msg("`%s` is in\n%s", c->not, source->text);
}

/* Why the target refuses the module on a machine, looked for in regions too; NULL: it does not. */
static inline const char *text_case_refusal(const ir_region *region, const ir_module *module,
                                            const target *emitter, const char *name) {
    const char *reason = NULL;
    for (const ir_op *op = region->first; op != NULL && reason == NULL; op = op->next) {
        reason = emitter->supports(module, op, machine_find(name));
        for (int i = 0; i < op->region_count && reason == NULL; i++)
            reason = text_case_refusal(op->regions[i], module, emitter, name);
    }
    return reason;
}

#endif
