/* For tests: the text of the cuda target, run on the host by a C++ compiler, as if it had been
 * emitted for the cpu.
 *
 *     lockstep_kernel kernel;
 *     if (lockstep_open(&kernel, arena, module, source))      false: no C++ compiler is here
 *         lockstep_call(&kernel, pointers, words, 0, groups);
 *
 * test/cuda/lockstep.cpp runs the threads; inline PTX is replaced by host functions here. */
#ifndef TEST_CUDA_LOCKSTEP_H
#define TEST_CUDA_LOCKSTEP_H

#include "base/text.h"
#include "runtime/compiler.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *lockstep_run_function(const void *arguments, size_t size, long long begin,
                                          long long end, int threads, size_t scratch_bytes);

typedef struct lockstep_kernel {
    const ir_module *module;
    target_source source;
    void *library;
    lockstep_run_function *run;
} lockstep_kernel;

static inline void lockstep_replace(base_text *out, const char *text) {
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));", "r = lockstep_f32_from_f16(a);"},
        {"asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));",
         "r = lockstep_f16_from_f32(a);"},
        {"asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));",
         "r = lockstep_bf16_from_f32(a);"},
        {"asm(\"cvt.rni.f32.f32 %0, %1;\" : \"=f\"(r) : \"f\"(a));", "r = lockstep_round_even(a);"},
        {"extern __shared__ __align__(16) char scratch[];",
         "char *const scratch = lockstep_scratch;"},
    };
    /* Where these begin a statement, it is one with this meaning, up to the end of its line. */
    static const struct {
        const char *from, *to;
    } lines[] = {
        {"asm volatile(\"ld.global.cs.", "r = *p;"},
        {"asm volatile(\"ld.global.L2::cache_hint.", "r = *p;"},
        {"asm(\"createpolicy.", "p = 0;"},
        {"asm volatile(\"st.global.cs.", "*p = a;"},
        {"asm volatile(\"griddepcontrol.wait;\\ngriddepcontrol.launch_dependents;", ";"},
    };
    while (*text != '\0') {
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
            if (strncmp(text, lines[k].from, strlen(lines[k].from)) == 0) {
                base_text_string(out, lines[k].to);
                text += strcspn(text, "\n");
            }
        }
        size_t i = 0;
        while (i < sizeof rows / sizeof rows[0] &&
               strncmp(text, rows[i].from, strlen(rows[i].from)) != 0)
            i++;
        if (i < sizeof rows / sizeof rows[0]) {
            base_text_string(out, rows[i].to);
            text += strlen(rows[i].from);
        } else {
            base_text_append(out, text++, 1);
        }
    }
}

/* A kernel that is launched while others end waits for them before it touches memory: in front of
 * the call there is no index but that of an argument, and nothing that a pointer leads to. */
static inline void lockstep_waits_first(target_source source) {
    static const char *const words[] = {"arguments.pointers[", "arguments.words[", "scratch["};
    const char *at = strstr(strstr(source.text, source.entry), "{\n");
    const char *end = strstr(at, "    follow_launches();\n");
    assert_int_equal(source.overlaps, true);
    assert_non_null(end);
    for (; at < end; at++) {
        for (int i = 0; i < 3; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0)
                at += strlen(words[i]);
        if (*at == '[' || strncmp(at, "= *", 3) == 0 || strncmp(at, "load", 4) == 0)
            fail_msg("memory is touched first:\n%s", source.text);
    }
}

/* The frame with the kernel's text and its entry in their places. */
static inline const char *lockstep_text(base_arena *arena, target_source source) {
    static char frame[1 << 15];
    FILE *file = fopen(CROFT_SOURCE_DIR "/test/cuda/lockstep.cpp", "rb");
    assert_non_null(file);
    size_t length = fread(frame, 1, sizeof frame - 1, file);
    fclose(file);
    frame[length] = '\0';
    char *kernel = strstr(frame, "\nKERNEL\n"), *entry = strstr(frame, "ENTRY(");
    assert_true(kernel != NULL && entry != NULL);
    base_text out;
    base_text_init(&out, arena);
    base_text_append(&out, frame, (size_t)(kernel - frame + 1));
    lockstep_replace(&out, source.text);
    base_text_append(&out, kernel + 7, (size_t)(entry - kernel - 7));
    base_text_string(&out, source.entry);
    base_text_string(&out, entry + 5);
    return out.bytes;
}

static inline const char *lockstep_compiler(void) {
    static const char *const compilers[] = {"g++", "clang++"};
    for (int i = 0; i < 2; i++) {
        runtime_report report;
        char path[PATH_MAX];
        runtime_compiler_config config = {.compiler = compilers[i]};
        if (runtime_compiler_find(&config, path, &report) == RUNTIME_OK)
            return compilers[i];
    }
    return NULL;
}

/* False when no C++ compiler is here. */
static inline bool lockstep_open(lockstep_kernel *kernel, base_arena *arena,
                                 const ir_module *module, const machine *m) {
    static runtime_report report;
    const char *const extra[] = {
        "-x", "c++", "-std=gnu++17", "-O1", "-fwrapv", "-fno-strict-aliasing", "-w", NULL};
    const char *compiler = lockstep_compiler();
    if (compiler == NULL)
        return false;
    *kernel = (lockstep_kernel){.module = module,
                                .source = target_emit(target_find("cuda"), arena, module, m)};
    lockstep_waits_first(kernel->source);
    const char *text = lockstep_text(arena, kernel->source);
    runtime_compiler_config config = {.compiler = compiler, .extra_flags = extra};
    if (runtime_compiler_build(&config, text, strlen(text), NULL, &kernel->library, &report) !=
        RUNTIME_OK) {
        fprintf(stderr, "%s\n%s\n", kernel->source.text, report.text);
        fail_msg("%s does not take the text", compiler);
    }
    void *symbol = runtime_library_symbol(kernel->library, "lockstep_run");
    assert_non_null(symbol);
    memcpy(&kernel->run, &symbol, sizeof symbol);
    return true;
}

/* The groups from begin to below end. Pointers and words as runtime/device.h has them; words begin
 * with the sizes. */
static inline void lockstep_call(const lockstep_kernel *kernel, void *const *pointers,
                                 const int64_t *words, int64_t begin, int64_t end) {
    const ir_module *m = kernel->module;
    size_t pointer_count = (size_t)ir_module_pointer_count(m);
    size_t word_count = (size_t)ir_module_word_count(m);
    int64_t bytes = 0;
    if (kernel->source.workspace != NULL)
        assert_true(layout_extent_evaluate(kernel->source.workspace, words, &bytes));
    size_t all = (size_t)bytes * (size_t)(end - begin);
    char *workspace = aligned_alloc(256, (all + 256) / 256 * 256);
    assert_non_null(workspace);
    memset(workspace, 0x5a, all);
    size_t size = 8 * (pointer_count + word_count + 2);
    char *arguments = calloc(1, size);
    assert_non_null(arguments);
    memcpy(arguments, pointers, 8 * pointer_count);
    memcpy(arguments + 8 * pointer_count, words, 8 * word_count);
    memcpy(arguments + 8 * (pointer_count + word_count), &workspace, 8);
    const char *fault = kernel->run(arguments, size, begin, end, kernel->source.threads,
                                    (size_t)kernel->source.scratch_bytes);
    free(arguments);
    free(workspace);
    if (fault != NULL) {
        fprintf(stderr, "%s\n", kernel->source.text);
        fail_msg("the threads of the cuda text: %s", fault);
    }
}

static inline void lockstep_close(lockstep_kernel *kernel) {
    runtime_library_close(kernel->library);
}

#endif
