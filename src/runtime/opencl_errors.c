/* Errors of OpenCL as statuses.
 *
 *     -4 of clEnqueueNDRangeKernel -> RUNTIME_NO_MEMORY,
 *         `clEnqueueNDRangeKernel: CL_MEM_OBJECT_ALLOCATION_FAILURE, error -4 of OpenCL`
 */
#include "runtime/opencl_internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct error_row {
    int error;
    const char *name;
    runtime_status status;
} error_row;

static const error_row error_rows[] = {
    {0, "CL_SUCCESS", RUNTIME_OK},
    {-1, "CL_DEVICE_NOT_FOUND", RUNTIME_NO_DEVICE},
    {-2, "CL_DEVICE_NOT_AVAILABLE", RUNTIME_NO_DEVICE},
    {-3, "CL_COMPILER_NOT_AVAILABLE", RUNTIME_NO_COMPILER},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", RUNTIME_NO_MEMORY},
    {-5, "CL_OUT_OF_RESOURCES", RUNTIME_OUT_OF_RESOURCES},
    {-6, "CL_OUT_OF_HOST_MEMORY", RUNTIME_NO_MEMORY},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE", RUNTIME_SYSTEM_FAILED},
    {-11, "CL_BUILD_PROGRAM_FAILURE", RUNTIME_COMPILE_FAILED},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET", RUNTIME_SYSTEM_FAILED},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", RUNTIME_SYSTEM_FAILED},
    {-30, "CL_INVALID_VALUE", RUNTIME_SYSTEM_FAILED},
    {-31, "CL_INVALID_DEVICE_TYPE", RUNTIME_SYSTEM_FAILED},
    {-32, "CL_INVALID_PLATFORM", RUNTIME_NO_DEVICE},
    {-33, "CL_INVALID_DEVICE", RUNTIME_NO_DEVICE},
    {-34, "CL_INVALID_CONTEXT", RUNTIME_SYSTEM_FAILED},
    {-35, "CL_INVALID_QUEUE_PROPERTIES", RUNTIME_SYSTEM_FAILED},
    {-36, "CL_INVALID_COMMAND_QUEUE", RUNTIME_SYSTEM_FAILED},
    {-37, "CL_INVALID_HOST_PTR", RUNTIME_SYSTEM_FAILED},
    {-38, "CL_INVALID_MEM_OBJECT", RUNTIME_SYSTEM_FAILED},
    {-42, "CL_INVALID_BINARY", RUNTIME_LOAD_FAILED},
    {-43, "CL_INVALID_BUILD_OPTIONS", RUNTIME_COMPILE_FAILED},
    {-44, "CL_INVALID_PROGRAM", RUNTIME_LOAD_FAILED},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE", RUNTIME_LOAD_FAILED},
    {-46, "CL_INVALID_KERNEL_NAME", RUNTIME_LOAD_FAILED},
    {-47, "CL_INVALID_KERNEL_DEFINITION", RUNTIME_LOAD_FAILED},
    {-48, "CL_INVALID_KERNEL", RUNTIME_LOAD_FAILED},
    {-49, "CL_INVALID_ARG_INDEX", RUNTIME_LOAD_FAILED},
    {-50, "CL_INVALID_ARG_VALUE", RUNTIME_SYSTEM_FAILED},
    {-51, "CL_INVALID_ARG_SIZE", RUNTIME_LOAD_FAILED},
    {-52, "CL_INVALID_KERNEL_ARGS", RUNTIME_SYSTEM_FAILED},
    {-53, "CL_INVALID_WORK_DIMENSION", RUNTIME_SYSTEM_FAILED},
    {-54, "CL_INVALID_WORK_GROUP_SIZE", RUNTIME_OUT_OF_RESOURCES},
    {-55, "CL_INVALID_WORK_ITEM_SIZE", RUNTIME_OUT_OF_RESOURCES},
    {-56, "CL_INVALID_GLOBAL_OFFSET", RUNTIME_SYSTEM_FAILED},
    {-57, "CL_INVALID_EVENT_WAIT_LIST", RUNTIME_SYSTEM_FAILED},
    {-58, "CL_INVALID_EVENT", RUNTIME_SYSTEM_FAILED},
    {-59, "CL_INVALID_OPERATION", RUNTIME_SYSTEM_FAILED},
    {-61, "CL_INVALID_BUFFER_SIZE", RUNTIME_NO_MEMORY},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE", RUNTIME_OUT_OF_RESOURCES},
    {-64, "CL_INVALID_PROPERTY", RUNTIME_SYSTEM_FAILED},
    {-66, "CL_INVALID_COMPILER_OPTIONS", RUNTIME_COMPILE_FAILED},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", RUNTIME_NO_DEVICE},
};

const char *opencl_error_name(int error) {
    for (size_t i = 0; i < COUNT(error_rows); i++)
        if (error_rows[i].error == error)
            return error_rows[i].name;
    return "an error without a name";
}

runtime_status opencl_status(int error, const char *call, runtime_report *report) {
    if (error == 0)
        return RUNTIME_OK;
    runtime_status status = RUNTIME_SYSTEM_FAILED;
    for (size_t i = 0; i < COUNT(error_rows); i++)
        if (error_rows[i].error == error)
            status = error_rows[i].status;
    return runtime_report_set(report, status, "%s: %s, error %d of OpenCL", call,
                              opencl_error_name(error), error);
}
