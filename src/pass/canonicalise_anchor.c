/* Anchors: by what name a plan speaks of an op, and of the tile that an op makes.
 *
 *     %t = load %x[%row, :]     anchor x.0      keep line: t
 *     %m = reduce max %t        anchor max.0
 *     %e = exp ..               anchor exp.0    keep line: e
 *     store %y[%row, :], ..     anchor y.0
 *
 * Accesses are counted by tensor, other ops by their word (a reduction's is its monoid), in
 * canonical order. A tile with a source name is kept under it, made unique: t, t_1, ... Scalars of
 * plain arithmetic get no anchor: no plan decides about them.
 */
#include "pass/canonicalise_internal.h"

#include "base/hash.h"

#include <string.h>

typedef struct anchor_entry {
    const char *text;
    int64_t next; /* the number to try next for this stem */
} anchor_entry;

typedef struct anchor_state {
    ir_module *module;
    anchor_entry *table; /* open addressing: stems and the anchors given */
    int64_t size, used;
    bool only_asked; /* nothing is written */
    bool changed;
} anchor_state;

static anchor_entry *table_slot(anchor_entry *table, int64_t size, const char *text) {
    uint64_t at = base_hash_bytes(BASE_HASH_START, text, strlen(text));
    for (;; at++) {
        anchor_entry *entry = &table[at & (uint64_t)(size - 1)];
        if (entry->text == NULL || strcmp(entry->text, text) == 0)
            return entry;
    }
}

static void table_grow(anchor_state *state) {
    int64_t size = state->size == 0 ? 64 : state->size * 2;
    anchor_entry *table = BASE_NEW_ARRAY(state->module->arena, anchor_entry, size);
    for (int64_t i = 0; i < state->size; i++)
        if (state->table[i].text != NULL)
            *table_slot(table, size, state->table[i].text) = state->table[i];
    state->table = table;
    state->size = size;
}

/* True when the text was free. */
static bool take(anchor_state *state, const char *text) {
    if (2 * (state->used + 1) > state->size)
        table_grow(state);
    anchor_entry *entry = table_slot(state->table, state->size, text);
    if (entry->text != NULL)
        return false;
    entry->text = text;
    state->used++;
    return true;
}

/* `stem.n` with the first n that is free; names get `_` for the point, to stay words. */
static const char *take_numbered(anchor_state *state, const char *stem, char point, int64_t first) {
    take(state, stem);
    for (;;) {
        anchor_entry *entry = table_slot(state->table, state->size, stem);
        entry->next = entry->next < first ? first : entry->next;
        base_text text;
        base_text_init(&text, state->module->arena);
        base_text_format(&text, "%s%c%lld", stem, point, (long long)entry->next++);
        if (take(state, text.bytes))
            return text.bytes;
    }
}

static const char *op_stem(const ir_op *op) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        return op->operands[0]->name;
    if (op->opcode == IR_REDUCE)
        return ir_monoid_describe(op->attributes.monoid)->text;
    return ir_op_describe(op->opcode)->text;
}

/* Tiles, and what has a line of its own in a plan. */
static bool wants_anchor(const ir_op *op) {
    const ir_op_info *info = ir_op_describe(op->opcode);
    bool is_function = info->shape == IR_SHAPE_UNARY && (info->levels & IR_LEVEL_BIT_R) == 0;
    for (int i = 0; i < op->result_count; i++)
        if (ir_value_is_tile(op->results[i]))
            return true;
    return op->opcode == IR_LOAD || op->opcode == IR_STORE || op->opcode == IR_REDUCE ||
           op->opcode == IR_FOR || op->opcode == IR_IF || is_function;
}

static bool give_anchor(void *pointer, ir_op *op) {
    anchor_state *state = pointer;
    const char *anchor = wants_anchor(op) ? take_numbered(state, op_stem(op), '.', 0) : NULL;
    bool same =
        anchor == NULL ? op->anchor == NULL : op->anchor != NULL && strcmp(op->anchor, anchor) == 0;
    state->changed |= !same;
    if (!state->only_asked)
        op->anchor = anchor;
    return true;
}

static bool give_names(void *pointer, ir_op *op) {
    anchor_state *state = pointer;
    for (int i = 0; i < op->result_count; i++) {
        ir_value *value = op->results[i];
        if (value->name == NULL || !ir_value_is_tile(value) || take(state, value->name))
            continue;
        state->changed = true;
        if (!state->only_asked)
            value->name = take_numbered(state, value->name, '_', 1);
    }
    return true;
}

static bool anchor_module(ir_module *module, bool only_asked) {
    anchor_state state = {.module = module, .only_asked = only_asked};
    ir_region_walk(&module->body, give_anchor, &state);
    /* Stems are taken too (`exp`, `x`); names may still use them. */
    anchor_state names = {.module = module, .only_asked = only_asked};
    for (int64_t i = 0; i < state.size; i++)
        if (state.table[i].text != NULL && strchr(state.table[i].text, '.') != NULL)
            take(&names, state.table[i].text);
    ir_region_walk(&module->body, give_names, &names);
    return state.changed || names.changed;
}

bool pass_canonical_anchors(ir_module *module) {
    return anchor_module(module, false);
}

bool pass_is_anchored(ir_module *module) {
    return !anchor_module(module, true);
}
