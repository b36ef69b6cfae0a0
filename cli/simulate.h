/* Level thread on the simulator: of a compiled kernel, or of an IR text. */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include "array.h"
#include "job.h"
#include "options.h"

#include "ir/module.h"
#include "sim/reference.h"

enum { CLI_WORDS_LIMIT = CLI_ARGUMENT_LIMIT * 8 };

/* The arguments of a launch (runtime/device.h): pointers of the tensors; sizes, dense strides and
 * scalars as words, whose number is returned. arrays[i] is that of parameter i, NULL for scalars.
 */
int64_t cli_launch_pack(const ir_module *module, const int64_t *sizes, cli_array *const *arrays,
                        const ir_constant *scalars, void **pointers, int64_t *words);

/* Runs the module of the job, or the variant of it that the arrays allow, as cli_simulate does. */
int cli_simulate_job(cli_job *job, cli_array *const *arrays, const ir_constant *scalars);

/* Runs all groups and says what is found. CLI_EXIT_OK; CLI_EXIT_CHECK_FAILED with findings, the
 * arrays hold what was computed; CLI_EXIT_DIAGNOSTICS when the module cannot be run;
 * CLI_EXIT_SYSTEM without memory. With --check indices outside without a declared fill
 * are found too.
 */
int cli_simulate(const cli_options *options, const ir_module *module, const int64_t *sizes,
                 cli_array *const *arrays, const ir_constant *scalars);

/* Whether the file of the options is IR text, by its name. */
bool cli_is_ir_text(const char *path);
/* run --target sim FILE.ir: arrays in, findings and arrays out; the exit code. */
int cli_simulate_file(const cli_options *options);

#endif
