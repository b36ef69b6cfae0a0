/* Content hash: 64-bit FNV-1a over bytes. Stable for ever: hashes are printed and stored in plans.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define BASE_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t base_hash_bytes(uint64_t hash, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
