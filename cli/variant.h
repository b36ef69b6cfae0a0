/* Which variant of a compiled kernel runs: that of the conditions which the arguments meet. */
#ifndef CLI_VARIANT_H
#define CLI_VARIANT_H

#include "job.h"

/* Examines the conditions that would help the kernel (those of kinds that --assume lets be tried)
 * against a launch's pointers and words (runtime/device.h), and makes job->compiled the variant of
 * those that hold. With --check it says which that is, and what stood against the others. The exit
 * code. */
int cli_variant_choose(cli_job *job, void *const *pointers, const int64_t *words);

#endif
