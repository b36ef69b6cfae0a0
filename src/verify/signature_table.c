/* Signatures: see signature_table_internal.h. Sets of sources are sorted 64-bit names; a partial
 * result has the sum of the mixed names of its elements. Entries are interned by a 64-bit hash of
 * their content.
 */
#include "verify/signature_table_internal.h"

#include "base/hash.h"

#include <string.h>

enum { SOURCES = 1024 /* of a set; more are unknown */, MEMO = 1 << 12, NUMBERS = 1 << 10 };

typedef enum entry_kind { ENTRY_SPECIAL, ENTRY_CONSTANT, ENTRY_SET, ENTRY_PARTIAL } entry_kind;

typedef struct entry {
    uint64_t hash;
    union {
        uint64_t sum;            /* PARTIAL: of the names of its elements */
        const uint64_t *sources; /* SET, ascending */
        int64_t integer;         /* CONSTANT */
        double real;
    };
    uint16_t kind;   /* entry_kind */
    uint16_t joined; /* PARTIAL: the op that joins */
    int32_t count;   /* SET: sources */
    signature only;  /* PARTIAL of one element: that one */
    bool is_integer; /* CONSTANT */
} entry;

typedef struct memo {
    uint64_t key;
    signature result;
} memo;

struct signature_table {
    base_arena *arena;
    entry *entries;
    int64_t count, capacity;
    uint32_t *buckets; /* signature, 0 = empty: a power of two of them */
    int64_t bucket_count;
    memo *memo;
    bool counts;       /* constants of unknown value count as elements */
    uint32_t *numbers; /* constants 0 .. NUMBERS-1; 0 = not met yet */
};

/* ---- names ---- */
static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t mixed_words(uint64_t seed, const uint64_t *words, int count) {
    uint64_t hash = seed;
    for (int i = 0; i < count; i++)
        hash = mixed(hash * UINT64_C(0x9e3779b97f4a7c15) + words[i] + 1);
    return hash;
}

/* ---- the table ---- */
static void grow_buckets(signature_table *table) {
    int64_t count = table->bucket_count * 2;
    uint32_t *buckets = BASE_NEW_ARRAY(table->arena, uint32_t, count);
    for (int64_t i = SIGNATURE_OUTSIDE; i < table->count; i++) {
        uint64_t at = table->entries[i].hash;
        while (buckets[at & (uint64_t)(count - 1)] != 0)
            at++;
        buckets[at & (uint64_t)(count - 1)] = (uint32_t)i;
    }
    table->buckets = buckets;
    table->bucket_count = count;
}

/* The entry with this hash; the content is copied when it is new. */
static signature interned(signature_table *table, const entry *content) {
    uint64_t mask = (uint64_t)(table->bucket_count - 1), at = content->hash;
    for (; table->buckets[at & mask] != 0; at++)
        if (table->entries[table->buckets[at & mask]].hash == content->hash)
            return table->buckets[at & mask];
    signature made = (signature)table->count;
    table->buckets[at & mask] = made;
    BASE_PUSH(table->arena, table->entries, table->count, table->capacity, *content);
    if (content->kind == ENTRY_SET) {
        uint64_t *sources = BASE_NEW_ARRAY(table->arena, uint64_t, content->count);
        memcpy(sources, content->sources, sizeof(uint64_t) * (size_t)content->count);
        table->entries[made].sources = sources;
    }
    if (table->count * 2 > table->bucket_count)
        grow_buckets(table);
    return made;
}

static signature interned_set(signature_table *table, const uint64_t *sources, int count) {
    if (count > SOURCES)
        return SIGNATURE_UNKNOWN;
    entry content = {.kind = ENTRY_SET, .count = count, .sources = sources};
    content.hash = mixed_words(ENTRY_SET, sources, count);
    return interned(table, &content);
}

