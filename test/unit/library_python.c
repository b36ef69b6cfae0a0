/* Calls from CPython: an interpreter that pretends, whose every call fails in turn. */
#include "cuda_fixture.h"

#include "library_fixture.h"

#include "croft_python.h"

#define MIX                                                                                        \
    "kernel mix(x: in f32[R, N], y: out f32[R, N], s: out f32[R], a: inout f32[R, N]) {\n"         \
    "    program row: R\n"                                                                         \
    "    t = x[row, :] * 2\n"                                                                      \
    "    a[row, :] = a[row, :] + t\n"                                                              \
    "    y[row, :] = t\n"                                                                          \
    "    s[row] = sum(t)\n"                                                                        \
    "}\n"

enum { ROWS = 4, WIDTH = 8, ITEMS = 2 };

typedef struct object object;
struct object {
    object *type;
    int references, versions;
    bool requires_grad;
    matrix matrix;
    object *items[ITEMS];
    int count;
};

static object type_type, tensor_type, tuple_type, exception, interrupt, none, no, out_name, method,
    names_of_out, level, forward, number, result;
static object x, a, y, s, outputs;
static float memory[4][ROWS * WIDTH];

static struct {
    int calls, fail_at; /* the number of the call that fails, from 1 */
    object *raises, *error;
    int methods; /* calls of the method */
    size_t count;
    void *arguments[40];
    bool asks; /* grad mode */
    object *read;
} python;

static bool fails(void) {
    if (++python.calls != python.fail_at)
        return false;
    python.error = python.raises;
    return true;
}

static void *type(void *one) {
    ((object *)one)->type->references++;
    return ((object *)one)->type;
}

static void retain(void *one) {
    ((object *)one)->references++;
}

static void release(void *one) {
    ((object *)one)->references--;
}

static void *error(void) {
    return python.error;
}

static int error_matches(void *kind) {
    return python.error == kind;
}

static void error_clear(void) {
    python.error = NULL;
}

static void *error_memory(void) {
    python.error = &exception;
    return NULL;
}

static void *get_memory(size_t size) {
    return python.fail_at == -1 ? NULL : malloc(size);
}

static ptrdiff_t length(void *tuple) {
    return ((object *)tuple)->count;
}

static void *item(void *tuple, ptrdiff_t index) {
    return ((object *)tuple)->items[index];
}

static void *look_up(void *dictionary, void *key) {
    assert_ptr_equal(dictionary, &forward);
    assert_ptr_equal(key, &level);
    return fails() ? NULL : &number;
}

static void *to_pointer(void *one) {
    assert_ptr_equal(one, &number);
    return fails() ? NULL : python.read;
}

static void *call_method(void *name, void *const *arguments, size_t count, void *names) {
    assert_ptr_equal(name, &method);
    assert_null(python.error);
    size_t all = count + (names != NULL ? (size_t)length(names) : 0);
    python.methods++;
    python.count = count;
    memcpy(python.arguments, arguments, sizeof *arguments * (all < 40 ? all : 40));
    result.references++;
    return &result;
}

static const croft_python table = {.size = sizeof table,
                                   .type = type,
                                   .retain = retain,
                                   .release = release,
                                   .error = error,
                                   .error_matches = error_matches,
                                   .error_clear = error_clear,
                                   .error_memory = error_memory,
                                   .memory = get_memory,
                                   .memory_free = free,
                                   .length = length,
                                   .item = item,
                                   .look_up = look_up,
                                   .pointer = to_pointer,
                                   .call_method = call_method,
                                   .none = &none,
                                   .no = &no,
                                   .tuple_type = &tuple_type,
                                   .exception = &exception,
                                   .out = &out_name,
                                   .method = &method};

/* ---- PyTorch ---- */
static int read_tensor(void *one, croft_tensor *tensor) {
    if (fails())
        return -1;
    *tensor = ((object *)one)->matrix.tensor;
    return 0;
}

static void *get_implementation(void *one, void *closure) {
    assert_null(closure);
    if (fails())
        return NULL;
    python.read = one;
    number.references++;
    return &number;
}

static bool modes(void) {
    return false;
}

static bool grad_mode(void) {
    return python.asks;
}

static bool requires_grad(const void *one) {
    return ((const object *)one)->requires_grad;
}

static bool is_inference(const void *handle) {
    return *(object *const *)handle == &s; /* that it is one of these, here */
}

static void count_version(const void *handle) {
    (*(object *const *)handle)->versions++;
}

