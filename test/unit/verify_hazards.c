/* Hazards, both ways: every sync of a right program is needed, and that is found twice, by the
 * rules of tokens without those of hazards and by those of hazards without those of tokens; by
 * these alone where the sync is for a tensor.
 *
 * Programs: test/hazard/NAME.ir, what the rules accept in test/verify/SLUG.ir, and what examples
 * and a few kernels become on machines whose subgroups share a row. A file of test/zoo is wrong;
 * its first line is `# wrong: why; rule SLUG; sim ...` (a rule that refuses it), its second `#
 * right: NAME`, a program of test/hazard that does what was meant.
 *
 *     unit_verify_hazards FOLDER     the syncs of the texts in a folder instead, and how many of
 *                                    them are needed by no hazard, or wider than hazards need
 */
#include "arena_fixture.h"

#include "compile/compile.h"
#include "ir/print.h"
#include "text/ir_parse.h"
#include "verify/verify_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ---- */
static char *read_file(fixture *f, const char *path) {
    base_text out;
    base_text_init(&out, &f->arena);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("no file %s", path);
    char block[4096];
    for (size_t n = 0; (n = fread(block, 1, sizeof block, file)) > 0;)
        base_text_append(&out, block, n);
    fclose(file);
    return out.bytes;
}

static char *path_of(fixture *f, const char *folder, const char *name) {
    base_text path;
    base_text_init(&path, &f->arena);
    base_text_format(&path, "%s/test/%s/%s", CROFT_SOURCE_DIR, folder, name);
    return path.bytes;
}

static char *path_in(fixture *f, const char *folder, const char *name) {
    base_text path;
    base_text_init(&path, &f->arena);
    base_text_format(&path, "%s/%s", folder, name);
    return path.bytes;
}

/* Calls visit for each case of each text of the folder; returns how many there were. */
static int each_text_of(fixture *f, const char *folder,
                        void (*visit)(fixture *f, const char *name, const char *text)) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || (strcmp(dot, ".ir") != 0 && strcmp(dot, ".croft") != 0))
            continue;
        char *name = base_arena_copy(&f->arena, entry->d_name, length);
        for (char *text = read_file(f, path_in(f, folder, name)), *next; text != NULL;
             text = next) {
            next = strstr(text, "\n---\n");
            if (next != NULL) {
                next[1] = '\0';
                next += strlen("\n---\n");
            }
            visit(f, name, text);
            count++;
        }
    }
    closedir(dir);
    return count;
}

static int each_text(fixture *f, const char *folder,
                     void (*visit)(fixture *f, const char *name, const char *text)) {
    return each_text_of(f, path_of(f, folder, ""), visit);
}

static ir_module *parse(fixture *f, const char *name, const char *text) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = name, .text = text, .length = strlen(text)};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    ir_module *module = text_ir_parse(&f->arena, source, &diagnostics);
    if (module == NULL)
        fail_msg("%s\n%s", text, render(f, &diagnostics));
    return module;
}

static bool accepts(fixture *f, const ir_module *module, const char *disabled,
                    base_diagnostics *diagnostics) {
    base_diagnostics_init(diagnostics, &f->arena);
    return verify_module(module, disabled, diagnostics);
}

/* ---- deletion of a sync ---- */
static void replace_uses(ir_region *region, const ir_value *from, ir_value *to) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == from)
                op->operands[i] = to;
        for (int k = 0; k < op->region_count; k++)
            replace_uses(op->regions[k], from, to);
    }
}

