/* Inputs for a module that is interpreted: from name=value pairs and the module's parameters. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "array.h"
#include "options.h"

#include "pass/runner.h"

typedef struct cli_inputs {
    cli_array arrays[CLI_ARGUMENT_LIMIT]; /* [parameter]; zeroed for outputs and scalars */
    sim_tensor tensors[CLI_ARGUMENT_LIMIT];
    ir_constant scalars[CLI_ARGUMENT_LIMIT];
    int64_t *sizes;
    const char *output_path[CLI_ARGUMENT_LIMIT]; /* run: where outputs go, NULL: nowhere */
    pass_fixture fixture;                        /* points into the above */
} cli_inputs;

/* Every in and inout tensor needs an array (a .npy file or a generated one), every scalar without a
 * default and every size that no array binds a number. Outputs start as poison, and have a place
 * only in `run` (`y=out.npy`, `z=in.npy,out.npy`), where none is needed. False with
 * findings; free in any case. Memory of sizes comes from the diagnostics' arena. */
bool cli_inputs_read(cli_inputs *inputs, const ir_module *module, const cli_options *options,
                     base_diagnostics *diagnostics);
void cli_inputs_free(cli_inputs *inputs);

#endif