static const croft_objects objects = {
    .size = sizeof objects, .length = length, .item = item, .tensor = read_tensor};
static const croft_torch torch = {.size = sizeof torch,
                                  .grad_mode = grad_mode,
                                  .requires_grad = requires_grad,
                                  .is_inference = is_inference,
                                  .count_version = count_version};
static const croft_python_arrays arrays = {.size = sizeof arrays,
                                           .types = {&tensor_type},
                                           .objects = &objects,
                                           .torch = &torch,
                                           .implementation = {.get = get_implementation},
                                           .modes = modes,
                                           .names = &forward,
                                           .level = &level,
                                           .no_level = &number};

/* ---- calls ---- */
typedef struct fixture {
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    croft_dispatch *dispatch;
    struct {
        void *head[2];
        croft_python_kernel part;
    } k;
    struct {
        void *head[2];
        croft_python_bound part;
    } d;
    object written;
} fixture;

static object *const all[] = {&x,           &a,          &y,     &s,      &outputs,
                              &tensor_type, &none,       &no,    &number, &type_type,
                              &result,      &tuple_type, &level, &forward};
enum { ALL = sizeof all / sizeof *all };

static void set(object *one, int place) {
    *one = (object){.type = &tensor_type};
    matrix_set(&one->matrix, memory[place], ROWS, WIDTH, WIDTH);
    one->matrix.tensor.shape = one->matrix.shape;
    one->matrix.tensor.strides = one->matrix.strides;
}

static void open_call(fixture *f) {
    const croft_config config = {.size = sizeof config, .threads = 1};
    *f = (fixture){0};
    memset(&python, 0, sizeof python);
    for (int i = 0; i < ALL; i++)
        *all[i] = (object){.type = &type_type};
    set(&x, 0);
    set(&a, 1);
    set(&y, 2);
    set(&s, 3);
    s.matrix.tensor.rank = 1;
    s.matrix.strides[0] = 1;
    outputs = (object){.type = &tuple_type, .items = {&y, &s}, .count = 2};
    names_of_out = (object){.type = &tuple_type, .items = {&out_name}, .count = 1};
    f->written = (object){.type = &tuple_type, .items = {&a, &y}, .count = 2};
    assert_int_equal(croft_context_create(&config, &f->context), CROFT_OK);
    assert_int_equal(compile_text(f->context, MIX, &f->kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(f->kernel, NULL, 0, NULL, &f->function, NULL), CROFT_OK);
    f->k.part.python = f->d.part.python = &table;
    f->k.part.entries[0] = (croft_python_entry){
        .arrays = &arrays, .function = &f->function, .device_type = CROFT_ON_CPU};
    f->k.part.entry_count = 1;
    const croft_tensor *tensors[] = {&x.matrix.tensor, &y.matrix.tensor, &s.matrix.tensor,
                                     &a.matrix.tensor};
    assert_int_equal(croft_function_prepare(f->function, tensors, 4, &f->dispatch, NULL), CROFT_OK);
    f->d.part.dispatch = &f->dispatch;
    f->d.part.objects = &objects;
    f->d.part.written = &f->written;
    f->d.part.arrays = &arrays;
}

static void close_call(fixture *f) {
    croft_dispatch_free(f->dispatch);
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
}

/* k(x, a, out=(y, s)); what is returned loses the reference that it was given. */
static object *call_kernel(fixture *f) {
    void *arguments[] = {&x, &a, &outputs};
    python.calls = python.methods = 0;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        memory[0][i] = (float)i;
        memory[1][i] = memory[2][i] = -1;
    }
    object *made = croft_python_call_kernel(&f->k, arguments, 2, &names_of_out);
    if (made != NULL)
        made->references--;
    return made;
}

static object *call_bound(fixture *f) {
    python.calls = python.methods = 0;
    object *made = croft_python_call_bound(&f->d, NULL, 0, NULL);
    if (made != NULL)
        made->references--;
    return made;
}

static void expect_balance(void) {
    for (int i = 0; i < ALL; i++)
        assert_int_equal(all[i]->references, 0);
}

static void common_calls_are_done_here(void **state) {
    (void)state;
    fixture f;
    open_call(&f);
    for (int i = 1; i <= 3; i++) {
        python.asks = i == 2;
        assert_ptr_equal(call_kernel(&f), &outputs);
        for (int k = 0; k < ROWS * WIDTH; k++)
            assert_true(memory[2][k] == 2 * (float)k && memory[1][k] == 2 * (float)k - 1);
        assert_int_equal(python.methods, 0);
        assert_int_equal(a.versions, i);
        assert_int_equal(y.versions, i);
        assert_int_equal(s.versions + x.versions, 0); /* of inference; not written */
        expect_balance();
    }
    assert_ptr_equal(call_bound(&f), &none);
    assert_int_equal(python.methods, 0);
    assert_int_equal(y.versions, 4);
    expect_balance();
    close_call(&f);
}

