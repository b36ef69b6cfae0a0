/* Operators of PyTorch over one that pretends: it counts handles, fails when it is told to, and
 * throws as C++ does.
 *
 * threads: tsan
 */
#include "cuda_fixture.h"

#include "croft_torch.h"
#include "library_fixture.h"

#include <stdatomic.h>
#include <unwind.h>

#define MIX                                                                                        \
    "kernel mix(s: out f32[R], x: in f32[R, N], y: out f32[R, N], a: inout f32[R, N],\n"           \
    "           scale: f32 = 2.0, shift: i32 = 0) {\n"                                             \
    "    program row: R\n"                                                                         \
    "    t = x[row, :] * scale + f32(shift)\n"                                                     \
    "    a[row, :] = a[row, :] + t\n"                                                              \
    "    y[row, :] = t\n"                                                                          \
    "    s[row] = sum(t)\n"                                                                        \
    "}\n"
#define OF_ANY_TYPE                                                                                \
    "kernel any(x: in T[R, N], y: out T[R, N], c: T, T: f32 | f16) {\n"                            \
    "    program row: R\n"                                                                         \
    "    y[row, :] = x[row, :] * c\n"                                                              \
    "}\n"

enum { ROWS = 4, WIDTH = 8, CELLS = ROWS * WIDTH };
enum { STRIDED = 7, CPU = 20, GPU = 21, FLOAT32 = 11 };

/* ---- PyTorch ---- */
typedef struct implementation {
    float *data;
    int64_t rank, shape[10], strides[10];
    int32_t layout, dtype, device_type, device_index;
    bool requires_grad, is_inference, was_created;
    int version;
} implementation;

/* What a handle points to: a tensor is a pointer to its implementation, and that alone. */
typedef struct handle {
    implementation *implementation;
} handle;

static struct {
    _Atomic int live_handles, live_words, live_created;
    _Atomic int calls, fail_at; /* the number of the call that fails, from 1; 0: none */
    bool grad_mode, stream_fails;
    int stream_index;
    void *stream;
} torch;

static bool fails(void) {
    return atomic_fetch_add(&torch.calls, 1) + 1 == torch.fail_at;
}

static uint64_t new_handle(implementation *made) {
    handle *one = malloc(sizeof *one);
    one->implementation = made;
    torch.live_handles++;
    return (uint64_t)(uintptr_t)one;
}

static implementation *of(const void *tensor) {
    return ((const handle *)tensor)->implementation;
}

#define ANSWER(name, type, value)                                                                  \
    static int32_t name(void *tensor, type *answer) {                                              \
        implementation *read = of(tensor);                                                         \
        if (fails())                                                                               \
            return 1;                                                                              \
        *answer = value;                                                                           \
        return 0;                                                                                  \
    }
ANSWER(layout, int32_t, read->layout)
ANSWER(rank, int64_t, read->rank)
ANSWER(shape, int64_t *, read->shape)
ANSWER(strides, int64_t *, read->strides)
ANSWER(dtype, int32_t, read->dtype)
ANSWER(device_type, int32_t, read->device_type)
ANSWER(device_index, int32_t, read->device_index)
ANSWER(data, void *, read->data)

static int32_t create(int64_t count, const int64_t *extents, const int64_t *steps, int32_t type,
                      int32_t device, int32_t index, void **tensor) {
    if (fails())
        return 1;
    implementation *made = calloc(1, sizeof *made);
    *made = (implementation){.rank = count,
                             .layout = STRIDED,
                             .dtype = type,
                             .device_type = device,
                             .device_index = index,
                             .was_created = true};
    made->data = calloc(CELLS, sizeof *made->data);
    memcpy(made->shape, extents, sizeof *extents * (size_t)count);
    memcpy(made->strides, steps, sizeof *steps * (size_t)count);
    torch.live_created++;
    *tensor = (void *)(uintptr_t)new_handle(made);
    return 0;
}

static int32_t destroy(void *tensor) {
    implementation *read = of(tensor);
    if (read->was_created) {
        free(read->data);
        free(read);
        torch.live_created--;
    }
    free(tensor);
    torch.live_handles--;
    return 0;
}

static int32_t current_stream(int32_t index, void **stream) {
    torch.stream_index = index;
    *stream = torch.stream;
    return torch.stream_fails;
}

static bool grad_mode(void) {
    return torch.grad_mode;
}

