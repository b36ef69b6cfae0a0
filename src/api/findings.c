/* Findings as the caller gets them: copies, in an arena of their own. */
#include "api/api_internal.h"

#include <string.h>

struct croft_diagnostics {
    base_allocator allocator;
    base_arena arena;
    jmp_buf exhausted;
    croft_diagnostic items[BASE_DIAGNOSTIC_LIMIT];
    int count;
    const char *text;
};

static const base_location nowhere = {0};

/* ---- the caller's side ---- */
int croft_diagnostics_count(const croft_diagnostics *findings) {
    return findings != NULL ? findings->count : 0;
}

croft_status croft_diagnostics_at(const croft_diagnostics *findings, int index,
                                  croft_diagnostic *diagnostic) {
    if (index < 0 || index >= croft_diagnostics_count(findings))
        return CROFT_MISUSE;
    const croft_diagnostic *item = &findings->items[index];
    return api_struct_write(item, sizeof *item, diagnostic) ? CROFT_OK : CROFT_MISUSE;
}

const char *croft_diagnostics_text(const croft_diagnostics *findings) {
    return findings != NULL ? findings->text : "";
}

void croft_diagnostics_free(croft_diagnostics *findings) {
    if (findings == NULL)
        return;
    base_arena_free(&findings->arena);
    api_release(findings->allocator, findings, sizeof *findings);
}

static const char *copied(base_arena *arena, const char *text) {
    return text != NULL ? base_arena_copy(arena, text, strlen(text)) : NULL;
}

/* Unwinds where memory ends. */
static void fill(croft_diagnostics *findings, const base_diagnostics *from) {
    base_arena *arena = &findings->arena;
    base_text text;
    base_text_init(&text, arena);
    base_diagnostics_render(&text, from);
    findings->text = text.bytes != NULL ? text.bytes : "";
    for (int i = 0; i < from->count; i++) {
        const base_diagnostic *d = &from->items[i];
        const base_source *source = d->location.source;
        findings->items[i] =
            (croft_diagnostic){.size = sizeof(croft_diagnostic),
                               .slug = d->slug,
                               .source = source != NULL ? copied(arena, source->name) : NULL,
                               .line = d->location.line,
                               .column = d->location.column,
                               .length = d->location.length,
                               .message = copied(arena, d->message),
                               .found = copied(arena, d->found),
                               .expected = copied(arena, d->expected),
                               .hint = copied(arena, d->hint)};
    }
    findings->count = from->count;
}

/* A copy of findings for the caller; where `from` is NULL, one finding with the slug and message.
 * NULL where memory ends. */
static croft_diagnostics *made_of(base_allocator allocator, const base_diagnostics *from,
                                  const char *slug, const char *message) {
    croft_diagnostics *findings = api_allocate(allocator, sizeof *findings);
    if (findings == NULL)
        return NULL;
    findings->allocator = allocator;
    base_arena_init(&findings->arena, allocator, &findings->exhausted);
    if (setjmp(findings->exhausted) != 0) {
        croft_diagnostics_free(findings);
        return NULL;
    }
    if (from == NULL) {
        base_diagnostics *one = BASE_NEW(&findings->arena, base_diagnostics);
        base_diagnostics_init(one, &findings->arena);
        base_diagnostics_add(one, slug, nowhere, "%s", message);
        fill(findings, one);
    } else {
        fill(findings, from);
    }
    findings->arena.exhausted = NULL;
    return findings;
}

croft_diagnostics *api_findings_of(base_allocator allocator, const char *slug,
                                   const char *message) {
    return made_of(allocator, NULL, slug, message);
}

/* ---- calls ---- */
void api_call_begin(api_call *call, base_allocator allocator, croft_diagnostics **findings) {
    call->allocator = allocator;
    call->findings = findings;
    fegetenv(&call->floating);
    fesetenv(FE_DFL_ENV);
    base_arena_init(&call->arena, allocator, &call->exhausted);
    base_diagnostics_init(&call->diagnostics, &call->arena);
    if (findings != NULL)
        *findings = NULL;
}

/* Copies findings to the caller, unless it has some already: at once, as they point into texts that
 * may be freed next. Does not unwind. */
static void hand_over(api_call *call, const base_diagnostics *diagnostics) {
    if (call->findings != NULL && *call->findings == NULL && diagnostics->count > 0)
        *call->findings = made_of(call->allocator, diagnostics, NULL, NULL);
}

croft_status api_call_end(api_call *call, croft_status status) {
    if (status != CROFT_OK)
        hand_over(call, &call->diagnostics);
    base_arena_free(&call->arena);
    fesetenv(&call->floating);
    return status;
}

const char *api_number_text(api_call *call, int64_t number) {
    return base_diagnostics_text(&call->diagnostics, "%lld", (long long)number);
}

croft_status api_refuse(api_call *call, const char *slug, const char *name, const char *message,
                        const char *found, const char *expected) {
    base_diagnostic *d =
        base_diagnostics_add(&call->diagnostics, slug, nowhere, "%.200s: %s", name, message);
    d->found = found;
    d->expected = expected;
    return CROFT_REJECTED;
}

croft_status api_misuse(api_call *call, const char *message) {
    base_diagnostics_add(&call->diagnostics, "misuse", nowhere, "%s", message);
    return CROFT_MISUSE;
}

croft_status api_misuse_early(const base_allocator *allocator, croft_diagnostics **findings,
                              const char *message) {
    if (findings != NULL)
        *findings = api_findings_of(allocator != NULL ? *allocator : base_allocator_default(),
                                    "misuse", message);
    return CROFT_MISUSE;
}

croft_status api_compiled_status(api_call *call, const compile_result *compiled) {
    if (compiled->status == COMPILE_OK)
        return CROFT_OK;
    if (compiled->status == COMPILE_OUT_OF_MEMORY)
        return CROFT_OUT_OF_MEMORY;
    hand_over(call, &compiled->diagnostics);
    return CROFT_REJECTED;
}

static const struct {
    croft_status status;
    const char *slug;
} answers[] = {
    [RUNTIME_OK] = {CROFT_OK, ""},
    [RUNTIME_NO_COMPILER] = {CROFT_NO_COMPILER, "no-compiler"},
    [RUNTIME_COMPILE_FAILED] = {CROFT_COMPILER_FAILED, "compiler-failed"},
    [RUNTIME_LOAD_FAILED] = {CROFT_COMPILER_FAILED, "load-failed"},
    [RUNTIME_NO_MEMORY] = {CROFT_OUT_OF_MEMORY, "no-memory"},
    [RUNTIME_NO_DEVICE] = {CROFT_NO_DEVICE, "no-device"},
    [RUNTIME_OUT_OF_RESOURCES] = {CROFT_OUT_OF_RESOURCES, "out-of-resources"},
    [RUNTIME_SYSTEM_FAILED] = {CROFT_SYSTEM_FAILED, "system-failed"},
};

croft_status api_report_status(base_allocator allocator, croft_diagnostics **findings,
                               const runtime_report *report, runtime_status status) {
    if (status != RUNTIME_OK && findings != NULL && *findings == NULL)
        *findings = made_of(allocator, NULL, answers[status].slug, report->text);
    return answers[status].status;
}

croft_status api_runtime_status(api_call *call, const runtime_report *report,
                                runtime_status status) {
    return api_report_status(call->allocator, call->findings, report, status);
}
