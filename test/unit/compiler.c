/* The system C compiler: what it is started with, what comes back, and that nothing stays behind.
 * Failing compilers are small shell scripts. */
#include "runtime/compiler.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char root[64];
    char temporary[80]; /* must be empty after every test */
    char scripts[80];
    runtime_compiler_config config;
    runtime_report report;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->root, "/tmp/croft-test-XXXXXX");
    if (f == NULL || mkdtemp(f->root) == NULL)
        return -1;
    snprintf(f->temporary, sizeof f->temporary, "%s/temporary", f->root);
    snprintf(f->scripts, sizeof f->scripts, "%s/scripts", f->root);
    if (mkdir(f->temporary, 0700) != 0 || mkdir(f->scripts, 0700) != 0)
        return -1;
    f->config.temporary_directory = f->temporary;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    char command[200];
    int left = rmdir(f->temporary); /* fails when anything is inside */
    snprintf(command, sizeof command, "rm -rf %s", f->root);
    int removed = system(command);
    free(f);
    return left == 0 && removed == 0 ? 0 : -1;
}

static void write_script(fixture *f, const char *name, const char *body, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s", f->scripts, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", body);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static runtime_status build(fixture *f, const char *source, const char *const *flags,
                            void **library) {
    return runtime_compiler_build(&f->config, source, strlen(source), flags, library, &f->report);
}

static runtime_status build_with_script(fixture *f, const char *body) {
    char path[PATH_MAX];
    void *library = (void *)1;
    write_script(f, "script", body, path);
    f->config.compiler = path;
    runtime_status status = build(f, "int x;\n", NULL, &library);
    if (status != RUNTIME_OK)
        assert_null(library);
    runtime_library_close(library);
    assert_int_equal(f->report.status, status);
    return status;
}

static int count_open_files(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

typedef double binary_function(double a, double b);

static binary_function *load_function(void *library, const char *name) {
    void *address = runtime_library_symbol(library, name);
    assert_non_null(address);
    binary_function *function;
    memcpy(&function, &address, sizeof function);
    return function;
}

static void a_function_is_compiled_and_answers(void **state) {
    fixture *f = *state;
    void *library;
    int before = count_open_files();
    assert_int_equal(build(f, "double add(double a, double b) { return a + b; }\n", NULL, &library),
                     RUNTIME_OK);
    assert_string_equal(f->report.text, "");
    assert_true(load_function(library, "add")(1.5, 2.0) == 3.5);
    assert_null(runtime_library_symbol(library, "absent"));
    runtime_library_close(library);
    assert_int_equal(count_open_files(), before);
}

static const char special_source[] =
    "double add(double a, double b) { return a + b; }\n"
    "double same(double a, double b) { return a - b; }\n"
    "double times(double a, double b) { return a * b; }\n"
    "double over(double a, double b) { return a / b; }\n"
    "double equal(double a, double b) { return a == b; }\n"
    "double not_a_number(double a, double b) { (void)b; return a != a; }\n"
    "double plus_zero(double a, double b) { (void)b; return a + 0.0; }\n"
    "double minus_itself(double a, double b) { (void)b; return a - a; }\n"
    "double times_zero(double a, double b) { (void)b; return a * 0.0; }\n"
    "double negated(double a, double b) { (void)b; return 0.0 - a; }\n"
    "double reassociated(double a, double b) { return (a + b) - a; }\n"
    "double infinite(double a, double b) { (void)b; return a > 1.7976931348623157e308; }\n";

static void special_values_keep_their_meaning(void **state) {
    fixture *f = *state;
    static const char *const compilers[] = {"gcc", "clang"};
    int found = 0;
    for (int i = 0; i < 2; i++) {
        void *l;
        f->config.compiler = compilers[i];
        runtime_status status = build(f, special_source, NULL, &l);
        if (status == RUNTIME_NO_COMPILER)
            continue;
        assert_int_equal(status, RUNTIME_OK);
        found++;
        assert_true(load_function(l, "not_a_number")(NAN, 0) == 1.0);
        assert_true(load_function(l, "equal")(NAN, NAN) == 0.0);
        assert_true(isnan(load_function(l, "minus_itself")(INFINITY, 0)));
        assert_true(isnan(load_function(l, "times_zero")(INFINITY, 0)));
        assert_true(signbit(load_function(l, "times_zero")(-1.0, 0)) != 0);
        assert_true(signbit(load_function(l, "plus_zero")(-0.0, 0)) == 0);
        assert_true(signbit(load_function(l, "negated")(0.0, 0)) == 0);
        assert_true(signbit(load_function(l, "add")(-0.0, -0.0)) != 0);
        assert_true(load_function(l, "over")(1.0, -0.0) == -INFINITY);
        assert_true(load_function(l, "infinite")(INFINITY, 0) == 1.0);
        assert_true(load_function(l, "infinite")(NAN, 0) == 0.0);
        assert_true(load_function(l, "reassociated")(1e16, 1.0) == 0.0);
        runtime_library_close(l);
    }
    assert_true(found > 0);
}

static void products_and_sums_are_not_contracted(void **state) {
    fixture *f = *state;
#if defined(__x86_64__)
    const char *flags[] = {"-mavx2", "-mfma", NULL};
    if (!__builtin_cpu_supports("fma"))
        skip();
#else
    const char *flags[] = {NULL};
#endif
    void *library;
    assert_int_equal(build(f,
                           "double f(double a, double b) { return a * a - b; }\n"
                           "double g(double a, double b) { return __builtin_fma(a, a, -b); }\n",
                           flags, &library),
                     RUNTIME_OK);
    double a = 1.0 + 0x1p-30, rounded = 1.0 + 0x1p-29;
    assert_true(load_function(library, "f")(a, rounded) == 0.0);
    assert_true(load_function(library, "g")(a, rounded) == 0x1p-60);
    runtime_library_close(library);
}

static void a_warning_is_reported_on_success(void **state) {
    fixture *f = *state;
    const char *flags[] = {"-Wall", NULL};
    void *library;
    assert_int_equal(build(f, "void f(void) { int unused_thing; }\n", flags, &library), RUNTIME_OK);
    assert_non_null(strstr(f->report.text, "unused_thing"));
    runtime_library_close(library);
}

static void an_error_is_reported_with_the_compiler_and_its_words(void **state) {
    fixture *f = *state;
    void *library;
    assert_int_equal(build(f, "int f(void) { return missing_thing; }\n", NULL, &library),
                     RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "failed with exit status"));
    assert_non_null(strstr(f->report.text, "missing_thing"));
}

