/* Runs on inputs of eight sizes: rows and columns from `choices`, small integers and fractions as
 * elements, the defaults of scalars. Outputs begin as bytes 0xff, so that a store that is lost
 * shows. A module that refuses a size is judged on the others.
 */
#include "judge.h"

#include "sim/thread.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 8, ARGUMENTS = 32, WORDS = 256, MOST_BYTES = 1 << 22 };

typedef struct run {
    void *data[ARGUMENTS]; /* by parameter */
    size_t bytes[ARGUMENTS];
    int64_t words[WORDS];
    bool valid;
} run;

struct judge {
    base_arena *arena;
    const ir_module *module;
    uint64_t random;
    run inputs[INPUTS], outputs[INPUTS];
};

static uint64_t next_random(judge *j) {
    j->random = j->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return j->random >> 33;
}

static void fill(judge *j, const ir_parameter *parameter, unsigned char *bytes, size_t size) {
    if (parameter->mode == IR_OUT) {
        memset(bytes, 0xff, size);
        return;
    }
    for (size_t i = 0; i < size; i += (size_t)base_dtype_size(parameter->dtype)) {
        int64_t number = (int64_t)(next_random(j) % 9) - 2;
        float real = (float)(next_random(j) % 2048) / 256.0F - 4.0F;
        if (parameter->dtype == BASE_F32) {
            memcpy(bytes + i, &real, sizeof real);
        } else if (base_dtype_is_float(parameter->dtype)) {
            uint16_t half = (uint16_t)(0x3c00 | (next_random(j) & 0xff));
            memcpy(bytes + i, &half, sizeof half);
        } else {
            memcpy(bytes + i, &number, (size_t)base_dtype_size(parameter->dtype));
        }
    }
}

static bool start_run(judge *j, run *r, int input) {
    static const int64_t choices[INPUTS][2] = {{3, 70},  {17, 5}, {1, 1},  {33, 67},
                                               {2, 128}, {5, 64}, {3, 33}, {2, 300}};
    const ir_module *module = j->module;
    int64_t count = module->extents.symbol_count;
    for (int64_t i = 0; i < count; i++)
        r->words[i] = module->extents.symbols[i].known ? module->extents.symbols[i].value
                                                       : choices[input][i > 0];
    int64_t sizes[WORDS];
    memcpy(sizes, r->words, sizeof sizes);
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        const ir_type *type = &parameter->value->type;
        int64_t cells = 1;
        for (int d = type->rank - 1; d >= 0; d--) {
            int64_t extent = 0;
            if (!layout_extent_evaluate(type->extent[d], sizes, &extent) || extent < 0)
                return false;
            r->words[count + d] = cells;
            cells *= extent;
        }
        count += type->rank;
        r->bytes[i] = (size_t)(cells * base_dtype_size(parameter->dtype));
        if (r->bytes[i] > MOST_BYTES)
            return false;
        r->data[i] = base_arena_alloc(j->arena, r->bytes[i] + 1);
        fill(j, parameter, r->data[i], r->bytes[i]);
    }
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        float real = (float)parameter->initial.real;
        if (parameter->is_tensor)
            continue;
        r->words[count] = parameter->initial.integer;
        if (parameter->dtype == BASE_F32)
            memcpy(&r->words[count], &real, sizeof real);
        count++;
    }
    return true;
}

/* Runs in `arena`; the outputs take the place of the data that went in. */
static bool simulate(base_arena *arena, const ir_module *module, run *r) {
    void *pointers[ARGUMENTS];
    int count = 0;
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor)
            pointers[count++] = r->data[i];
    base_diagnostics found;
    base_diagnostics_init(&found, arena);
    sim_options options = {.last_group = -1, .watch = true};
    return sim_thread_run(arena, module, pointers, r->words, &options, &found) == SIM_OK;
}

static void copy_run(base_arena *arena, run *to, const run *from, int parameters) {
    *to = *from;
    for (int i = 0; i < parameters; i++)
        if (from->data[i] != NULL) {
            to->data[i] = base_arena_alloc(arena, from->bytes[i] + 1);
            memcpy(to->data[i], from->data[i], from->bytes[i]);
        }
}

judge *judge_create(base_arena *arena, const ir_module *module, uint64_t seed) {
    judge *j = BASE_NEW(arena, judge);
    *j = (judge){.arena = arena, .module = module, .random = seed};
    if (module->parameter_count > ARGUMENTS)
        return NULL;
    for (int i = 0; i < INPUTS; i++) {
        j->inputs[i].valid = start_run(j, &j->inputs[i], i);
        if (!j->inputs[i].valid)
            continue;
        copy_run(arena, &j->outputs[i], &j->inputs[i], module->parameter_count);
        if (!simulate(arena, module, &j->outputs[i]))
            return NULL;
    }
    return j;
}

static bool same_on(judge *j, base_arena *arena, const ir_module *changed, int input) {
    run r;
    copy_run(arena, &r, &j->inputs[input], changed->parameter_count);
    if (!simulate(arena, changed, &r))
        return false;
    for (int i = 0; i < changed->parameter_count; i++)
        if (r.data[i] != NULL && memcmp(r.data[i], j->outputs[input].data[i], r.bytes[i]) != 0)
            return false;
    return true;
}

/* In an arena of its own, so that what a mutant asks for is given back. */
static __attribute__((noinline)) bool same_apart(judge *j, const ir_module *changed, int input) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    volatile bool same = false;
    if (setjmp(exhausted) == 0)
        same = same_on(j, &arena, changed, input);
    base_arena_free(&arena);
    return same;
}

bool judge_says_same(judge *j, const ir_module *changed) {
    for (int i = 0; i < INPUTS; i++)
        if (j->inputs[i].valid && !same_apart(j, changed, i))
            return false;
    return true;
}
