/* For tests: the plan of a compiled kernel with other digits, as text. The first ones stand on the
 * last axis of programs, the others on the axis of elements that lanes hold, so that rows share a
 * team:
 *
 *     packed_plan(&result, "lane 4 | group *", "slot 4 | lane 8 | step *")
 *
 * The text is valid until the next call. Changes the plan of the result.
 */
#ifndef TEST_PACKED_PLAN_H
#define TEST_PACKED_PLAN_H

#include "compile/compile.h"
#include "ir/plan.h"

#include <string.h>

static inline base_source packed_plan(compile_result *result, const char *row_digits,
                                      const char *element_digits) {
    static char text[1 << 14];
    const char *reason;
    size_t used;
    layout_axis rows, elements;
    assert_true(layout_axis_parse(row_digits, strlen(row_digits), &rows, &used, &reason));
    assert_true(
        layout_axis_parse(element_digits, strlen(element_digits), &elements, &used, &reason));
    ir_plan_list *axes = &result->plan->of[IR_PLAN_AXIS], *keeps = &result->plan->of[IR_PLAN_KEEP];
    ir_plan_list *accesses = &result->plan->of[IR_PLAN_ACCESS];
    ir_plan_line *program = NULL;
    for (int64_t i = 0; i < axes->count; i++) {
        if (layout_axis_has(&axes->lines[i].digits, LAYOUT_GROUP))
            program = &axes->lines[i];
        else if (layout_axis_has(&axes->lines[i].digits, LAYOUT_LANE))
            axes->lines[i].digits = elements;
    }
    assert_non_null(program);
    program->digits = rows;
    for (int64_t i = 0; i < keeps->count; i++)
        if (keeps->lines[i].storage == IR_STORAGE_REGISTERS)
            keeps->lines[i].storage = IR_STORAGE_PRIVATE;
    int most = (int)layout_axis_radix(&elements, LAYOUT_SLOT);
    for (int64_t i = 0; i < accesses->count; i++)
        if (accesses->lines[i].width > most)
            accesses->lines[i].width = most;
    base_text out;
    base_text_init(&out, &result->arena);
    ir_plan_print(&out, result->plan);
    assert_true(out.length < (int64_t)sizeof text);
    memcpy(text, out.bytes, (size_t)out.length);
    return (base_source){.name = "packed.plan", .text = text, .length = (size_t)out.length};
}

#endif
