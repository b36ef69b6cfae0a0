/* Runs the kernel front end on a text: the findings as `slug line:column`, or the tile IR. */
#ifndef KERNEL_FIXTURE_H
#define KERNEL_FIXTURE_H

#include "ir/print.h"
#include "text/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct kernel_fixture {
    base_arena arena;
    jmp_buf exhausted;
    base_source source;
    base_diagnostics diagnostics;
    const text_kernel *kernel;
    text_bindings bindings;
    ir_module *module; /* NULL: there are findings, or it was not lowered */
} kernel_fixture;

enum { KERNEL_ARGUMENT_LIMIT = 8 };

static inline void kernel_fixture_init(kernel_fixture *f, const char *text, size_t length) {
    memset(f, 0, sizeof *f);
    base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    f->source = (base_source){"k", text, length};
    base_diagnostics_init(&f->diagnostics, &f->arena);
}

/* `N=4 R=2 T=f16`: sizes, consts and element types. */
static inline int kernel_arguments(kernel_fixture *f, const char *text, text_argument *arguments) {
    int count = 0;
    for (const char *p = text; *p != '\0' && count < KERNEL_ARGUMENT_LIMIT; count++) {
        const char *equals = strchr(p, '=');
        size_t length = strcspn(equals + 1, " ");
        text_argument *argument = &arguments[count];
        *argument = (text_argument){.name = base_arena_copy(&f->arena, p, (size_t)(equals - p))};
        if (base_dtype_from_name(equals + 1, length, &argument->dtype)) {
            argument->kind = TEXT_ARGUMENT_DTYPE;
        } else {
            argument->kind = TEXT_ARGUMENT_NUMBER;
            base_number_parse(equals + 1, length, &argument->number);
            argument->integer = (int64_t)argument->number;
            argument->is_integer = (double)argument->integer == argument->number;
        }
        p = equals + 1 + length;
        p += *p == ' ';
    }
    return count;
}

/* Parses, binds (partially) and lowers the first kernel. */
static inline void kernel_fixture_lower(kernel_fixture *f, const char *text,
                                        const char *argument_text) {
    kernel_fixture_init(f, text, strlen(text));
    text_argument arguments[KERNEL_ARGUMENT_LIMIT];
    int count = kernel_arguments(f, argument_text, arguments);
    text_file *file = text_file_parse(&f->arena, &f->source, &f->diagnostics);
    if (f->diagnostics.count > 0 || text_file_count(file) == 0)
        return;
    f->kernel = text_file_at(file, 0);
    if (text_kernel_bind(&f->arena, f->kernel, arguments, count, true, &f->bindings,
                         &f->diagnostics))
        f->module = text_kernel_lower(&f->arena, f->kernel, &f->bindings, &f->diagnostics);
}

/* "slug 3:9, slug 4:1" */
static inline const char *kernel_findings(kernel_fixture *f) {
    base_text out;
    base_text_init(&out, &f->arena);
    for (int i = 0; i < f->diagnostics.count; i++) {
        const base_diagnostic *item = &f->diagnostics.items[i];
        base_text_format(&out, "%s%s %d:%d", i > 0 ? ", " : "", item->slug,
                         (int)item->location.line, (int)item->location.column);
    }
    return out.bytes;
}

static inline const char *kernel_rendered(kernel_fixture *f) {
    base_text out;
    base_text_init(&out, &f->arena);
    base_diagnostics_render(&out, &f->diagnostics);
    return out.bytes;
}

/* The module's body, without the signature. */
static inline const char *kernel_body(kernel_fixture *f) {
    base_text out;
    base_text_init(&out, &f->arena);
    if (f->module == NULL)
        return kernel_rendered(f);
    ir_module_print(&out, f->module, false);
    const char *body = strstr(out.bytes, "\n{\n");
    return body != NULL ? body + 3 : out.bytes;
}

static inline void kernel_fixture_free(kernel_fixture *f) {
    base_arena_free(&f->arena);
}

#endif
