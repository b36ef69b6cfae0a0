/* Arrays of a random thread program (thread_program.h): inputs, and outputs that are compared bit
 * for bit, NaN payloads aside.
 *
 *     program_arrays a;                     inputs by type, words of a launch
 *     program_arrays_fill(&a, &program, seed)
 *     program_arrays_pointers(&a, outputs, pointers)
 *     program_arrays_equal(&a, &program, expected, got, &difference)
 */
#ifndef TEST_PROGRAM_ARRAYS_H
#define TEST_PROGRAM_ARRAYS_H

#include "thread_program.h"

enum { PROGRAM_INPUT_BYTES = PROGRAM_INPUT * 8, PROGRAM_WORDS = 3 * PROGRAM_DTYPES };
#define PROGRAM_OUTPUT_BYTES ((size_t)PROGRAM_ROWS * PROGRAM_GROUPS * PROGRAM_SLOTS * 1024 * 8)

typedef struct program_arrays {
    char *inputs[PROGRAM_DTYPES];
    int64_t words[PROGRAM_WORDS];
} program_arrays;

typedef struct program_difference {
    base_dtype dtype;
    size_t row, column;
    uint64_t expected, got;
} program_difference;

/* Arrays of every type; false without memory. Freed with program_arrays_free in any case. */
static inline bool program_arrays_make(char *arrays[PROGRAM_DTYPES], size_t bytes) {
    bool good = true;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        arrays[i] = calloc(1, bytes);
        good = good && arrays[i] != NULL;
    }
    return good;
}

static inline void program_arrays_free(char *arrays[PROGRAM_DTYPES]) {
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        free(arrays[i]);
}

static inline uint64_t program_next_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 20;
}

/* Bits of an element: small numbers, and now and then any. */
static inline uint64_t program_element_bits(base_dtype dtype, uint64_t *state) {
    uint64_t any = program_next_bits(state), small = any % 41;
    float value = (float)((int)small - 20) * 0.375f;
    uint32_t bits;
    if (dtype == BASE_BOOL)
        return any >> 9 & 1;
    if (any % 7 == 0)
        return program_next_bits(state) << 30 ^ any;
    memcpy(&bits, &value, sizeof bits);
    switch (dtype) {
    case BASE_F32:
        return bits;
    case BASE_F16:
        return base_f16_from_double((double)value);
    case BASE_BF16:
        return bits >> 16;
    case BASE_I32:
    case BASE_U32:
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
    case BASE_F64:
        break;
    }
    return small - 10;
}

static inline void program_arrays_fill(program_arrays *a, const thread_program *program,
                                       uint64_t seed) {
    uint64_t state = seed * 77 + 5;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        size_t size = (size_t)base_dtype_size(program_dtypes[i]);
        for (size_t e = 0; e < PROGRAM_INPUT; e++) {
            uint64_t bits = program_element_bits(program_dtypes[i], &state);
            memcpy(a->inputs[i] + e * size, &bits, size);
        }
        a->words[3 * i] = 1;
        a->words[3 * i + 1] = (int64_t)PROGRAM_GROUPS * PROGRAM_SLOTS * program->lanes;
        a->words[3 * i + 2] = 1;
    }
}

/* Inputs and outputs by turns, as the program's parameters are. */
static inline void program_arrays_pointers(const program_arrays *a, char *const *outputs,
                                           void **pointers) {
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        pointers[2 * i] = a->inputs[i];
        pointers[2 * i + 1] = outputs[i];
    }
}

static inline bool program_is_nan(base_dtype dtype, uint64_t bits) {
    if (dtype == BASE_F32)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (dtype == BASE_F16)
        return (bits & 0x7fff) > 0x7c00;
    return dtype == BASE_BF16 && (bits & 0x7fff) > 0x7f80;
}

static inline bool program_arrays_equal(const thread_program *program, char *const *expected,
                                        char *const *got, program_difference *difference) {
    size_t row = (size_t)PROGRAM_GROUPS * PROGRAM_SLOTS * (size_t)program->lanes;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        base_dtype dtype = program_dtypes[i];
        size_t size = (size_t)base_dtype_size(dtype);
        for (size_t e = 0; e < row * PROGRAM_ROWS; e++) {
            uint64_t a = 0, b = 0;
            memcpy(&a, expected[i] + e * size, size);
            memcpy(&b, got[i] + e * size, size);
            if (a == b || (program_is_nan(dtype, a) && program_is_nan(dtype, b)))
                continue;
            *difference = (program_difference){
                .dtype = dtype, .row = e / row, .column = e % row, .expected = a, .got = b};
            return false;
        }
    }
    return true;
}

#endif
