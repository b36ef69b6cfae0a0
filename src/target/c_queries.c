/* The questions that emitted C answers before it runs: how many groups there are, how many bytes of
 * workspace each running call needs and, for embedders, how many programs the first axis has and
 * how many bytes launches hand on.
 *
 *     i64 croft_k_workspace(const i64 *words) {
 *         const i64 N = words[1];
 *         int overflow = 0;
 *         i64 total = 0;
 *         total = size_add(total, size_mul(floor_div_i64(size_add(N, 63, &overflow), 64), 256,
 *                                          &overflow), &overflow);
 *         return overflow ? -1 : total;
 *     }
 *
 * Sizes come at run time, from anywhere: a formula that leaves 64 bits gives -1, also one that is
 * only the extent of some axis. Whoever got another answer may trust the same formulas, written
 * plainly, in the kernel itself.
 */
#include "target/emitter_internal.h"

#include <string.h>

typedef struct query {
    target_emitter *emitter;
    base_text body;
    const char *overflow; /* the name of the flag */
    bool checked;         /* it is used */
} query;

static void query_begin(query *q, target_emitter *e) {
    *q = (query){.emitter = e, .overflow = target_emit_fresh(e, "overflow")};
    base_text_init(&q->body, e->arena);
}

static const char *query_checked(query *q, const char *word, const char *left, const char *right) {
    q->checked = true;
    return target_emit_text(q->emitter, "size_%s(%s, %s, &%s)", word, left, right, q->overflow);
}

static const char *query_extent(query *q, const layout_extent *extent) {
    static const struct {
        bool checked;
        const char *word;
    } spellings[] = {
        [LAYOUT_EXTENT_ADD] = {true, "add"},
        [LAYOUT_EXTENT_SUB] = {true, "sub"},
        [LAYOUT_EXTENT_MUL] = {true, "mul"},
        [LAYOUT_EXTENT_DIV] = {false, "floor_div_i64"},
        [LAYOUT_EXTENT_MOD] = {false, "floor_mod_i64"},
        [LAYOUT_EXTENT_MIN] = {false, "minimum_i64"},
        [LAYOUT_EXTENT_MAX] = {false, "maximum_i64"},
    };
    int64_t known;
    if (extent->kind == LAYOUT_EXTENT_CONSTANT || extent->kind == LAYOUT_EXTENT_SYMBOL ||
        layout_extent_known(&q->emitter->module->extents, extent, &known))
        return target_emit_extent(q->emitter, extent);
    const char *left = query_extent(q, extent->left);
    const char *right = query_extent(q, extent->right);
    if (spellings[extent->kind].checked)
        return query_checked(q, spellings[extent->kind].word, left, right);
    return target_emit_text(q->emitter, "%s(%s, %s)", spellings[extent->kind].word, left, right);
}

static void query_end(query *q, const char *entry, const char *what, const char *answer,
                      base_text *out) {
    target_names used;
    target_names_init(&used, q->emitter->arena);
    target_names_scan(&used, q->body.bytes);
    target_names_scan(&used, answer);
    base_text_format(out, "\n%si64 %s_%s(const i64 *words) {\n",
                     q->emitter->suffix != NULL ? "static " : "", entry, what);
    int64_t before = out->length;
    target_c_declare_words(q->emitter, &used, out);
    if (out->length == before)
        base_text_string(out, "    (void)words;\n");
    if (q->checked)
        base_text_format(out, "    int %s = 0;\n", q->overflow);
    base_text_string(out, q->body.bytes);
    if (q->checked)
        base_text_format(out, "    return %s ? -1 : %s;\n}\n", q->overflow, answer);
    else
        base_text_format(out, "    return %s;\n}\n", answer);
}

/* The extents of the axes are looked at and thrown away. */
void target_c_groups(target_emitter *emitter, const char *entry, base_text *out) {
    const ir_module *module = emitter->module;
    query q;
    query_begin(&q, emitter);
    for (int i = 0; i < module->axis_count; i++) {
        query axis = q;
        axis.checked = false;
        const char *extent = query_extent(&axis, module->axes[i].extent);
        if (axis.checked)
            base_text_format(&q.body, "    (void)%s;\n", extent);
        q.checked = q.checked || axis.checked;
    }
    const char *groups = "1";
    if (module->groups != NULL)
        groups = query_extent(&q, module->groups);
    if (q.checked) {
        const char *name = target_emit_fresh(emitter, "groups");
        base_text_format(&q.body, "    const i64 %s = %s;\n", name, groups);
        groups = name;
    }
    query_end(&q, entry, "groups", groups, out);
}

