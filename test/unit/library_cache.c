/* The cache of compiled programs as the library's callers have it: config, counts, findings.
 *
 * threads: tsan */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "library_fixture.h"

enum { ROWS = 3, WIDTH = 20, THREADS = 16 };

/* What one user of the library did, from context to launch. */
typedef struct use {
    croft_config config;
    pthread_barrier_t *begin; /* NULL: alone */
    croft_status status;
    croft_kernel_counts counts;
    char slug[32], said[8192]; /* the context's finding, "" for none */
    int said_again;
    float y[ROWS * WIDTH];
} use;

static void take_findings(use *u, croft_context *context) {
    croft_diagnostics *findings = NULL;
    croft_diagnostic found = {.size = sizeof found};
    u->slug[0] = u->said[0] = '\0';
    if (croft_context_findings(context, &findings) == CROFT_OK &&
        croft_diagnostics_at(findings, 0, &found) == CROFT_OK) {
        snprintf(u->slug, sizeof u->slug, "%s", found.slug);
        snprintf(u->said, sizeof u->said, "%s", found.message);
    }
    croft_diagnostics_free(findings);
    (void)croft_context_findings(context, &findings);
    u->said_again = croft_diagnostics_count(findings);
    croft_diagnostics_free(findings);
}

static void *use_library(void *context) {
    use *u = context;
    float x[ROWS * WIDTH];
    matrix in, out;
    croft_context *made = NULL;
    croft_kernel *kernel = NULL;
    croft_dispatch *dispatch = NULL;
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)i;
    matrix_set(&in, x, ROWS, WIDTH, WIDTH);
    matrix_set(&out, u->y, ROWS, WIDTH, WIDTH);
    u->counts = (croft_kernel_counts){.size = sizeof u->counts};
    u->status = croft_context_create(&u->config, &made);
    if (u->status == CROFT_OK)
        u->status = compile_text(made, SCALE, &kernel, NULL);
    if (u->begin != NULL)
        pthread_barrier_wait(u->begin);
    if (u->status == CROFT_OK)
        u->status = prepare_pair(kernel, &in, &out, &dispatch, NULL);
    if (u->status == CROFT_OK)
        u->status = croft_launch(dispatch, NULL, NULL);
    if (u->status == CROFT_OK)
        u->status = croft_kernel_count(kernel, &u->counts);
    if (made != NULL)
        take_findings(u, made);
    croft_dispatch_free(dispatch);
    croft_kernel_free(kernel);
    croft_context_free(made);
    return NULL;
}

static void assert_ran(const use *u, int64_t compiled, int64_t from_cache) {
    assert_int_equal(u->status, CROFT_OK);
    for (int i = 0; i < ROWS * WIDTH; i++)
        assert_true(u->y[i] == 2.0f * (float)i);
    assert_int_equal(u->counts.compiled, compiled);
    assert_int_equal(u->counts.from_cache, from_cache);
    assert_int_equal(u->said_again, 0);
}

static void a_program_is_found_by_the_next_context(void **state) {
    (void)state;
    scratch s;
    use u = {.config = {.size = sizeof u.config, .threads = 1}};
    scratch_make(&s);
    u.config.cache = s.directory;
    use_library(&u);
    assert_ran(&u, 1, 0);
    use_library(&u);
    assert_ran(&u, 0, 1);
    assert_string_equal(u.slug, "");
    u.config.cache = "";
    u.config.home = s.root;
    use_library(&u);
    assert_ran(&u, 1, 0);
    u.config.cache = NULL;
    use_library(&u);
    assert_ran(&u, 1, 0);
    use_library(&u);
    assert_ran(&u, 0, 1);
    scratch_remove(&s);
}

static void a_config_without_directories_keeps_nothing(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    setenv("HOME", s.root, 1);
    setenv("XDG_CACHE_HOME", s.root, 1);
    use u = {.config = {.size = sizeof u.config, .threads = 1}};
    use_library(&u);
    assert_ran(&u, 1, 0);
    assert_int_equal(access(s.directory, F_OK), -1);
    croft_config_from_environment(&u.config);
    use_library(&u);
    assert_ran(&u, 1, 0);
    assert_int_equal(count_files(s.directory, ".program", NULL), 1);
    scratch_remove(&s);
}