/* The n-th sync, from the top; NULL when there are fewer. */
static ir_op *find_sync(ir_region *region, int *n) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_SYNC && (*n)-- == 0)
            return op;
        for (int k = 0; k < op->region_count; k++) {
            ir_op *inner = find_sync(op->regions[k], n);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

static void check_refused(fixture *f, const ir_module *module, const char *disabled,
                          const char *how, const base_location *where, const char *text) {
    base_diagnostics diagnostics;
    if (accepts(f, module, disabled, &diagnostics))
        fail_msg("%s is not found by the rules without %s: line %d of\n%s", how, disabled,
                 where->line, text);
}

static void delete_sync(ir_module *module, ir_op *sync) {
    for (int k = 0; k < sync->result_count; k++)
        replace_uses(&module->body, sync->results[k], sync->operands[k]);
    ir_op_remove(sync);
}

static int deleted, weakened;

static void check_deletions(fixture *f, const char *name, const char *text) {
    for (int i = 0;; i++) {
        int n = i;
        ir_module *module = parse(f, name, text);
        ir_op *sync = find_sync(&module->body, &n);
        if (sync == NULL)
            return;
        delete_sync(module, sync);
        check_refused(f, module, "token-*", "a deleted sync", &sync->location, text);
        if (sync->operand_count > 0)
            check_refused(f, module, "hazard-*", "a deleted sync", &sync->location, text);
        deleted++;
    }
}

static void check_weaker_scopes(fixture *f, const char *name, const char *text) {
    for (int i = 0;; i++) {
        int n = i;
        ir_module *module = parse(f, name, text);
        ir_op *sync = find_sync(&module->body, &n);
        if (sync == NULL)
            return;
        if (sync->attributes.scope == IR_SCOPE_SUBGROUP)
            continue;
        bool cluster = sync->attributes.scope == IR_SCOPE_CLUSTER;
        sync->attributes.scope = cluster ? IR_SCOPE_GROUP : IR_SCOPE_SUBGROUP;
        check_refused(f, module, "token-*", "a weaker scope", &sync->location, text);
        weakened++;
    }
}

static void check_right_program(fixture *f, const char *name, const char *text) {
    base_diagnostics diagnostics;
    if (!accepts(f, parse(f, name, text), NULL, &diagnostics))
        fail_msg("%s is refused:\n%s\n%s", name, text, render(f, &diagnostics));
    check_deletions(f, name, text);
    check_weaker_scopes(f, name, text);
}

static void every_sync_of_a_right_program_is_needed(void **state) {
    deleted = weakened = 0;
    assert_true(each_text(*state, "hazard", check_right_program) >= 12);
    assert_true(deleted >= 20 && weakened >= 15);
}

static void check_accepted_text(fixture *f, const char *name, const char *text) {
    if (strncmp(text, "# accept: ", 10) == 0)
        check_deletions(f, name, text);
}

static void every_sync_of_an_accepted_text_is_needed(void **state) {
    deleted = 0;
    each_text(*state, "verify", check_accepted_text);
    assert_true(deleted >= 20);
}

/* ---- what the compiler makes ---- */
static const char *const kernels[] = {
    "kernel back_to_back(x: in f32[R, N], y: out f32[R, N]) {\n"
    "    program row: R\n"
    "    t = x[row, :]\n"
    "    a = max(t)\n"
    "    b = sum(t - a)\n"
    "    c = min(t * b)\n"
    "    y[row, :] = t + c\n"
    "}\n",
    "kernel one_in_a_loop(x: in f32[R, N], y: out f32[R, N]) {\n"
    "    program row: R\n"
    "    total = 0.0\n"
    "    for k in 0..5 {\n"
    "        total = total + max(x[row, :] * total)\n"
    "    }\n"
    "    y[row, :] = x[row, :] + total\n"
    "}\n",
    "kernel several_in_a_loop(x: in f32[R, N], y: out f32[R, N]) {\n"
    "    program row: R\n"
    "    total = 0.0\n"
    "    for k in 0..N {\n"
    "        t = x[row, :] + total\n"
    "        m = max(t)\n"
    "        total = total + sum(t - m)\n"
    "    }\n"
    "    y[row, :] = x[row, :] + total + max(x[row, :])\n"
    "}\n",
    "kernel in_a_branch(x: in f32[R, N], y: out f32[R, N]) {\n"
    "    program row: R\n"
    "    t = x[row, :]\n"
    "    m = max(t)\n"
    "    if m > 0.0 {\n"
    "        m = sum(t - m)\n"
    "    } else {\n"
    "        m = min(t + m)\n"
    "    }\n"
    "    y[row, :] = t + m\n"
    "}\n",
    "kernel loops_in_loops(x: in f32[R, N], y: out f32[R, N]) {\n"
    "    program row: R\n"
    "    a = 0.0\n"
    "    for i in 0..3 {\n"
    "        a = a + max(x[row, :] * a)\n"
    "        for j in 0..i {\n"
    "            if a > 1.0 {\n"
    "                a = a - sum(x[row, :] + a)\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    y[row, :] = x[row, :] + a\n"
    "}\n",
};

/* Tiles with owners, on 256 threads. */
#define OWNED                                                                                      \
    "(x: in f32[R, N], y: out f32[R, N], N: const = 1000,\n"                                       \
    "    L: layout = bits(9, 8, 7, 6, 5, 4, 3, 2, 1, 0, slots=4),\n"                               \
    "    M: layout = identity(1024, slots=4)) {\n"                                                 \
    "    program row: R\n"                                                                         \
    "    i = arange(N, M)\n"                                                                       \
    "    o = arange(N, L)\n"                                                                       \
    "    t = x[row, i]\n"

static const char *const owned_kernels[] = {
    "kernel conversions_back_to_back" OWNED "    a = convert(t * 2.0, L)\n"
    "    b = convert(a + 1.0, M)\n"
    "    y[row, o] = convert(b * b, L) + a\n"
    "}\n",
    "kernel conversions_in_a_loop" OWNED "    for k in 0..5 {\n"
    "        t = convert(convert(t * 0.5, L) + 1.0, M)\n"
    "    }\n"
    "    y[row, i] = t\n"
    "}\n",
    "kernel one_in_a_loop_that_may_not_run" OWNED "    u = x[row, o]\n"
    "    for k in 0..row % 3 {\n"
    "        u = u + convert(t * 0.5, L)\n"
    "    }\n"
    "    y[row, i] = convert(u, M)\n"
    "}\n",
    "kernel convert_reduce_convert" OWNED "    for k in 0..3 {\n"
    "        a = convert(t * 0.5, L)\n"
    "        m = max(a)\n"
    "        t = convert(a + m, M) + t\n"
    "    }\n"
    "    y[row, i] = t + sum(t)\n"
    "}\n",
    "kernel conversions_in_both_branches" OWNED "    if sum(t) > 0.0 {\n"
    "        u = convert(t * 0.5, L)\n"
    "        u = u - sum(u)\n"
    "    } else {\n"
    "        u = convert(t + 1.0, L)\n"
    "    }\n"
    "    y[row, i] = convert(u * 2.0, M) + t\n"
    "}\n",
    "kernel copies" OWNED
    "    a = convert(t, digits(lane 8 | subgroup 8 | slot 16; replicate lane 4))\n"
    "    for k in 0..row % 3 {\n"
    "        a = a + convert(convert(a * 0.5, M) * t,\n"
    "            digits(lane 8 | subgroup 8 | slot 16; replicate lane 4))\n"
    "    }\n"
    "    y[row, i] = convert(a, M)\n"
    "}\n",
};

/* Kinds of syncs that tokens ask for in any program, and hazards not in these. */
static const char *const sparing_kernels[] = {
    "kernel runs_once" OWNED "    for k in 0..N // 1000 {\n"
    "        t = convert(convert(t * 0.5, L) + 1.0, M)\n"
    "    }\n"
    "    y[row, i] = convert(convert(t * t, L) + 1.0, M)\n"
    "}\n",
    "kernel a_loop_that_synchronises" OWNED "    a = convert(t, L)\n"
    "    for k in 0..3 {\n"
    "        t = t * max(t)\n"
    "    }\n"
    "    y[row, o] = convert(t, L) + a\n"
    "}\n",
    "kernel cells_of_a_tensor(x: in f32[R, N], y: inout f32[R], N: const = 1000,\n"
    "    M: layout = identity(1024, slots=4)) {\n"
    "    program row: R\n"
    "    a = y[row]\n"
    "    s = max(x[row, arange(N, M)] * a)\n"
    "    y[row] = a + s\n"
    "    for k in 0..row % 3 {\n"
    "        y[row] = y[row] * 0.5 + s\n"
    "    }\n"
    "}\n",
    "kernel inside_subgroups(x: in f32[R, N], y: out f32[R, N], N: const = 2048,\n"
    "    A: layout = digits(slot 32 | lane 32 | subgroup 2),\n"
    "    B: layout = digits(lane 32 | slot 32 | subgroup 2)) {\n"
    "    program row: R\n"
    "    t = x[row, arange(N, A)]\n"
    "    for k in 0..row % 3 {\n"
    "        t = convert(convert(t * 0.5, B) + max(t), A)\n"
    "    }\n"
    "    y[row, arange(N, A)] = t\n"
    "}\n",
};

/* NULL where the kernel has no row plan. */
static const char *compile_to_thread(fixture *f, const char *name, const char *text,
                                     const char *machine_name, const text_argument *arguments,
                                     int count) {
    base_source source = {.name = name, .text = text, .length = strlen(text)};
    compile_request request = {.source = &source,
                               .arguments = arguments,
                               .argument_count = count,
                               .partial = true,
                               .machine = machine_find(machine_name),
                               .family = PLANNER_ROW,
                               .stage = COMPILE_TO_THREAD};
    compile_result result;
    compile_run(&request, &result);
    const char *printed = NULL;
    if (result.status == COMPILE_OK) {
        base_text out;
        base_text_init(&out, &f->arena);
        ir_module_print(&out, result.module, true);
        printed = out.bytes;
    } else {
        for (int i = 0; i < result.diagnostics.count; i++)
            if (strncmp(result.diagnostics.items[i].slug, "hazard-", 7) == 0 ||
                strncmp(result.diagnostics.items[i].slug, "token-", 6) == 0)
                fail_msg("%s", render(f, &result.diagnostics));
    }
    compile_free(&result);
    return printed;
}

static int compiled;

static void check_compiled(fixture *f, const char *name, const char *text) {
    const text_argument width = {.name = "N",
                                 .kind = TEXT_ARGUMENT_NUMBER,
                                 .number = 1000,
                                 .integer = 1000,
                                 .is_integer = true};
    for (int known = 0; known < 2; known++) {
        const char *thread = compile_to_thread(f, name, text, "sm_90", &width, known);
        if (thread == NULL)
            continue;
        compiled++;
        check_right_program(f, name, thread);
    }
}

static void every_sync_that_the_compiler_makes_is_needed(void **state) {
    fixture *f = *state;
    deleted = weakened = compiled = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        check_compiled(f, "kernel", kernels[i]);
    assert_true(compiled == 2 * sizeof kernels / sizeof kernels[0]);
    assert_true(deleted >= 20 && weakened >= 20);
}

static void every_sync_of_owned_tiles_is_needed(void **state) {
    fixture *f = *state;
    deleted = weakened = 0;
    for (size_t i = 0; i < sizeof owned_kernels / sizeof owned_kernels[0]; i++) {
        const char *thread = compile_to_thread(f, "kernel", owned_kernels[i], "sm_90", NULL, 0);
        assert_non_null(thread);
        check_right_program(f, "kernel", thread);
    }
    assert_true(deleted >= 15 && weakened >= 15);
}

static void no_sync_is_emitted_that_is_not_needed(void **state) {
    fixture *f = *state;
    deleted = weakened = 0;
    for (size_t i = 0; i < sizeof sparing_kernels / sizeof sparing_kernels[0]; i++) {
        const char *thread = compile_to_thread(f, "kernel", sparing_kernels[i], "sm_90", NULL, 0);
        assert_non_null(thread);
        check_right_program(f, "kernel", thread);
    }
    assert_true(deleted >= 10 && weakened >= 5 && deleted > weakened);
}

static void every_sync_of_an_example_is_needed(void **state) {
    deleted = compiled = 0;
    each_text(*state, "../examples", check_compiled);
    assert_true(compiled >= 15 && deleted >= 20);
}

/* ---- wrong programs ---- */
static void check_wrong_program(fixture *f, const char *name, const char *text) {
    char slug[64] = "", right[64] = "";
    const char *rule = strstr(text, "; rule "), *twin = strstr(text, "\n# right: ");
    if (strncmp(text, "# wrong: ", 9) != 0 || rule == NULL || twin == NULL ||
        sscanf(rule, "; rule %63[a-z-]; sim ", slug) != 1 ||
        sscanf(twin, "\n# right: %59s", right) != 1)
        fail_msg("%s has other first lines", name);
    base_diagnostics diagnostics;
    if (accepts(f, parse(f, name, text), NULL, &diagnostics))
        fail_msg("%s is accepted", name);
    bool found = false;
    for (int i = 0; i < diagnostics.count; i++)
        found = found || strcmp(diagnostics.items[i].slug, slug) == 0;
    if (!found)
        fail_msg("%s: not by %s:\n%s", name, slug, render(f, &diagnostics));
    strcat(right, ".ir");
    char *meant = read_file(f, path_of(f, "hazard", right));
    if (!accepts(f, parse(f, right, meant), NULL, &diagnostics))
        fail_msg("%s is refused:\n%s", right, render(f, &diagnostics));
}

static void every_wrong_program_is_refused_by_its_rule(void **state) {
    assert_true(each_text(*state, "zoo", check_wrong_program) >= 15);
}

static const char *folder_of_texts;

static int useless;

/* The verifier refuses it without any of its syncs, by the rules of tokens; and by those of hazards
 * without any, or with one of the subgroup in place of one of the group. What these last accept is
 * counted, and told. */
static void check_given_text(fixture *f, const char *name, const char *text) {
    base_diagnostics diagnostics;
    if (!accepts(f, parse(f, name, text), NULL, &diagnostics))
        fail_msg("%s is refused:\n%s\n%s", name, text, render(f, &diagnostics));
    for (int i = 0;; i++) {
        int n = i, again = i;
        ir_module *module = parse(f, name, text);
        ir_op *sync = find_sync(&module->body, &n);
        if (sync == NULL)
            return;
        delete_sync(module, sync);
        if (sync->operand_count > 0)
            check_refused(f, module, "hazard-*", "a deleted sync", &sync->location, text);
        bool idle = accepts(f, module, "token-*", &diagnostics);
        module = parse(f, name, text);
        ir_op *narrow = find_sync(&module->body, &again);
        bool wide = narrow->attributes.scope == IR_SCOPE_GROUP;
        narrow->attributes.scope = IR_SCOPE_SUBGROUP;
        wide = wide && !idle && accepts(f, module, "token-*", &diagnostics);
        if (idle || wide)
            printf("%s: the sync of line %d is %s\n", name, sync->location.line,
                   idle ? "needed by no hazard" : "wider than hazards need");
        useless += idle || wide;
        deleted++;
    }
}

static void every_sync_of_the_texts_is_needed(void **state) {
    deleted = useless = 0;
    assert_true(each_text_of(*state, folder_of_texts, check_given_text) > 0);
    printf("%d syncs, %d useless\n", deleted, useless);
}

int main(int argc, char **argv) {
    const struct CMUnitTest of_texts[] = {
        cmocka_unit_test_setup_teardown(every_sync_of_the_texts_is_needed, set_up, tear_down),
    };
    if (argc > 1) {
        folder_of_texts = argv[1];
        return cmocka_run_group_tests(of_texts, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_sync_of_a_right_program_is_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_sync_of_an_accepted_text_is_needed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_sync_that_the_compiler_makes_is_needed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_sync_of_owned_tiles_is_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_sync_is_emitted_that_is_not_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_sync_of_an_example_is_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_wrong_program_is_refused_by_its_rule, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