static void an_undefined_function_fails_at_loading(void **state) {
    fixture *f = *state;
    void *library;
    assert_int_equal(
        build(f, "int absent_f(void);\nint f(void) { return absent_f(); }\n", NULL, &library),
        RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "absent_f"));
}

static void a_killed_compiler_leaves_nothing(void **state) {
    fixture *f = *state;
    assert_int_equal(build_with_script(f, "echo half > $TMPDIR/cc1.s; kill -9 $$"),
                     RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "killed by signal 9"));
}

static void a_compiler_that_makes_nothing_is_a_failure(void **state) {
    fixture *f = *state;
    assert_int_equal(build_with_script(f, "exit 0"), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "made no library"));
}

static void a_broken_library_is_not_loaded(void **state) {
    fixture *f = *state;
    assert_int_equal(build_with_script(f, "echo nonsense > $TMPDIR/kernel.so"),
                     RUNTIME_LOAD_FAILED);
}

static void endless_output_is_cut_not_waited_for(void **state) {
    fixture *f = *state;
    assert_int_equal(build_with_script(f, "head -c 3000000 /dev/zero | tr '\\0' x; exit 3"),
                     RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "exit status 3"));
    assert_int_equal(strlen(f->report.text), RUNTIME_REPORT_LIMIT - 1);
}

/* The second one ends, but what it started holds the pipe; the third holds no pipe. */
static void a_compiler_without_end_is_ended(void **state) {
    fixture *f = *state;
    f->config.time_limit_s = 1;
    assert_int_equal(build_with_script(f, "echo waiting; exec sleep 20"), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "took more than 1 s\nwaiting"));
    assert_int_equal(build_with_script(f, "sleep 3 & exit 0"), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "took more than 1 s"));
    assert_int_equal(build_with_script(f, "exec sleep 20 >&- 2>&-"), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "took more than 1 s"));
}

static void folders_of_the_compiler_do_not_stay(void **state) {
    fixture *f = *state;
    assert_int_equal(build_with_script(f, "mkdir -p $TMPDIR/a/b/c $TMPDIR/kernel.so/d\n"
                                          "ln -s / $TMPDIR/a/root; touch $TMPDIR/a/b/x; exit 1"),
                     RUNTIME_COMPILE_FAILED);
}

static void the_environment_is_fixed_and_input_is_empty(void **state) {
    fixture *f = *state;
    setenv("CROFT_TEST_LEAK", "leak", 1);
    assert_int_equal(build_with_script(f, "env; cat; umask; ls -ld $TMPDIR; exit 1"),
                     RUNTIME_COMPILE_FAILED);
    unsetenv("CROFT_TEST_LEAK");
    assert_null(strstr(f->report.text, "CROFT_TEST_LEAK"));
    assert_null(strstr(f->report.text, "HOME="));
    assert_non_null(strstr(f->report.text, "LC_ALL=C\n"));
    assert_non_null(strstr(f->report.text, "drwx------"));
    char path[200];
    snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin\n", f->scripts);
    assert_non_null(strstr(f->report.text, path));
}

static void cc_is_preferred_over_gcc_over_clang(void **state) {
    fixture *f = *state;
    char clang[PATH_MAX], gcc[PATH_MAX], cc[PATH_MAX], found[PATH_MAX], path[400];
    snprintf(path, sizeof path, "relative::/nonexistent:%s", f->scripts);
    f->config.path = path;
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_NO_COMPILER);
    write_script(f, "clang", "", clang);
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_OK);
    assert_string_equal(found, clang);
    write_script(f, "gcc", "", gcc);
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_OK);
    assert_string_equal(found, gcc);
    write_script(f, "cc", "", cc);
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_OK);
    assert_string_equal(found, cc);
    f->config.compiler = "clang";
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_OK);
    assert_string_equal(found, clang);
}

