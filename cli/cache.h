/* The cache of compiled programs as the command uses it: the user's own, in XDG_CACHE_HOME or HOME.
 */
#ifndef CLI_CACHE_H
#define CLI_CACHE_H

#include "options.h"

#include "runtime/cache.h"

/* NULL: --no-cache, or neither variable is set. */
runtime_cache *cli_cache_open(const cli_options *options);
/* What stood in its way is said. NULL is allowed. */
void cli_cache_close(const cli_options *options, runtime_cache *cache);

#endif
