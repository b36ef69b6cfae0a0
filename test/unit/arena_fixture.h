/* An arena for each test, and texts in it.
 *
 *     cmocka_unit_test_setup_teardown(a_fact, set_up, tear_down)     *state is a fixture
 *     fail_msg("%s", render(f, &diagnostics))                       what was found, line by line
 *
 * Tests that keep more than an arena between them have a fixture of their own.
 */
#ifndef ARENA_FIXTURE_H
#define ARENA_FIXTURE_H

#include "base/arena.h"
#include "base/diagnostic.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
} fixture;

static inline int set_up(void **state) {
    static fixture f;
    base_arena_init(&f.arena, base_allocator_default(), &f.exhausted);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    base_arena_free(&((fixture *)*state)->arena);
    return 0;
}

/* The findings as a text of the arena; "" for none. */
static inline const char *render(fixture *f, const base_diagnostics *diagnostics) {
    base_text out;
    base_text_init(&out, &f->arena);
    base_diagnostics_render(&out, diagnostics);
    return out.bytes != NULL ? out.bytes : "";
}

#endif
