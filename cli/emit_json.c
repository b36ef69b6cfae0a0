/* Answers of `croft emit`: the text or the files that have it, and what a launch of it takes.
 *
 *     "entries": [{"name": "croft_softmax", "threads": 64, "cluster": 1, "overlaps": true,
 *                  "scratch_bytes": 0, "workspace_bytes": null, "groups": "R"}]
 *     "pointers": [{"name": "x", "mode": "in", "dtype": "f32", "shape": ["R", "N"]}, ...]
 *     "words": [{"kind": "size", "of": "R", "dimension": null}, ...]
 *
 * Pointers and words stand in the order in which an entry takes them. Amounts are formulas of the
 * sizes. docs/schemas/emit.json has all members.
 */
#include "emit_json.h"

#include "answer.h"
#include "plan_json.h"

#include <string.h>

/* ---- formulas ---- */

static void write_extent(base_json *json, const char *key, const ir_module *module,
                         const layout_extent *extent) {
    base_text text;
    base_text_init(&text, json->out->arena);
    if (extent != NULL)
        layout_extent_print(&text, &module->extents, extent);
    base_json_string(json, key, extent != NULL ? text.bytes : NULL);
}

/* ---- launches ---- */

static void write_entries(base_json *json, const compile_result *compiled) {
    base_json_array(json, "entries");
    for (int i = 0; i < compiled->launch_count; i++) {
        const compile_code *code = &compiled->launches[i];
        base_json_object(json, NULL);
        base_json_string(json, "name", code->entry);
        base_json_integer(json, "threads", code->threads);
        base_json_integer(json, "cluster", code->module->cluster > 1 ? code->module->cluster : 1);
        base_json_bool(json, "overlaps", compiled->overlaps);
        base_json_integer(json, "scratch_bytes", code->scratch_bytes);
        write_extent(json, "workspace_bytes", code->module, code->workspace);
        write_extent(json, "groups", code->module, code->module->groups);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_pointer(base_json *json, const ir_module *module, int i, bool is_workspace) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    const ir_parameter *parameter = &module->parameters[i];
    const ir_type *type = &parameter->value->type;
    base_json_object(json, NULL);
    base_json_string(json, "name", parameter->name);
    base_json_string(json, "mode", is_workspace ? "workspace" : modes[parameter->mode]);
    base_json_string(json, "dtype", base_dtype_name(parameter->dtype));
    base_json_array(json, "shape");
    for (int d = 0; d < type->rank; d++)
        write_extent(json, NULL, module, type->extent[d]);
    base_json_close(json);
    base_json_close(json);
}

static void write_word(base_json *json, const char *kind, const char *of, int dimension) {
    base_json_object(json, NULL);
    base_json_string(json, "kind", kind);
    base_json_string(json, "of", of);
    if (dimension >= 0)
        base_json_integer(json, "dimension", dimension);
    else
        base_json_null(json, "dimension");
    base_json_close(json);
}

/* In the order of cli_launch_pack: sizes, strides of each tensor, scalars. */
static void write_words(base_json *json, const ir_module *module) {
    base_json_array(json, "words");
    for (int64_t i = 0; i < module->extents.symbol_count; i++)
        write_word(json, "size", module->extents.symbols[i].name, -1);
    for (int i = 0; i < module->parameter_count; i++)
        for (int d = 0;
             module->parameters[i].is_tensor && d < module->parameters[i].value->type.rank; d++)
            write_word(json, "stride", module->parameters[i].name, d);
    for (int i = 0; i < module->parameter_count; i++)
        if (!module->parameters[i].is_tensor)
            write_word(json, "scalar", module->parameters[i].name, -1);
    base_json_close(json);
}

static void write_conditions(base_json *json, const compile_result *compiled) {
    base_json_array(json, "conditions");
    for (int k = 0; k < compiled->launch_count; k++) {
        const ir_module *module = compiled->launches[k].module;
        for (int64_t i = 0; i < module->condition_count; i++) {
            base_text text;
            base_text_init(&text, json->out->arena);
            layout_condition_print(&text, &module->conditions[i],
                                   ir_condition_subject(module, &module->conditions[i]));
            base_json_object(json, NULL);
            base_json_integer(json, "launch", k);
            base_json_string(json, "condition", text.bytes);
            base_json_close(json);
        }
    }
    base_json_close(json);
}

/* null where the text is no source: what it takes is not known then. */
static void write_launch(base_json *json, const cli_emitted *emitted) {
    static const char *const keys[] = {"entries", "pointers", "words", "conditions"};
    const compile_result *compiled = &emitted->job->compiled;
    bool is_source = strcmp(emitted->level, "source") == 0 && emitted->versions == NULL;
    for (int i = 0; !is_source && i < 4; i++)
        base_json_null(json, keys[i]);
    if (!is_source)
        return;
    const ir_module *module = compiled->launches[0].module;
    write_entries(json, compiled);
    base_json_array(json, "pointers");
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor)
            write_pointer(json, module, i, i >= compiled->own_parameters);
    base_json_close(json);
    write_words(json, module);
    write_conditions(json, compiled);
}

/* ---- C for other programs ---- */

static void write_versions(base_json *json, const cli_emitted *emitted) {
    if (emitted->versions == NULL) {
        base_json_null(json, "function");
        base_json_null(json, "versions");
        return;
    }
    base_text function;
    base_text_init(&function, json->out->arena);
    base_text_format(&function, "croft_%s", emitted->job->compiled.tile->name);
    base_json_string(json, "function", function.bytes);
    base_json_array(json, "versions");
    for (int i = 0; i < emitted->version_count; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "machine", emitted->versions[i].runs_on->name);
        cli_plan_identity_json(json, emitted->versions[i].compiled.plan);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_emitted(base_json *json, const void *state) {
    const cli_emitted *emitted = state;
    const cli_job *job = emitted->job;
    base_json_string(json, "kernel", job->compiled.tile->name);
    base_json_string(json, "machine", job->machine->name);
    base_json_string(json, "runs_on", job->runs_on->name);
    base_json_string(json, "target", job->runs_on->target);
    base_json_string(json, "level", emitted->level);
    base_json_array(json, "files");
    for (int i = 0; i < emitted->file_count; i++)
        base_json_string(json, NULL, emitted->files[i]);
    base_json_close(json);
    base_json_string(json, "text", emitted->text);
    if (job->compiled.plan != NULL && emitted->versions == NULL)
        cli_plan_identity_json(json, job->compiled.plan);
    else
        base_json_null(json, "plan");
    write_launch(json, emitted);
    write_versions(json, emitted);
}

void cli_say_emitted(const cli_options *options, const cli_emitted *emitted) {
    cli_answer_write(options, write_emitted, emitted);
}