void target_c_workspace(target_emitter *emitter, const char *entry, const target_c_arrays *arrays,
                        base_text *out) {
    query q;
    query_begin(&q, emitter);
    const char *total = target_emit_integer(emitter, emitter->spilled_bytes);
    if (arrays->count > 0) {
        const char *spilled = total;
        total = target_emit_fresh(emitter, "total");
        base_text_format(&q.body, "    i64 %s = %s;\n", total, spilled);
    }
    for (int64_t i = 0; i < arrays->count; i++) {
        const char *cells = query_extent(&q, arrays->ops[i]->results[0]->type.extent[0]);
        const char *bytes = query_checked(
            &q, "mul", cells,
            target_emit_integer(emitter, target_c_cell_bytes(emitter, arrays->ops[i])));
        bytes = target_emit_text(emitter, "%s / 64 * 64", query_checked(&q, "add", bytes, "63"));
        base_text_format(&q.body, "    %s = %s;\n", total, query_checked(&q, "add", total, bytes));
    }
    query_end(&q, entry, "workspace", total, out);
}

/* The bytes of a tensor are counted and thrown away. From the last dimension on: where that has no
 * elements the others do not matter. */
static void query_bytes(query *q, const ir_parameter *parameter) {
    const ir_type *type = &parameter->value->type;
    const char *bytes =
        target_emit_integer(q->emitter, base_dtype_size(target_c_memory_dtype(parameter->dtype)));
    bool known = true;
    for (int d = type->rank - 1; d >= 0; d--) {
        int64_t extent;
        bytes = query_checked(q, "mul", bytes, query_extent(q, type->extent[d]));
        known =
            known && layout_extent_known(&q->emitter->module->extents, type->extent[d], &extent);
    }
    const char *line = target_emit_text(q->emitter, "    (void)%s;\n", bytes);
    if (!known && (q->body.length == 0 || strstr(q->body.bytes, line) == NULL))
        base_text_string(&q->body, line);
}

void target_c_rows(target_emitter *emitter, const char *entry, int parameters, base_text *out) {
    const ir_module *module = emitter->module;
    const char *rows = "1";
    query q;
    query_begin(&q, emitter);
    for (int i = 0; i < parameters; i++)
        if (module->parameters[i].is_tensor)
            query_bytes(&q, &module->parameters[i]);
    q.checked = q.body.length > 0;
    for (int i = 0; i < module->axis_count; i++)
        if (module->axes[i].is_program && module->axes[i].program == 0)
            rows = query_extent(&q, module->axes[i].extent);
    if (q.checked) {
        const char *name = target_emit_fresh(emitter, "rows");
        base_text_format(&q.body, "    const i64 %s = %s;\n", name, rows);
        rows = name;
    }
    query_end(&q, entry, "rows", rows, out);
}

void target_c_handed(target_emitter *emitter, const char *entry, int first, base_text *out) {
    const ir_module *module = emitter->module;
    const char *total = target_emit_fresh(emitter, "total");
    query q;
    query_begin(&q, emitter);
    base_text_format(&q.body, "    i64 %s = 0;\n", total);
    for (int i = first; i < module->parameter_count; i++) {
        const ir_type *type = &module->parameters[i].value->type;
        const char *bytes = target_emit_integer(
            emitter, base_dtype_size(target_c_memory_dtype(module->parameters[i].dtype)));
        for (int d = 0; d < type->rank; d++)
            bytes = query_checked(&q, "mul", bytes, query_extent(&q, type->extent[d]));
        bytes = target_emit_text(emitter, "%s / 64 * 64", query_checked(&q, "add", bytes, "63"));
        base_text_format(&q.body, "    %s = %s;\n", total, query_checked(&q, "add", total, bytes));
    }
    query_end(&q, entry, "handed", total, out);
}
