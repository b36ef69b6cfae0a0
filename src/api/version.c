/* The version of the library. */
#include "croft.h"

#define QUOTE(x)  #x
#define NUMBER(x) QUOTE(x)

const char *croft_version(void) {
    return NUMBER(CROFT_VERSION_MAJOR) "." NUMBER(CROFT_VERSION_MINOR) "." NUMBER(
        CROFT_VERSION_PATCH);
}
