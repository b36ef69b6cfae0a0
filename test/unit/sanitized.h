/* Whether this test is built with a sanitizer: then it is our code that is watched, and fewer
 * programs by chance do. */
#ifndef SANITIZED_H
#define SANITIZED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#if !defined(SANITIZED)
#define SANITIZED 0
#endif

/* Whether it is watched and in a hurry, as it is not in check-long. */
static inline bool sanitized_in_part(void) {
    const char *tier = getenv("TIER");
    return SANITIZED && (tier == NULL || strcmp(tier, "check-long") != 0);
}

#endif
