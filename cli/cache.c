/* cache: the compiled programs that are kept, listed, checked, and removed.
 *
 *     $ croft cache ls
 *     softmax     cpu-avx512   /usr/bin/cc     46.1 KiB  2026-11-30 10:21:07  8f3c2a90d17b6e54
 *     /home/u/.cache/croft: 1 program, 46.1 KiB of 256.0 MiB
 *
 * What a program is of stands in its key: the compiler in the first line, kernel and machine in the
 * first line of the source. Times are UTC.
 */
#include "cache.h"

#include "answer.h"
#include "job.h"
#include "output.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct kept_program {
    char name[40], kernel[64], machine[32], compiler[256];
    int64_t bytes, used_s;
    const char *fault; /* static; NULL: none */
} kept_program;

typedef struct kept_programs {
    kept_program *items;
    int64_t count, capacity, bytes, faults;
    bool exhausted;
} kept_programs;

/* ---- the cache of a command ---- */
runtime_cache *cli_cache_open(const cli_options *options) {
    runtime_cache_config config = {.cache_home = getenv("XDG_CACHE_HOME"), .home = getenv("HOME")};
    runtime_cache *cache = NULL;
    if (!options->no_cache &&
        runtime_cache_create(base_allocator_default(), &config, &cache) != RUNTIME_OK)
        cli_out_of_memory(options);
    return cache;
}

void cli_cache_close(const cli_options *options, runtime_cache *cache) {
    static runtime_report report;
    if (cache != NULL && runtime_cache_complaint(cache, &report))
        cli_warn(options, "cache-unused", "%s", report.text);
    runtime_cache_destroy(cache);
}

/* ---- what is there ---- */
/* What stands between two texts, cut to the room; "-" where they do not stand so. */
static void take_between(const char *text, const char *before, const char *behind, char *room,
                         size_t size) {
    const char *begin = strstr(text, before), *end = NULL;
    if (begin != NULL)
        end = strstr(begin + strlen(before), behind);
    if (end == NULL)
        snprintf(room, size, "-");
    else
        snprintf(room, size, "%.*s", (int)(end - begin - (ptrdiff_t)strlen(before)),
                 begin + strlen(before));
}

static void take_entry(void *state, const runtime_cache_entry *entry) {
    kept_programs *programs = state;
    if (programs->count == programs->capacity) {
        int64_t more = 2 * programs->capacity + 64;
        kept_program *moved = realloc(programs->items, sizeof *moved * (size_t)more);
        if (moved == NULL) {
            programs->exhausted = true;
            return;
        }
        programs->items = moved;
        programs->capacity = more;
    }
    kept_program *program = &programs->items[programs->count++];
    *program =
        (kept_program){.bytes = entry->bytes, .used_s = entry->used_s, .fault = entry->fault};
    snprintf(program->name, sizeof program->name, "%s", entry->name);
    take_between(entry->key, "compiled by ", "\n", program->compiler, sizeof program->compiler);
    take_between(entry->key, "/* Kernel ", " for ", program->kernel, sizeof program->kernel);
    take_between(entry->key, " for ", ",", program->machine, sizeof program->machine);
    programs->bytes += entry->bytes;
    programs->faults += entry->fault != NULL;
}

