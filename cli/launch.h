/* A compiled kernel on a device: load, arguments, launch. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "job.h"

#include "runtime/cache.h"
#include "runtime/device.h"

typedef struct cli_launch {
    cli_job *job;             /* compiled to source; becomes the variant that runs */
    const ir_module *module;  /* level tile: the parameters */
    cli_array *const *arrays; /* by module parameter, NULL for scalars */
    const ir_constant *scalars;
    bool spilled; /* nothing ran or was printed: cli_job_hold_less, then again */
} cli_launch;

/* The workspace of several launches is made here, and stands behind the arrays from then on. The
 * exit code; a failure has been printed. CLI_EXIT_CHECK_FAILED: --repeat saw other bytes. */
int cli_launch_cpu(cli_launch *launch);

/* The arrays and their guards are copied to the device, and those that are outputs back. With
 * --check what the device's compiler says of the program is printed; in an answer it stands
 * always. */
int cli_launch_device(cli_launch *launch, runtime_device *device);

/* The device of --target, one with memory of its own, and the name of its machine. NULL: there is
 * none that will do; why has been said. The cache may be NULL. The libraries may be named in the
 * environment (docs/command.md). */
runtime_device *cli_device_open(const cli_options *options, runtime_cache *cache,
                                const char **runs_on);
/* --opencl-library, or that of the environment; NULL: the usual one. */
const char *cli_opencl_library(const cli_options *options);

#endif
