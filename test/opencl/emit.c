/* OpenCL text of a thread module, right or wrong: what a device simulator is to judge.
 *
 *     opencl_emit MODULE.ir MACHINE [R=5 N=96 flag=1 ...] [--wrong]
 *
 * Nothing verifies the module, which is why this is no command of Croft's; with --wrong the target
 * is not asked either whether it takes it. Prints what a launch
 * needs under these sizes (4 for others), then `text` and the text:
 *
 *     entry croft_k
 *     threads 64
 *     groups 1
 *     workspace 0                    bytes of all groups
 *     tensor x in f32 64             bytes are the elements' times their size
 *     words 64 1 1
 *     text
 *     ...
 *
 * Exit status 1: what the target refuses, with its reason. */
#include "base/diagnostic.h"
#include "machine/machine.h"
#include "target/target.h"
#include "text/ir_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_LIMIT = 256, TEXT_LIMIT = 1 << 18, OTHER_SIZE = 4 };

typedef struct words {
    int64_t word[WORD_LIMIT];
    int count;
} words;

/* The number behind NAME= among the arguments, or `otherwise`. */
static int64_t given(char **arguments, const char *name, size_t length, int64_t otherwise) {
    for (; *arguments != NULL; arguments++)
        if (strncmp(*arguments, name, length) == 0 && (*arguments)[length] == '=')
            return strtoll(*arguments + length + 1, NULL, 10);
    return otherwise;
}

static bool is_wrong(char **arguments) {
    while (*arguments != NULL && strcmp(*arguments, "--wrong") != 0)
        arguments++;
    return *arguments != NULL;
}

static void add_sizes(words *all, const ir_module *module, char **arguments) {
    for (int64_t i = 0; i < module->extents.symbol_count; i++) {
        const layout_symbol *symbol = &module->extents.symbols[i];
        all->word[all->count++] =
            symbol->known ? symbol->value
                          : given(arguments, symbol->name, strlen(symbol->name), OTHER_SIZE);
    }
}

/* Dense rows; says what each tensor is. False: a size cannot be worked out. */
static bool add_strides(words *all, const ir_module *module, const int64_t *sizes) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        const ir_type *type = &parameter->value->type;
        int64_t cells = 1, extent = 0;
        for (int d = type->rank - 1; d >= 0; d--) {
            if (!layout_extent_evaluate(type->extent[d], sizes, &extent))
                return false;
            all->word[all->count + d] = cells;
            cells *= extent;
        }
        all->count += type->rank;
        printf("tensor %s %s %s %lld\n", parameter->name, modes[parameter->mode],
               base_dtype_name(parameter->dtype), (long long)cells);
    }
    return true;
}

static void add_scalars(words *all, const ir_module *module, char **arguments) {
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        float real = (float)parameter->initial.real;
        if (parameter->is_tensor)
            continue;
        int64_t word = 0;
        if (parameter->dtype == BASE_F32)
            memcpy(&word, &real, sizeof real);
        else
            word = given(arguments, parameter->name, strlen(parameter->name),
                         parameter->initial.integer);
        all->word[all->count++] = word;
    }
}

typedef struct asked {
    const target *target;
    const ir_module *module;
    const machine *on;
    const char *refused;
} asked;

static bool ask(void *state, ir_op *op) {
    asked *a = state;
    if (a->refused == NULL)
        a->refused = a->target->supports(a->module, op, a->on);
    return a->refused == NULL;
}

static int emit(base_arena *arena, const ir_module *module, const machine *on, char **arguments) {
    asked question = {.target = target_find("opencl"), .module = module, .on = on};
    if (!is_wrong(arguments))
        ir_region_walk((ir_region *)&module->body, ask, &question);
    if (question.refused != NULL) {
        printf("refused: %s\n", question.refused);
        return 1;
    }
    target_source source = target_emit(question.target, arena, module, on);
    words all = {.count = 0};
    int64_t groups = 0, workspace = 0;
    add_sizes(&all, module, arguments);
    if (!layout_extent_evaluate(module->groups, all.word, &groups) ||
        (source.workspace != NULL &&
         !layout_extent_evaluate(source.workspace, all.word, &workspace))) {
        printf("refused: a size cannot be worked out\n");
        return 1;
    }
    printf("entry %s\nthreads %d\ngroups %lld\nworkspace %lld\n", source.entry, source.threads,
           (long long)groups, (long long)(workspace * groups));
    if (!add_strides(&all, module, all.word))
        return 1;
    add_scalars(&all, module, arguments);
    printf("words");
    for (int i = 0; i < all.count; i++)
        printf(" %lld", (long long)all.word[i]);
    printf("\ntext\n%s", source.text);
    return 0;
}

static int run(base_arena *arena, const char *path, const machine *on, char **arguments) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 4;
    char *text = base_arena_alloc(arena, TEXT_LIMIT);
    size_t length = fread(text, 1, TEXT_LIMIT - 1, file);
    fclose(file);
    base_source source = {.name = path, .text = text, .length = length};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    ir_module *module = text_ir_parse(arena, &source, &diagnostics);
    if (module == NULL) {
        base_text said;
        base_text_init(&said, arena);
        base_diagnostics_render(&said, &diagnostics);
        printf("refused: %s\n", said.bytes);
        return 1;
    }
    return emit(arena, module, on, arguments);
}

int main(int argc, char **argv) {
    base_arena arena;
    jmp_buf exhausted;
    const machine *on = argc > 2 ? machine_find(argv[2]) : NULL;
    if (on == NULL)
        return 2;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    volatile int status = 4;
    if (setjmp(exhausted) == 0)
        status = run(&arena, argv[1], on, argv + 3);
    base_arena_free(&arena);
    return status;
}