signature_table *signature_table_create(base_arena *arena) {
    signature_table *table = BASE_NEW(arena, signature_table);
    table->arena = arena;
    table->bucket_count = 4096;
    table->buckets = BASE_NEW_ARRAY(arena, uint32_t, table->bucket_count);
    table->memo = BASE_NEW_ARRAY(arena, memo, MEMO);
    table->numbers = BASE_NEW_ARRAY(arena, uint32_t, NUMBERS);
    const entry special = {.kind = ENTRY_SPECIAL, .hash = UINT64_C(0x636f6e7374)};
    table->entries = base_arena_grow(arena, NULL, 0, &table->capacity, 2048, sizeof(entry));
    BASE_PUSH(arena, table->entries, table->count, table->capacity, special);
    BASE_PUSH(arena, table->entries, table->count, table->capacity, special);
    const uint64_t outside = UINT64_C(0x6f7574);
    interned_set(table, &outside, 1);
    return table;
}

void signature_table_count_constants(signature_table *table, bool counts) {
    table->counts = counts;
}

/* ---- constants ---- */
static signature interned_constant(signature_table *table, entry content) {
    uint64_t word = 0;
    memcpy(&word, &content.integer, sizeof word);
    content.kind = ENTRY_CONSTANT;
    content.hash = mixed_words(ENTRY_CONSTANT + (content.is_integer ? 0 : 16), &word, 1);
    return interned(table, &content);
}

signature signature_number(signature_table *table, int64_t number) {
    bool small = number >= 0 && number < NUMBERS;
    if (small && table->numbers[number] != 0)
        return table->numbers[number];
    signature made = interned_constant(table, (entry){.is_integer = true, .integer = number});
    if (small)
        table->numbers[number] = made;
    return made;
}

/* A whole number is one constant, however it is written. */
signature signature_literal(signature_table *table, const ir_constant *constant) {
    double real = constant->real;
    if (!base_dtype_is_float(constant->dtype))
        return signature_number(table, constant->integer);
    if (real >= -9e15 && real <= 9e15 && real == (double)(int64_t)real)
        return signature_number(table, (int64_t)real);
    return interned_constant(table, (entry){.real = real != real ? 0.5 : real});
}

static bool is_identity(const entry *constant, ir_opcode opcode, base_dtype dtype) {
    /* i8 and u8 reduce in i32, by identities of their own */
    const base_dtype elements[] = {dtype, BASE_I8, BASE_U8, BASE_I32};
    bool narrow = dtype == BASE_I32 || dtype == BASE_I8 || dtype == BASE_U8;
    for (int monoid = 0; monoid < IR_MONOID_COUNT; monoid++) {
        const ir_monoid_info *info = ir_monoid_describe((ir_monoid)monoid);
        if ((info->combine != opcode && info->combine_ignoring_nan != opcode) ||
            (info->dtypes == IR_DTYPES_B) != (dtype == BASE_BOOL))
            continue;
        for (int i = 0; i < (narrow ? 4 : 1); i++) {
            ir_constant identity = ir_monoid_identity((ir_monoid)monoid, elements[i]);
            bool real = base_dtype_is_float(identity.dtype);
            double value = constant->is_integer ? (double)constant->integer : constant->real;
            if (real ? value == identity.real
                     : constant->is_integer && constant->integer == identity.integer)
                return true;
        }
    }
    return false;
}

/* ---- sources ---- */
signature signature_source(signature_table *table, const uint64_t *words, int count) {
    uint64_t name = mixed_words(UINT64_C(0x736f75726365), words, count);
    return interned_set(table, &name, 1);
}

static bool is_constant(const signature_table *table, signature a) {
    return a == SIGNATURE_CONSTANT || table->entries[a].kind == ENTRY_CONSTANT;
}

bool signature_is_partial(const signature_table *table, signature a) {
    return table->entries[a].kind == ENTRY_PARTIAL;
}

bool signature_is_constant(const signature_table *table, signature a) {
    const entry *e = &table->entries[a];
    bool one = e->kind == ENTRY_PARTIAL && e->only != SIGNATURE_UNKNOWN;
    return is_constant(table, one ? e->only : a);
}

