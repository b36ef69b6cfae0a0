/* NVRTC: finding one that fits the driver, and compiling a text to machine code.
 *
 *     driver 13.0: libnvrtc.so.13, then libnvrtc.so.12      driver 12.4: libnvrtc.so.12 alone
 *     -arch=sm_90a (the artifact's)  -std=c++17 -fmad=false ... --ptxas-options=-v (set here)
 *
 * Code of a newer compiler does not load into an older driver. Of options that contradict one
 * another the last one holds, so arithmetic is what stands here. It keeps nothing for the next
 * time (that is cuda_cache.c), and tells the compiler not to.
 */
#include "runtime/cuda_internal.h"

#include <dlfcn.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { NO_CACHE_SINCE = 1209 };

static const char *const fixed_options[] = {
    "-std=c++17",     "-default-device", "-fmad=false",        "-ftz=false",
    "-prec-div=true", "-prec-sqrt=true", "--ptxas-options=-v",
};

static const char *const compiler_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const char *const compiler_directories[] = {"", "/usr/local/cuda/lib64/", NULL};

typedef struct call_row {
    const char *symbol;
    size_t offset;
} call_row;

#define COMPILER_ROW(field, symbol, parameters) {symbol, offsetof(cuda_compiler, field)},

static const call_row compiler_rows[] = {
    CUDA_COMPILER_CALLS(COMPILER_ROW){"nvrtcGetErrorString", offsetof(cuda_compiler, error_text)}};

/* ---- opening ---- */

/* Whether the library that is open will do; else the report has why. */
static bool compiler_fits(cuda_compiler *compiler, int driver_version, runtime_report *report) {
    runtime_report_add(report, "\n  %s:", compiler->path);
    for (size_t i = 0; i < COUNT(compiler_rows); i++)
        if (!runtime_library_function(compiler->library, compiler_rows[i].symbol,
                                      (char *)compiler + compiler_rows[i].offset, report))
            return false;
    int error = compiler->version(&compiler->major, &compiler->minor);
    if (error != 0) {
        runtime_report_add(report, " nvrtcVersion: %s", compiler->error_text(error));
        return false;
    }
    if (compiler->major > driver_version / 1000) {
        runtime_report_add(report, " version %d.%d is newer than the driver, %d.%d",
                           compiler->major, compiler->minor, driver_version / 1000,
                           driver_version % 1000 / 10);
        return false;
    }
    return true;
}

runtime_status cuda_compiler_open(cuda_compiler *compiler, const char *path, int driver_version,
                                  runtime_report *report) {
    runtime_library_search search = {
        .given = path, .names = compiler_names, .directories = compiler_directories};
    int next = 0;
    *compiler = (cuda_compiler){0};
    runtime_report_set(report, RUNTIME_NO_COMPILER,
                       "no NVRTC, which compiles for CUDA; looked for");
    while ((compiler->library = runtime_library_open(&search, &next, compiler->path, report)) !=
           NULL) {
        if (compiler_fits(compiler, driver_version, report)) {
            report->text[0] = '\0';
            return report->status = RUNTIME_OK;
        }
        cuda_compiler_close(compiler);
    }
    return RUNTIME_NO_COMPILER;
}

void cuda_compiler_close(cuda_compiler *compiler) {
    if (compiler->library != NULL)
        dlclose(compiler->library);
    compiler->library = NULL;
}

/* ---- compiling ---- */

static runtime_status compiler_status(const cuda_compiler *compiler, int error, const char *call,
                                      runtime_report *report) {
    if (error == 0)
        return RUNTIME_OK;
    return runtime_report_set(report, error == 1 ? RUNTIME_NO_MEMORY : RUNTIME_COMPILE_FAILED,
                              "%s: %s, error %d of NVRTC", call, compiler->error_text(error),
                              error);
}

static char *take(base_allocator allocator, size_t size, runtime_report *report) {
    char *memory = allocator.resize(allocator.context, NULL, 0, size);
    if (memory == NULL)
        runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for %zu bytes of the compiler",
                           size);
    return memory;
}

