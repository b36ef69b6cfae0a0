/* Elements of the caller's arrays: positions by stride, values by dtype. */
#include "sim/tensor.h"

int64_t sim_tensor_count(const sim_tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++)
        count *= tensor->extent[d];
    return count;
}

int64_t sim_tensor_offset(const sim_tensor *tensor, int64_t flat) {
    int64_t offset = 0;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        offset += flat % tensor->extent[d] * tensor->stride[d];
        flat /= tensor->extent[d];
    }
    return offset;
}

int64_t sim_tensor_integer(const sim_tensor *tensor, int64_t offset) {
    switch (tensor->dtype) {
    case BASE_I64:
    case BASE_INDEX:
        return ((const int64_t *)tensor->data)[offset];
    case BASE_I32:
        return ((const int32_t *)tensor->data)[offset];
    case BASE_U32:
        return ((const uint32_t *)tensor->data)[offset];
    case BASE_I8:
        return ((const int8_t *)tensor->data)[offset];
    case BASE_U8:
        return ((const uint8_t *)tensor->data)[offset];
    case BASE_BOOL:
        return ((const uint8_t *)tensor->data)[offset] != 0;
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return 0;
}

double sim_tensor_float(const sim_tensor *tensor, int64_t offset) {
    switch (tensor->dtype) {
    case BASE_F32:
        return (double)((const float *)tensor->data)[offset];
    case BASE_F16:
        return base_f16_to_double(((const uint16_t *)tensor->data)[offset]);
    case BASE_BF16:
        return base_bf16_to_double(((const uint16_t *)tensor->data)[offset]);
    case BASE_F64:
        return ((const double *)tensor->data)[offset];
    case BASE_I64:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
    case BASE_INDEX:
        break;
    }
    return 0.0;
}
