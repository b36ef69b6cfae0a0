/* Numbers of a thread: its lane and subgroup, and what affine forms make of them.
 *
 *     lane*4 + subgroup*128 + slot*1      const i32 at = thread * 4;     slots are added where used
 *     lane % 8*1                          const i32 at2 = lane & 7;
 *
 * The values of a form at all lanes are looked at: they say whether it is one product, what divides
 * it, and whether 32 bits hold it. Only where they do is it a 32-bit number. Each number stands
 * once, before the body; thread and lane are masked there where that is a power of two, so that the
 * back end sees their ranges. */
#include "target/gpu_internal.h"

#include <string.h>

bool target_gpu_is_power(int64_t number) {
    return number > 0 && (number & (number - 1)) == 0;
}

const char *target_gpu_number_of(target_emitter *emitter, const char *type, const char *wanted,
                                 const char *text) {
    target_gpu *gpu = target_gpu_of(emitter);
    for (int64_t i = 0; i < gpu->number_count; i++)
        if (strcmp(gpu->numbers[i].text, text) == 0 && strcmp(gpu->numbers[i].type, type) == 0)
            return gpu->numbers[i].name;
    target_gpu_number number = {type, target_emit_fresh(emitter, wanted), text};
    BASE_PUSH(emitter->arena, gpu->numbers, gpu->number_count, gpu->number_capacity, number);
    return number.name;
}

/* ---- affine forms ---- */

/* The digit of a term, and what it is at most. */
static const char *digit_of(const target_gpu *gpu, const ir_term *term, int64_t *most) {
    const target_emitter *e = &gpu->emitter;
    bool lane = term->holder == LAYOUT_LANE;
    bool whole = lane && gpu->subgroup == gpu->lanes;
    const char *text = whole ? gpu->spelling->own : lane ? "lane" : "subgroup";
    *most = (lane ? gpu->subgroup : gpu->lanes / gpu->subgroup) - 1;
    *most /= term->divide;
    if (term->divide > 1 && target_gpu_is_power(term->divide))
        text = target_emit_text(e, "%s >> %d", text, __builtin_ctzll((uint64_t)term->divide));
    else if (term->divide > 1)
        text = target_emit_text(e, "%s / %lld", text, (long long)term->divide);
    if (term->modulus == 0 || term->modulus > *most)
        return text;
    *most = term->modulus - 1;
    if (target_gpu_is_power(term->modulus))
        return target_emit_text(e, "%s & %lld", text, (long long)*most);
    return target_emit_text(e, strchr(text, '>') != NULL ? "(%s) %% %lld" : "%s %% %lld", text,
                            (long long)term->modulus);
}

/* The sum of the terms by lane and subgroup. */
static const char *sum_of(const target_gpu *gpu, const ir_affine *affine, bool wide) {
    const target_emitter *e = &gpu->emitter;
    const char *sum = NULL;
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        int64_t most;
        if (term->holder == LAYOUT_SLOT)
            continue;
        const char *text = digit_of(gpu, term, &most);
        if (most == 0)
            continue;
        const char *stride = target_emit_integer(e, term->stride);
        if (wide)
            text = target_emit_text(e, "mul_i64(%s, %s)", text, stride);
        else if (term->stride != 1)
            text = target_emit_text(e, strchr(text, ' ') != NULL ? "(%s) * %s" : "%s * %s", text,
                                    stride);
        else if (strchr(text, '&') != NULL || strchr(text, '>') != NULL)
            text = target_emit_text(e, "(%s)", text);
        sum = sum == NULL ? text
                          : target_emit_text(e, wide ? "add_i64(%s, %s)" : "%s + %s", sum, text);
    }
    return sum;
}

/* Whether 32 bits hold the sum and everything on the way to it. */
static bool is_narrow(const target_gpu *gpu, const ir_affine *affine) {
    int64_t bound = 0;
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        int64_t most;
        if (term->holder == LAYOUT_SLOT)
            continue;
        digit_of(gpu, term, &most);
        if (most > 0 && (term->stride > INT32_MAX / most || term->stride < -INT32_MAX / most))
            return false;
        bound += most * (term->stride < 0 ? -term->stride : term->stride);
        if (bound > INT32_MAX)
            return false;
    }
    return true;
}