/* It goes on without, and says why once. */
static void a_directory_that_is_not_used_is_a_finding(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    assert_int_equal(mkdir(s.directory, 0700), 0);
    assert_int_equal(chmod(s.directory, 0777), 0);
    use u = {.config = {.size = sizeof u.config, .threads = 1, .cache = s.directory}};
    for (int i = 0; i < 2; i++) {
        use_library(&u);
        assert_ran(&u, 1, 0);
        assert_string_equal(u.slug, "no-cache");
        assert_non_null(strstr(u.said, "are not kept"));
        assert_non_null(strstr(u.said, s.directory));
        assert_non_null(strstr(u.said, "writable for everybody"));
    }
    assert_int_equal(count_files(s.directory, ".program", NULL), 0);
    scratch_remove(&s);
}

static void the_limit_is_the_configs(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    use u = {.config = {.size = sizeof u.config, .threads = 1, .cache = s.directory}};
    u.config.cache_bytes = 100; /* no program is as short */
    use_library(&u);
    assert_ran(&u, 1, 0);
    assert_int_equal(count_files(s.directory, ".program", NULL), 0);
    u.config.cache_bytes = -1;
    use_library(&u);
    assert_int_equal(u.status, CROFT_MISUSE);
    scratch_remove(&s);
}

static void sixteen_contexts_at_once_compile_once(void **state) {
    (void)state;
    scratch s;
    pthread_t threads[THREADS];
    pthread_barrier_t begin;
    use *users = calloc(THREADS, sizeof *users);
    int64_t compiled = 0;
    scratch_make(&s);
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        users[i].config =
            (croft_config){.size = sizeof users[i].config, .threads = 1, .cache = s.directory};
        users[i].begin = &begin;
        assert_int_equal(pthread_create(&threads[i], NULL, use_library, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        compiled += users[i].counts.compiled;
        assert_ran(&users[i], users[i].counts.compiled, 1 - users[i].counts.compiled);
    }
    assert_int_equal(compiled, 1);
    pthread_barrier_destroy(&begin);
    free(users);
    scratch_remove(&s);
}

/* Of a program that was built with an older header: what it has is set, what lies behind is not
 * touched. */
static void an_older_config_is_filled_as_far_as_it_goes(void **state) {
    (void)state;
    croft_config config = {.size = offsetof(croft_config, cache)};
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("HOME", "/home/somebody", 1);
    config.home = "mine";
    croft_config_from_environment(&config);
    assert_string_equal(config.path, "/usr/bin:/bin");
    assert_string_equal(config.home, "mine");
    assert_null(config.cache_home);
    config.size = sizeof config;
    config.home = NULL;
    croft_config_from_environment(&config);
    assert_string_equal(config.home, "/home/somebody");
    croft_kernel_counts counts = {.size = offsetof(croft_kernel_counts, from_cache),
                                  .from_cache = -7};
    croft_context *context;
    croft_kernel *kernel;
    assert_int_equal(croft_context_create(NULL, &context), CROFT_OK);
    assert_int_equal(compile_text(context, SCALE, &kernel, NULL), CROFT_OK);
    assert_int_equal(croft_kernel_count(kernel, &counts), CROFT_OK);
    assert_int_equal(counts.compiled, 0);
    assert_int_equal(counts.from_cache, -7);
    assert_int_equal(croft_context_findings(context, NULL), CROFT_MISUSE);
    assert_int_equal(croft_context_findings(NULL, NULL), CROFT_MISUSE);
    croft_kernel_free(kernel);
    croft_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_found_by_the_next_context),
        cmocka_unit_test(a_config_without_directories_keeps_nothing),
        cmocka_unit_test(a_directory_that_is_not_used_is_a_finding),
        cmocka_unit_test(the_limit_is_the_configs),
        cmocka_unit_test(sixteen_contexts_at_once_compile_once),
        cmocka_unit_test(an_older_config_is_filled_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
