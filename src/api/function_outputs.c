/* What the outputs of a function have to be, and the answers that it keeps.
 *
 *     x f32 4 x 100, y to be made    ->   the front end binds the kernel: y f32 4 x 100. Kept
 *     the same once more             ->   found
 *
 * An answer is kept for the tensors that were given: types, devices, shapes and strides. A row of
 * the table has one answer, and the next with that hash takes its place. Who finds the table taken
 * by another thread, or by one that a fork left behind, asks the front end.
 */
#include "api/function_internal.h"

#include <string.h>

/* ---- what is kept ---- */
struct api_answer {
    uint64_t hash;
    size_t size; /* of all */
    int word_count, output_count;
    croft_output outputs[]; /* of the tensors that were missing; then the words */
};

typedef struct question {
    uint64_t hash;
    int word_count, output_count;
    uint64_t words[API_KIND_WORDS]; /* large: not zeroed */
} question;

static const uint64_t missing = UINT64_MAX; /* no word of a tensor */

/* False: tensors that no kernel takes, or a caller whose outputs have other members. */
static bool read_question(const croft_tensor *const *tensors, int count,
                          const croft_output *outputs, question *asked) {
    uint64_t *words = asked->words;
    asked->output_count = 0;
    for (int i = 0; i < count && words != NULL; i++) {
        if (tensors[i] != NULL) {
            words = api_tensor_words(tensors[i], words);
        } else if (outputs[i].size == sizeof *outputs) {
            *words++ = missing;
            asked->output_count++;
        } else {
            words = NULL;
        }
    }
    if (words == NULL)
        return false;
    asked->word_count = (int)(words - asked->words);
    asked->hash = api_words_hash(asked->words, asked->word_count);
    return true;
}

static uint64_t *words_of(api_answer *answer) {
    return (uint64_t *)(void *)&answer->outputs[answer->output_count];
}

static bool is_answer(api_answer *answer, const question *asked) {
    return answer != NULL && answer->hash == asked->hash &&
           answer->word_count == asked->word_count &&
           memcmp(words_of(answer), asked->words,
                  sizeof *asked->words * (size_t)asked->word_count) == 0;
}

static bool take(api_outputs *known) {
    return !atomic_exchange(&known->taken, true);
}

static void give(api_outputs *known) {
    atomic_store(&known->taken, false);
}

/* False: not known. */
static bool find(api_outputs *known, const croft_tensor *const *tensors, int count,
                 const question *asked, croft_output *outputs) {
    if (!take(known))
        return false;
    api_answer *answer = known->rows[asked->hash % API_OUTPUTS_LIMIT];
    bool found = is_answer(answer, asked);
    for (int i = 0, next = 0; i < count && found; i++)
        if (tensors[i] == NULL)
            outputs[i] = answer->outputs[next++];
    give(known);
    return found;
}

static croft_status keep(croft_function *function, const croft_tensor *const *tensors, int count,
                         const question *asked, const croft_output *outputs) {
    const base_allocator allocator = function->kernel->context->allocator;
    size_t size = sizeof(api_answer) + sizeof(croft_output) * (size_t)asked->output_count +
                  sizeof(uint64_t) * (size_t)asked->word_count;
    api_answer *made = api_allocate(allocator, size);
    if (made == NULL)
        return CROFT_OUT_OF_MEMORY;
    made->hash = asked->hash;
    made->size = size;
    made->word_count = asked->word_count;
    made->output_count = asked->output_count;
    for (int i = 0, next = 0; i < count; i++)
        if (tensors[i] == NULL)
            made->outputs[next++] = outputs[i];
    memcpy(words_of(made), asked->words, sizeof *asked->words * (size_t)asked->word_count);
    if (take(&function->outputs)) {
        api_answer **row = &function->outputs.rows[asked->hash % API_OUTPUTS_LIMIT], *before = *row;
        *row = made;
        give(&function->outputs);
        made = before;
    }
    if (made != NULL)
        api_release(allocator, made, made->size);
    return CROFT_OK;
}

void api_outputs_free(croft_function *function) {
    for (int i = 0; i < API_OUTPUTS_LIMIT; i++) {
        api_answer *answer = function->outputs.rows[i];
        if (answer != NULL)
            api_release(function->kernel->context->allocator, answer, answer->size);
    }
}

