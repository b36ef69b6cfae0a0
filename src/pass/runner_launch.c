/* Runs a module of level thread on the inputs of a fixture, by the simulator.
 *
 *     words    sizes, strides of each tensor, scalars: what a compiled entry takes
 *     outputs  memory of their own, every bit set, or a copy of what an inout tensor holds
 */
#include "pass/runner_internal.h"

#include "sim/tensor.h"

#include <string.h>

static int64_t scalar_word(const ir_constant *constant) {
    int64_t word = constant->integer, size = base_dtype_size(constant->dtype);
    float real = (float)constant->real;
    if (constant->dtype == BASE_F32) {
        word = 0;
        memcpy(&word, &real, sizeof real);
    } else if (constant->dtype == BASE_F16) {
        word = base_f16_from_double(constant->real);
    } else if (constant->dtype == BASE_BF16) {
        word = base_bf16_from_double(constant->real);
    }
    return size == 8 ? word : word & (((int64_t)1 << (8 * size)) - 1);
}

/* A dense array of the tensor's shape with what it holds, or with every bit set. */
sim_tensor runner_output_start(base_arena *arena, const sim_tensor *from) {
    sim_tensor copy = *from;
    int64_t stride = 1, count = sim_tensor_count(from), size = base_dtype_size(from->dtype);
    for (int d = from->rank - 1; d >= 0; d--) {
        copy.stride[d] = stride;
        stride *= from->extent[d] > 0 ? from->extent[d] : 1;
    }
    char *bytes = base_arena_alloc(arena, (size_t)(count * size));
    memset(bytes, 0xff, (size_t)(count * size));
    for (int64_t i = 0; i < count && from->data != NULL; i++)
        memcpy(bytes + i * size, (const char *)from->data + sim_tensor_offset(from, i) * size,
               (size_t)size);
    copy.data = bytes;
    return copy;
}

sim_status runner_launch(base_arena *arena, const ir_module *module, const pass_fixture *inputs,
                         sim_tensor *outputs, base_diagnostics *findings) {
    int64_t symbols = module->extents.symbol_count, count = symbols, pointers = 0;
    int64_t *words =
        BASE_NEW_ARRAY(arena, int64_t, symbols + module->parameter_count * (IR_MAX_RANK + 1));
    void **data = BASE_NEW_ARRAY(arena, void *, module->parameter_count);
    for (int64_t i = 0; i < symbols; i++)
        words[i] = inputs->sizes[i];
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        outputs[i] = parameter->mode == IR_IN ? inputs->tensors[i]
                                              : runner_output_start(arena, &inputs->tensors[i]);
        data[pointers++] = outputs[i].data;
        for (int d = 0; d < outputs[i].rank; d++)
            words[count++] = outputs[i].stride[d];
    }
    for (int i = 0; i < module->parameter_count; i++)
        if (!module->parameters[i].is_tensor)
            words[count++] = scalar_word(&inputs->scalars[i]);
    sim_options options = {.last_group = -1, .watch = true};
    return sim_thread_run(arena, module, data, words, &options, findings);
}
