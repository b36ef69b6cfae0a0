/* The verifier: runs the families of rules in the order of rules.def.
 *
 *     k.croft:4: error: a value is used outside the region that defines it [dominance]
 *       found: %5 = sub %t, %m : f32<N>
 *       expected: a value defined above in this region or around it
 *
 * Every family walks the whole module and reports all it finds; families that reason about values
 * run only when those about structure found nothing.
 */
#include "verify/verify_internal.h"

#include "ir/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const slugs[] = {
#define RULE(ID, slug, levels, doc) [VERIFY_##ID] = slug,
#include "verify/rules.def"
#undef RULE
};

const char *verify_rule_slug(verify_rule rule) {
    return slugs[rule];
}

/* `token-*` stands for every slug that begins so. */
static bool is_disabled(const verify_state *state, const char *slug) {
    size_t length = state->disabled != NULL ? strlen(state->disabled) : 0;
    if (length > 0 && state->disabled[length - 1] == '*')
        return strncmp(state->disabled, slug, length - 1) == 0;
    return length > 0 && strcmp(state->disabled, slug) == 0;
}

void verify_report(verify_state *state, verify_rule rule, const ir_op *op, const char *expected,
                   const char *format, ...) {
    if (is_disabled(state, slugs[rule]))
        return;
    state->broken++;
    if (state->diagnostics->count == BASE_DIAGNOSTIC_LIMIT) {
        state->diagnostics->dropped++;
        return;
    }
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    base_location nowhere = {.source = state->module->source};
    base_diagnostic *finding = base_diagnostics_add(
        state->diagnostics, slugs[rule], op != NULL ? op->location : nowhere, "%s", message);
    finding->expected = expected;
    if (op == NULL)
        return;
    base_text line;
    base_text_init(&line, state->diagnostics->arena);
    ir_op_print(&line, state->module, op);
    finding->found = line.bytes;
}

void verify_walk(verify_state *state, const ir_region *region,
                 void (*check)(verify_state *state, const ir_op *op)) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        check(state, op);
        for (int i = 0; i < op->region_count; i++)
            verify_walk(state, op->regions[i], check);
    }
}

/* Tokens and hazards are two proofs of one thing: neither waits for the other. */
static void verify_sharing(verify_state *state) {
    verify_tokens(state);
    verify_hazards(state);
    verify_lane_facts(state);
    verify_value_ranges(state);
}

/* The tile program that the module says it implements: formed, or nothing can be compared. */
static void verify_implements(verify_state *state) {
    verify_state inner = *state;
    inner.module = state->module->implements;
    inner.visible =
        BASE_NEW_ARRAY(state->diagnostics->arena, const ir_value *, inner.module->next_value);
    verify_structure(&inner);
    verify_access_forms(&inner);
    if (inner.broken == 0)
        verify_types(&inner);
    state->broken = inner.broken;
}

bool verify_module(const ir_module *module, const char *disabled, base_diagnostics *diagnostics) {
    return verify_module_with(module, disabled, VERIFY_USUAL, diagnostics);
}

bool verify_module_with(const ir_module *module, const char *disabled, verify_effort effort,
                        base_diagnostics *diagnostics) {
    verify_state state = {
        .module = module, .disabled = disabled, .effort = effort, .diagnostics = diagnostics};
    const base_arena_mark before = base_arena_here(diagnostics->arena);
    const int findings = diagnostics->count;
    state.visible = BASE_NEW_ARRAY(diagnostics->arena, const ir_value *, module->next_value);
    verify_structure(&state);
    verify_access_forms(&state);
    if (state.broken == 0)
        verify_types(&state);
    if (state.broken == 0 && module->level != IR_TILE && module->implements != NULL)
        verify_implements(&state);
    if (state.broken == 0)
        verify_recorded_forms(&state);
    if (state.broken == 0 && module->level != IR_TILE)
        verify_axes(&state);
    if (state.broken == 0 && module->level != IR_TILE)
        verify_team(&state);
    if (state.broken == 0 && module->level == IR_MAPPED)
        verify_mapped(&state);
    if (state.broken == 0 && module->level != IR_THREAD)
        verify_owners(&state);
    if (state.broken == 0 && module->level != IR_THREAD)
        verify_loads(&state);
    if (state.broken == 0 && module->level != IR_THREAD)
        verify_facts(&state);
    if (state.broken == 0 && module->level == IR_MAPPED)
        verify_same_program(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_thread_forms(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_thread(&state);
    if (state.broken == 0)
        verify_conditions(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_sharing(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_thread_memory(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_reductions(&state);
    if (state.broken == 0 && module->level == IR_THREAD)
        verify_replay(&state);
    if (diagnostics->count == findings) /* nothing is left but findings */
        base_arena_return(diagnostics->arena, before);
    return state.broken == 0;
}
