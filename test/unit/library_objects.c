/* Calls with objects of another language: one that pretends, and fails when it is told to. */
#include "cuda_fixture.h"

#include "library_fixture.h"

#define MIX                                                                                        \
    "kernel mix(x: in f32[R, N], a: inout f32[R, N], y: out f32[R, N], s: out f32[R],\n"           \
    "           w: in f32[N]) {\n"                                                                 \
    "    program row: R\n"                                                                         \
    "    t = x[row, :] * w[:]\n"                                                                   \
    "    a[row, :] = a[row, :] + t\n"                                                              \
    "    y[row, :] = t\n"                                                                          \
    "    s[row] = sum(t)\n"                                                                        \
    "}\n"

enum { ROWS = 16, WIDTH = 64 };

/* An object is a tensor, or a tuple of objects. */
typedef struct object {
    matrix matrix;
    struct object *items[4];
    int count; /* of a tuple; -1: it is none */
} object;

/* What the language is asked for, and when it fails. */
static struct {
    int calls, fail_at; /* the number of the call that fails, from 1; 0: none */
    int left, entered;
    bool is_left;
    int asked_behind; /* calls while it was left */
    int32_t type, id; /* of the stream that was asked for last */
    void *stream;
} language;

static bool fails(void) {
    language.asked_behind += language.is_left;
    return ++language.calls == language.fail_at;
}

static ptrdiff_t length(void *tuple) {
    return fails() ? -1 : ((const object *)tuple)->count;
}

static void *item(void *tuple, ptrdiff_t index) {
    return fails() ? NULL : ((const object *)tuple)->items[index];
}

static int tensor(void *read, croft_tensor *made) {
    if (fails() || ((const object *)read)->count >= 0)
        return -1;
    *made = ((const object *)read)->matrix.tensor;
    return 0;
}

static int stream(int32_t type, int32_t id, void **current) {
    if (fails())
        return -1;
    language.type = type;
    language.id = id;
    *current = language.stream;
    return 0;
}

static void *leave(void) {
    language.left++;
    language.is_left = true;
    return &language;
}

static void enter(void *state) {
    assert_ptr_equal(state, &language);
    language.entered++;
    language.is_left = false;
}

static const croft_objects objects = {.size = sizeof objects,
                                      .length = length,
                                      .item = item,
                                      .tensor = tensor,
                                      .stream = stream,
                                      .leave = leave,
                                      .enter = enter};

static float x[ROWS * WIDTH], a[ROWS * WIDTH], y[ROWS * WIDTH], s[ROWS], w[WIDTH];

typedef struct fixture {
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    croft_diagnostics *findings;
    object x, a, y, s, w, inputs, outputs;
} fixture;

static object object_of(float *data, int rank) {
    object made = {.count = -1};
    matrix_set(&made.matrix, data, ROWS, WIDTH, WIDTH);
    made.matrix.tensor.rank = rank;
    return made;
}

static void place(object *o, const int64_t *shape, const int64_t *strides) {
    o->matrix.tensor.shape = shape;
    o->matrix.tensor.strides = strides;
}

static void open_function(fixture *f, const croft_config *config, const char *text) {
    memset(&language, 0, sizeof language);
    *f = (fixture){0};
    assert_int_equal(croft_context_create(config, &f->context), CROFT_OK);
    assert_int_equal(compile_text(f->context, text, &f->kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(f->kernel, NULL, 0, NULL, &f->function, NULL), CROFT_OK);
    f->x = object_of(x, 2);
    f->a = object_of(a, 2);
    f->y = object_of(y, 2);
    f->s = object_of(s, 1);
    f->w = object_of(w, 1);
    object *all[] = {&f->x, &f->a, &f->y, &f->s, &f->w};
    for (int i = 0; i < 5; i++)
        place(all[i], all[i]->matrix.shape, all[i]->matrix.strides);
    place(&f->s, f->s.matrix.shape, NULL);
    place(&f->w, f->w.matrix.shape + 1, NULL);
    f->inputs = (object){.items = {&f->x, &f->a, &f->w}, .count = 3};
    f->outputs = (object){.items = {&f->y, &f->s}, .count = 2};
}

static void open_mix(fixture *f) {
    static const croft_config config = {.size = sizeof config, .threads = 1};
    open_function(f, &config, MIX);
}

static void close_function(fixture *f) {
    croft_diagnostics_free(f->findings);
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
    assert_int_equal(language.left, language.entered);
    assert_int_equal(language.asked_behind, 0);
}

static croft_status call(fixture *f) {
    return croft_function_call_objects(f->function, &objects, &f->inputs, &f->outputs,
                                       &f->findings);
}

static void expect_slug(fixture *f, const char *slug) {
    croft_diagnostic d = {.size = sizeof d};
    assert_int_equal(croft_diagnostics_at(f->findings, 0, &d), CROFT_OK);
    assert_string_equal(d.slug, slug);
    croft_diagnostics_free(f->findings);
    f->findings = NULL;
}

static void fill(void) {
    for (int i = 0; i < ROWS * WIDTH; i++) {
        x[i] = (float)(i % 7);
        a[i] = (float)(i % 5);
        y[i] = -1;
        w[i % WIDTH] = (float)(i % 3);
    }
    for (int i = 0; i < ROWS; i++)
        s[i] = -1;
}

static void expect_results(void) {
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            float t = x[i] * w[i % WIDTH];
            sum += t;
            assert_true(y[i] == t);
            assert_true(a[i] == (float)(i % 5) + t);
        }
        assert_true(s[row] == sum);
    }
}

