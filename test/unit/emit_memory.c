/* The cpu target's loads and stores: every shape of address under every mask, and with the policy
 * `stream`, on arrays that end at a page which must not be touched, with wild indices in the lanes
 * that take no part. */
#include "emit_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 2, LANES_MAX = 16, ELEMENTS = SLOTS * LANES_MAX, STRIDE = 37 };

/* How an element (lane, slot) of an access is addressed and masked; vectors come from tensors. */
typedef struct access_case {
    const char *name;
    int64_t base[2], lane[2], slot[2];
    int vector; /* dimension with a vector addend, -1 = none */
} access_case;

static const access_case shapes[] = {
    {"same", {1, 2}, {0, 0}, {1, 3}, -1},
    {"neighbours", {1, 2}, {0, 1}, {0, 16}, -1},
    {"aligned neighbours", {0, 0}, {0, 1}, {0, 16}, -1},
    {"neighbours by rows", {0, 0}, {0, 1}, {1, 0}, -1},
    {"strided", {0, 3}, {1, 0}, {0, 1}, -1},
    {"strided both", {0, 0}, {1, 2}, {16, 1}, -1},
    {"scattered in a row", {1, 0}, {0, 0}, {0, 0}, 1},
    {"scattered rows", {0, 1}, {0, 1}, {0, 0}, 0},
};

typedef enum mask_case {
    MASK_NONE,
    MASK_STREAM, /* none, and the policy */
    MASK_COUNT,
    MASK_SLOTS,
    MASK_EVERY,
    MASK_BITS,
    MASK_IF,
    MASKS
} mask_case;

/* RANGE masks: lane and slot stride. */
static const int64_t mask_strides[MASKS][2] = {
    [MASK_COUNT] = {1, 16}, [MASK_SLOTS] = {0, 1}, [MASK_EVERY] = {3, 1}};

enum { SHAPES = sizeof shapes / sizeof shapes[0], CASES = SHAPES * MASKS };

typedef struct memory_test {
    base_dtype dtype;
    int lanes;
    bool stores;
    char *pages; /* the last one is not accessible */
    size_t size, page;
    int64_t count;                /* of the RANGE masks */
    int64_t vectors[2][ELEMENTS]; /* by slot * lanes + lane; the second is wild where no bit is */
    uint8_t bits[ELEMENTS];
    uint8_t condition;
    _Alignas(8) char fill[ELEMENTS * 8], values[ELEMENTS * 8];
    _Alignas(8) char out[CASES][ELEMENTS * 8];
} memory_test;

static bool case_acts(const memory_test *t, mask_case mask, int lane, int slot) {
    if (mask == MASK_BITS)
        return t->bits[slot * t->lanes + lane] != 0;
    if (mask == MASK_IF)
        return t->condition != 0;
    return mask == MASK_NONE || mask == MASK_STREAM ||
           lane * mask_strides[mask][0] + slot * mask_strides[mask][1] < t->count;
}

/* Of an element that acts: there both vectors are the same. */
static int64_t case_address(const memory_test *t, const access_case *c, int lane, int slot) {
    int64_t address = 0;
    for (int d = 0; d < 2; d++) {
        int64_t index = c->base[d] + lane * c->lane[d] + slot * c->slot[d];
        if (c->vector == d)
            index += t->vectors[0][slot * t->lanes + lane];
        address += index * (d == 0 ? STRIDE : 1);
    }
    return address;
}

/* Elements that a case may touch: the array has exactly those up to the last. */
static int64_t case_elements(const memory_test *t, const access_case *c, mask_case mask) {
    int64_t last = -1;
    for (int i = 0; i < SLOTS * t->lanes; i++)
        if (case_acts(t, mask, i % t->lanes, i / t->lanes)) {
            int64_t address = case_address(t, c, i % t->lanes, i / t->lanes);
            last = address > last ? address : last;
        }
    return last + 1;
}

/* ---- the kernel ---- */

typedef struct kernel_parts {
    emit_fixture f;
    ir_value *count, *vectors, *wild, *bits, *condition, *fill, *values;
} kernel_parts;

static ir_value *load_row(emit_fixture *f, ir_value *tensor) {
    return emit_fixture_load_chunk(f, tensor, SLOTS);
}

static int operand_add(ir_value **operands, int *count, ir_value *value) {
    operands[(*count)++] = value;
    return *count;
}

static ir_access *build_access(kernel_parts *k, const access_case *c, mask_case mask,
                               ir_value **operands, int *count) {
    ir_access *access = emit_fixture_access(&k->f, 2);
    for (int d = 0; d < 2; d++) {
        ir_index *index = &access->index[d];
        index->affine = ir_affine_of(c->lane[d], c->slot[d]);
        index->operand = operand_add(operands, count, emit_fixture_integer(&k->f, c->base[d]));
        if (c->vector == d)
            index->vector = operand_add(operands, count, mask == MASK_BITS ? k->wild : k->vectors);
    }
    access->policy = mask == MASK_STREAM ? IR_POLICY_STREAM : IR_POLICY_DEFAULT;
    if (mask == MASK_NONE || mask == MASK_STREAM)
        return access;
    bool range = mask != MASK_BITS && mask != MASK_IF;
    access->mask_kind = range ? IR_MASK_RANGE : IR_MASK_BITS;
    access->mask_affine = ir_affine_of(mask_strides[mask][0], mask_strides[mask][1]);
    access->mask = operand_add(operands, count,
                               range               ? k->count
                               : mask == MASK_BITS ? k->bits
                                                   : k->condition);
    return access;
}

