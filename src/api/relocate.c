/* A dispatch whose tensors lie elsewhere now: its addresses, and again what depends on them.
 *
 *     data {x + 4096, y}    ->    pointers x + 4096 and y, if they are aligned as the variant
 *                                 assumes, and no output meets another tensor
 */
#include "api/api_internal.h"

static croft_status check_conditions(api_call *call, const croft_dispatch *dispatch) {
    const api_variant *variant = dispatch->variant;
    const runtime_arguments arguments = {.tensors = dispatch->tensors, .sizes = dispatch->words};
    for (int64_t i = 0; i < variant->compiled.condition_count; i++) {
        const layout_condition *condition = &variant->compiled.conditions[i];
        runtime_obstacle obstacle;
        if (!variant->holds[i] || runtime_condition_holds(condition, &arguments, &obstacle))
            continue;
        const char *subject = ir_condition_subject(variant->compiled.module, condition);
        base_text asked, found;
        base_text_init(&asked, &call->arena);
        base_text_init(&found, &call->arena);
        layout_condition_print(&asked, condition, subject);
        runtime_obstacle_print(&found, condition, subject, &obstacle);
        return api_refuse(call, "condition", subject,
                          "the variant that was prepared does not run there", found.bytes,
                          asked.bytes);
    }
    return CROFT_OK;
}

static croft_status move_tensor(api_call *call, croft_dispatch *moved, int parameter, int pointer,
                                void *data) {
    const char *name = moved->variant->compiled.tile->parameters[parameter].name;
    const bool handles = moved->kernel->context->device->vtable->locate != NULL;
    runtime_tensor *tensor = &moved->tensors[parameter];
    const bool has_bytes = api_tensor_bytes(tensor) > 0;
    if (data == NULL && has_bytes)
        return api_misuse(call, base_diagnostics_text(&call->diagnostics,
                                                      "data: NULL for the elements of %s", name));
    if (!handles)
        tensor->address = (uint64_t)(uintptr_t)data;
    moved->pointers[pointer] = handles && !has_bytes ? NULL : data;
    return api_memory_place(call, moved, name, data, 0, parameter);
}

static croft_status check_alignments(api_call *call, const croft_dispatch *dispatch) {
    const ir_parameter *parameters = dispatch->variant->compiled.tile->parameters;
    croft_status status = CROFT_OK;
    for (int i = 0; i < dispatch->parameter_count && status == CROFT_OK; i++)
        if (parameters[i].is_tensor)
            status = api_tensor_check_alignment(call, parameters[i].name, &dispatch->tensors[i]);
    return status;
}

croft_status api_dispatch_relocate(api_call *call, croft_dispatch *moved, void *const *data) {
    int pointer = 0;
    for (int i = 0; i < moved->parameter_count; i++) {
        if (!moved->variant->compiled.tile->parameters[i].is_tensor)
            continue;
        croft_status placed = move_tensor(call, moved, i, pointer, data[pointer]);
        if (placed != CROFT_OK)
            return placed;
        pointer++;
    }
    moved->launch.pointers = moved->pointers;
    croft_status status = check_alignments(call, moved);
    status = status == CROFT_OK ? api_overlaps_check(call, moved) : status;
    return status == CROFT_OK ? check_conditions(call, moved) : status;
}
