/* A program that uses libcroft as a stranger does: a kernel from a string, run on every second row
 * of a buffer of its own by threads of its own, and what the library says of a wrong kernel.
 *
 *     ROWS rows of WIDTH elements, STEP elements apart; what lies between them has to stay
 *
 * It prints `rows N, right`, how many threads took part, and the findings.
 */
#include <croft.h>

#include <pthread.h>
#include <stdio.h>

enum { ROWS = 4096, WIDTH = 1009, STEP = 2048, THREADS = 3 };

static float in[ROWS * STEP], out[ROWS * STEP];

static const char good[] = "kernel scale(x: in f32[R, N], y: out f32[R, N], a: f32) {\n"
                           "    program row: R\n"
                           "    y[row, :] = a * x[row, :]\n"
                           "}\n";
static const char wrong[] = "kernel scale(x: in f32[R, N], y: out f32[R, N]) {\n"
                            "    program row: R\n"
                            "    y[row, :] = x[row, :] * factor\n"
                            "}\n";

/* ---- threads ---- */
typedef struct worker {
    void (*body)(void *state, int64_t index);
    void *state;
    int64_t first, count;
} worker;

static int64_t started; /* threads, of all launches */

static void *work(void *given) {
    const worker *mine = given;
    for (int64_t i = mine->first; i < mine->count; i += THREADS)
        mine->body(mine->state, i);
    return NULL;
}

static void parallel_for(void *context, int64_t n, void (*body)(void *state, int64_t index),
                         void *state) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int running[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){body, state, i, n};
        running[i] = i < n && pthread_create(&threads[i], NULL, work, &workers[i]) == 0;
        if (!running[i])
            work(&workers[i]);
        *(int64_t *)context += running[i];
    }
    for (int i = 0; i < THREADS; i++)
        if (running[i])
            pthread_join(threads[i], NULL);
}

/* ---- rows ---- */
static void fill(void) {
    for (int i = 0; i < ROWS * STEP; i++) {
        in[i] = (float)(i % 1000);
        out[i] = -1;
    }
}

static int is_right(void) {
    for (int i = 0; i < ROWS * STEP; i++)
        if (out[i] != (i % STEP < WIDTH ? 3 * in[i] : -1))
            return 0;
    return 1;
}

static int failed(const char *what, croft_status status, croft_diagnostics *findings) {
    printf("%s: %s\n%s", what, croft_status_name(status), croft_diagnostics_text(findings));
    croft_diagnostics_free(findings);
    return 1;
}

static int run_rows(croft_context *context) {
    croft_kernel *kernel;
    croft_dispatch *dispatch = NULL;
    croft_diagnostics *findings = NULL;
    croft_source source = {.size = sizeof source, .text = good, .name = "good"};
    croft_status status = croft_compile(context, &source, &kernel, &findings);
    if (status != CROFT_OK)
        return failed("compile", status, findings);
    int64_t shape[] = {ROWS, WIDTH}, strides[] = {STEP, 1};
    croft_tensor x = {.data = in,
                      .device_type = CROFT_ON_CPU,
                      .rank = 2,
                      .dtype_code = CROFT_FLOAT,
                      .dtype_bits = 32,
                      .dtype_lanes = 1,
                      .shape = shape,
                      .strides = strides};
    croft_tensor y = x;
    y.data = out;
    croft_argument arguments[] = {{.name = "x", .kind = CROFT_ARGUMENT_TENSOR, .tensor = &x},
                                  {.name = "y", .kind = CROFT_ARGUMENT_TENSOR, .tensor = &y},
                                  {.name = "a", .kind = CROFT_ARGUMENT_REAL, .real = 3}};
    status = croft_prepare(kernel, arguments, 3, NULL, &dispatch, &findings);
    if (status == CROFT_OK)
        status = croft_launch(dispatch, NULL, &findings);
    croft_dispatch_free(dispatch);
    croft_kernel_free(kernel);
    if (status != CROFT_OK)
        return failed("run", status, findings);
    printf("rows %d, %s, threads %lld\n", ROWS, is_right() ? "right" : "wrong", (long long)started);
    return 0;
}

static int show_findings(croft_context *context) {
    croft_kernel *kernel;
    croft_diagnostics *findings = NULL;
    croft_source source = {.size = sizeof source, .text = wrong, .name = "wrong"};
    croft_status status = croft_compile(context, &source, &kernel, &findings);
    croft_diagnostic first = {.size = sizeof first};
    if (status != CROFT_REJECTED || croft_diagnostics_at(findings, 0, &first) != CROFT_OK)
        return failed("not refused", status, findings);
    printf("%s %s:%d:%d\n%s", first.slug, first.source, first.line, first.column,
           croft_diagnostics_text(findings));
    croft_diagnostics_free(findings);
    return 0;
}

int main(void) {
    croft_context *context;
    croft_config config = {.size = sizeof config,
                           .threads = THREADS,
                           .parallel_for = parallel_for,
                           .parallel_context = &started};
    croft_config_from_environment(&config);
    croft_status status = croft_context_create(&config, &context);
    if (status != CROFT_OK)
        return failed("context", status, NULL);
    fill();
    int code = run_rows(context);
    if (code == 0)
        code = show_findings(context);
    croft_context_free(context);
    return code;
}
