/* devices: what there is to run on, and where was looked for what there is not.
 *
 *     cpu   cpu-avx512, 2 processors, compiler /usr/bin/cc
 *     sim   any machine, lane by lane
 *     cuda  0: NVIDIA H200, compute capability 9.0, machine sm_90, 132 processors, 139.8 GiB
 *           driver: libcuda.so.1, version 13.0
 *           compiler: libnvrtc.so.13, version 13.0
 *     opencl  0: pthread-skylake-avx512 ..., cpu of Portable Computing Language, 2 processors, ...
 *             library: libOpenCL.so.1
 *
 * Nothing is started but the drivers. A device that is missing is no failure.
 */
#include "answer.h"
#include "launch.h"
#include "output.h"

#include "base/json.h"
#include "machine/machine.h"
#include "runtime/compiler.h"
#include "runtime/cuda.h"
#include "runtime/opencl.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct devices_found {
    int processors;
    char compiler[PATH_MAX];
    runtime_report compiler_report;
    runtime_cuda_system cuda;
    runtime_opencl_system opencl;
} devices_found;

static int count_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void look(const cli_options *options, devices_found *found) {
    runtime_compiler_config compiler = {.compiler = options->compiler, .path = getenv("PATH")};
    runtime_cuda_config cuda = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                .nvrtc = getenv("CROFT_NVRTC")};
    found->processors = count_processors();
    if (runtime_compiler_find(&compiler, found->compiler, &found->compiler_report) != RUNTIME_OK)
        found->compiler[0] = '\0';
    runtime_cuda_look(&cuda, &found->cuda);
    runtime_opencl_config opencl = {.library = cli_opencl_library(options)};
    runtime_opencl_look(&opencl, &found->opencl);
}

/* ---- text ---- */

/* A report of several lines, those behind the first moved in. */
static void write_report(base_text *out, const char *what, const char *report) {
    base_text_format(out, "%s", what);
    for (const char *at = report; *at != '\0'; at++) {
        base_text_append(out, at, 1);
        if (*at == '\n')
            base_text_string(out, "      ");
    }
    base_text_string(out, "\n");
}

static void write_cuda_text(base_text *out, const runtime_cuda_system *cuda) {
    for (int i = 0; i < cuda->device_count; i++) {
        const runtime_cuda_facts *facts = &cuda->devices[i];
        int64_t tenths = (facts->memory_bytes * 10) >> 30;
        base_text_format(out, "%s%d: %s, compute capability %d.%d, ", i == 0 ? "cuda  " : "      ",
                         facts->ordinal, facts->name, facts->major, facts->minor);
        if (facts->machine != NULL)
            base_text_format(out, "machine %s, ", facts->machine);
        else
            base_text_string(out, "no machine describes it, ");
        base_text_format(out, "%d processors, %lld.%lld GiB\n", facts->processors,
                         (long long)(tenths / 10), (long long)(tenths % 10));
    }
    write_report(out,
                 cuda->device_count > 0 ? "      driver: " : "cuda  none: ", cuda->driver.text);
    write_report(out, "      compiler: ", cuda->compiler.text);
}

/* The platform's version has more words than these: OpenCL 3.0. */
static void write_version(base_text *out, const char *version) {
    int length = 0;
    for (int words = 0; version[length] != '\0' && words < 2; length++)
        words += version[length + 1] == ' ' || version[length + 1] == '\0';
    base_text_append(out, version, (size_t)length);
}

static void write_opencl_text(base_text *out, const runtime_opencl_system *opencl) {
    for (int i = 0; i < opencl->device_count; i++) {
        const runtime_opencl_facts *facts = &opencl->devices[i];
        int64_t tenths = (facts->memory_bytes >> 20) * 10 / 1024;
        base_text_format(out, "%s%d: %s, %s of %s, ", i == 0 ? "opencl  " : "        ",
                         facts->ordinal, facts->name, facts->kind, facts->platform);
        write_version(out, facts->platform_version);
        base_text_format(out, ", machine %s, %d processors, %lld.%lld GiB\n", facts->machine,
                         facts->processors, (long long)(tenths / 10), (long long)(tenths % 10));
        if (facts->lacking[0] != '\0')
            base_text_format(out, "          not used: it lacks %s\n", facts->lacking);
    }
    write_report(out, opencl->device_count > 0 ? "        library: " : "opencl  none: ",
                 opencl->library.text);
}

static void write_text(base_text *out, const devices_found *found) {
    const machine *host = machine_host();
    base_text_format(out, "cpu   %s, %d processors, ", host->name, found->processors);
    if (found->compiler[0] != '\0')
        base_text_format(out, "compiler %s\n", found->compiler);
    else
        write_report(out, "no compiler: ", found->compiler_report.text);
    base_text_string(out, "sim   any machine, lane by lane\n");
    write_cuda_text(out, &found->cuda);
    write_opencl_text(out, &found->opencl);
}