static bool requires_grad(const void *read) {
    return ((const implementation *)read)->requires_grad;
}

static bool is_inference(const void *tensor) {
    return of(tensor)->is_inference;
}

static void count_version(const void *tensor) {
    assert_false(of(tensor)->is_inference); /* the real one throws, where tensors are still held */
    of(tensor)->version++;
}

static void release(void *word) {
    free(word);
    torch.live_words--;
}

/* ---- throwing: frame by frame up to who called, as C++ does ---- */
static _Thread_local struct {
    jmp_buf caller;
    uintptr_t frame; /* an address in the caller's */
    bool ended;      /* the stack did, before it was there: a frame has no table */
    char text[32 * 1024];
} thrown;

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *unused) {
    (void)version, (void)kind, (void)exception, (void)unused;
    thrown.ended = (actions & _UA_END_OF_STACK) != 0;
    if (thrown.ended || _Unwind_GetCFA(context) > thrown.frame)
        longjmp(thrown.caller, 1);
    return _URC_NO_REASON;
}

static void check(bool good, const char *function, const char *file, uint32_t line,
                  const char *message) {
    static _Thread_local struct _Unwind_Exception exception;
    (void)function, (void)file, (void)line;
    if (good)
        return;
    (void)snprintf(thrown.text, sizeof thrown.text, "%s", message);
    memset(&exception, 0, sizeof exception);
    _Unwind_ForcedUnwind(&exception, stop, NULL);
    thrown.ended = true; /* it returns where it cannot go on */
    longjmp(thrown.caller, 1);
}

/* What was thrown; NULL: nothing. */
static const char *call(const croft_torch_operator *one, uint64_t *stack, int inputs, int outputs) {
    croft_torch_function *function = croft_torch_operator_function(one);
    int here = 0;
    thrown.frame = (uintptr_t)&here;
    if (setjmp(thrown.caller) != 0) {
        assert_false(thrown.ended);
        return thrown.text;
    }
    function(stack, (uint64_t)inputs, (uint64_t)outputs);
    return NULL;
}

static const croft_torch_dtype dtypes[] = {{FLOAT32, CROFT_FLOAT, 32}, {12, CROFT_INT, 32}};
static const croft_torch functions = {.size = sizeof functions,
                                      .layout = layout,
                                      .rank = rank,
                                      .shape = shape,
                                      .strides = strides,
                                      .dtype = dtype,
                                      .device_type = device_type,
                                      .device_index = device_index,
                                      .data = data,
                                      .create = create,
                                      .destroy = destroy,
                                      .stream = current_stream,
                                      .grad_mode = grad_mode,
                                      .requires_grad = requires_grad,
                                      .is_inference = is_inference,
                                      .count_version = count_version,
                                      .release = release,
                                      .check = check,
                                      .strided = STRIDED,
                                      .cpu_number = CPU,
                                      .cuda_number = GPU,
                                      .dtype_count = 2,
                                      .dtypes = dtypes};

/* ---- an operator ---- */
typedef struct fixture {
    croft_context *context;
    croft_kernel *kernel;
    croft_torch_operator *one;
    croft_diagnostics *findings;
    meter meter;
    float x[CELLS], a[CELLS], y[CELLS], s[ROWS];
    implementation of_x, of_a, of_y, of_s;
    /* what it was asked for */
    _Atomic int asked;
    int device_type, device_id, kept;
    croft_function *made[64];
    int made_count;
    const char *refuses;
} fixture;

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t metering = PTHREAD_MUTEX_INITIALIZER;

static void *metered_by_one(void *context, void *memory, size_t old_size, size_t new_size) {
    pthread_mutex_lock(&metering);
    void *moved = metered(context, memory, old_size, new_size);
    pthread_mutex_unlock(&metering);
    return moved;
}

static croft_function *find(void *context, int32_t type, int32_t id, const croft_argument *named,
                            int count, int keep, const char **why) {
    fixture *f = context;
    croft_function *made = NULL;
    f->asked++;
    *why = f->refuses;
    if (f->refuses != NULL)
        return NULL;
    pthread_mutex_lock(&finding);
    f->device_type = type;
    f->device_id = id;
    f->kept += keep;
    assert_int_equal(croft_function_create(f->kernel, named, count, NULL, &made, NULL), CROFT_OK);
    f->made[f->made_count++] = made;
    pthread_mutex_unlock(&finding);
    return made;
}