static ir_value *load_uniform(emit_fixture *f, ir_value *tensor) {
    ir_access *access = emit_fixture_access(f, 1);
    return emit_fixture_load(f, tensor, access, 0, NULL, ir_type_uniform(tensor->type.dtype))
        ->results[0];
}

/* Tensors: count, vectors, wild, bits, condition, fill, values, out, then one per case. */
static void build_kernel(kernel_parts *k, const memory_test *t) {
    emit_fixture *f = &k->f;
    emit_fixture_begin(f, "memory", t->lanes);
    ir_value *count = emit_fixture_tensor(f, "count", BASE_I64, IR_IN, 1);
    ir_value *vectors = emit_fixture_tensor(f, "vectors", BASE_I64, IR_IN, 1);
    ir_value *wild = emit_fixture_tensor(f, "wild", BASE_I64, IR_IN, 1);
    ir_value *bits = emit_fixture_tensor(f, "bits", BASE_BOOL, IR_IN, 1);
    ir_value *condition = emit_fixture_tensor(f, "condition", BASE_BOOL, IR_IN, 1);
    ir_value *fill = emit_fixture_tensor(f, "fill", t->dtype, IR_IN, 1);
    ir_value *values = emit_fixture_tensor(f, "values", t->dtype, IR_IN, 1);
    ir_value *out = emit_fixture_tensor(f, "out", t->dtype, IR_OUT, 2);
    k->count = load_uniform(f, count);
    k->vectors = load_row(f, vectors);
    k->wild = load_row(f, wild);
    k->bits = load_row(f, bits);
    k->condition = load_uniform(f, condition);
    k->fill = load_row(f, fill);
    k->values = load_row(f, values);
    for (int i = 0; i < CASES; i++) {
        ir_value *operands[8];
        int operand_count = 0;
        ir_value *x = emit_fixture_tensor(f, "x", t->dtype, t->stores ? IR_OUT : IR_IN, 2);
        ir_access *access =
            build_access(k, &shapes[i / MASKS], (mask_case)(i % MASKS), operands, &operand_count);
        if (t->stores) {
            emit_fixture_store(f, x, access, operand_count, operands, k->values);
            continue;
        }
        if (access->mask_kind != IR_MASK_NONE && i % 2 == 0) /* the others are filled with zero */
            access->fill = operand_add(operands, &operand_count, k->fill);
        ir_op *load = emit_fixture_load(f, x, access, operand_count, operands,
                                        ir_type_slots(t->dtype, SLOTS));
        emit_fixture_store_chunk(f, out, i, SLOTS, load->results[0]);
    }
}

/* ---- running ---- */

static char byte_at(size_t i) {
    return (char)(i * 37 + 11);
}

/* A bool in memory is 0 or 1. */
static void fill_bytes(const memory_test *t, char *bytes, size_t size, size_t seed) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = t->dtype == BASE_BOOL ? byte_at(i + seed) >> 3 & 1 : byte_at(i + seed);
}

static void check_load(const memory_test *t, int i, const char *array) {
    size_t size = (size_t)base_dtype_size(t->dtype);
    mask_case mask = (mask_case)(i % MASKS);
    static const char zero[8];
    for (int e = 0; e < SLOTS * t->lanes; e++) {
        int lane = e % t->lanes, slot = e / t->lanes;
        bool filled = i % 2 == 0;
        const char *expected = filled ? t->fill + (size_t)e * size : zero;
        if (case_acts(t, mask, lane, slot))
            expected = array + case_address(t, &shapes[i / MASKS], lane, slot) * (int64_t)size;
        if (memcmp(t->out[i] + (size_t)e * size, expected, size) != 0)
            fail_msg("%s under mask %d: lane %d of slot %d (%s, count %lld)",
                     shapes[i / MASKS].name, mask, lane, slot, base_dtype_name(t->dtype),
                     (long long)t->count);
    }
}

/* What the array must hold: its first bytes, with the stores of all lanes in order. */
static void check_store(const memory_test *t, int i, const char *array, int64_t elements) {
    size_t size = (size_t)base_dtype_size(t->dtype);
    char *expected = malloc((size_t)elements * size + 1);
    fill_bytes(t, expected, (size_t)elements * size, (size_t)i);
    for (int e = 0; e < SLOTS * t->lanes; e++) {
        int lane = e % t->lanes, slot = e / t->lanes;
        if (!case_acts(t, (mask_case)(i % MASKS), lane, slot))
            continue;
        int64_t address = case_address(t, &shapes[i / MASKS], lane, slot);
        memcpy(expected + address * (int64_t)size, t->values + (size_t)e * size, size);
    }
    if (memcmp(array, expected, (size_t)elements * size) != 0)
        fail_msg("store: %s under mask %d (%s, count %lld)", shapes[i / MASKS].name, i % MASKS,
                 base_dtype_name(t->dtype), (long long)t->count);
    free(expected);
}