/* The one that was used last first. */
static int compare(const void *a, const void *b) {
    const kept_program *left = a, *right = b;
    if (left->used_s != right->used_s)
        return left->used_s < right->used_s ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* ---- text ---- */
static void write_size(base_text *out, int64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    int unit = 0;
    int64_t tenths = (bytes * 10 + 512) >> 10;
    while (tenths >= 10240 && unit < 2) {
        tenths = (tenths + 512) >> 10;
        unit++;
    }
    base_text_format(out, "%lld.%lld %s", (long long)(tenths / 10), (long long)(tenths % 10),
                     units[unit]);
}

static void write_program(base_text *out, const kept_program *program) {
    struct tm parts;
    time_t used = (time_t)program->used_s;
    char when[32] = "-", size[32];
    if (gmtime_r(&used, &parts) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
    int64_t tenths = (program->bytes * 10 + 512) >> 10;
    snprintf(size, sizeof size, "%lld.%lld KiB", (long long)(tenths / 10),
             (long long)(tenths % 10));
    base_text_format(out, "%-20s %-12s %-16s %12s  %s  %.16s", program->kernel, program->machine,
                     program->compiler, size, when, program->name);
    if (program->fault != NULL)
        base_text_format(out, "  %s", program->fault);
    base_text_string(out, "\n");
}

static void write_text(base_text *out, const runtime_cache *cache, const kept_programs *programs,
                       bool faults_only) {
    for (int64_t i = 0; i < programs->count; i++)
        if (!faults_only || programs->items[i].fault != NULL)
            write_program(out, &programs->items[i]);
    base_text_format(out, "%s: %lld program%s, ", runtime_cache_directory(cache),
                     (long long)programs->count, programs->count == 1 ? "" : "s");
    write_size(out, programs->bytes);
    base_text_string(out, " of ");
    write_size(out, runtime_cache_limit(cache));
    if (faults_only)
        base_text_format(out, ", %lld damaged", (long long)programs->faults);
    base_text_string(out, "\n");
}

static void write_removed_text(base_text *out, const runtime_cache *cache,
                               const runtime_cache_removed *removed) {
    base_text_format(out, "%s: removed %lld damaged, %lld unused, %lld unfinished, ",
                     runtime_cache_directory(cache), (long long)removed->damaged,
                     (long long)removed->unused, (long long)removed->unfinished);
    write_size(out, removed->bytes);
    base_text_string(out, "\n");
}

/* ---- JSON ---- */
typedef struct kept_cache {
    const runtime_cache *cache;
    const kept_programs *programs;
    const runtime_cache_removed *removed;
} kept_cache;

static void write_json(base_json *json, const void *state) {
    const kept_cache *kept = state;
    base_json_string(json, "directory", runtime_cache_directory(kept->cache));
    base_json_integer(json, "limit_bytes", runtime_cache_limit(kept->cache));
    base_json_integer(json, "bytes", kept->programs->bytes);
    base_json_array(json, "programs");
    for (int64_t i = 0; i < kept->programs->count; i++) {
        const kept_program *program = &kept->programs->items[i];
        base_json_object(json, NULL);
        base_json_string(json, "file", program->name);
        base_json_string(json, "kernel", program->kernel);
        base_json_string(json, "machine", program->machine);
        base_json_string(json, "compiler", program->compiler);
        base_json_integer(json, "bytes", program->bytes);
        base_json_integer(json, "used_s", program->used_s);
        base_json_string(json, "fault", program->fault);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_removed_json(base_json *json, const void *state) {
    const kept_cache *kept = state;
    base_json_string(json, "directory", runtime_cache_directory(kept->cache));
    base_json_integer(json, "damaged", kept->removed->damaged);
    base_json_integer(json, "unused", kept->removed->unused);
    base_json_integer(json, "unfinished", kept->removed->unfinished);
    base_json_integer(json, "bytes", kept->removed->bytes);
}

/* ---- verbs ---- */
static int failed(const cli_options *options, const runtime_report *report) {
    return cli_refuse(options, CLI_EXIT_SYSTEM, "cache-failed", NULL, "%s", report->text);
}

/* `ls`, and `verify`, which reads every file. */
static int list(const cli_options *options, runtime_cache *cache, bool whole, base_text *out) {
    static runtime_report report;
    kept_programs programs = {0};
    if (runtime_cache_each(cache, whole, take_entry, &programs, &report) != RUNTIME_OK) {
        free(programs.items);
        return failed(options, &report);
    }
    if (programs.count > 0)
        qsort(programs.items, (size_t)programs.count, sizeof *programs.items, compare);
    if (options->json)
        cli_answer_write(options, write_json, &(kept_cache){.cache = cache, .programs = &programs});
    else
        write_text(out, cache, &programs, whole);
    free(programs.items);
    if (programs.exhausted)
        return cli_out_of_memory(options);
    return programs.faults > 0 ? CLI_EXIT_CHECK_FAILED : CLI_EXIT_OK;
}

static int collect(const cli_options *options, runtime_cache *cache, base_text *out) {
    static runtime_report report;
    runtime_cache_removed removed;
    int64_t limit = options->all ? 0 : runtime_cache_limit(cache);
    if (runtime_cache_collect(cache, limit, &removed, &report) != RUNTIME_OK)
        return failed(options, &report);
    if (options->json)
        cli_answer_write(options, write_removed_json,
                         &(kept_cache){.cache = cache, .removed = &removed});
    else
        write_removed_text(out, cache, &removed);
    return CLI_EXIT_OK;
}

static int run_verb(const cli_options *options, runtime_cache *cache, base_text *out) {
    bool gc = strcmp(options->file, "gc") == 0;
    return gc ? collect(options, cache, out)
              : list(options, cache, strcmp(options->file, "verify") == 0, out);
}

/* The words are right. */
static int report_of(const cli_options *options, runtime_cache *cache) {
    jmp_buf exhausted;
    base_arena arena;
    base_diagnostics diagnostics;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&diagnostics, &arena);
    volatile int status = CLI_EXIT_SYSTEM;
    if (setjmp(exhausted) == 0) {
        base_text text;
        base_text_init(&text, &arena);
        status = run_verb(options, cache, &text);
        if (status != CLI_EXIT_SYSTEM && !options->json &&
            !cli_output_text(options->output, text.bytes, &diagnostics)) {
            cli_say_findings(options, &diagnostics);
            status = CLI_EXIT_SYSTEM;
        }
    } else {
        cli_out_of_memory(options);
    }
    base_arena_free(&arena);
    return status;
}

int cli_cache(const cli_options *options) {
    static const char *const verbs[] = {"ls", "verify", "gc"};
    bool known = false;
    for (int i = 0; i < 3; i++)
        known = known || strcmp(options->file, verbs[i]) == 0;
    if (!known || options->pair_count > 0) {
        return cli_refuse(options, CLI_EXIT_USAGE, "unknown-verb", "it knows ls, verify and gc",
                          "cache does not know %.200s", known ? "that word" : options->file);
    }
    if (options->all && strcmp(options->file, "gc") != 0)
        return cli_refuse(options, CLI_EXIT_USAGE, "option-use", NULL, "--all belongs to cache gc");
    runtime_cache *cache = cli_cache_open(options);
    if (cache == NULL)
        return cli_refuse(options, CLI_EXIT_SYSTEM, "cache-failed", NULL,
                          "there is no cache: neither XDG_CACHE_HOME nor HOME names a directory");
    int status = report_of(options, cache);
    runtime_cache_destroy(cache);
    return status;
}