static int64_t divisor_of(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The form without its slots at a thread. */
static int64_t value_at(const target_gpu *gpu, const ir_affine *affine, int64_t thread) {
    return ir_affine_at(affine, ir_module_position(gpu->emitter.module, thread, 0));
}

target_gpu_position target_gpu_position_of(target_emitter *emitter, const ir_affine *affine) {
    target_gpu *gpu = target_gpu_of(emitter);
    const char *own = gpu->spelling->own;
    target_gpu_position position = {0};
    bool product = true, zero = true;
    if (!ir_affine_uses(affine, LAYOUT_LANE) && !ir_affine_uses(affine, LAYOUT_SUBGROUP))
        return position;
    position.wide = !is_narrow(gpu, affine);
    int64_t stride = gpu->lanes > 1 ? value_at(gpu, affine, 1) : 0;
    for (int64_t t = 0; t < gpu->lanes; t++) {
        int64_t value = value_at(gpu, affine, t);
        zero = zero && value == 0;
        product = product && !position.wide && value == t * stride;
        position.factor = position.wide ? 1 : divisor_of(position.factor, value);
        position.least = value < position.least ? value : position.least;
        position.greatest = value > position.greatest ? value : position.greatest;
    }
    if (zero)
        return (target_gpu_position){0};
    const char *text =
        product && stride == 1 ? own
        : product ? target_emit_text(emitter, "%s * %s", own, target_emit_integer(emitter, stride))
                  : sum_of(gpu, affine, position.wide);
    bool named = strchr(text, ' ') == NULL; /* a number of the thread itself */
    position.name =
        named ? text : target_gpu_number_of(emitter, position.wide ? "i64" : "i32", "at", text);
    return position;
}

/* ---- maps of lanes ---- */

/* Columns that move their bits by the same distance are one shift:
 * (lane & 3) << 1 ^ lane >> 2 */
const char *target_gpu_columns(const target_emitter *emitter, const ir_list *columns) {
    const char *sum = NULL;
    for (int distance = -62; distance < 63; distance++) {
        uint64_t bits = 0;
        for (int b = 0; b < columns->count && b < 63; b++)
            if (b + distance >= 0 && b + distance < 63 &&
                (columns->items[b] >> (b + distance) & 1) != 0)
                bits |= UINT64_C(1) << b;
        if (bits == 0)
            continue;
        const char *text = target_emit_text(emitter, "(lane & %llu)", (unsigned long long)bits);
        if (distance != 0)
            text = target_emit_text(emitter, "(%s %s %d)", text, distance > 0 ? "<<" : ">>",
                                    distance > 0 ? distance : -distance);
        sum = sum == NULL ? text : target_emit_text(emitter, "%s ^ %s", sum, text);
    }
    return sum != NULL ? sum : "0";
}

/* ---- the thread ---- */

/* A number below `count` that is thread / divide % count. */
static void declare(base_text *out, const char *name, const char *thread, int divide, int count,
                    bool last) {
    base_text_format(out, "    const i32 %s = %s", name, thread);
    if (divide > 1 && target_gpu_is_power(divide))
        base_text_format(out, " >> %d", __builtin_ctz((unsigned)divide));
    else if (divide > 1)
        base_text_format(out, " / %d", divide);
    if (!last)
        base_text_format(out, " & %d", count - 1);
    base_text_string(out, ";\n");
}

void target_gpu_declare_numbers(target_emitter *emitter, const target_names *used, base_text *out) {
    const target_gpu *gpu = target_gpu_of(emitter);
    const char *own = gpu->spelling->own;
    base_text numbers;
    base_text_init(&numbers, emitter->arena);
    for (int64_t i = 0; i < gpu->number_count; i++)
        base_text_format(&numbers, "    const %s %s = %s;\n", gpu->numbers[i].type,
                         gpu->numbers[i].name, gpu->numbers[i].text);
    target_names all;
    target_names_init(&all, emitter->arena);
    target_names_scan(&all, numbers.bytes);
    bool lane = target_names_has(used, "lane", 4) || target_names_has(&all, "lane", 4);
    bool subgroup = target_names_has(used, "subgroup", 8) || target_names_has(&all, "subgroup", 8);
    bool thread = lane || subgroup || target_names_has(used, own, strlen(own)) ||
                  target_names_has(&all, own, strlen(own));
    if (thread && target_gpu_is_power(gpu->lanes))
        base_text_format(out, "    const i32 %s = (i32)(%s & %d);\n", own, gpu->spelling->thread,
                         gpu->lanes - 1);
    else if (thread)
        base_text_format(out, "    const i32 %s = (i32)%s;\n", own, gpu->spelling->thread);
    if (lane)
        declare(out, "lane", own, 1, gpu->subgroup, gpu->subgroup == gpu->lanes);
    if (subgroup)
        declare(out, "subgroup", own, gpu->subgroup, 0, true);
    base_text_string(out, numbers.length > 0 ? numbers.bytes : "");
}