static void a_missing_compiler_is_named_with_the_places(void **state) {
    fixture *f = *state;
    char found[PATH_MAX];
    f->config.path = "";
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_NO_COMPILER);
    assert_non_null(strstr(f->report.text, "empty PATH"));
    f->config.path = "/nonexistent/bin";
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_NO_COMPILER);
    assert_non_null(strstr(f->report.text, "/nonexistent/bin"));
    f->config.compiler = "/nonexistent/bin/cc";
    f->config.path = NULL;
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_NO_COMPILER);
    assert_non_null(strstr(f->report.text, "`/nonexistent/bin/cc`"));
    f->config.compiler = "/tmp"; /* a directory has execute permission too */
    assert_int_equal(runtime_compiler_find(&f->config, found, &f->report), RUNTIME_NO_COMPILER);
}

static void an_unusable_temporary_directory_is_passed_over(void **state) {
    fixture *f = *state;
    void *library;
    f->config.temporary_directory = "/nonexistent/place";
    assert_int_equal(build(f, "int x;\n", NULL, &library), RUNTIME_OK);
    runtime_library_close(library);
    f->config.temporary_directory = "/dev/null";
    assert_int_equal(build(f, "int x;\n", NULL, &library), RUNTIME_OK);
    runtime_library_close(library);
}

static void too_many_flags_are_refused(void **state) {
    fixture *f = *state;
    const char *flags[200];
    void *library;
    for (int i = 0; i < 199; i++)
        flags[i] = "-w";
    flags[199] = NULL;
    assert_int_equal(build(f, "int x;\n", flags, &library), RUNTIME_SYSTEM_FAILED);
}

/* Runs `body` in a child; its exit status. */
static int in_child(fixture *f, int (*body)(fixture *f)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body(f));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int build_without_standard_files(fixture *f) {
    void *library;
    close(0);
    close(1);
    close(2);
    return (int)build(f, "int x;\n", NULL, &library);
}

static int build_with_children_ignored(fixture *f) {
    void *library;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGCHLD, SIG_IGN);
    if (build(f, "int x;\n", NULL, &library) != RUNTIME_OK)
        return 1;
    return build(f, "int x\n", NULL, &library) == RUNTIME_COMPILE_FAILED ? 0 : 2;
}

static int build_with_full_disk(fixture *f) {
    void *library;
    struct rlimit none = {0, 0};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    if (build(f, "int x;\n", NULL, &library) != RUNTIME_SYSTEM_FAILED)
        return 1;
    return strstr(f->report.text, f->temporary) != NULL && strstr(f->report.text, "/var/tmp") ? 0
                                                                                              : 2;
}

static int build_with_disk_filled_by_the_compiler(fixture *f) {
    void *library;
    struct rlimit small = {64, 64}; /* enough for the source, too little for the rest */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    return build(f, "int x;\n", NULL, &library) == RUNTIME_COMPILE_FAILED ? 0 : 1;
}

static void a_host_without_standard_files_can_build(void **state) {
    assert_int_equal(in_child(*state, build_without_standard_files), 0);
}

static void a_host_that_ignores_children_can_build(void **state) {
    assert_int_equal(in_child(*state, build_with_children_ignored), 0);
}

static void a_full_disk_is_a_status_that_names_the_places(void **state) {
    assert_int_equal(in_child(*state, build_with_full_disk), 0);
}

static void a_disk_filled_by_the_compiler_leaves_nothing(void **state) {
    assert_int_equal(in_child(*state, build_with_disk_filled_by_the_compiler), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_function_is_compiled_and_answers),
        TEST(special_values_keep_their_meaning),
        TEST(products_and_sums_are_not_contracted),
        TEST(a_warning_is_reported_on_success),
        TEST(an_error_is_reported_with_the_compiler_and_its_words),
        TEST(an_undefined_function_fails_at_loading),
        TEST(a_killed_compiler_leaves_nothing),
        TEST(a_compiler_that_makes_nothing_is_a_failure),
        TEST(a_broken_library_is_not_loaded),
        TEST(endless_output_is_cut_not_waited_for),
        TEST(a_compiler_without_end_is_ended),
        TEST(folders_of_the_compiler_do_not_stay),
        TEST(the_environment_is_fixed_and_input_is_empty),
        TEST(cc_is_preferred_over_gcc_over_clang),
        TEST(a_missing_compiler_is_named_with_the_places),
        TEST(an_unusable_temporary_directory_is_passed_over),
        TEST(too_many_flags_are_refused),
        TEST(a_host_without_standard_files_can_build),
        TEST(a_host_that_ignores_children_can_build),
        TEST(a_full_disk_is_a_status_that_names_the_places),
        TEST(a_disk_filled_by_the_compiler_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
