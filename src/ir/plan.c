/* Plans as text, and their hash.
 *
 *     plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096
 *     axis N        lane 8 | slot 4 | step 128
 *     keep e        private
 *     reduce max.0  tree
 *
 * The hash is taken over the same decisions with every name left out: a line counts by its place
 * among the lines of its kind. Lines stand in the order of the canonical IR, which names do not
 * change; so renaming a kernel, a size or a value, and naming a subexpression (which turns the
 * anchor `exp.0` of a kept value into `e`), leave the hash as it was, and the canonical hash inside
 * it says what each place means. Whoever applies a plan sees to that order.
 */
#include "ir/plan.h"

#include "base/hash.h"
#include "ir/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Columns that the longest anchor may push the decisions to. */
enum { WIDEST_COLUMN = 40 };

static const char *const math_names[] = {[IR_MATH_PORTABLE] = "portable"};

const char *ir_math_form_name(ir_math_form form) {
    return math_names[form];
}

static void widen(int64_t *column, const char *kind, const char *anchor) {
    int64_t width = (int64_t)(strlen(kind) + 1 + strlen(anchor) + 2);
    if (width > *column && width <= WIDEST_COLUMN)
        *column = width;
}

static int64_t decision_column(const ir_plan *plan) {
    int64_t column = 0;
    for (int i = 0; i < plan->axis_count; i++)
        widen(&column, "axis", plan->axes[i].anchor);
    for (int i = 0; i < plan->keep_count; i++)
        widen(&column, "keep", plan->keeps[i].anchor);
    for (int i = 0; i < plan->reduce_count; i++)
        widen(&column, "reduce", plan->reduces[i].anchor);
    for (int i = 0; i < plan->access_count; i++)
        widen(&column, "access", plan->accesses[i].anchor);
    for (int i = 0; i < plan->convert_count; i++)
        widen(&column, "convert", plan->converts[i].anchor);
    for (int i = 0; i < plan->math_count; i++)
        widen(&column, "math", plan->maths[i].anchor);
    return column;
}

/* Up to the decision: `axis N        `. */
static void print_line_start(base_text *out, const char *kind, const char *anchor, int64_t column) {
    int64_t start = out->length;
    base_text_format(out, "%s %s", kind, anchor);
    do {
        base_text_string(out, " ");
    } while (out->length - start < column);
}

static void print_first_line(base_text *out, const ir_plan *plan) {
    base_text_format(out, "plan %s canon %016" PRIx64 " machine %s", plan->kernel,
                     plan->canonical_hash, plan->machine);
    for (int i = 0; i < plan->condition_count; i++)
        base_text_format(out, "%s%s = %" PRId64, i == 0 ? " for " : ", ",
                         plan->conditions[i].symbol, plan->conditions[i].value);
    base_text_string(out, "\n");
}

void ir_plan_print(base_text *out, const ir_plan *plan) {
    int64_t column = decision_column(plan);
    print_first_line(out, plan);
    for (int i = 0; i < plan->axis_count; i++) {
        print_line_start(out, "axis", plan->axes[i].anchor, column);
        layout_axis_print(out, &plan->axes[i].digits);
        base_text_string(out, "\n");
    }
    for (int i = 0; i < plan->keep_count; i++) {
        print_line_start(out, "keep", plan->keeps[i].anchor, column);
        base_text_string(out, ir_storage_name(plan->keeps[i].storage));
        base_text_format(out, plan->keeps[i].access != NULL ? " %s\n" : "\n",
                         plan->keeps[i].access);
    }
    for (int i = 0; i < plan->reduce_count; i++) {
        print_line_start(out, "reduce", plan->reduces[i].anchor, column);
        base_text_string(out, "tree\n");
    }
    for (int i = 0; i < plan->access_count; i++) {
        print_line_start(out, "access", plan->accesses[i].anchor, column);
        base_text_format(out, "width %d\n", plan->accesses[i].width);
    }
    for (int i = 0; i < plan->convert_count; i++) {
        print_line_start(out, "convert", plan->converts[i].anchor, column);
        base_text_string(out, layout_class_name(plan->converts[i].mechanism));
        base_text_format(out, plan->converts[i].array != NULL ? " of %s\n" : "\n",
                         plan->converts[i].array);
    }
    for (int i = 0; i < plan->math_count; i++) {
        print_line_start(out, "math", plan->maths[i].anchor, column);
        base_text_format(out, "%s\n", ir_math_form_name(plan->maths[i].form));
    }
}

/* ---- hash ---- */
static uint64_t hash_text(uint64_t hash, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static uint64_t hash_text(uint64_t hash, const char *format, ...) {
    char text[64]; /* for a word and a number */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return base_hash_bytes(hash, text, (size_t)length);
}

/* The line of an access; -1 without one. */
static int plan_access_number(const ir_plan *plan, const char *anchor) {
    for (int i = 0; anchor != NULL && i < plan->access_count; i++)
        if (strcmp(plan->accesses[i].anchor, anchor) == 0)
            return i;
    return -1;
}

static uint64_t hash_digits(uint64_t hash, const ir_plan *plan, const layout_axis *axis) {
    for (int i = 0; i < axis->count; i++) {
        hash = hash_text(hash, " %s %" PRId64, layout_holder_name(axis->digits[i].holder),
                         axis->digits[i].radix);
        if (layout_axis_digit_stride(axis, i) != layout_axis_default_stride(axis, i))
            hash = hash_text(hash, " @%" PRId64, axis->digits[i].stride);
    }
    if (axis->exclusive_or != 0)
        hash = hash_text(hash, " xor %" PRId64, axis->exclusive_or);
    return axis->shift == NULL
               ? hash
               : hash_text(hash, " shift %d", plan_access_number(plan, axis->shift));
}

static int plan_convert_number(const ir_plan *plan, const char *anchor) {
    for (int i = 0; anchor != NULL && i < plan->convert_count; i++)
        if (strcmp(plan->converts[i].anchor, anchor) == 0)
            return i;
    return -1;
}

uint64_t ir_plan_hash(const ir_plan *plan) {
    uint64_t hash =
        hash_text(BASE_HASH_START, "plan %016" PRIx64 " machine ", plan->canonical_hash);
    hash = base_hash_bytes(hash, plan->machine, strlen(plan->machine));
    for (int i = 0; i < plan->condition_count; i++)
        hash = hash_text(hash, " = %" PRId64, plan->conditions[i].value);
    for (int i = 0; i < plan->axis_count; i++)
        hash = hash_digits(hash_text(hash, "\naxis"), plan, &plan->axes[i].digits);
    for (int i = 0; i < plan->keep_count; i++)
        hash = hash_text(hash, "\nkeep %s %d", ir_storage_name(plan->keeps[i].storage),
                         plan_access_number(plan, plan->keeps[i].access));
    for (int i = 0; i < plan->reduce_count; i++)
        hash = hash_text(hash, "\nreduce tree");
    for (int i = 0; i < plan->access_count; i++)
        hash = hash_text(hash, "\naccess width %d", plan->accesses[i].width);
    for (int i = 0; i < plan->convert_count; i++)
        hash = hash_text(hash, "\nconvert %s %d", layout_class_name(plan->converts[i].mechanism),
                         plan_convert_number(plan, plan->converts[i].array));
    for (int i = 0; i < plan->math_count; i++)
        hash = hash_text(hash, "\nmath %s", ir_math_form_name(plan->maths[i].form));
    return hash;
}
