/* Does a pass carry what is known: locations, anchors, proofs, layouts, storage, scopes, ranges?
 *
 *     store %y[%row inside, : N inside], %4 injective !y.0 @4:5+22
 *
 * An op that stands in the module before and after a pass keeps all of these; a copy of it (a pass
 * to the next level makes new ops) is known by its anchor, and keeps the proofs. Gaining is no
 * loss. An op without location is one that nobody can explain: where every op had one, every new op
 * has one.
 */
#include "pass/runner_internal.h"

#include "base/hash.h"
#include "ir/print.h"

#include <string.h>

/* ---- before ---- */
static bool count_op(void *pointer, ir_op *op) {
    (void)op;
    ++*(int64_t *)pointer;
    return true;
}

static int64_t *bucket_of_op(const runner_before *before, const ir_op *op) {
    uint64_t hash = base_hash_bytes(BASE_HASH_START, &op, sizeof op);
    uint64_t mask = (uint64_t)before->bucket_count - 1;
    for (;; hash++) {
        int64_t *bucket = &before->by_op[hash & mask];
        if (*bucket == 0 || before->records[*bucket - 1].op == op)
            return bucket;
    }
}

static int64_t *bucket_of_anchor(const runner_before *before, const char *anchor) {
    uint64_t hash = base_hash_bytes(BASE_HASH_START, anchor, strlen(anchor));
    uint64_t mask = (uint64_t)before->bucket_count - 1;
    for (;; hash++) {
        int64_t *bucket = &before->by_anchor[hash & mask];
        if (*bucket == 0 || strcmp(before->records[*bucket - 1].anchor, anchor) == 0)
            return bucket;
    }
}

static void record_value(runner_before *before, const ir_value *value) {
    before->values[value->number] = value;
    before->copies[value->number] = *value;
}

static bool record_op(void *pointer, ir_op *op) {
    runner_before *before = pointer;
    runner_record *record = &before->records[before->count++];
    *record = (runner_record){.op = op, .location = op->location, .anchor = op->anchor};
    const ir_access *access = op->attributes.access;
    if (access != NULL) {
        record->has_access = true;
        record->injective = access->injective;
        record->align = access->align;
        record->whole = access->whole;
        for (int i = 0; i < access->rank; i++)
            record->inside[i] = access->index[i].inside;
    }
    *bucket_of_op(before, op) = before->count;
    if (op->anchor != NULL)
        *bucket_of_anchor(before, op->anchor) = before->count;
    before->located &= op->location.line != 0;
    for (int i = 0; i < op->result_count; i++)
        record_value(before, op->results[i]);
    return true;
}

void runner_facts_record(runner_before *before, ir_module *module) {
    base_arena *arena = module->arena;
    int64_t ops = 0;
    ir_region_walk(&module->body, count_op, &ops);
    before->located = ops > 0;
    before->records = BASE_NEW_ARRAY(arena, runner_record, ops);
    for (before->bucket_count = 16; before->bucket_count < 2 * ops; before->bucket_count *= 2)
        continue;
    before->by_op = BASE_NEW_ARRAY(arena, int64_t, before->bucket_count);
    before->by_anchor = BASE_NEW_ARRAY(arena, int64_t, before->bucket_count);
    before->value_count = module->next_value;
    before->values = BASE_NEW_ARRAY(arena, const ir_value *, module->next_value);
    before->copies = BASE_NEW_ARRAY(arena, ir_value, module->next_value);
    before->implements = module->implements != NULL;
    layout_condition *conditions =
        BASE_NEW_ARRAY(arena, layout_condition, module->condition_count + 1);
    for (int64_t i = 0; i < module->condition_count; i++)
        conditions[i] = module->conditions[i];
    before->conditions = conditions;
    before->condition_count = module->condition_count;
    ir_region_walk(&module->body, record_op, before);
}

/* ---- after ---- */
typedef struct facts_walk {
    pass_runner *runner;
    const pass_row *pass;
    const runner_before *before;
    const ir_module *module;
} facts_walk;

static bool lost(const facts_walk *w, const ir_op *op, const char *slug, const char *what,
                 const char *expected) {
    base_diagnostic *d = runner_bug(w->runner, w->pass, slug, op->location, what);
    base_text line;
    base_text_init(&line, w->runner->diagnostics->arena);
    ir_op_print(&line, w->module, op);
    d->found = line.bytes;
    d->expected = expected;
    return false;
}

static bool keeps_location(const facts_walk *w, const runner_record *record, const ir_op *op) {
    if (record == NULL)
        return !w->before->located || op->location.line != 0 ||
               lost(w, op, "pass-location", "makes an op without a location",
                    "the location of what it comes from");
    base_location a = record->location, b = op->location;
    if (a.line == 0 ||
        (a.source == b.source && a.line == b.line && a.column == b.column && a.length == b.length))
        return true;
    return lost(
        w, op, "pass-location", "loses the location of an op that stays",
        base_diagnostics_text(w->runner->diagnostics, "@%d:%d+%d", a.line, a.column, a.length));
}