static implementation tensor_of(float *values, int64_t axes) {
    return (implementation){.data = values,
                            .rank = axes,
                            .shape = {ROWS, WIDTH},
                            .strides = {axes == 1 ? 1 : WIDTH, 1},
                            .layout = STRIDED,
                            .dtype = FLOAT32,
                            .device_type = CPU,
                            .device_index = -1};
}

static croft_torch_source source_of(fixture *f) {
    return (croft_torch_source){.size = sizeof(croft_torch_source),
                                .torch = &functions,
                                .kernel = f->kernel,
                                .find = find,
                                .context = f};
}

static void open_kernel(fixture *f, const char *device, const char *text) {
    memset(f, 0, sizeof *f);
    memset(&torch, 0, sizeof torch);
    const croft_config config = {.size = sizeof config,
                                 .threads = 1,
                                 .resize = metered_by_one,
                                 .resize_context = &f->meter,
                                 .device = device,
                                 .device_index = device != NULL,
                                 .cuda_driver = CROFT_FAKE_CUDA,
                                 .cuda_nvrtc = CROFT_FAKE_CUDA};
    assert_int_equal(croft_context_create(&config, &f->context), CROFT_OK);
    assert_int_equal(compile_text(f->context, text, &f->kernel, NULL), CROFT_OK);
    f->of_x = tensor_of(f->x, 2);
    f->of_a = tensor_of(f->a, 2);
    f->of_y = tensor_of(f->y, 2);
    f->of_s = tensor_of(f->s, 1);
}

static void open_operator(fixture *f, const char *device, const char *text) {
    open_kernel(f, device, text);
    const croft_torch_source source = source_of(f);
    assert_int_equal(croft_torch_operator_create(&source, &f->one, &f->findings), CROFT_OK);
    assert_non_null(croft_torch_operator_function(f->one));
}

static void close_operator(fixture *f) {
    croft_diagnostics_free(f->findings);
    croft_torch_operator_free(f->one);
    for (int i = 0; i < f->made_count; i++)
        croft_function_free(f->made[i]);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
    assert_int_equal(f->meter.held, 0);
    assert_int_equal(torch.live_handles, 0);
    assert_int_equal(torch.live_words, 0);
    assert_int_equal(torch.live_created, 0);
}

static void fill(fixture *f) {
    for (int i = 0; i < CELLS; i++) {
        f->x[i] = (float)(i % 7);
        f->a[i] = (float)(i % 5);
        f->y[i] = -1;
    }
    for (int i = 0; i < ROWS; i++)
        f->s[i] = -1;
}

/* The tensors that are read, then the others, each group in the order of the list. */
static const char *call_out(fixture *f) {
    uint64_t stack[6] = {new_handle(&f->of_x), new_handle(&f->of_a), new_handle(&f->of_s),
                         new_handle(&f->of_y)};
    return call(f->one, stack, 6, 0);
}

static void expect(const fixture *f, const float *y, const float *s, float scale, float shift) {
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            float t = f->x[i] * scale + shift;
            sum += t;
            assert_true(y[i] == t);
            assert_true(f->a[i] == (float)(i % 5) + t);
        }
        assert_true(s[row] == sum);
    }
}

static void expect_untouched(const fixture *f) {
    assert_true(f->y[0] == -1 && f->s[0] == -1 && f->a[1] == 1);
    assert_int_equal(f->of_y.version + f->of_a.version, 0);
    assert_int_equal(torch.live_handles, 0);
    assert_int_equal(torch.live_words, 0);
}

static uint64_t number_word(const void *value) {
    uint64_t *word = malloc(sizeof *word);
    memcpy(word, value, sizeof *word);
    torch.live_words++;
    return (uint64_t)(uintptr_t)word;
}