static void objects_are_tensors_in_the_order_of_the_list(void **state) {
    (void)state;
    fixture f;
    open_mix(&f);
    for (int i = 0; i < 3; i++) {
        fill();
        assert_int_equal(call(&f), CROFT_OK);
        expect_results();
        /* two lengths, and each object is got and read; a cpu has no stream */
        assert_int_equal(language.calls, 12 * (i + 1));
        /* while it is compiled; what is kept is short work here */
        assert_int_equal(language.left, 1);
    }
    close_function(&f);
}

static void each_call_of_the_language_may_fail(void **state) {
    (void)state;
    fixture f;
    open_mix(&f);
    for (int at = 1; at <= 12; at++) {
        fill();
        language.calls = 0;
        language.fail_at = at;
        assert_int_equal(call(&f), CROFT_REJECTED);
        assert_int_equal(language.calls, at); /* nothing is asked behind a failure */
        expect_slug(&f, "object");
        assert_true(y[0] == -1);
    }
    language.calls = language.fail_at = 0;
    assert_int_equal(call(&f), CROFT_OK);
    close_function(&f);
}

static void other_objects_are_refused(void **state) {
    (void)state;
    fixture f;
    open_mix(&f);
    f.inputs.count = 2;
    assert_int_equal(call(&f), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    f.inputs.count = 3;
    f.outputs.count = 3;
    assert_int_equal(call(&f), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    f.outputs.count = 2;
    f.outputs.items[1] = &f.inputs;
    assert_int_equal(call(&f), CROFT_REJECTED);
    expect_slug(&f, "object");
    f.outputs.items[1] = &f.s;
    assert_int_equal(
        croft_function_call_objects(f.function, &objects, NULL, &f.outputs, &f.findings),
        CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(
        croft_function_call_objects(f.function, &objects, &f.inputs, NULL, &f.findings),
        CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(
        croft_function_call_objects(f.function, NULL, &f.inputs, &f.outputs, &f.findings),
        CROFT_MISUSE);
    expect_slug(&f, "misuse");
    croft_objects half = objects;
    half.enter = NULL;
    assert_int_equal(
        croft_function_call_objects(f.function, &half, &f.inputs, &f.outputs, &f.findings),
        CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_call_objects(NULL, &objects, NULL, NULL, NULL), CROFT_MISUSE);
    assert_int_equal(croft_launch_objects(NULL, &objects, NULL), CROFT_MISUSE);
    f.x.matrix.tensor.dtype_bits = 16;
    assert_int_equal(call(&f), CROFT_REJECTED);
    expect_slug(&f, "dtype-mismatch");
    close_function(&f);
}

/* One column whose stride is none of a column's own may be a view of which the memory says nothing:
 * it is left to whoever can ask. */
static void columns_that_may_be_computed_are_refused(void **state) {
    (void)state;
    static const croft_config config = {.size = sizeof config, .threads = 1};
    fixture f;
    fill();
    open_function(&f, &config, SCALE);
    matrix_set(&f.x.matrix, x, ROWS, 1, 2);
    matrix_set(&f.y.matrix, y, ROWS, 1, 2);
    f.inputs = (object){.items = {&f.x}, .count = 1};
    f.outputs = f.y;
    assert_int_equal(call(&f), CROFT_OK);
    f.x.matrix.strides[1] = 2;
    assert_int_equal(call(&f), CROFT_REJECTED);
    expect_slug(&f, "object");
    f.x.matrix.strides[1] = 1;
    f.outputs.matrix.tensor.strides = f.x.matrix.tensor.strides;
    assert_int_equal(call(&f), CROFT_OK);
    close_function(&f);
}

static void long_work_leaves_the_language(void **state) {
    (void)state;
    static float large[2][1 << 20];
    static const croft_config config = {.size = sizeof config, .threads = 1};
    fixture f;
    open_function(&f, &config, SCALE);
    matrix_set(&f.x.matrix, large[0], 1 << 10, 1 << 10, 1 << 10);
    matrix_set(&f.y.matrix, large[1], 1 << 10, 1 << 10, 1 << 10);
    f.inputs = (object){.items = {&f.x}, .count = 1};
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(
            croft_function_call_objects(f.function, &objects, &f.inputs, &f.y, &f.findings),
            CROFT_OK);
        assert_int_equal(language.left, i);
    }
    const croft_tensor *tensors[] = {&f.x.matrix.tensor, &f.y.matrix.tensor};
    croft_dispatch *dispatch = NULL;
    assert_int_equal(croft_function_prepare(f.function, tensors, 2, &dispatch, NULL), CROFT_OK);
    assert_int_equal(croft_launch_objects(dispatch, &objects, NULL), CROFT_OK);
    assert_int_equal(language.left, 4);
    croft_dispatch_free(dispatch);
    close_function(&f);
}

/* One output is an object by itself. */
static void the_current_stream_is_used(void **state) {
    (void)state;
    static const croft_config config = {.size = sizeof config,
                                        .device = "cuda",
                                        .cuda_driver = CROFT_FAKE_CUDA,
                                        .cuda_nvrtc = CROFT_FAKE_CUDA,
                                        .device_index = 1};
    fake_cuda_state *fake = fake_open();
    fixture f;
    open_function(&f, &config, SCALE);
    object *both[] = {&f.x, &f.y};
    for (int i = 0; i < 2; i++) {
        both[i]->matrix.tensor.device_type = CROFT_ON_CUDA;
        both[i]->matrix.tensor.device_id = 1;
    }
    f.inputs = (object){.items = {&f.x}, .count = 1};
    const croft_tensor *tensors[] = {&f.x.matrix.tensor, &f.y.matrix.tensor};
    croft_dispatch *dispatch = NULL;
    assert_int_equal(croft_function_prepare(f.function, tensors, 2, &dispatch, NULL), CROFT_OK);
    void *const streams[] = {fake->caller_stream, NULL, (void *)2};
    for (int i = 0; i < 6; i++) {
        language.stream = streams[i % 3];
        fake->launch_count = 0;
        croft_status status =
            i < 3 ? croft_function_call_objects(f.function, &objects, &f.inputs, &f.y, &f.findings)
                  : croft_launch_objects(dispatch, &objects, &f.findings);
        assert_int_equal(status, CROFT_OK);
        assert_int_equal(fake->launch_count, 1);
        assert_ptr_equal(fake->launches[0].stream,
                         language.stream != NULL ? language.stream : (void *)1);
        assert_int_equal(language.type, CROFT_ON_CUDA);
        assert_int_equal(language.id, 1);
    }
    assert_int_equal(fake->waits, 0);
    language.fail_at = language.calls + 1;
    assert_int_equal(croft_launch_objects(dispatch, &objects, &f.findings), CROFT_REJECTED);
    expect_slug(&f, "object");
    croft_objects without = objects;
    without.stream = NULL;
    assert_int_equal(croft_launch_objects(dispatch, &without, &f.findings), CROFT_OK);
    assert_ptr_equal(fake->launches[1].stream, (void *)1);
    croft_dispatch_free(dispatch);
    close_function(&f);
    fake_close(fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_tensors_in_the_order_of_the_list),
        cmocka_unit_test(each_call_of_the_language_may_fail),
        cmocka_unit_test(other_objects_are_refused),
        cmocka_unit_test(columns_that_may_be_computed_are_refused),
        cmocka_unit_test(long_work_leaves_the_language),
        cmocka_unit_test(the_current_stream_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
