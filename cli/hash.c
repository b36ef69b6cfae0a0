/* Content hashes of arrays, to compare runs without their files.
 *
 *     hash y 5c7f0c2be1a4d883        64-bit FNV-1a over `f32`, the rank and extents, the bytes
 *     hash all 8e1be8c5f1d8a7b2      over those hashes in the order of the signature
 *
 * Bytes are little endian, whatever the machine; a NaN is the quiet one without a sign.
 */
#include "hash.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t add_word(uint64_t hash, uint64_t word, int bytes) {
    unsigned char text[sizeof word];
    for (int i = 0; i < bytes; i++)
        text[i] = (unsigned char)(word >> (8 * i));
    return base_hash_bytes(hash, text, (size_t)bytes);
}

/* The bits of an element, as they lie in memory. */
static uint64_t element_bits(const cli_array *array, int64_t index, int size) {
    const char *at = (const char *)array->data + index * size;
    uint8_t byte = 0;
    uint16_t half = 0;
    uint32_t single = 0;
    uint64_t whole = 0;
    switch (size) {
    case 1:
        memcpy(&byte, at, sizeof byte);
        return byte;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&single, at, sizeof single);
        return single;
    default:
        memcpy(&whole, at, sizeof whole);
        return whole;
    }
}

/* A NaN: all bits of the exponent, and some below. `infinity` has those of the exponent alone. */
static bool is_nan(uint64_t bits, uint64_t infinity, int size) {
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    return (bits & ~sign) > infinity;
}

uint64_t cli_array_hash(const cli_array *array) {
    const char *name = base_dtype_name(array->dtype);
    const uint64_t infinity = array->dtype == BASE_F16    ? UINT64_C(0x7c00)
                              : array->dtype == BASE_BF16 ? UINT64_C(0x7f80)
                              : array->dtype == BASE_F32  ? UINT64_C(0x7f800000)
                                                          : UINT64_C(0x7ff0000000000000);
    const int size = (int)base_dtype_size(array->dtype);
    const bool is_float = base_dtype_is_float(array->dtype) || array->dtype == BASE_F64;
    /* the quiet NaN: the exponent and the bit below it */
    const uint64_t quiet = infinity | (infinity & (~infinity + 1)) >> 1;
    uint64_t hash = base_hash_bytes(BASE_HASH_START, name, strlen(name));
    hash = add_word(hash, (uint64_t)array->rank, 8);
    for (int i = 0; i < array->rank; i++)
        hash = add_word(hash, (uint64_t)array->extent[i], 8);
    for (int64_t i = 0; i < array->count; i++) {
        uint64_t bits = element_bits(array, i, size);
        hash = add_word(hash, is_float && is_nan(bits, infinity, size) ? quiet : bits, size);
    }
    return hash;
}

uint64_t cli_hash_all(const cli_array *const *arrays, int count) {
    uint64_t all = BASE_HASH_START;
    for (int i = 0; i < count; i++)
        if (arrays[i] != NULL)
            all = add_word(all, cli_array_hash(arrays[i]), 8);
    return all;
}

void cli_print_hashes(const char *const *names, const cli_array *const *arrays, int count) {
    for (int i = 0; i < count; i++)
        if (arrays[i] != NULL)
            printf("hash %s %016" PRIx64 "\n", names[i], cli_array_hash(arrays[i]));
    printf("hash all %016" PRIx64 "\n", cli_hash_all(arrays, count));
}
