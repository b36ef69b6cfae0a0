/* Content hashes of arrays: 64 bits over element type, shape and bytes, as `run --hash` prints
 * them. */
#ifndef CLI_HASH_H
#define CLI_HASH_H

#include "array.h"

/* Every NaN counts as one: which of them an operation gives differs between devices. Stable for
 * ever. */
uint64_t cli_array_hash(const cli_array *array);

/* Prints `hash NAME 0123456789abcdef` for each array that is not NULL, then `hash all ..` over
 * those. */
/* Over the hashes of those that are not NULL. */
uint64_t cli_hash_all(const cli_array *const *arrays, int count);
void cli_print_hashes(const char *const *names, const cli_array *const *arrays, int count);

#endif
