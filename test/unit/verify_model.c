/* Thorough verification knows numbers for floats too: what is computed from the same elements by
 * other arithmetic is refused, and what comes to the same by other ops is accepted. */
#include "arena_fixture.h"

#include "text/ir_parse.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

/* A tile program and the body of a thread module that implements it. */
static const char module_text[] =
    "kernel @k[R](%%x: in f32[R], %%w: in f32[5], %%y: out f32[R]) level thread\n"
    "  program row: R\n"
    "  team 1\n"
    "  axis row program row extent R digits group *\n"
    "  groups R\n"
    "  implements {\n"
    "    %%row = program row : index\n"
    "    %%t = load %%x[%%row inside] : f32\n"
    "%s"
    "    store %%y[%%row inside], %%s injective\n"
    "  }\n"
    "{\n"
    "  %%row = group : i64\n"
    "  %%t = load %%x[%%row] : f32\n"
    "%s"
    "  store %%y[%%row], %%s injective\n"
    "}\n";

static bool accepts(fixture *f, const char *tile, const char *thread, verify_effort effort) {
    base_text text;
    base_text_init(&text, &f->arena);
    base_text_format(&text, module_text, tile, thread);
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "k.ir", .text = text.bytes, .length = strlen(text.bytes)};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    const ir_module *module = text_ir_parse(&f->arena, source, &diagnostics);
    if (module == NULL)
        fail_msg("%s\n%s", text.bytes, render(f, &diagnostics));
    bool accepted = verify_module_with(module, NULL, effort, &diagnostics);
    if (!accepted && (diagnostics.count == 0 || diagnostics.items[0].slug == NULL ||
                      strcmp(diagnostics.items[0].slug, "same-elements") != 0))
        fail_msg("%s\n%s", text.bytes, render(f, &diagnostics));
    return accepted;
}

#define LINE(text) text "\n"

static const struct {
    const char *name, *tile, *thread;
    bool same;
} cases[] = {
    {"a product and a sum", LINE("%c = constant 2.0 : f32") LINE("%s = mul %t, %c : f32"),
     LINE("%s = add %t, %t : f32"), true},
    {"a sum that is left out", LINE("%s = add %t, %t : f32"),
     LINE("%c = constant 1.0 : f32") LINE("%s = mul %t, %c : f32"), false},
    {"another constant", LINE("%c = constant 0.75 : f32") LINE("%s = mul %t, %c : f32"),
     LINE("%c = constant 0.5 : f32") LINE("%s = mul %t, %c : f32"), false},
    {"a quotient and the product with the inverse",
     LINE("%c = constant 4.0 : f32") LINE("%s = div %t, %c : f32"),
     LINE("%c = constant 0.25 : f32") LINE("%s = mul %t, %c : f32"), true},
    {"a difference, turned around", LINE("%c = constant 3.0 : f32") LINE("%s = sub %t, %c : f32"),
     LINE("%c = constant 3.0 : f32") LINE("%s = sub %c, %t : f32"), false},
    {"a choice by a comparison, and the greater",
     LINE("%c = constant 3.0 : f32") LINE("%b = lt %t, %c : bool")
         LINE("%s = select %b, %c, %t : f32"),
     LINE("%c = constant 3.0 : f32") LINE("%s = maximum %t, %c : f32"), true},
    {"the greater of it and a constant, and it",
     LINE("%c = constant 3.0 : f32") LINE("%s = maximum %t, %c : f32"),
     LINE("%c = constant 1.0 : f32") LINE("%s = mul %t, %c : f32"), false},
    {"the smaller of it and a constant, and it",
     LINE("%c = constant -3.0 : f32") LINE("%s = minimum %t, %c : f32"),
     LINE("%c = constant 1.0 : f32") LINE("%s = mul %t, %c : f32"), false},
    {"the other side of a choice",
     LINE("%c = constant 3.0 : f32") LINE("%b = lt %t, %c : bool")
         LINE("%s = select %b, %c, %t : f32"),
     LINE("%c = constant 3.0 : f32") LINE("%b = lt %t, %c : bool")
         LINE("%s = select %b, %t, %c : f32"),
     false},
};

static void floats_have_numbers_when_there_is_time(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!accepts(f, cases[i].tile, cases[i].thread, VERIFY_USUAL))
            fail_msg("%s: refused by the usual effort", cases[i].name);
        if (accepts(f, cases[i].tile, cases[i].thread, VERIFY_EXHAUSTIVE) != cases[i].same)
            fail_msg("%s: %s", cases[i].name, cases[i].same ? "refused" : "accepted");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(floats_have_numbers_when_there_is_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
