/* What was meant by a name that is not known: for hints. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdint.h>

/* The name among `names` that is nearest to `wanted`, or NULL when none is near. */
const char *base_nearest_name(const char *wanted, const char *const *names, int64_t count);

#endif