bool signature_literal_value(const signature_table *table, signature a, double *value) {
    const entry *e = &table->entries[a];
    if (e->kind == ENTRY_PARTIAL && e->only != SIGNATURE_UNKNOWN)
        e = &table->entries[e->only];
    *value = e->kind != ENTRY_CONSTANT ? 0 : e->is_integer ? (double)e->integer : e->real;
    return e->kind == ENTRY_CONSTANT;
}

signature signature_settled(signature_table *table, signature a) {
    const entry *e = &table->entries[a];
    if (e->kind != ENTRY_PARTIAL)
        return a;
    if (e->only != SIGNATURE_UNKNOWN)
        return e->only;
    const uint64_t words[] = {UINT64_C(0x726564756365), (uint64_t)e->joined, e->sum};
    return signature_source(table, words, 3);
}

static signature merged(signature_table *table, const entry *a, const entry *b) {
    uint64_t sources[2 * SOURCES];
    int count = 0, i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool first = j == b->count || (i < a->count && a->sources[i] <= b->sources[j]);
        uint64_t next = first ? a->sources[i] : b->sources[j];
        j += j < b->count && b->sources[j] == next;
        i += i < a->count && a->sources[i] == next;
        sources[count++] = next;
    }
    return interned_set(table, sources, count);
}

static signature union_of_sets(signature_table *table, signature a, signature b) {
    uint64_t key = ((uint64_t)a << 32 | b) + 1;
    memo *slot = &table->memo[mixed(key) % MEMO];
    if (slot->key != key) {
        signature result = merged(table, &table->entries[a], &table->entries[b]);
        *slot = (memo){key, result};
    }
    return slot->result;
}

signature signature_union(signature_table *table, signature a, signature b) {
    if (a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN)
        return SIGNATURE_UNKNOWN;
    a = signature_settled(table, a);
    b = signature_settled(table, b);
    bool constant_a = is_constant(table, a), constant_b = is_constant(table, b);
    if (constant_a && constant_b)
        return SIGNATURE_CONSTANT;
    if (a == b || constant_b)
        return a;
    return constant_a ? b : a < b ? union_of_sets(table, a, b) : union_of_sets(table, b, a);
}

signature signature_indexed(signature_table *table, signature stored, signature sources) {
    return signature_is_constant(table, sources) ? stored : signature_union(table, stored, sources);
}

/* ---- reductions ---- */
bool signature_joins(ir_opcode opcode, base_dtype dtype) {
    for (int monoid = 0; monoid < IR_MONOID_COUNT; monoid++) {
        const ir_monoid_info *info = ir_monoid_describe((ir_monoid)monoid);
        if ((info->combine == opcode || info->combine_ignoring_nan == opcode) &&
            (info->dtypes == IR_DTYPES_B) == (dtype == BASE_BOOL))
            return true;
    }
    return false;
}

/* What a value adds to a partial result: itself, or all that has entered it. */
static entry as_partial(signature_table *table, ir_opcode opcode, signature a) {
    const entry *e = &table->entries[a];
    if (e->kind == ENTRY_PARTIAL && e->joined == opcode)
        return *e;
    signature element = signature_settled(table, a);
    return (entry){.kind = ENTRY_PARTIAL,
                   .joined = (uint16_t)opcode,
                   .only = element,
                   .sum = mixed(table->entries[element].hash)};
}

static signature interned_partial(signature_table *table, entry content) {
    const uint64_t words[] = {(uint64_t)content.joined, content.sum, (uint64_t)content.only};
    content.hash = mixed_words(ENTRY_PARTIAL, words, 3);
    return interned(table, &content);
}

static signature added(signature_table *table, ir_opcode opcode, signature a, signature b) {
    entry x = as_partial(table, opcode, a), y = as_partial(table, opcode, b);
    x.sum += y.sum;
    x.only = SIGNATURE_UNKNOWN;
    return interned_partial(table, x);
}