/* What is an Exception the method meets again; what is none is raised. */
static void each_call_of_the_interpreter_may_fail(void **state) {
    (void)state;
    fixture f;
    object *const kinds[] = {&exception, &interrupt};
    object *(*const calls[])(fixture *) = {call_kernel, call_bound};
    open_call(&f);
    python.asks = true;
    for (int which = 0; which < 2; which++) {
        (void)calls[which](&f);
        const int count = python.calls;
        assert_true(count >= 4);
        for (int at = 1; at <= 2 * count; at++) {
            python.raises = kinds[at % 2];
            python.fail_at = (at + 1) / 2;
            int versions = a.versions + y.versions;
            object *made = calls[which](&f);
            bool is_raised = python.raises == &interrupt;
            assert_ptr_equal(made, is_raised ? NULL : &result);
            assert_ptr_equal(python.error, is_raised ? &interrupt : NULL);
            assert_int_equal(python.methods, !is_raised);
            assert_int_equal(a.versions + y.versions, versions);
            assert_true(which == 1 || memory[2][1] == -1); /* nothing is written */
            expect_balance();
            python.error = NULL;
        }
        python.fail_at = 0;
    }
    close_call(&f);
}

static void the_rest_is_the_method_s(void **state) {
    (void)state;
    fixture f;
    open_call(&f);
    python.asks = x.requires_grad = true;
    assert_ptr_equal(call_kernel(&f), &result);
    assert_ptr_equal(python.arguments[0], &f.k);
    assert_ptr_equal(python.arguments[1], &x);
    assert_ptr_equal(python.arguments[3], &outputs);
    assert_int_equal(python.count, 3);
    x.requires_grad = false;
    outputs.count = 1;
    assert_ptr_equal(call_kernel(&f), &result);
    outputs.count = 2;
    outputs.items[1] = &none;
    assert_ptr_equal(call_kernel(&f), &result);
    outputs.items[1] = &s;
    x.matrix.shape[0]--;
    assert_ptr_equal(call_kernel(&f), &result); /* refused */
    x.matrix.shape[0]++;
    x.matrix.tensor.device_type = CROFT_ON_CUDA;
    assert_ptr_equal(call_kernel(&f), &result); /* no entry */
    x.matrix.tensor.device_type = CROFT_ON_CPU;
    names_of_out.items[0] = &none;
    assert_ptr_equal(call_kernel(&f), &result);
    names_of_out.items[0] = &out_name;
    assert_ptr_equal(call_kernel(&f), &outputs);
    void *many[39];
    for (int i = 0; i < 39; i++)
        many[i] = &x;
    assert_ptr_equal(croft_python_call_kernel(&f.k, many, 39, NULL), &result);
    assert_ptr_equal(python.arguments[39], &x);
    assert_ptr_equal(croft_python_call_bound(&f.d, many, 1, NULL), &result);
    result.references -= 2;
    python.fail_at = -1;
    assert_null(croft_python_call_kernel(&f.k, many, 39, NULL));
    assert_ptr_equal(python.error, &exception);
    python.error = NULL;
    python.fail_at = 0;
    expect_balance();
    close_call(&f);
}

static void what_has_ended_is_not_called(void **state) {
    (void)state;
    fixture f;
    open_call(&f);
    croft_function *function = f.function;
    croft_dispatch *dispatch = f.dispatch;
    f.function = NULL; /* its handle has ended */
    f.dispatch = NULL;
    assert_ptr_equal(call_kernel(&f), &result);
    assert_ptr_equal(call_bound(&f), &result);
    f.function = function;
    f.dispatch = dispatch;
    croft_python_finalize_kernel(&f.k);
    croft_python_finalize_bound(&f.d);
    assert_ptr_equal(call_kernel(&f), &result);
    assert_ptr_equal(call_bound(&f), &result);
    assert_true(f.k.part.ended && f.d.part.ended);
    expect_balance();
    close_call(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_calls_are_done_here),
        cmocka_unit_test(each_call_of_the_interpreter_may_fail),
        cmocka_unit_test(the_rest_is_the_method_s),
        cmocka_unit_test(what_has_ended_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