static runtime_status read_log(const cuda_compiler *compiler, base_allocator allocator,
                               void *program, cuda_compiled *compiled, runtime_report *report) {
    size_t size = 0;
    runtime_status status = compiler_status(compiler, compiler->log_size(program, &size),
                                            "nvrtcGetProgramLogSize", report);
    if (status != RUNTIME_OK)
        return status;
    compiled->log_size = size + 1;
    compiled->log = take(allocator, compiled->log_size, report);
    if (compiled->log == NULL)
        return RUNTIME_NO_MEMORY;
    compiled->log[0] = '\0';
    if (size > 0)
        status = compiler_status(compiler, compiler->log(program, compiled->log),
                                 "nvrtcGetProgramLog", report);
    compiled->log[size] = '\0';
    return status;
}

static runtime_status read_code(const cuda_compiler *compiler, base_allocator allocator,
                                void *program, cuda_compiled *compiled, runtime_report *report) {
    size_t size = 0;
    runtime_status status =
        compiler_status(compiler, compiler->code_size(program, &size), "nvrtcGetCUBINSize", report);
    if (status == RUNTIME_OK && size == 0)
        return runtime_report_set(report, RUNTIME_COMPILE_FAILED,
                                  "the flags give no machine code: they need -arch=sm_NUMBER");
    if (status != RUNTIME_OK)
        return status;
    compiled->code = take(allocator, size, report);
    if (compiled->code == NULL)
        return RUNTIME_NO_MEMORY;
    compiled->code_size = size;
    return compiler_status(compiler, compiler->code(program, compiled->code), "nvrtcGetCUBIN",
                           report);
}

bool cuda_compiler_options(const cuda_compiler *compiler, const runtime_artifact *artifact,
                           bool free_registers, const char **options, int *count) {
    int given = 0, fixed = (int)COUNT(fixed_options);
    while (artifact->flags != NULL && artifact->flags[given] != NULL)
        given++;
    if (given + fixed + 2 > CUDA_OPTION_LIMIT)
        return false;
    *count = 0;
    for (int i = 0; i < given; i++)
        options[(*count)++] = artifact->flags[i];
    for (int i = 0; i < fixed; i++)
        options[(*count)++] = fixed_options[i];
    if (compiler->major * 100 + compiler->minor >= NO_CACHE_SINCE)
        options[(*count)++] = "--no-cache";
    if (free_registers)
        options[(*count)++] = "-DGROUPS=, 1";
    return true;
}

static runtime_status compile(const cuda_compiler *compiler, base_allocator allocator,
                              void *program, const runtime_artifact *artifact, bool free_registers,
                              cuda_compiled *compiled, runtime_report *report) {
    const char *options[CUDA_OPTION_LIMIT];
    int count = 0;
    if (!cuda_compiler_options(compiler, artifact, free_registers, options, &count))
        return runtime_report_set(report, RUNTIME_COMPILE_FAILED, "too many flags");
    int error = compiler->compile(program, count, options);
    runtime_status status = read_log(compiler, allocator, program, compiled, report);
    if (error != 0 && compiled->log != NULL) {
        status = compiler_status(compiler, error, "nvrtcCompileProgram", report);
        runtime_report_add(report, "\n%s", compiled->log);
    }
    return status == RUNTIME_OK ? read_code(compiler, allocator, program, compiled, report)
                                : status;
}

runtime_status cuda_compiler_run(const cuda_compiler *compiler, base_allocator allocator,
                                 const runtime_artifact *artifact, bool free_registers,
                                 cuda_compiled *compiled, runtime_report *report) {
    *compiled = (cuda_compiled){0};
    char *text = take(allocator, artifact->length + 1, report);
    if (text == NULL)
        return RUNTIME_NO_MEMORY;
    memcpy(text, artifact->text, artifact->length);
    text[artifact->length] = '\0';
    void *program = NULL;
    runtime_status status =
        compiler_status(compiler, compiler->create(&program, text, artifact->entry, 0, NULL, NULL),
                        "nvrtcCreateProgram", report);
    if (status == RUNTIME_OK) {
        status = compile(compiler, allocator, program, artifact, free_registers, compiled, report);
        compiler->destroy(&program);
    }
    allocator.resize(allocator.context, text, artifact->length + 1, 0);
    return status;
}

void cuda_compiled_free(base_allocator allocator, cuda_compiled *compiled) {
    if (compiled->log != NULL)
        allocator.resize(allocator.context, compiled->log, compiled->log_size, 0);
    if (compiled->code != NULL)
        allocator.resize(allocator.context, compiled->code, compiled->code_size, 0);
    *compiled = (cuda_compiled){0};
}