/* ---- JSON ---- */

/* What was found, or why it was not; the other is null. */
static void write_found(base_json *json, const char *key, const char *reason_key, bool good,
                        const char *text) {
    base_json_string(json, key, good ? text : NULL);
    base_json_string(json, reason_key, good ? NULL : text);
}

static void write_cuda_json(base_json *json, const runtime_cuda_system *cuda) {
    base_json_object(json, "cuda");
    write_found(json, "driver", "driver_missing", cuda->driver.status == RUNTIME_OK,
                cuda->driver.text);
    write_found(json, "compiler", "compiler_missing", cuda->compiler.status == RUNTIME_OK,
                cuda->compiler.text);
    base_json_array(json, "devices");
    for (int i = 0; i < cuda->device_count; i++) {
        const runtime_cuda_facts *facts = &cuda->devices[i];
        base_json_object(json, NULL);
        base_json_integer(json, "ordinal", facts->ordinal);
        base_json_string(json, "name", facts->name);
        base_json_integer(json, "capability_major", facts->major);
        base_json_integer(json, "capability_minor", facts->minor);
        base_json_string(json, "machine", facts->machine);
        base_json_integer(json, "processors", facts->processors);
        base_json_integer(json, "memory_bytes", facts->memory_bytes);
        base_json_integer(json, "threads_limit", facts->threads_limit);
        base_json_integer(json, "scratch_bytes", facts->scratch_limit_bytes);
        base_json_bool(json, "clusters", facts->clusters);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_close(json);
}

static void write_opencl_json(base_json *json, const runtime_opencl_system *opencl) {
    base_json_object(json, "opencl");
    write_found(json, "library", "library_missing", opencl->library.status == RUNTIME_OK,
                opencl->library.text);
    base_json_array(json, "devices");
    for (int i = 0; i < opencl->device_count; i++) {
        const runtime_opencl_facts *facts = &opencl->devices[i];
        base_json_object(json, NULL);
        base_json_integer(json, "ordinal", facts->ordinal);
        base_json_string(json, "name", facts->name);
        base_json_string(json, "kind", facts->kind);
        base_json_string(json, "platform", facts->platform);
        base_json_string(json, "platform_version", facts->platform_version);
        base_json_string(json, "driver", facts->driver);
        base_json_string(json, "machine", facts->machine);
        base_json_string(json, "lacking", facts->lacking[0] != '\0' ? facts->lacking : NULL);
        base_json_integer(json, "processors", facts->processors);
        base_json_integer(json, "memory_bytes", facts->memory_bytes);
        base_json_integer(json, "allocation_bytes", facts->allocation_limit_bytes);
        base_json_integer(json, "threads_limit", facts->threads_limit);
        base_json_integer(json, "scratch_bytes", facts->scratch_limit_bytes);
        base_json_integer(json, "part_alignment_bytes", facts->part_alignment_bytes);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_close(json);
}

static void write_json(base_json *json, const void *state) {
    const devices_found *found = state;
    const machine *host = machine_host();
    base_json_object(json, "cpu");
    base_json_string(json, "machine", host->name);
    base_json_string(json, "compiler_flags", host->compiler_flags);
    base_json_integer(json, "processors", found->processors);
    write_found(json, "compiler", "compiler_missing", found->compiler[0] != '\0',
                found->compiler[0] != '\0' ? found->compiler : found->compiler_report.text);
    base_json_close(json);
    base_json_object(json, "sim");
    base_json_array(json, "machines");
    for (int i = 0; machine_at(i) != NULL; i++)
        base_json_string(json, NULL, machine_at(i)->name);
    base_json_close(json);
    base_json_close(json);
    write_cuda_json(json, &found->cuda);
    write_opencl_json(json, &found->opencl);
}

static int report(const cli_options *options, const devices_found *found, base_arena *arena) {
    base_text text;
    base_diagnostics diagnostics;
    if (options->json) {
        cli_answer_write(options, write_json, found);
        return CLI_EXIT_OK;
    }
    base_text_init(&text, arena);
    base_diagnostics_init(&diagnostics, arena);
    write_text(&text, found);
    if (cli_output_text(options->output, text.bytes, &diagnostics))
        return CLI_EXIT_OK;
    cli_say_findings(options, &diagnostics);
    return CLI_EXIT_SYSTEM;
}

int cli_devices(const cli_options *options) {
    if (options->format != NULL && !options->json && strcmp(options->format, "text") != 0)
        return cli_refuse(options, CLI_EXIT_USAGE, "unknown-format", "formats are text, json",
                          "devices has no format %.200s", options->format);
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    volatile int status = CLI_EXIT_SYSTEM;
    if (setjmp(exhausted) == 0) {
        devices_found *found = BASE_NEW(&arena, devices_found);
        look(options, found);
        status = report(options, found, &arena);
    } else {
        cli_out_of_memory(options);
    }
    base_arena_free(&arena);
    return status;
}