/* ---- tests ---- */
static void outputs_are_given_or_made(void **state) {
    (void)state;
    fixture f;
    open_operator(&f, NULL, MIX);
    for (int i = 1; i <= 3; i++) {
        fill(&f);
        assert_null(call_out(&f));
        expect(&f, f.y, f.s, 2, 0);
        fill(&f);
        uint64_t stack[4] = {new_handle(&f.of_x), new_handle(&f.of_a)};
        assert_null(call(f.one, stack, 4, 2));
        void *s = (void *)(uintptr_t)stack[0], *y = (void *)(uintptr_t)stack[1];
        assert_int_equal(torch.live_handles, 2);
        assert_int_equal(of(s)->rank, 1);
        assert_int_equal(of(y)->rank, 2);
        assert_int_equal(of(y)->shape[1], WIDTH);
        assert_int_equal(of(y)->strides[0], WIDTH);
        expect(&f, of(y)->data, of(s)->data, 2, 0);
        assert_int_equal(of(y)->version, 0); /* new */
        destroy(s);
        destroy(y);
        assert_int_equal(f.of_a.version, 2 * i);
        assert_int_equal(f.of_y.version, i);
        assert_int_equal(f.of_x.version, 0);
    }
    assert_int_equal(f.asked, 1);
    assert_int_equal(f.device_type, CROFT_ON_CPU);
    croft_torch_operator_forget(f.one);
    assert_null(call_out(&f));
    assert_int_equal(f.asked, 2);
    close_operator(&f);
}

static void tensors_of_inference_have_no_version(void **state) {
    (void)state;
    fixture f;
    open_operator(&f, NULL, MIX);
    fill(&f);
    f.of_y.is_inference = true;
    assert_null(call_out(&f));
    expect(&f, f.y, f.s, 2, 0);
    assert_int_equal(f.of_y.version, 0);
    assert_int_equal(f.of_a.version, 1);
    close_operator(&f);
}

static void each_question_may_fail(void **state) {
    (void)state;
    fixture f;
    for (int outputs = 0; outputs <= 2; outputs += 2) {
        int at = 1;
        open_operator(&f, NULL, MIX);
        fill(&f);
        for (;; at++) {
            torch.calls = 0;
            torch.fail_at = at;
            uint64_t stack[6] = {new_handle(&f.of_x), new_handle(&f.of_a)};
            if (outputs == 0) {
                stack[2] = new_handle(&f.of_s);
                stack[3] = new_handle(&f.of_y);
            }
            const char *text = call(f.one, stack, outputs == 0 ? 6 : 4, outputs);
            if (text == NULL) {
                for (int i = 0; i < outputs; i++)
                    destroy((void *)(uintptr_t)stack[i]);
                break;
            }
            assert_non_null(strstr(text, "PyTorch"));
            assert_int_equal(torch.calls, at); /* nothing is asked behind a failure */
            expect_untouched(&f);
        }
        assert_int_equal(at - 1, 4 * 8 + outputs); /* of each tensor, and two that are created */
        close_operator(&f);
    }
}

static void memory_may_end(void **state) {
    (void)state;
    fixture f;
    for (int outputs = 0; outputs <= 2; outputs += 2) {
        open_operator(&f, NULL, MIX);
        fill(&f);
        assert_null(call_out(&f)); /* the function is there */
        const int64_t held = f.meter.held;
        fill(&f);
        f.of_y.version = f.of_a.version = 0;
        /* another kind: shorter rows */
        f.of_x.shape[1] = f.of_a.shape[1] = f.of_y.shape[1] = WIDTH / 2;
        const char *text = "";
        for (int at = 1; text != NULL; at++) {
            uint64_t stack[6] = {new_handle(&f.of_x), new_handle(&f.of_a)};
            if (outputs == 0) {
                stack[2] = new_handle(&f.of_s);
                stack[3] = new_handle(&f.of_y);
            }
            f.meter.failing = f.meter.asked + at;
            text = call(f.one, stack, outputs == 0 ? 6 : 4, outputs);
            for (int i = 0; i < outputs && text == NULL; i++)
                destroy((void *)(uintptr_t)stack[i]);
            if (text != NULL)
                expect_untouched(&f);
        }
        assert_true(f.meter.held > held);
        close_operator(&f);
    }
}

static void derivatives_are_refused(void **state) {
    (void)state;
    fixture f;
    implementation *const all[] = {&f.of_x, &f.of_a, &f.of_s, &f.of_y};
    open_operator(&f, NULL, MIX);
    for (int i = 0; i < 4; i++) {
        fill(&f);
        all[i]->requires_grad = torch.grad_mode = true;
        const char *text = call_out(&f);
        assert_non_null(text);
        assert_non_null(strstr(text, "[requires-grad]"));
        assert_non_null(strstr(text, "torch.no_grad()"));
        expect_untouched(&f);
        torch.grad_mode = false;
        assert_null(call_out(&f));
        all[i]->requires_grad = false;
        f.of_y.version = f.of_a.version = 0;
    }
    close_operator(&f);
}