void signature_sum_add(signature_table *table, signature_sum *sum, ir_opcode opcode,
                       base_dtype dtype, signature element) {
    bool constant = is_constant(table, element);
    if (element == SIGNATURE_UNKNOWN || (element == SIGNATURE_CONSTANT && !table->counts))
        sum->unknown = true;
    if (constant && element != SIGNATURE_CONSTANT &&
        is_identity(&table->entries[element], opcode, dtype))
        return;
    entry added_one = as_partial(table, opcode, element);
    sum->sum += added_one.sum;
    sum->only = sum->count == 0 ? added_one.only : (signature)SIGNATURE_UNKNOWN;
    sum->count++;
}

signature signature_sum_mark(signature_table *table, const signature_sum *sum, ir_opcode opcode,
                             signature identity) {
    if (sum->unknown)
        return SIGNATURE_UNKNOWN;
    return sum->count == 0 ? identity
                           : interned_partial(table, (entry){.kind = ENTRY_PARTIAL,
                                                             .joined = (uint16_t)opcode,
                                                             .only = sum->only,
                                                             .sum = sum->sum});
}

static bool is_partial(const signature_table *table, signature a, ir_opcode opcode) {
    return table->entries[a].kind == ENTRY_PARTIAL && table->entries[a].joined == opcode;
}

/* A constant meets a value: the identity begins a partial result. */
static signature constant_joined(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                 signature constant, signature b) {
    if (constant == SIGNATURE_CONSTANT && is_partial(table, b, opcode) && !table->counts)
        return SIGNATURE_UNKNOWN;
    bool neutral =
        constant != SIGNATURE_CONSTANT && is_identity(&table->entries[constant], opcode, dtype);
    if (is_partial(table, b, opcode))
        return neutral ? b : added(table, opcode, b, constant);
    return neutral ? interned_partial(table, as_partial(table, opcode, b))
                   : signature_settled(table, b);
}

/* The identity begins a partial result of a constant, too; the identity itself is no element. */
static signature constants_joined(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                  signature a, signature b) {
    bool neutral_a = a != SIGNATURE_CONSTANT && is_identity(&table->entries[a], opcode, dtype);
    bool neutral_b = b != SIGNATURE_CONSTANT && is_identity(&table->entries[b], opcode, dtype);
    if (neutral_a && neutral_b)
        return a;
    if (!neutral_a && !neutral_b)
        return SIGNATURE_CONSTANT;
    signature element = neutral_a ? b : a;
    return element == SIGNATURE_CONSTANT && !table->counts
               ? (signature)SIGNATURE_UNKNOWN
               : interned_partial(table, as_partial(table, opcode, element));
}

signature signature_joined(signature_table *table, ir_opcode opcode, base_dtype dtype, signature a,
                           signature b) {
    if (a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN)
        return SIGNATURE_UNKNOWN;
    if (!signature_joins(opcode, dtype))
        return signature_union(table, a, b);
    bool constant_a = is_constant(table, a), constant_b = is_constant(table, b);
    if (constant_a && constant_b)
        return constants_joined(table, opcode, dtype, a, b);
    if (constant_a || constant_b)
        return constant_joined(table, opcode, dtype, constant_a ? a : b, constant_a ? b : a);
    if (is_partial(table, a, opcode) || is_partial(table, b, opcode))
        return added(table, opcode, a, b);
    return signature_union(table, a, b);
}

/* ---- comparing ---- */
uint64_t signature_hash(signature_table *table, signature a) {
    return table->entries[signature_settled(table, a)].hash;
}

bool signature_agrees(signature_table *table, signature a, signature b) {
    a = signature_settled(table, a);
    b = signature_settled(table, b);
    if (a == b || a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN)
        return true;
    return is_constant(table, a) && is_constant(table, b) &&
           (a == SIGNATURE_CONSTANT || b == SIGNATURE_CONSTANT);
}