static bool keeps_proofs(const facts_walk *w, const runner_record *record, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (!record->has_access || access == NULL)
        return true;
    if (record->op == op && (access->align < record->align || (record->whole && !access->whole)))
        return lost(w, op, "pass-facts", "loses a proof",
                    base_diagnostics_text(w->runner->diagnostics, "align=%d%s", record->align,
                                          record->whole ? " whole" : ""));
    if (w->module->level == IR_THREAD)
        return true;
    if (record->injective && !access->injective)
        return lost(w, op, "pass-facts", "loses a proof", "injective");
    for (int i = 0; i < access->rank; i++)
        if (record->inside[i] && !access->index[i].inside)
            return lost(w, op, "pass-facts", "loses a proof",
                        base_diagnostics_text(w->runner->diagnostics, "inside, index %d", i));
    return true;
}

static bool keeps_value(const facts_walk *w, const ir_op *op, const ir_value *was,
                        const ir_value *is) {
    if (was->storage != IR_STORAGE_NONE && is->storage == IR_STORAGE_NONE)
        return lost(w, op, "pass-facts", "loses the storage of a value",
                    ir_storage_name(was->storage));
    for (int d = 0; d < is->type.rank; d++)
        if (was->layout.axis[d] >= 0 && is->layout.axis[d] < 0)
            return lost(w, op, "pass-facts", "loses the layout of a value",
                        "the axis of each dimension");
    if (was->scope != IR_SCOPE_NONE && is->scope == IR_SCOPE_NONE)
        return lost(w, op, "pass-facts", "loses the scope of a value", ir_scope_name(was->scope));
    if (was->ranged && !is->ranged)
        return lost(w, op, "pass-facts", "loses the range of a value",
                    base_diagnostics_text(w->runner->diagnostics, "range [%lld, %lld]",
                                          (long long)was->low, (long long)was->high));
    return true;
}

/* Values that stay: what a pass to the next level makes anew it may choose. */
static bool keeps_values(const facts_walk *w, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *value = op->results[i];
        bool stays =
            value->number < w->before->value_count && w->before->values[value->number] == value;
        if (stays && !keeps_value(w, op, &w->before->copies[value->number], value))
            return false;
    }
    return true;
}

static bool check_op(void *pointer, ir_op *op) {
    const facts_walk *w = pointer;
    int checks = w->runner->checks;
    int64_t place = *bucket_of_op(w->before, op);
    const runner_record *same = place > 0 ? &w->before->records[place - 1] : NULL;
    if ((checks & PASS_CHECK_LOCATION) != 0 && !keeps_location(w, same, op))
        return false;
    if ((checks & PASS_CHECK_FACTS) == 0)
        return true;
    bool gives_anchors = w->pass->to == IR_TILE; /* what leads to level tile may give others */
    if (same != NULL && same->anchor != NULL && op->anchor == NULL && !gives_anchors)
        return lost(w, op, "pass-facts", "loses an anchor", same->anchor);
    if (same == NULL && op->anchor != NULL) {
        place = *bucket_of_anchor(w->before, op->anchor);
        same = place > 0 ? &w->before->records[place - 1] : NULL;
    }
    return (same == NULL || same->op->opcode != op->opcode || keeps_proofs(w, same, op)) &&
           keeps_values(w, op);
}

/* What a module takes for granted is its caller's affair: no pass asks for more, or less. */
static bool keeps_conditions(const runner_before *before, const ir_module *module) {
    bool same = before->condition_count == module->condition_count;
    for (int64_t i = 0; same && i < module->condition_count; i++) {
        const layout_condition *was = &before->conditions[i], *is = &module->conditions[i];
        same = was->kind == is->kind && was->subject == is->subject && was->amount == is->amount;
    }
    return same;
}

bool runner_check_facts(pass_runner *runner, const pass_row *pass, const runner_before *before,
                        ir_module *module) {
    if (before->records == NULL)
        return true;
    facts_walk w = {.runner = runner, .pass = pass, .before = before, .module = module};
    if ((runner->checks & PASS_CHECK_FACTS) != 0 && before->implements &&
        module->implements == NULL) {
        runner_bug(runner, pass, "pass-facts", (base_location){0},
                   "forgets which tile program the module implements");
        return false;
    }
    if ((runner->checks & PASS_CHECK_FACTS) != 0 && !keeps_conditions(before, module)) {
        runner_bug(runner, pass, "pass-facts", (base_location){0},
                   "changes the conditions under which the module is valid");
        return false;
    }
    return ir_region_walk(&module->body, check_op, &w);
}
