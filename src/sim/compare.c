/* An output against the reference, element by element.
 *
 *     float     |got - value| <= 4 E + half a unit in the last place of value in the output's type
 *     inf       of the same sign; finite values whose bound reaches the overflow threshold of the
 *               type may be inf, too
 *     integer   |got - integer| <= E, which is 0 but for roundings at their edge
 *
 * Elements that the reference did not write are counted and not compared: sim_compare_untouched
 * tells whether they are still as they were.
 */
#include "sim/reference.h"

#include "sim/float_format.h"
#include "sim/tensor.h"

#include <math.h>
#include <string.h>

/* What was measured on one element: it passes when error <= bound. */
typedef struct measure {
    double error, bound;
    double got, expected;
} measure;

static measure measure_float(const sim_float_format *format, double expected, double error,
                             double got, double tighten) {
    measure m = {.got = got, .expected = expected, .error = (double)INFINITY};
    if (isnan(expected) || isinf(expected)) {
        bool same = isnan(expected) ? isnan(got) : got == expected;
        m.error = same ? 0.0 : (double)INFINITY;
        return m;
    }
    m.bound = 4.0 * error + sim_half_ulp(format, expected);
    if (tighten > 0.0 && m.bound > tighten)
        m.bound = tighten;
    bool may_overflow = fabs(expected) + 4.0 * error >= format->overflow;
    if (isinf(got) && may_overflow && (got > 0.0) == (expected > 0.0))
        m.error = 0.0;
    else if (isfinite(got))
        m.error = fabs(got - expected);
    return m;
}

/* Neighbours of 64 bits may be one double: their distance is taken before it becomes one. */
static measure measure_integer(int64_t expected, double error, int64_t got) {
    uint64_t above = (uint64_t)got - (uint64_t)expected, below = 0 - above;
    return (measure){.error = (double)(above < below ? above : below), /* sums wrap */
                     .bound = error,
                     .got = (double)got,
                     .expected = (double)expected};
}

static double relative(measure m) {
    if (m.error == 0.0)
        return 0.0;
    return m.bound > 0.0 ? m.error / m.bound : (double)INFINITY;
}

sim_comparison sim_compare(const sim_reference_tensor *expected, const sim_tensor *got,
                           double tighten) {
    sim_comparison result = {.worst = -1};
    const sim_float_format *format = sim_float_format_of(got->dtype);
    double worst = -1.0;
    for (int64_t i = 0; i < expected->count; i++) {
        if (!expected->written[i]) {
            result.unwritten++;
            continue;
        }
        result.elements++;
        if (expected->loose[i])
            result.loose++;
        if (expected->loose[i] && !(expected->error[i] < (double)INFINITY))
            continue;
        int64_t offset = sim_tensor_offset(got, i);
        measure m = format != NULL ? measure_float(format, expected->value[i], expected->error[i],
                                                   sim_tensor_float(got, offset), tighten)
                                   : measure_integer(expected->integer[i], expected->error[i],
                                                     sim_tensor_integer(got, offset));
        result.failed += m.error > m.bound;
        if (relative(m) > worst) {
            worst = relative(m);
            result.worst = i;
            result.largest_error = m.error;
            result.its_bound = m.bound;
            result.worst_got = m.got;
            result.worst_expected = m.expected;
        }
    }
    return result;
}

static const unsigned char *element(const sim_tensor *tensor, int64_t flat) {
    return (const unsigned char *)tensor->data +
           sim_tensor_offset(tensor, flat) * base_dtype_size(tensor->dtype);
}

int64_t sim_compare_untouched(const sim_reference_tensor *expected, const sim_tensor *before,
                              const sim_tensor *got, int64_t *first) {
    int64_t touched = 0;
    size_t size = (size_t)base_dtype_size(got->dtype);
    for (int64_t i = 0; i < expected->count; i++) {
        if (expected->written[i] || memcmp(element(before, i), element(got, i), size) == 0)
            continue;
        if (touched++ == 0 && first != NULL)
            *first = i;
    }
    return touched;
}
