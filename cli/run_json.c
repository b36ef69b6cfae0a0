/* Answers of `croft run`, and what --check says.
 *
 *     check y: ok, 64576 elements, largest error 5.7e-11 of bound 1.0e-09, 0 either way, 0 failed
 *
 *     "tensors": [{"name": "y", "mode": "out", "dtype": "f32", "shape": [64, 1009], ...,
 *                  "hash": "2490f1cec8c36072", "file": "y.npy", "values": null}]
 *
 * docs/schemas/run.json has all members.
 */
#include "run_json.h"

#include "answer.h"
#include "hash.h"
#include "plan_json.h"

#include <string.h>

/* ---- checks ---- */

static void print_number(double value) {
    char text[40];
    base_number_print(text, value);
    fputs(text, stdout);
}

/* `y[38, 7]`, of a number in C order. */
static void print_element(const cli_run_check *check, int64_t index) {
    const cli_array *array = check->array;
    int64_t below = 1;
    for (int i = 1; i < array->rank; i++)
        below *= array->extent[i];
    printf("%s[", check->name);
    for (int i = 0; i < array->rank; i++) {
        printf("%s%lld", i > 0 ? ", " : "", (long long)(index / below));
        index %= below;
        below /= i + 1 < array->rank ? array->extent[i + 1] : 1;
    }
    printf("]");
}

static void print_comparison(const cli_run_check *check) {
    const sim_comparison *result = &check->result;
    printf("check %s: %s, %lld elements, largest error ", check->name,
           check->good ? "ok" : "FAILED", (long long)result->elements);
    print_number(result->largest_error);
    fputs(" of bound ", stdout);
    print_number(result->its_bound);
    printf(", %lld either way, %lld failed\n", (long long)result->loose, (long long)result->failed);
    if (result->failed == 0)
        return;
    fputs("  worst at ", stdout);
    print_element(check, result->worst);
    fputs(": got ", stdout);
    print_number(result->worst_got);
    fputs(", expected ", stdout);
    print_number(result->worst_expected);
    fputs("\n", stdout);
}

static void write_check(base_json *json, const void *state) {
    const cli_run_check *check = state;
    const sim_comparison *result = &check->result;
    base_json_object(json, NULL);
    base_json_string(json, "tensor", check->name);
    base_json_bool(json, "good", check->good);
    base_json_integer(json, "elements", result->elements);
    base_json_integer(json, "failed", result->failed);
    base_json_integer(json, "either_way", result->loose);
    base_json_number(json, "largest_error", result->largest_error);
    base_json_number(json, "its_bound", result->its_bound);
    if (result->worst < 0) {
        base_json_null(json, "worst");
    } else {
        base_json_object(json, "worst");
        base_json_integer(json, "index", result->worst);
        base_json_number(json, "got", result->worst_got);
        base_json_number(json, "expected", result->worst_expected);
        base_json_close(json);
    }
    base_json_integer(json, "touched", check->touched);
    if (check->touched > 0)
        base_json_integer(json, "first_touched", check->first_touched);
    else
        base_json_null(json, "first_touched");
    base_json_bool(json, "guards_whole", check->guards);
    base_json_close(json);
}

void cli_say_check(const cli_options *options, const cli_run_check *check) {
    if (options->json) {
        cli_answer_add(options, "checks", write_check, check);
        return;
    }
    print_comparison(check);
    if (check->touched > 0) {
        printf("  %lld elements changed that the kernel does not store, the first is ",
               (long long)check->touched);
        print_element(check, check->first_touched);
        fputs("\n", stdout);
    }
    if (!check->guards)
        printf("  memory around %s was written\n", check->name);
}

/* ---- the run ---- */

static void write_sizes(base_json *json, const cli_run_report *report) {
    const layout_extents *extents = &report->module->extents;
    base_json_array(json, "sizes");
    for (int64_t i = 0; i < extents->symbol_count; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "name", extents->symbols[i].name);
        base_json_integer(json, "value", report->sizes[i]);
        base_json_close(json);
    }
    base_json_close(json);
}

static bool is_output(const cli_run_report *report, int i) {
    return report->arrays[i] != NULL && report->module->parameters[i].mode != IR_IN;
}

static void write_tensor(base_json *json, const cli_run_report *report, int i) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    const cli_array *array = report->arrays[i];
    const char *path = report->paths[i];
    bool printed = path != NULL && strcmp(path, "-") == 0;
    base_json_object(json, NULL);
    base_json_string(json, "name", report->module->parameters[i].name);
    base_json_string(json, "mode", modes[report->module->parameters[i].mode]);
    cli_array_facts_json(json, array);
    if (is_output(report, i))
        base_json_hash(json, "hash", cli_array_hash(array));
    else
        base_json_null(json, "hash");
    base_json_string(json, "file", printed ? NULL : path);
    if (printed)
        cli_array_values_json(json, array);
    else
        base_json_null(json, "values");
    base_json_close(json);
}

static void write_tensors(base_json *json, const cli_run_report *report) {
    const cli_array *outputs[CLI_ARGUMENT_LIMIT];
    base_json_array(json, "tensors");
    for (int i = 0; i < report->parameter_count; i++) {
        outputs[i] = is_output(report, i) ? report->arrays[i] : NULL;
        if (report->arrays[i] != NULL)
            write_tensor(json, report, i);
    }
    base_json_close(json);
    base_json_hash(json, "hash", cli_hash_all(outputs, report->parameter_count));
}

static void write_run(base_json *json, const void *state) {
    const cli_run_report *report = state;
    base_json_string(json, "kernel", report->module->name);
    base_json_string(json, "target", report->target);
    base_json_string(json, "device", report->device);
    base_json_string(json, "machine", report->machine != NULL ? report->machine->name : NULL);
    base_json_string(json, "runs_on", report->runs_on != NULL ? report->runs_on->name : NULL);
    if (report->plan != NULL)
        cli_plan_identity_json(json, report->plan);
    else
        base_json_null(json, "plan");
    base_json_integer(json, "erased_layouts", report->erased);
    base_json_bool(json, "checked", report->options->check);
    if (report->faults >= 0)
        base_json_integer(json, "faults", report->faults);
    else
        base_json_null(json, "faults");
    write_sizes(json, report);
    write_tensors(json, report);
}

void cli_run_open_lists(const cli_options *options) {
    static const char *const lists[] = {"checks", "variant", "variant_missed", "compiler_reports"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        cli_answer_add(options, lists[i], NULL, NULL);
}

void cli_say_run(const cli_run_report *report) {
    cli_answer_write(report->options, write_run, report);
}