static void run_once(memory_test *t, const emitted *kernel) {
    size_t size = (size_t)base_dtype_size(t->dtype);
    void *pointers[8 + CASES] = {&t->count,     t->vectors[0], t->vectors[1], t->bits,
                                 &t->condition, t->fill,       t->values,     t->out};
    int64_t words[4 * (9 + CASES)] = {0};
    int64_t symbols = 7 + 2 + 2 * CASES, word = symbols + 7;
    char *arrays[CASES];
    int64_t elements[CASES];
    words[word++] = (int64_t)(sizeof t->out[0] / size);
    word++;
    for (int i = 0; i < CASES; i++, word += 2) {
        words[word] = STRIDE;
        words[word + 1] = 999; /* not read: the last stride is 1 */
        elements[i] = case_elements(t, &shapes[i / MASKS], (mask_case)(i % MASKS));
        arrays[i] =
            t->pages + (size_t)(i + 1) * (t->size + t->page) - t->page - (size_t)elements[i] * size;
        fill_bytes(t, arrays[i], (size_t)elements[i] * size, (size_t)i);
        pointers[8 + i] = arrays[i];
    }
    memset(t->out, 0x55, sizeof t->out);
    kernel->entry(pointers, words, 0, 1, NULL);
    for (int i = 0; i < CASES; i++) {
        if (t->stores)
            check_store(t, i, arrays[i], elements[i]);
        else
            check_load(t, i, arrays[i]);
    }
}

static const int64_t wild_indices[] = {INT64_MIN, INT64_MAX, -1, INT64_C(1) << 40, -5000};

static void check_memory(void *state, const emitted *kernel) {
    memory_test *t = state;
    static const int64_t counts[] = {0, 1, 3, 7, 15, 16, 17, 25, 40, 1000, -5, INT64_MIN};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        t->count = counts[c];
        t->condition = c % 3 != 0;
        for (int e = 0; e < SLOTS * t->lanes; e++) {
            t->bits[e] = (uint8_t)((e * 5 + (int)c) % 3 != 0);
            t->vectors[0][e] = (e * 7 + (int64_t)c) % (SLOTS * t->lanes);
            t->vectors[1][e] = t->bits[e] ? t->vectors[0][e] : wild_indices[e % 5];
        }
        run_once(t, kernel);
    }
}

static void check_dtype(base_dtype dtype, int lanes, bool stores) {
    memory_test *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->dtype = dtype;
    t->lanes = lanes;
    t->stores = stores;
    t->page = (size_t)sysconf(_SC_PAGESIZE);
    t->size = 4 * t->page;
    size_t bytes = CASES * (t->size + t->page);
    t->pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(t->pages, MAP_FAILED);
    for (int i = 0; i < CASES; i++)
        assert_int_equal(mprotect(t->pages + (size_t)(i + 1) * (t->size + t->page) - t->page,
                                  t->page, PROT_NONE),
                         0);
    fill_bytes(t, t->fill, sizeof t->fill, 1);
    fill_bytes(t, t->values, sizeof t->values, 2);
    kernel_parts k;
    build_kernel(&k, t);
    k.f.thin = true;
    k.f.traps = dtype == BASE_F32 && lanes == 8;
    emit_fixture_each(&k.f, check_memory, t);
    emit_fixture_end(&k.f);
    munmap(t->pages, bytes);
    free(t);
}

static void floats_in_eight_lanes(void **state) {
    (void)state;
    check_dtype(BASE_F32, 8, false);
    check_dtype(BASE_F32, 8, true);
}

static void integers_of_64_bits(void **state) {
    (void)state;
    check_dtype(BASE_I64, 8, false);
    check_dtype(BASE_I64, 8, true);
}

static void short_floats(void **state) {
    (void)state;
    check_dtype(BASE_BF16, 8, false);
    check_dtype(BASE_BF16, 8, true);
}

static void bools(void **state) {
    (void)state;
    check_dtype(BASE_BOOL, 8, false);
    check_dtype(BASE_BOOL, 8, true);
}

static void bytes_in_four_lanes(void **state) {
    (void)state;
    check_dtype(BASE_I8, 4, false);
    check_dtype(BASE_I8, 4, true);
}

static void words_in_sixteen_lanes(void **state) {
    (void)state;
    check_dtype(BASE_U32, 16, false);
    check_dtype(BASE_U32, 16, true);
}

static void one_lane(void **state) {
    (void)state;
    check_dtype(BASE_F32, 1, false);
    check_dtype(BASE_F32, 1, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_in_eight_lanes),
        cmocka_unit_test(integers_of_64_bits),
        cmocka_unit_test(short_floats),
        cmocka_unit_test(bools),
        cmocka_unit_test(bytes_in_four_lanes),
        cmocka_unit_test(words_in_sixteen_lanes),
        cmocka_unit_test(one_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
