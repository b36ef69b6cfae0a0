/* What is put down about conversions that were not needed, and about layouts that a machine has no
 * use for. */
#include "compile/compile.h"

#include "layout/tile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void compile(const char *text, const char *machine_name, compile_result *result) {
    base_source source = {"k.croft", text, strlen(text)};
    compile_request request = {.source = &source,
                               .partial = true,
                               .machine = machine_find(machine_name),
                               .stage = COMPILE_TO_TILE,
                               .check_passes = true};
    compile_run(&request, result);
    assert_int_equal(result->status, COMPILE_OK);
}

/* "chain convert.1 through convert.0: free -> identity(64, slots=2)" */
static void check_log(const char *text, const char *expected) {
    compile_result result;
    compile(text, "sm_90", &result);
    base_text out;
    base_text_init(&out, &result.arena);
    for (int64_t i = 0; i < result.log.conversion_count; i++) {
        const pass_conversion *entry = &result.log.conversions[i];
        base_text_format(&out, "%s %s", pass_conversion_kind_name(entry->kind), entry->anchor);
        if (entry->through != NULL)
            base_text_format(&out, " through %s", entry->through);
        base_text_string(&out, ": ");
        if (entry->source == NULL)
            base_text_string(&out, "free");
        else
            layout_axis_spell(&out, entry->source);
        base_text_string(&out, " -> ");
        layout_axis_spell(&out, entry->destination);
        base_text_format(&out, " at %d\n", (int)entry->location.line);
    }
    assert_string_equal(out.length == 0 ? "" : out.bytes, expected);
    assert_int_equal(result.log.erased, 0);
    compile_free(&result);
}

#define HEAD                                                                                       \
    "kernel k(x: in f32[R, 64], y: out f32[R, 64], A: layout = identity(64),\n"                    \
    "         B: layout = bits(5, 4, 3, 2, 1, 0)) { program r: R\n"

static void each_is_put_down_with_its_reason(void **unused) {
    (void)unused;
    check_log(HEAD "o = arange(64, A)\nv = convert(x[r, o], A)\ny[r, o] = v\n}\n",
              "same convert.0: identity(64, slots=1) -> identity(64, slots=1) at 4\n");
    check_log(HEAD "o = arange(64, A)\nv = convert(x[r, o], B)\ny[r, o] = convert(v, A)\n}\n",
              "inverse convert.1 through convert.0: identity(64, slots=1) -> "
              "identity(64, slots=1) at 5\n");
    check_log(HEAD "v = convert(x[r, :], B)\ny[r, :] = convert(v, A)\n}\n",
              "chain convert.1 through convert.0: free -> identity(64, slots=1) at 4\n");
}

static void needed_conversions_leave_no_trace(void **unused) {
    (void)unused;
    check_log(HEAD "v = convert(x[r, :], B)\ny[r, :] = convert(v * v, A)\n}\n", "");
    check_log(HEAD "y[r, :] = x[r, :]\n}\n", "");
}

static void layouts_are_erased_for_cpus_only(void **unused) {
    (void)unused;
    const char *text = HEAD "o = arange(64, A)\nv = convert(x[r, :], A)\ny[r, o] = v\n}\n";
    compile_result result;
    compile(text, "cpu-avx2", &result);
    assert_int_equal(result.log.erased, 2);
    compile_free(&result);
    compile(text, "m1", &result);
    assert_int_equal(result.log.erased, 0);
    compile_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_put_down_with_its_reason),
        cmocka_unit_test(needed_conversions_leave_no_trace),
        cmocka_unit_test(layouts_are_erased_for_cpus_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
