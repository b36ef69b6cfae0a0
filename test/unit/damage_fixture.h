/* Texts that are damaged by chance, for readers and judges that must take anything. */
#ifndef DAMAGE_FIXTURE_H
#define DAMAGE_FIXTURE_H

#include "base/text.h"

#include <stdint.h>
#include <string.h>

/* Changes one word of the text into another word of it: most often still a module. */
static inline char *damage_text(base_arena *arena, const char *text, uint64_t *random) {
    size_t length = strlen(text), from = 0, to = 0, from_length = 0, to_length = 0;
    for (int i = 0; i < 2; i++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t at = (size_t)(*random >> 33) % length;
        at += strcspn(text + at, " \n");
        at += strspn(text + at, " \n");
        *(i == 0 ? &from : &to) = at;
        *(i == 0 ? &from_length : &to_length) = strcspn(text + at, " \n");
    }
    base_text out;
    base_text_init(&out, arena);
    base_text_append(&out, text, to);
    base_text_append(&out, text + from, from_length);
    base_text_string(&out, text + to + to_length);
    return out.bytes;
}

#endif
