/* Machine code that NVRTC made, found in the cache of compiled programs and kept there.
 *
 *     key       compiled by NVRTC 13.0   its build ID, that of its built-in functions, options ...
 *     program   8 bytes: length of the log | the log and its NUL | machine code
 *
 * The log is kept too, since registers and spills are read from it. NVRTC is known by the build ID
 * of the file that the loader opened, and by that of the library of built-in functions beside it,
 * which it opens itself: wherever the same build lies, on whatever machine, programs are found. A
 * library without a build ID is known by its very file.
 */
#include "runtime/compiler.h"
#include "runtime/cuda_internal.h"
#include "runtime/file.h"
#include "runtime/program_key.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* NVRTC and what stands beside it. */
static bool add_compiler(runtime_key *key, const cuda_compiler *compiler) {
    Dl_info info;
    void *address;
    char path[PATH_MAX];
    memcpy(&address, &compiler->version, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return false;
    runtime_key_add(key, "compiled by NVRTC %d.%d\n", compiler->major, compiler->minor);
    if (!runtime_key_add_build(key, "library", info.dli_fname))
        return false;
    const char *end = strrchr(info.dli_fname, '/');
    int length = end != NULL ? (int)(end - info.dli_fname) : 0;
    if (snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", length, info.dli_fname,
                 compiler->major, compiler->minor) < PATH_MAX)
        (void)runtime_key_add_build(key, "builtins", path);
    return true;
}

static bool make_key(const cuda_device *cuda, const runtime_artifact *artifact, bool free_registers,
                     runtime_key *head, runtime_cache_key *key) {
    const char *options[CUDA_OPTION_LIMIT];
    int count = 0;
    if (!cuda_compiler_options(&cuda->compiler, artifact, free_registers, options, &count) ||
        !add_compiler(head, &cuda->compiler))
        return false;
    for (int i = 0; i < count; i++)
        runtime_key_add(head, "flag %s\n", options[i]);
    runtime_key_add(head, "name %s\n", artifact->entry);
    *key = (runtime_cache_key){
        .head = head->bytes, .text = artifact->text, .text_length = artifact->length};
    return runtime_key_end(head);
}

static bool read_part(const runtime_cache_found *found, int64_t from, void *bytes, int64_t length) {
    return runtime_file_read(found->file, bytes, (size_t)length, found->offset + from);
}

/* Where memory is short or the lengths make no sense, nothing was found. */
static bool read_program(base_allocator allocator, const runtime_cache_found *found,
                         cuda_compiled *compiled) {
    int64_t log_size = 0, rest = found->size - (int64_t)sizeof log_size;
    if (rest <= 0 || !read_part(found, 0, &log_size, sizeof log_size) || log_size <= 0 ||
        log_size >= rest)
        return false;
    *compiled =
        (cuda_compiled){.log_size = (size_t)log_size, .code_size = (size_t)(rest - log_size)};
    compiled->log = allocator.resize(allocator.context, NULL, 0, compiled->log_size);
    compiled->code = allocator.resize(allocator.context, NULL, 0, compiled->code_size);
    if (compiled->log != NULL && compiled->code != NULL &&
        read_part(found, sizeof log_size, compiled->log, log_size) &&
        read_part(found, (int64_t)sizeof log_size + log_size, compiled->code, rest - log_size) &&
        compiled->log[log_size - 1] == '\0')
        return true;
    cuda_compiled_free(allocator, compiled);
    return false;
}

static bool find(const cuda_device *cuda, const runtime_cache_key *key, cuda_compiled *compiled,
                 runtime_report *report) {
    runtime_cache_found found;
    if (!runtime_cache_find(cuda->cache, key, &found))
        return false;
    report->from_cache = read_program(cuda->allocator, &found, compiled);
    close(found.file);
    return report->from_cache;
}

static void keep(const cuda_device *cuda, const runtime_cache_key *key,
                 const cuda_compiled *compiled) {
    base_allocator allocator = cuda->allocator;
    int64_t log_size = (int64_t)compiled->log_size;
    size_t size = sizeof log_size + compiled->log_size + compiled->code_size;
    char *program = allocator.resize(allocator.context, NULL, 0, size);
    if (program == NULL)
        return;
    memcpy(program, &log_size, sizeof log_size);
    memcpy(program + sizeof log_size, compiled->log, compiled->log_size);
    memcpy(program + sizeof log_size + compiled->log_size, compiled->code, compiled->code_size);
    runtime_cache_keep(cuda->cache, key, program, size);
    allocator.resize(allocator.context, program, size, 0);
}

runtime_status cuda_cache_compile(const cuda_device *cuda, const runtime_artifact *artifact,
                                  bool free_registers, bool fresh, cuda_compiled *compiled,
                                  runtime_report *report) {
    runtime_key head = {0};
    runtime_cache_key key;
    report->from_cache = false;
    if (cuda->cache == NULL || !make_key(cuda, artifact, free_registers, &head, &key))
        return cuda_compiler_run(&cuda->compiler, cuda->allocator, artifact, free_registers,
                                 compiled, report);
    if (!fresh && find(cuda, &key, compiled, report))
        return RUNTIME_OK;
    runtime_status status = RUNTIME_OK;
    int lock = runtime_cache_lock(cuda->cache, &key, RUNTIME_COMPILER_DEFAULT_S);
    if (fresh || !find(cuda, &key, compiled, report)) {
        status = cuda_compiler_run(&cuda->compiler, cuda->allocator, artifact, free_registers,
                                   compiled, report);
        if (status == RUNTIME_OK)
            keep(cuda, &key, compiled);
    }
    runtime_cache_unlock(lock);
    return status;
}
