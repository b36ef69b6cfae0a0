/* Arguments, arrays and plans of the programs that time plans: see plan_arrays.h. */
#include "plan_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `4x8:f32` */
static bool read_tensor(const char *text, text_argument *argument) {
    char *end = NULL;
    for (;; text = end + 1) {
        if (argument->rank == LAYOUT_MAX_RANK)
            return false;
        argument->extent[argument->rank++] = strtoll(text, &end, 10);
        if (*end != 'x')
            break;
    }
    argument->kind = TEXT_ARGUMENT_TENSOR;
    return *end == ':' && base_dtype_from_name(end + 1, strlen(end + 1), &argument->dtype);
}

bool bench_arrays_read(bench_arrays *arrays, char *word) {
    char *value = strchr(word, '=');
    if (value == NULL || arrays->count == BENCH_MOST_ARGUMENTS)
        return false;
    *value++ = '\0';
    text_argument *argument = &arrays->arguments[arrays->count++];
    *argument = (text_argument){.name = word, .kind = TEXT_ARGUMENT_DTYPE};
    if (base_dtype_from_name(value, strlen(value), &argument->dtype))
        return true;
    if (arrays->tensors == BENCH_MOST_TENSORS || !read_tensor(value, argument))
        return false;
    int64_t bytes = base_dtype_size(argument->dtype);
    for (int d = 0; d < argument->rank; d++)
        bytes *= argument->extent[d];
    arrays->dtype[arrays->tensors] = argument->dtype;
    arrays->bytes[arrays->tensors++] = bytes;
    return true;
}

void bench_arrays_fill(base_dtype dtype, unsigned char *bytes, int64_t count) {
    int64_t size = base_dtype_size(dtype);
    uint32_t state = 12345;
    memset(bytes, 0, (size_t)count);
    for (int64_t i = 0; i < count; i += size) {
        state = state * 1664525u + 1013904223u;
        uint32_t word = state >> 9 | 0x3f800000u;
        uint16_t half = (uint16_t)(dtype == BASE_F16 ? 0x3c00u | state >> 22 : word >> 16);
        if (dtype == BASE_F32)
            memcpy(bytes + i, &word, sizeof word);
        else if (base_dtype_is_float(dtype))
            memcpy(bytes + i, &half, sizeof half);
        else
            bytes[i] = (unsigned char)(dtype == BASE_BOOL ? state >> 31 : state >> 28);
    }
}

static double number_at(base_dtype dtype, const unsigned char *bytes) {
    float value = 0;
    uint16_t half = 0;
    if (dtype == BASE_F32) {
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    memcpy(&half, bytes, sizeof half);
    return dtype == BASE_F16 ? base_f16_to_double(half) : base_bf16_to_double(half);
}

bool bench_arrays_agree(const bench_arrays *arrays, unsigned char *const *sides[2]) {
    for (int i = 0; i < arrays->tensors; i++) {
        double largest = 0, apart = 0;
        if (!base_dtype_is_float(arrays->dtype[i]))
            continue;
        for (int64_t at = 0; at < arrays->bytes[i]; at += base_dtype_size(arrays->dtype[i])) {
            double a = number_at(arrays->dtype[i], sides[0][i] + at);
            double b = number_at(arrays->dtype[i], sides[1][i] + at);
            largest = fabs(a) > largest ? fabs(a) : largest;
            apart = !(fabs(a - b) <= apart) ? fabs(a - b) : apart;
        }
        if (!(apart <= largest * 0.02))
            return false;
    }
    return true;
}

bool bench_plan_read(const char *path, char *room, base_source *plan) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    *plan = (base_source){path, room, fread(room, 1, BENCH_PLAN_BYTES, file)};
    fclose(file);
    return true;
}

/* Parameter i of those behind the kernel's own: NULL past the end. */
static const ir_type *handed_on(const compile_result *compiled, int i) {
    const ir_module *module = compiled->launches[0].module;
    int at = compiled->tile->parameter_count + i;
    return at < module->parameter_count ? &module->parameters[at].value->type : NULL;
}

static int64_t extent_of(const compile_result *compiled, const ir_type *type, int dimension) {
    int64_t extent = 0;
    bool fits = layout_extent_evaluate(type->extent[dimension], compiled->bindings.sizes, &extent);
    return fits ? extent : 0;
}

int64_t bench_handed_on(const compile_result *compiled, int i) {
    const ir_type *type = handed_on(compiled, i);
    if (type == NULL)
        return -1;
    int64_t bytes = base_dtype_size(type->dtype);
    for (int d = 0; d < type->rank; d++)
        bytes *= extent_of(compiled, type, d);
    return bytes;
}

static int pack_handed_on(const compile_result *compiled, int64_t *words) {
    const ir_type *type;
    int count = 0;
    for (int i = 0; (type = handed_on(compiled, i)) != NULL; i++) {
        int64_t stride = 1;
        for (int d = type->rank - 1; d >= 0; d--) {
            words[count + d] = stride;
            stride *= extent_of(compiled, type, d);
        }
        count += type->rank;
    }
    return count;
}

int bench_words_pack(const compile_result *compiled, int64_t *words, int *tensors) {
    const text_bindings *bindings = &compiled->bindings;
    const ir_module *module = compiled->tile;
    int count = 0;
    *tensors = 0;
    for (int i = 0; i < bindings->size_count; i++)
        words[count++] = bindings->sizes[i];
    for (int i = 0; i < bindings->argument_count; i++) {
        const text_argument *argument = &bindings->arguments[i];
        int64_t stride = 1;
        if (argument->kind != TEXT_ARGUMENT_TENSOR)
            continue;
        for (int k = argument->rank - 1; k >= 0; k--) {
            words[count + k] = stride;
            stride *= argument->extent[k];
        }
        count += argument->rank;
        ++*tensors;
    }
    count += pack_handed_on(compiled, words + count);
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        float real = (float)parameter->initial.real;
        if (parameter->is_tensor)
            continue;
        words[count] = parameter->initial.integer & 0xffffffff;
        if (parameter->dtype == BASE_F32)
            memcpy(&words[count], &real, sizeof real);
        count++;
    }
    return count;
}
