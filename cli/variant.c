/* Choosing a variant.
 *
 *     variant: x aligned 16, y aligned 16
 *
 *     variant: y aligned 16
 *       x aligned 16 does not hold: x begins 4 bytes past a multiple of 16
 */
#include "variant.h"

#include "answer.h"

#include "runtime/condition.h"

#include <string.h>

/* The tensors by parameter, as a launch has them. */
static void find_tensors(const ir_module *module, void *const *pointers, const int64_t *words,
                         runtime_tensor tensors[CLI_ARGUMENT_LIMIT]) {
    int64_t word = module->extents.symbol_count;
    int pointer = 0;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        tensors[i] = (runtime_tensor){.address = (uint64_t)(uintptr_t)pointers[pointer++],
                                      .rank = parameter->value->type.rank,
                                      .element_bytes = base_dtype_size(parameter->dtype)};
        for (int d = 0; d < tensors[i].rank; d++) {
            (void)!layout_extent_evaluate(parameter->value->type.extent[d], words,
                                          &tensors[i].extents[d]);
            tensors[i].strides[d] = words[word++];
        }
    }
}

static bool is_among(const ir_module *module, const layout_condition *condition) {
    for (int64_t i = 0; i < module->condition_count; i++)
        if (module->conditions[i].kind == condition->kind &&
            module->conditions[i].subject == condition->subject &&
            module->conditions[i].amount == condition->amount)
            return true;
    return false;
}

static void add_chosen(const cli_options *options, base_arena *arena, const ir_module *module,
                       const layout_condition *condition) {
    base_text text;
    base_text_init(&text, arena);
    layout_condition_print(&text, condition, ir_condition_subject(module, condition));
    cli_answer_add(options, "variant", cli_answer_text, text.bytes);
}

/* Those of all launches, each once. */
static void say_chosen(const cli_options *options, const compile_result *compiled, base_text *out) {
    int64_t said = 0;
    base_text_string(out, "variant: ");
    for (int k = 0; k < compiled->launch_count; k++) {
        const ir_module *module = compiled->launches[k].module;
        for (int64_t i = 0; i < module->condition_count; i++) {
            const layout_condition *condition = &module->conditions[i];
            bool before = false;
            for (int j = 0; j < k; j++)
                before = before || is_among(compiled->launches[j].module, condition);
            if (before)
                continue;
            base_text_string(out, said++ > 0 ? ", " : "");
            layout_condition_print(out, condition, ir_condition_subject(module, condition));
            add_chosen(options, out->arena, module, condition);
        }
    }
    base_text_string(out, said == 0 ? "general\n" : "\n");
}

typedef struct missed {
    const char *condition, *reason; /* the reason of one that is not tried is NULL */
} missed;

static void write_missed(base_json *json, const void *state) {
    const missed *one = state;
    base_json_object(json, NULL);
    base_json_string(json, "condition", one->condition);
    base_json_string(json, "reason", one->reason);
    base_json_close(json);
}

static void say_obstacle(const cli_options *options, const ir_module *module,
                         const layout_condition *condition, const runtime_obstacle *obstacle,
                         base_text *out) {
    const char *subject = ir_condition_subject(module, condition);
    base_text name, reason;
    base_text_init(&name, out->arena);
    base_text_init(&reason, out->arena);
    layout_condition_print(&name, condition, subject);
    if (obstacle != NULL)
        runtime_obstacle_print(&reason, condition, subject, obstacle);
    missed one = {name.bytes, obstacle != NULL ? reason.bytes : NULL};
    cli_answer_add(options, "variant_missed", write_missed, &one);
    if (obstacle == NULL)
        base_text_format(out, "  %s is not tried\n", name.bytes);
    else
        base_text_format(out, "  %s does not hold: %s\n", name.bytes, reason.bytes);
}

int cli_variant_choose(cli_job *job, void *const *pointers, const int64_t *words) {
    const compile_result *compiled = &job->compiled;
    runtime_tensor tensors[CLI_ARGUMENT_LIMIT];
    runtime_arguments arguments = {.tensors = tensors, .sizes = words};
    jmp_buf exhausted;
    if (compiled->condition_count == 0)
        return CLI_EXIT_OK;
    job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    base_text against, chosen;
    base_text_init(&against, &job->arena);
    base_text_init(&chosen, &job->arena);
    bool *holds = BASE_NEW_ARRAY(&job->arena, bool, compiled->condition_count);
    find_tensors(compiled->module, pointers, words, tensors);
    for (int64_t i = 0; i < compiled->condition_count; i++) {
        const layout_condition *condition = &compiled->conditions[i];
        runtime_obstacle obstacle;
        bool tried = (job->tries >> condition->kind & 1) != 0;
        holds[i] = tried && runtime_condition_holds(condition, &arguments, &obstacle);
        if (!holds[i])
            say_obstacle(job->options, compiled->module, condition, tried ? &obstacle : NULL,
                         &against);
    }
    int status = cli_job_specialise(job, holds);
    if (status != CLI_EXIT_OK)
        return status;
    say_chosen(job->options, compiled, &chosen);
    if (job->options->json || !job->options->check)
        return CLI_EXIT_OK;
    fputs(chosen.bytes, stdout);
    fputs(against.length > 0 ? against.bytes : "", stdout);
    return CLI_EXIT_OK;
}