/* ---- asking the front end ---- */
static croft_status write_output(api_call *call, const croft_function *function,
                                 const api_folded *folded, const text_bindings *bindings, int slot,
                                 croft_output *output) {
    const char *name = function->slots[slot].name;
    const text_argument *bound = NULL;
    croft_output known = {.size = sizeof known};
    for (int i = 0; i < bindings->argument_count; i++)
        if (strcmp(bindings->arguments[i].name, name) == 0)
            bound = &bindings->arguments[i];
    if (bound == NULL)
        return api_misuse(call, "an output is no parameter");
    const api_folded *other = api_function_leading(function, folded, slot);
    int leading = other != NULL ? other->leading_count : bound->rank > 0;
    api_dtype_code(bound->dtype, &known.dtype_code, &known.dtype_bits);
    known.rank = leading + (bound->rank > 0 ? bound->rank - 1 : 0);
    if (known.rank > CROFT_OUTPUT_AXES)
        return api_refuse(
            call, "rank-mismatch", name, "too many axes", api_number_text(call, known.rank),
            base_diagnostics_text(&call->diagnostics, "at most %d", CROFT_OUTPUT_AXES));
    for (int d = 0; d < known.rank; d++) {
        known.shape[d] = d >= leading    ? bound->extent[d - leading + 1]
                         : other != NULL ? other->leading[d]
                                         : bound->extent[0];
        if (known.shape[d] < 0)
            return api_refuse(call, "missing-argument", name,
                              "its shape does not follow from the other tensors", NULL,
                              "the output, or its sizes as arguments of the function");
    }
    return api_struct_write(&known, sizeof known, output)
               ? CROFT_OK
               : api_misuse(call, "the size of an output is not set");
}

static croft_status find_outputs(api_call *call, const croft_function *function,
                                 const croft_tensor *const *tensors, int count,
                                 croft_output *outputs) {
    api_folded *folded = BASE_NEW_ARRAY(&call->arena, api_folded, count + 1);
    text_argument *texts = NULL;
    text_bindings bindings;
    int given = 0;
    croft_status status = api_function_check(call, function, tensors, count, true);
    if (status == CROFT_OK && outputs == NULL && count > 0)
        status = api_misuse(call, "there is nowhere to put the outputs");
    if (status == CROFT_OK)
        status = api_function_fold(call, function, tensors, folded);
    if (status != CROFT_OK)
        return status;
    const croft_argument *arguments =
        api_function_arguments(call, function, tensors, folded, &given);
    status = api_arguments_read(call, arguments, given, &texts);
    if (status != CROFT_OK)
        return status;
    text_argument *all = BASE_NEW_ARRAY(&call->arena, text_argument, given + count + 1);
    memcpy(all, texts, sizeof *all * (size_t)given);
    for (int i = 0; i < count; i++)
        if (tensors[i] == NULL)
            all[given++] = (text_argument){.name = function->slots[i].name,
                                           .kind = TEXT_ARGUMENT_TENSOR,
                                           .dtype_open = true,
                                           .extent_open = true};
    if (!text_kernel_bind(&call->arena, function->kernel->syntax.kernel, all, given, false,
                          &bindings, &call->diagnostics))
        return CROFT_REJECTED;
    for (int i = 0; i < count && status == CROFT_OK; i++)
        if (tensors[i] == NULL)
            status = write_output(call, function, folded, &bindings, i, &outputs[i]);
    return status;
}

static croft_status ask(croft_function *function, const croft_tensor *const *tensors, int count,
                        croft_output *outputs, croft_diagnostics **findings) {
    api_call call;
    api_call_begin(&call, function->kernel->context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, find_outputs(&call, function, tensors, count, outputs));
}

croft_status croft_function_outputs(croft_function *function, const croft_tensor *const *tensors,
                                    int count, croft_output *outputs,
                                    croft_diagnostics **findings) {
    question asked; /* large: not zeroed */
    if (findings != NULL)
        *findings = NULL;
    if (function == NULL)
        return api_misuse_early(NULL, findings, "there is no function");
    bool known = count > 0 && count == function->slot_count && tensors != NULL && outputs != NULL &&
                 read_question(tensors, count, outputs, &asked);
    if (known && find(&function->outputs, tensors, count, &asked, outputs))
        return CROFT_OK;
    croft_status status = ask(function, tensors, count, outputs, findings);
    return known && status == CROFT_OK ? keep(function, tensors, count, &asked, outputs) : status;
}
