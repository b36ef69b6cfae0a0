/* What the device's compiler says of a program that was loaded.
 *
 *     from ptxas: 32 registers, 16 bytes of stack, 0 spilled, 1 barriers, 1024 bytes of scratch
 */
#include "answer.h"
#include "launch_room.h"

/* A figure that the device's compiler gives; -1: it does not. */
static void print_fact(int *printed, int64_t figure, const char *what) {
    if (figure >= 0)
        printf("%s %lld %s", (*printed)++ > 0 ? "," : "", (long long)figure, what);
}

static void print_facts(const runtime_facts *facts) {
    int printed = 0;
    printf("from %s:", facts->from);
    print_fact(&printed, facts->registers, "registers");
    print_fact(&printed, facts->stack_bytes, "bytes of stack");
    print_fact(&printed, facts->spill_bytes, "spilled");
    print_fact(&printed, facts->barriers, "barriers");
    print_fact(&printed, facts->scratch_bytes, "bytes of scratch");
    puts("");
}

static void write_fact(base_json *json, const char *key, int64_t figure) {
    if (figure >= 0)
        base_json_integer(json, key, figure);
    else
        base_json_null(json, key);
}

static void write_facts(base_json *json, const void *state) {
    const runtime_facts *facts = state;
    base_json_object(json, NULL);
    base_json_string(json, "from", facts->from);
    write_fact(json, "registers", facts->registers);
    write_fact(json, "stack_bytes", facts->stack_bytes);
    write_fact(json, "spill_bytes", facts->spill_bytes);
    write_fact(json, "barriers", facts->barriers);
    write_fact(json, "scratch_bytes", facts->scratch_bytes);
    base_json_close(json);
}

void cli_launch_say_facts(const cli_options *options, const runtime_device *device,
                          const runtime_module *module) {
    runtime_facts facts;
    for (int i = 0; device->vtable->facts(device, module, i, &facts); i++) {
        cli_answer_add(options, "compiler_reports", write_facts, &facts);
        if (options->check && !options->json)
            print_facts(&facts);
    }
}