static void numbers_come_by_name(void **state) {
    (void)state;
    fixture f;
    open_operator(&f, NULL, MIX);
    for (int i = 0; i < 40; i++) {
        const double scale = i / 2;
        const int64_t shift = i % 2;
        fill(&f);
        uint64_t stack[6] = {new_handle(&f.of_x), new_handle(&f.of_a), new_handle(&f.of_s),
                             new_handle(&f.of_y), number_word(&scale), number_word(&shift)};
        assert_null(call(f.one, stack, 6, 0));
        expect(&f, f.y, f.s, (float)scale, (float)shift);
    }
    assert_int_equal(f.asked, 40);
    assert_int_equal(f.kept, 16);
    for (int i = 0; i < 8; i++) { /* of those that are kept */
        const double scale = i;
        const int64_t shift = 1;
        fill(&f);
        uint64_t stack[6] = {new_handle(&f.of_x), new_handle(&f.of_a), new_handle(&f.of_s),
                             new_handle(&f.of_y), number_word(&scale), number_word(&shift)};
        assert_null(call(f.one, stack, 6, 0));
        expect(&f, f.y, f.s, (float)scale, 1);
    }
    assert_int_equal(f.asked, 40);
    close_operator(&f);
}

static void what_is_refused_is_thrown(void **state) {
    (void)state;
    fixture f;
    open_operator(&f, NULL, MIX);
    const struct {
        int32_t *member, other;
        const char *slug;
    } wrong[] = {{&f.of_y.layout, 3, "s do not lie in strides [object]"},
                 {&f.of_a.dtype, 99, "[object]"},
                 {&f.of_x.dtype, 12, "[dtype-mismatch]"},
                 {&f.of_x.device_type, 5, "[tensor-device]"},
                 {&f.of_y.device_type, GPU, "[tensor-device]"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int32_t right = *wrong[i].member;
        fill(&f);
        *wrong[i].member = wrong[i].other;
        const char *text = call_out(&f);
        assert_non_null(text);
        assert_non_null(strstr(text, wrong[i].slug));
        assert_true(text[strlen(text) - 1] != '\n');
        expect_untouched(&f);
        *wrong[i].member = right;
    }
    f.of_x.rank = 9;
    assert_non_null(strstr(call_out(&f), "[rank-mismatch]"));
    f.of_x.rank = 2;
    f.of_x.shape[1] = 3;
    assert_non_null(strstr(call_out(&f), "[size-mismatch]"));
    f.of_x.shape[1] = WIDTH;
    croft_torch_operator_forget(f.one);
    f.refuses = "there is no such device\nanywhere";
    assert_string_equal(call_out(&f), f.refuses);
    expect_untouched(&f);
    uint64_t stack[8] = {0};
    assert_non_null(strstr(call(f.one, stack, 5, 0), "schema"));
    assert_non_null(strstr(call(f.one, stack, 4, 1), "schema"));
    close_operator(&f);
}

static void the_current_stream_is_used(void **state) {
    (void)state;
    fake_cuda_state *fake = fake_open();
    fixture f;
    open_operator(&f, "cuda", SCALE);
    f.of_x.device_type = f.of_y.device_type = GPU;
    f.of_x.device_index = f.of_y.device_index = 1;
    void *const streams[] = {fake->caller_stream, NULL};
    for (int i = 0; i < 4; i++) {
        torch.stream = streams[i % 2];
        fake->launch_count = 0;
        uint64_t stack[3] = {new_handle(&f.of_x), new_handle(&f.of_y)};
        assert_null(call(f.one, stack, 3, 0));
        assert_int_equal(fake->launch_count, 1);
        assert_ptr_equal(fake->launches[0].stream, torch.stream != NULL ? torch.stream : (void *)1);
    }
    assert_int_equal(fake->waits, 0);
    assert_int_equal(torch.stream_index, 1);
    assert_int_equal(f.device_type, CROFT_ON_CUDA);
    assert_int_equal(f.device_id, 1);
    torch.stream_fails = true;
    uint64_t stack[3] = {new_handle(&f.of_x), new_handle(&f.of_y)};
    assert_non_null(strstr(call(f.one, stack, 3, 0), "[object]"));
    close_operator(&f);
    fake_close(fake);
}

static void the_pool_is_used_up(void **state) {
    (void)state;
    croft_torch_operator *all[64], *more = NULL;
    fixture f;
    open_operator(&f, NULL, MIX);
    const croft_torch_source source = source_of(&f);
    all[0] = f.one;
    for (int i = 1; i < 64; i++) {
        assert_int_equal(croft_torch_operator_create(&source, &all[i], NULL), CROFT_OK);
        for (int j = 0; j < i; j++)
            assert_true(croft_torch_operator_function(all[i]) !=
                        croft_torch_operator_function(all[j]));
    }
    assert_int_equal(croft_torch_operator_create(&source, &more, &f.findings),
                     CROFT_OUT_OF_RESOURCES);
    assert_null(more);
    croft_torch_operator_free(all[17]);
    assert_int_equal(croft_torch_operator_create(&source, &all[17], NULL), CROFT_OK);
    fill(&f);
    for (int i = 0; i < 64; i++) {
        f.one = all[i];
        fill(&f);
        assert_null(call_out(&f));
        expect(&f, f.y, f.s, 2, 0);
        if (i > 0)
            croft_torch_operator_free(all[i]);
    }
    f.one = all[0];
    close_operator(&f);
}

static void what_no_schema_says_is_refused(void **state) {
    (void)state;
    fixture f;
    open_kernel(&f, NULL, OF_ANY_TYPE);
    croft_torch_source source = source_of(&f);
    assert_int_equal(croft_torch_operator_create(&source, &f.one, &f.findings), CROFT_REJECTED);
    assert_non_null(strstr(croft_diagnostics_text(f.findings), "[operator-schema]"));
    assert_null(f.one);
    close_operator(&f);
    open_kernel(&f, NULL, MIX);
    source = source_of(&f);
    croft_torch half = functions;
    half.check = NULL;
    source.torch = &half;
    assert_int_equal(croft_torch_operator_create(&source, &f.one, NULL), CROFT_MISUSE);
    half = functions;
    half.dtype_count = 0;
    assert_int_equal(croft_torch_operator_create(&source, &f.one, NULL), CROFT_MISUSE);
    source.torch = NULL;
    assert_int_equal(croft_torch_operator_create(&source, &f.one, NULL), CROFT_MISUSE);
    assert_int_equal(croft_torch_operator_create(&source, NULL, NULL), CROFT_MISUSE);
    assert_int_equal(croft_torch_operator_create(NULL, &f.one, NULL), CROFT_MISUSE);
    assert_null(croft_torch_operator_function(NULL));
    close_operator(&f);
}

/* ---- threads ---- */
typedef struct worker {
    fixture *f;
    int wrong;
} worker;

static void *work(void *given) {
    worker *w = given;
    float x[CELLS];
    implementation of_x = tensor_of(x, 2);
    for (int i = 0; i < 200; i++) {
        const double scale = 1 + i % 3;
        for (int j = 0; j < CELLS; j++)
            x[j] = (float)(i + j);
        of_x.shape[0] = 1 + i % ROWS;
        uint64_t stack[2] = {new_handle(&of_x), i % 4 == 0 ? 0 : number_word(&scale)};
        const bool has_scale = stack[1] != 0;
        if (call(w->f->one, stack, 2, 1) != NULL) {
            w->wrong++;
            continue;
        }
        void *y = (void *)(uintptr_t)stack[0];
        w->wrong += of(y)->shape[0] != of_x.shape[0];
        for (int j = 0; j < WIDTH; j++)
            w->wrong += of(y)->data[j] != x[j] * (has_scale ? (float)scale : 2.0F);
        destroy(y);
    }
    return NULL;
}

static void threads_call_at_once(void **state) {
    (void)state;
    fixture f;
    pthread_t threads[4];
    worker workers[4];
    open_operator(&f, NULL, SCALE);
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.f = &f};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    close_operator(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_given_or_made),
        cmocka_unit_test(tensors_of_inference_have_no_version),
        cmocka_unit_test(each_question_may_fail),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(derivatives_are_refused),
        cmocka_unit_test(numbers_come_by_name),
        cmocka_unit_test(what_is_refused_is_thrown),
        cmocka_unit_test(the_current_stream_is_used),
        cmocka_unit_test(the_pool_is_used_up),
        cmocka_unit_test(what_no_schema_says_is_refused),
        cmocka_unit_test(threads_call_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
