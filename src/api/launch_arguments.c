/* The arguments of a dispatch's launches, packed once: what runtime/device.h says of a launch.
 *
 *     N = 100, x and y with rows 128 apart, a = 2.0    ->    words 4 100 128 1 128 1 0x40000000,
 *                                                             pointers x y, groups of each launch
 */
#include "api/api_internal.h"

#include <string.h>

const ir_module *api_dispatch_module(const croft_dispatch *dispatch) {
    const compile_result *compiled = &dispatch->variant->compiled;
    return compiled->launch_count > 1 ? compiled->launches[0].module : compiled->tile;
}

/* The bits of a scalar in the low bytes of a word (runtime/device.h). */
static int64_t scalar_word(const text_argument *bound, base_dtype dtype) {
    double real = bound->is_integer ? (double)bound->integer : bound->number;
    int64_t word = 0;
    float single = (float)base_float_round(dtype, real);
    if (dtype == BASE_F32)
        memcpy(&word, &single, sizeof single);
    else if (dtype == BASE_F16)
        word = base_f16_from_double(real);
    else if (dtype == BASE_BF16)
        word = base_bf16_from_double(real);
    else
        word = base_dtype_size(dtype) == 8
                   ? bound->integer
                   : bound->integer & (((int64_t)1 << (8 * base_dtype_size(dtype))) - 1);
    return word;
}

static void pack(croft_dispatch *dispatch, const text_bindings *bindings) {
    const ir_module *module = api_dispatch_module(dispatch);
    int64_t *words = dispatch->words;
    int64_t count = module->extents.symbol_count;
    if (count > 0)
        memcpy(words, bindings->sizes, sizeof *words * (size_t)count);
    for (int i = 0; i < module->parameter_count; i++) {
        const runtime_tensor *tensor = &dispatch->tensors[i];
        if (!module->parameters[i].is_tensor)
            continue;
        for (int d = 0; d < tensor->rank; d++)
            words[count++] = tensor->strides[d];
        dispatch->pointers[dispatch->pointer_count++] = dispatch->memory[i];
        dispatch->own_pointers += i < dispatch->variant->compiled.own_parameters;
    }
    for (int i = 0; i < module->parameter_count; i++)
        if (!module->parameters[i].is_tensor)
            words[count++] = scalar_word(&bindings->arguments[i], module->parameters[i].dtype);
}

/* Roughly how long the launch takes on one thread, by the bytes of its tensors: short ones do not
 * wake other threads. */
static double predicted_work_ns(const croft_dispatch *dispatch) {
    double bytes = 0;
    for (int i = 0; i < dispatch->parameter_count; i++) {
        double elements = (double)dispatch->tensors[i].element_bytes;
        for (int d = 0; d < dispatch->tensors[i].rank; d++)
            elements *= (double)dispatch->tensors[i].extents[d];
        bytes += elements;
    }
    return bytes / RUNTIME_BYTES_PER_NS;
}

static croft_status size_launches(api_call *call, croft_dispatch *dispatch,
                                  const text_bindings *bindings) {
    const compile_result *compiled = &dispatch->variant->compiled;
    dispatch->sizes =
        api_allocate(call->allocator, sizeof *dispatch->sizes * (size_t)compiled->launch_count);
    if (dispatch->sizes == NULL)
        return CROFT_OUT_OF_MEMORY;
    for (int i = compiled->launch_count - 1; i >= 0; i--) {
        compile_launch size;
        if (!compile_launch_of(compiled, i, bindings->sizes, &size))
            return api_refuse(call, "size-range", compiled->tile->name,
                              "a size of the kernel does not fit 64 bits", NULL, NULL);
        dispatch->launch.groups = size.groups;
        dispatch->launch.workspace_bytes = size.workspace_bytes;
        if (i > 0)
            dispatch->sizes[i - 1] = (runtime_size){size.groups, size.workspace_bytes};
    }
    dispatch->launch.behind = dispatch->sizes;
    return CROFT_OK;
}

/* At least one, so that they are memory. */
static size_t words_size(const croft_dispatch *dispatch) {
    return sizeof(int64_t) * ((size_t)ir_module_word_count(api_dispatch_module(dispatch)) + 1);
}

croft_status api_launch_pack(api_call *call, croft_dispatch *dispatch,
                             const text_bindings *bindings) {
    dispatch->words = api_allocate(call->allocator, words_size(dispatch));
    if (dispatch->words == NULL)
        return CROFT_OUT_OF_MEMORY;
    pack(dispatch, bindings);
    dispatch->launch = (runtime_launch){.pointers = dispatch->pointers,
                                        .words = dispatch->words,
                                        .work_ns = predicted_work_ns(dispatch)};
    return size_launches(call, dispatch, bindings);
}

void api_launch_release(croft_dispatch *dispatch) {
    base_allocator allocator = dispatch->kernel->context->allocator;
    const size_t launches = (size_t)dispatch->variant->compiled.launch_count;
    api_release(allocator, dispatch->words, words_size(dispatch));
    api_release(allocator, dispatch->sizes, sizeof *dispatch->sizes * launches);
}
