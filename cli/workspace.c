/* Workspaces of dispatches.
 *
 *     softmax in 16 parts, 3 x 65536:   x, y   max_0_parts f32[3, 16], sum_0_parts f32[3, 16]
 */
#include "workspace.h"

#include "answer.h"

enum { GUARD_BYTES = 4096 };

static bool make_tensor(cli_workspace *workspace, cli_job *job, int i) {
    const ir_parameter *parameter = &workspace->module->parameters[i];
    const ir_type *type = &parameter->value->type;
    int64_t extent[CLI_RANK_LIMIT] = {0};
    for (int d = 0; d < type->rank; d++)
        if (!layout_extent_evaluate(type->extent[d], job->compiled.bindings.sizes, &extent[d])) {
            cli_refuse(job->options, CLI_EXIT_SYSTEM, "size-overflow", NULL,
                       "a size of the kernel does not fit 64 bits");
            return false;
        }
    if (!cli_array_create(&workspace->made[i], parameter->dtype, type->rank, extent, GUARD_BYTES,
                          parameter->name, &job->diagnostics)) {
        cli_say_findings(job->options, &job->diagnostics);
        return false;
    }
    cli_array_fill_unwritten(&workspace->made[i]);
    workspace->arrays[i] = &workspace->made[i];
    return true;
}

int cli_workspace_open(cli_workspace *workspace, cli_job *job, cli_array *const *arrays) {
    const compile_result *compiled = &job->compiled;
    int own = compiled->own_parameters;
    *workspace = (cli_workspace){.module = compiled->tile, .count = own};
    if (compiled->launch_count > 1)
        workspace->module = compiled->launches[0].module;
    if (workspace->module->parameter_count > CLI_ARGUMENT_LIMIT)
        return cli_refuse(job->options, CLI_EXIT_SYSTEM, "too-many-tensors", NULL,
                          "the launches of the kernel hand on too many tensors");
    for (int i = 0; i < own; i++)
        workspace->arrays[i] = arrays[i];
    for (; workspace->count < workspace->module->parameter_count; workspace->count++)
        if (!make_tensor(workspace, job, workspace->count))
            return CLI_EXIT_SYSTEM;
    return CLI_EXIT_OK;
}

bool cli_workspace_is_intact(const cli_options *options, const cli_workspace *workspace) {
    bool intact = true;
    for (int i = 0; i < workspace->count; i++) {
        if (workspace->made[i].memory == NULL || cli_array_guards_intact(&workspace->made[i]))
            continue;
        cli_refuse(options, CLI_EXIT_CHECK_FAILED, "guard-written", NULL,
                   "memory around %s was written", workspace->module->parameters[i].name);
        intact = false;
    }
    return intact;
}

void cli_workspace_add_faults(const cli_workspace *workspace, cli_job *job) {
    const cli_array *array =
        job->compiled.faults < 0 ? NULL : &workspace->made[job->compiled.faults];
    job->faults = 0;
    for (int64_t i = 0; array != NULL && i < array->size_bytes / (int64_t)sizeof(int64_t); i++)
        job->faults += ((const int64_t *)array->data)[i];
}

sim_tensor cli_workspace_shape(const cli_job *job) {
    const ir_type *type = &job->compiled.tile->parameters[job->compiled.faults].value->type;
    sim_tensor tensor = {.dtype = BASE_I64, .rank = type->rank};
    int64_t stride = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        (void)!layout_extent_evaluate(type->extent[d], job->compiled.bindings.sizes,
                                      &tensor.extent[d]); /* the workspace asked for it */
        tensor.stride[d] = stride;
        stride *= tensor.extent[d] > 0 ? tensor.extent[d] : 1;
    }
    return tensor;
}

void cli_workspace_close(cli_workspace *workspace) {
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++)
        cli_array_free(&workspace->made[i]);
}
