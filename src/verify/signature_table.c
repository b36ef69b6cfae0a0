/* Signatures: see signature_table_internal.h. Sets of sources are sorted 64-bit names; a partial
 * result has the sum of the mixed names of its elements. What is equal has equal 64-bit hashes:
 * that of a set is the sum of its names.
 *
 * Entries are written one after the other, and what is made twice may be there twice: to look for
 * it takes longer, as the places of a hash table are far apart. Constants and long sets are looked
 * for, and all that is made in a table that has become large.
 */
#include "verify/signature_orders_internal.h"
#include "verify/signature_table_internal.h"

#include <math.h>
#include <string.h>

enum {
    SOURCES = 1024, /* of a set; more are unknown */
    NUMBERS = 1 << 10,
    BUCKETS = 1 << 10, /* at first, */
    LEVELS = 12,       /* then four times as many, and so on */
    SHORT = 8,         /* a set that may be there twice */
    FEW = 1 << 16,     /* entries of a table where that is so */
    SETTLED = 64,      /* partial results whose sources are remembered */
    SCALES = 16,       /* literals that partial results were joined with, likewise */
    SEGMENT = 1 << 11, /* entries that are allocated at once; they stay where they are */
    POOL = 1 << 12     /* names that are allocated at once */
};

typedef enum entry_kind { ENTRY_SPECIAL, ENTRY_CONSTANT, ENTRY_SET, ENTRY_PARTIAL } entry_kind;

typedef struct entry {
    uint64_t hash;
    union {
        uint64_t sum;            /* PARTIAL: of the names of its elements */
        const uint64_t *sources; /* SET of more than one, which is its hash: ascending */
        int64_t integer;         /* CONSTANT */
        double real;
    };
    uint64_t shape; /* PARTIAL: of the tree by which its elements were joined */
    signature only; /* PARTIAL of one element: that one */
    uint16_t count; /* SET: sources */
    uint8_t kind;   /* entry_kind */
    union {
        uint8_t joined;  /* PARTIAL: the op that joins */
        bool is_integer; /* CONSTANT */
    };
} entry;

/* A place of the hash table: the entry and a part of its hash, to look at the right entries only.
 */
typedef struct bucket {
    uint32_t tag;
    signature at; /* 0 = empty */
} bucket;

typedef struct pool {
    struct pool *next;
    uint64_t names[POOL];
} pool;

/* A partial result of more than one element, and the source that it is to others. */
typedef struct settling {
    signature partial, source;
} settling;

struct signature_table {
    base_arena *arena;
    entry **segments;
    int64_t segment_count, segment_capacity;
    int64_t count;
    settling settled[SETTLED]; /* of late */
    uint64_t scales[SCALES];   /* what such a literal adds to a sum */
    int scale_count;
    uint64_t prefix[2], prefix_name; /* of the last source: its words but the last */
    bucket *buckets;                 /* a power of two of them */
    int64_t bucket_count, placed;
    bucket *levels[LEVELS]; /* arrays of them, each of four times as many: for tables to come */
    int level;              /* of the one in use */
    struct pool *pool, *first_pool; /* room for names of sets: the one in use, the first */
    int pool_used;
    signature_orders *orders;       /* of reductions whose order is known */
    bool counts;                    /* constants of unknown value count as elements */
    uint32_t *numbers;              /* constants 0 .. NUMBERS-1; 0 = not met yet */
    bool joins[2][IR_OPCODE_COUNT]; /* by whether values are bools: ops that join */
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
static inline entry *entry_of(const signature_table *table, signature a) {
    return &table->segments[a / SEGMENT][a % SEGMENT];
}

static void add_segment(signature_table *table) {
    entry *segment = BASE_NEW_ARRAY(table->arena, entry, SEGMENT);
    BASE_PUSH(table->arena, table->segments, table->segment_count, table->segment_capacity,
              segment);
}

static inline signature push(signature_table *table, const entry *content) {
    if (table->count == table->segment_count * SEGMENT)
        add_segment(table);
    *entry_of(table, (signature)table->count) = *content;
    return (signature)table->count++;
}

static bucket *place_of(const signature_table *table, uint64_t hash) {
    const uint64_t mask = (uint64_t)table->bucket_count - 1;
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t at = hash;; at++) {
        bucket *place = &table->buckets[at & mask];
        if (place->at == 0 || (place->tag == tag && entry_of(table, place->at)->hash == hash))
            return place;
    }
}

/* Moves them to an array of four times as many. */
static void grow_buckets(signature_table *table) {
    const bucket *old = table->buckets;
    int64_t count = table->bucket_count;
    table->level++;
    table->bucket_count *= 4;
    if (table->levels[table->level] == NULL)
        table->levels[table->level] = BASE_NEW_ARRAY(table->arena, bucket, table->bucket_count);
    else
        memset(table->levels[table->level], 0, sizeof(bucket) * (size_t)table->bucket_count);
    table->buckets = table->levels[table->level];
    for (int64_t i = 0; i < count; i++)
        if (old[i].at != 0)
            *place_of(table, entry_of(table, old[i].at)->hash) = old[i];
}

/* A new entry, in its place. */
static signature entered(signature_table *table, bucket *place, const entry *content) {
    signature made = push(table, content);
    *place = (bucket){(uint32_t)(content->hash >> 32), made};
    if (++table->placed * 2 > table->bucket_count && table->level + 1 < LEVELS)
        grow_buckets(table);
    return made;
}

/* The entry with this hash, which holds its content. */
static inline signature interned(signature_table *table, const entry *content) {
    bucket *place = place_of(table, content->hash);
    return place->at != 0 ? place->at : entered(table, place, content);
}

/* One that may be there already. */
static inline signature noted(signature_table *table, const entry *content) {
    if (table->count >= FEW)
        return interned(table, content);
    return push(table, content);
}

static const uint64_t NAMED = UINT64_C(0x736f75726365); /* where names of sources begin */

static uint64_t source_name(const uint64_t *words, int count) {
    uint64_t name = mixed_words(NAMED, words, count);
    return mixed_words(ENTRY_SET, &name, 1);
}

/* Which ops join, asked of the monoids once. */
static void list_joining_ops(signature_table *table) {
    for (int monoid = 0; monoid < IR_MONOID_COUNT; monoid++) {
        const ir_monoid_info *info = ir_monoid_describe((ir_monoid)monoid);
        bool logical = info->dtypes == IR_DTYPES_B;
        table->joins[logical][info->combine] = true;
        table->joins[logical][info->combine_ignoring_nan] = true;
    }
}

static void enter_special(signature_table *table) {
    const entry special = {.kind = ENTRY_SPECIAL, .hash = UINT64_C(0x636f6e7374)};
    for (int i = 0; i < SIGNATURE_OUTSIDE; i++)
        push(table, &special);
    const uint64_t outside = UINT64_C(0x6f7574);
    noted(table,
          &(entry){.kind = ENTRY_SET, .hash = mixed_words(ENTRY_SET, &outside, 1), .count = 1});
}

signature_table *signature_table_create(base_arena *arena) {
    signature_table *table = BASE_NEW(arena, signature_table);
    table->arena = arena;
    table->bucket_count = BUCKETS;
    table->buckets = table->levels[0] = BASE_NEW_ARRAY(arena, bucket, BUCKETS);
    table->numbers = BASE_NEW_ARRAY(arena, uint32_t, NUMBERS);
    list_joining_ops(table);
    table->orders = signature_orders_create(arena);
    table->pool = table->first_pool = BASE_NEW(arena, pool);
    enter_special(table);
    return table;
}

void signature_table_clear(signature_table *table) {
    table->bucket_count = BUCKETS;
    table->placed = 0;
    table->level = 0;
    table->buckets = table->levels[0];
    memset(table->buckets, 0, sizeof(bucket) * BUCKETS);
    memset(table->numbers, 0, sizeof(uint32_t) * NUMBERS);
    memset(table->settled, 0, sizeof table->settled);
    table->scale_count = 0;
    table->count = 0;
    table->pool = table->first_pool;
    table->pool_used = 0;
    signature_orders_clear(table->orders);
    enter_special(table);
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
    return interned_constant(table, (entry){.real = real != real ? (double)NAN : real});
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
        bool extreme = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
        if (extreme && dtype == BASE_I32 && constant->is_integer &&
            constant->integer == ir_zero_key_identity((ir_monoid)monoid).integer)
            return true;
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
signature signature_element_source(signature_table *table, const uint64_t words[3]) {
    if (table->prefix[0] != words[0] || table->prefix[1] != words[1]) {
        memcpy(table->prefix, words, sizeof table->prefix);
        table->prefix_name = mixed_words(NAMED, words, 2);
    }
    const uint64_t name = mixed_words(table->prefix_name, &words[2], 1);
    return noted(table,
                 &(entry){.kind = ENTRY_SET, .hash = mixed_words(ENTRY_SET, &name, 1), .count = 1});
}

signature signature_source(signature_table *table, const uint64_t *words, int count) {
    return noted(table, &(entry){.kind = ENTRY_SET, .hash = source_name(words, count), .count = 1});
}

static bool is_constant(const signature_table *table, signature a) {
    return a == SIGNATURE_CONSTANT || entry_of(table, a)->kind == ENTRY_CONSTANT;
}

bool signature_is_partial(const signature_table *table, signature a) {
    return entry_of(table, a)->kind == ENTRY_PARTIAL;
}

bool signature_is_constant(const signature_table *table, signature a) {
    const entry *e = entry_of(table, a);
    bool one = e->kind == ENTRY_PARTIAL && e->only != SIGNATURE_UNKNOWN;
    return is_constant(table, one ? e->only : a);
}

bool signature_literal_value(const signature_table *table, signature a, double *value) {
    const entry *e = entry_of(table, a);
    if (e->kind == ENTRY_PARTIAL && e->only != SIGNATURE_UNKNOWN)
        e = entry_of(table, e->only);
    *value = e->kind != ENTRY_CONSTANT ? 0 : e->is_integer ? (double)e->integer : e->real;
    return e->kind == ENTRY_CONSTANT;
}

/* A partial result of more than one element, as the source that it is to others. */
static uint64_t name_of_partial(const entry *partial) {
    const uint64_t words[] = {UINT64_C(0x726564756365), (uint64_t)partial->joined, partial->sum};
    return source_name(words, 3);
}

signature signature_settled(signature_table *table, signature a) {
    const entry *e = entry_of(table, a);
    if (e->kind != ENTRY_PARTIAL)
        return a;
    if (e->only != SIGNATURE_UNKNOWN)
        return e->only;
    signature_orders_look(table->orders, (ir_opcode)e->joined, e->sum, e->shape);
    settling *known = &table->settled[a % SETTLED];
    if (known->partial != a) {
        known->partial = a;
        known->source =
            noted(table, &(entry){.kind = ENTRY_SET, .hash = name_of_partial(e), .count = 1});
    }
    return known->source;
}

static const uint64_t *sources_of(const entry *set) {
    return set->count == 1 ? &set->hash : set->sources;
}

/* Room for names, from the pool; those of long sets have their own. */
static uint64_t *room_for(signature_table *table, int count) {
    if (count > POOL / 4)
        return BASE_NEW_ARRAY(table->arena, uint64_t, count);
    if (table->pool_used + count > POOL) {
        if (table->pool->next == NULL)
            table->pool->next = BASE_NEW(table->arena, pool);
        table->pool = table->pool->next;
        table->pool_used = 0;
    }
    table->pool_used += count;
    return &table->pool->names[table->pool_used - count];
}

/* What both sets have: how many, and the sum of their names. */
static int in_common(const uint64_t *a, int a_count, const uint64_t *b, int b_count,
                     uint64_t *sum) {
    int common = 0;
    *sum = 0;
    for (int i = 0, j = 0; i < a_count && j < b_count;) {
        bool same = a[i] == b[j], first = a[i] <= b[j];
        common += same;
        *sum += same ? a[i] : 0;
        j += same || !first;
        i += first;
    }
    return common;
}

static const uint64_t *merged(signature_table *table, const uint64_t *a, int a_count,
                              const uint64_t *b, int b_count, int count) {
    uint64_t *sources = room_for(table, count);
    for (int i = 0, j = 0, k = 0; k < count; k++) {
        bool first = j == b_count || (i < a_count && a[i] <= b[j]);
        uint64_t next = first ? a[i] : b[j];
        j += j < b_count && b[j] == next;
        i += i < a_count && a[i] == next;
        sources[k] = next;
    }
    return sources;
}

/* A short set and one source. */
static signature with_source(signature_table *table, signature a, signature b) {
    const entry *x = entry_of(table, a);
    const uint64_t *sources = sources_of(x), source = entry_of(table, b)->hash;
    int before = 0;
    while (before < x->count && sources[before] < source)
        before++;
    if (before < x->count && sources[before] == source)
        return a;
    uint64_t *made = room_for(table, x->count + 1);
    for (int i = 0; i < before; i++)
        made[i] = sources[i];
    made[before] = source;
    for (int i = before; i < x->count; i++)
        made[i + 1] = sources[i];
    return noted(table, &(entry){.kind = ENTRY_SET,
                                 .hash = x->hash + source,
                                 .count = (uint16_t)(x->count + 1),
                                 .sources = made});
}

static signature union_of_sets(signature_table *table, signature a, signature b) {
    const entry *x = entry_of(table, a), *y = entry_of(table, b);
    if (y->count == 1 && x->count < SHORT && table->count < FEW)
        return with_source(table, a, b);
    if (x->count == 1 && y->count < SHORT && table->count < FEW)
        return with_source(table, b, a);
    const uint64_t *of_x = sources_of(x), *of_y = sources_of(y);
    uint64_t shared = 0;
    int common = in_common(of_x, x->count, of_y, y->count, &shared);
    int count = x->count + y->count - common;
    if (common == y->count || common == x->count)
        return common == y->count ? a : b;
    if (count > SOURCES)
        return SIGNATURE_UNKNOWN;
    entry content = {
        .kind = ENTRY_SET, .hash = x->hash + y->hash - shared, .count = (uint16_t)count};
    bucket *place = count > SHORT || table->count >= FEW ? place_of(table, content.hash) : NULL;
    if (place != NULL && place->at != 0)
        return place->at;
    content.sources = merged(table, of_x, x->count, of_y, y->count, count);
    return place != NULL ? entered(table, place, &content) : noted(table, &content);
}

/* Whether `scaled` is the partial result `plain`, joined with a literal. */
static bool is_scaled(const signature_table *table, signature scaled, signature plain) {
    const entry *x = entry_of(table, scaled), *y = entry_of(table, plain);
    if (x->kind != ENTRY_PARTIAL || y->kind != ENTRY_PARTIAL || x->joined != y->joined)
        return false;
    for (int i = 0; i < SCALES && i < table->scale_count; i++)
        if (x->sum - y->sum == table->scales[i])
            return true;
    return false;
}

/* A reduction or the same scaled, as math functions choose, is computed from the reduction. */
signature signature_union(signature_table *table, signature a, signature b) {
    if (a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN)
        return SIGNATURE_UNKNOWN;
    if (is_scaled(table, a, b))
        a = b;
    else if (is_scaled(table, b, a))
        b = a;
    a = signature_settled(table, a);
    b = signature_settled(table, b);
    bool constant_a = is_constant(table, a), constant_b = is_constant(table, b);
    if (constant_a && constant_b)
        return SIGNATURE_CONSTANT;
    if (a == b || constant_b)
        return a;
    return constant_a ? b : union_of_sets(table, a, b);
}

signature signature_indexed(signature_table *table, signature stored, signature sources) {
    return signature_is_constant(table, sources) ? stored : signature_union(table, stored, sources);
}

/* ---- reductions ---- */
bool signature_joins(const signature_table *table, ir_opcode opcode, base_dtype dtype) {
    return table->joins[dtype == BASE_BOOL][opcode];
}

/* What a value adds to a partial result: itself, or all that has entered it. */
static entry as_partial(signature_table *table, ir_opcode opcode, signature a) {
    const entry *e = entry_of(table, a);
    if (e->kind == ENTRY_PARTIAL && e->joined == opcode)
        return *e;
    signature element = signature_settled(table, a);
    return (entry){.kind = ENTRY_PARTIAL,
                   .joined = (uint8_t)opcode,
                   .only = element,
                   .sum = mixed(entry_of(table, element)->hash),
                   .shape = mixed(entry_of(table, element)->hash)};
}

static signature noted_partial(signature_table *table, entry content) {
    /* not as the element is mixed in the sum: once is another partial result than twice */
    uint64_t only = content.only != SIGNATURE_UNKNOWN ? ~entry_of(table, content.only)->hash : 0;
    content.hash = mixed(content.sum + ((uint64_t)content.joined << 56) + mixed(only) +
                         (content.only != SIGNATURE_UNKNOWN ? 0 : content.shape));
    return noted(table, &content);
}

/* Of a tree of two; which stands left matters where it may matter to the result. */
static uint64_t joined_shape(ir_opcode opcode, uint64_t left, uint64_t right) {
    uint64_t other = ir_op_describe(opcode)->commutes ? right : mixed(right + 1);
    return mixed(mixed(left) + mixed(other) + (uint64_t)opcode);
}

static signature added(signature_table *table, ir_opcode opcode, signature a, signature b) {
    entry x = as_partial(table, opcode, a), y = as_partial(table, opcode, b);
    x.sum += y.sum;
    x.shape = joined_shape(opcode, x.shape, y.shape);
    x.only = SIGNATURE_UNKNOWN;
    return noted_partial(table, x);
}

void signature_sum_add(signature_table *table, signature_sum *sum, ir_opcode opcode,
                       base_dtype dtype, signature element) {
    bool constant = is_constant(table, element);
    if (element == SIGNATURE_UNKNOWN || (element == SIGNATURE_CONSTANT && !table->counts))
        sum->unknown = true;
    if (constant && element != SIGNATURE_CONSTANT &&
        is_identity(entry_of(table, element), opcode, dtype))
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
                           : noted_partial(table, (entry){.kind = ENTRY_PARTIAL,
                                                          .joined = (uint8_t)opcode,
                                                          .only = sum->only,
                                                          .sum = sum->sum});
}

/* ---- orders ---- */
/* The canonical tree of shapes, each but those of identities, which are 0. */
static uint64_t halved_shape(ir_opcode opcode, uint64_t *shapes, int64_t count) {
    int64_t half = 1;
    while (half < count)
        half *= 2;
    for (half /= 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half && i + half < count; i++)
            if (shapes[i] == 0 || shapes[i + half] == 0)
                shapes[i] = shapes[i] == 0 ? shapes[i + half] : shapes[i];
            else
                shapes[i] = joined_shape(opcode, shapes[i], shapes[i + half]);
    return count > 0 ? shapes[0] : 0;
}

static uint64_t folded_shape(ir_opcode opcode, ir_order order, const uint64_t *shapes,
                             int64_t count) {
    uint64_t folded = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t next = shapes[order == IR_ORDER_LEFT ? i : count - 1 - i];
        if (folded == 0 || next == 0)
            folded = folded == 0 ? next : folded;
        else if (order == IR_ORDER_LEFT)
            folded = joined_shape(opcode, folded, next);
        else
            folded = joined_shape(opcode, next, folded);
    }
    return folded;
}

uint64_t signature_ordered_shape(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                 ir_order order, const signature *elements, int64_t count) {
    uint64_t *shapes = BASE_NEW_ARRAY(table->arena, uint64_t, count + 1);
    for (int64_t i = 0; i < count; i++) {
        bool constant = is_constant(table, elements[i]) && elements[i] != SIGNATURE_CONSTANT;
        bool neutral = constant && is_identity(entry_of(table, elements[i]), opcode, dtype);
        shapes[i] = neutral ? 0 : as_partial(table, opcode, elements[i]).shape;
    }
    return order == IR_ORDER_CANONICAL ? halved_shape(opcode, shapes, count)
                                       : folded_shape(opcode, order, shapes, count);
}

signature signature_ordered_mark(signature_table *table, signature sum, uint64_t shape) {
    entry content = *entry_of(table, sum);
    if (content.kind != ENTRY_PARTIAL || content.only != SIGNATURE_UNKNOWN)
        return sum;
    content.shape = shape;
    return noted_partial(table, content);
}

void signature_order_note(signature_table *table, signature sum, bool ordered) {
    const entry *e = entry_of(table, sum);
    if (e->kind == ENTRY_PARTIAL && e->only == SIGNATURE_UNKNOWN)
        signature_orders_note(table->orders, (ir_opcode)e->joined, e->sum, e->shape, ordered);
}

bool signature_is_reordered(const signature_table *table) {
    return signature_orders_failed(table->orders);
}

bool signature_table_has_orders(const signature_table *table) {
    return signature_orders_any(table->orders);
}

static bool is_partial(const signature_table *table, signature a, ir_opcode opcode) {
    return entry_of(table, a)->kind == ENTRY_PARTIAL && entry_of(table, a)->joined == opcode;
}

static void remember_scale(signature_table *table, uint64_t scale) {
    for (int i = 0; i < SCALES && i < table->scale_count; i++)
        if (table->scales[i] == scale)
            return;
    table->scales[table->scale_count++ % SCALES] = scale;
}

/* A constant meets a value: the identity begins a partial result. To integers a constant adds no
 * element: their numbers are compared, and indices add up in any order. */
static signature constant_joined(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                 signature constant, signature b) {
    if (is_partial(table, b, opcode) && !base_dtype_is_float(dtype))
        return b;
    if (constant == SIGNATURE_CONSTANT && is_partial(table, b, opcode) && !table->counts)
        return SIGNATURE_UNKNOWN;
    bool neutral =
        constant != SIGNATURE_CONSTANT && is_identity(entry_of(table, constant), opcode, dtype);
    if (is_partial(table, b, opcode) && !neutral && constant != SIGNATURE_CONSTANT)
        remember_scale(table, mixed(entry_of(table, constant)->hash));
    if (is_partial(table, b, opcode))
        return neutral ? b : added(table, opcode, b, constant);
    return neutral ? noted_partial(table, as_partial(table, opcode, b))
                   : signature_settled(table, b);
}

/* The identity begins a partial result of a constant, too; the identity itself is no element. */
static signature constants_joined(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                  signature a, signature b) {
    bool neutral_a = a != SIGNATURE_CONSTANT && is_identity(entry_of(table, a), opcode, dtype);
    bool neutral_b = b != SIGNATURE_CONSTANT && is_identity(entry_of(table, b), opcode, dtype);
    if (neutral_a && neutral_b)
        return a;
    if (!neutral_a && !neutral_b)
        return SIGNATURE_CONSTANT;
    signature element = neutral_a ? b : a;
    return element == SIGNATURE_CONSTANT && !table->counts
               ? (signature)SIGNATURE_UNKNOWN
               : noted_partial(table, as_partial(table, opcode, element));
}

signature signature_joined(signature_table *table, ir_opcode opcode, base_dtype dtype, signature a,
                           signature b) {
    if (a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN)
        return SIGNATURE_UNKNOWN;
    if (!signature_joins(table, opcode, dtype))
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

/* ---- rows ---- */
void signature_join_rows(signature_table *table, ir_opcode opcode, base_dtype dtype,
                         signature_row a, signature_row b, signature *result, int64_t count) {
    signature before_a = 0, before_b = 0, made = SIGNATURE_UNKNOWN; /* of two that are unknown */
    for (int64_t i = 0; i < count; i++, a.items += a.step, b.items += b.step) {
        signature x = *a.items, y = *b.items;
        if (x != before_a || y != before_b) {
            bool sets =
                entry_of(table, x)->kind == ENTRY_SET && entry_of(table, y)->kind == ENTRY_SET;
            made = !sets    ? signature_joined(table, opcode, dtype, x, y)
                   : x == y ? x
                            : union_of_sets(table, x, y);
            before_a = x;
            before_b = y;
        }
        result[i] = made;
    }
}

signature signature_join_all(signature_table *table, ir_opcode opcode, base_dtype dtype,
                             const signature *items, int64_t count) {
    bool partial = true;
    for (int64_t i = 0; i < count && partial; i++)
        partial = is_partial(table, items[i], opcode);
    if (count == 1)
        return items[0];
    if (partial &&
        !signature_orders_any(
            table->orders)) { /* what is between the first and the last needs no signature */
        entry sum = {.kind = ENTRY_PARTIAL, .joined = (uint8_t)opcode};
        for (int64_t i = 0; i < count; i++)
            sum.sum += entry_of(table, items[i])->sum;
        return noted_partial(table, sum);
    }
    signature sum = items[0];
    for (int64_t i = 1; i < count; i++)
        sum = signature_joined(table, opcode, dtype, sum, items[i]);
    return sum;
}

bool signature_row_is_special(const signature_table *table, const signature *items, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (items[i] != SIGNATURE_UNKNOWN && entry_of(table, items[i])->kind != ENTRY_SET)
            return true;
    return false;
}

/* ---- comparing ---- */
uint64_t signature_hash(signature_table *table, signature a) {
    signature settled = signature_settled(table, a);
    return entry_of(table, settled)->hash;
}

bool signature_is_same(const signature_table *table, signature a, signature b) {
    const entry *x = entry_of(table, a), *y = entry_of(table, b);
    return a == b || (x->kind != ENTRY_SPECIAL && x->kind == y->kind && x->hash == y->hash);
}

bool signature_agrees(signature_table *table, signature a, signature b) {
    a = signature_settled(table, a);
    b = signature_settled(table, b);
    if (a == SIGNATURE_UNKNOWN || b == SIGNATURE_UNKNOWN || signature_is_same(table, a, b))
        return true;
    return is_constant(table, a) && is_constant(table, b) &&
           (a == SIGNATURE_CONSTANT || b == SIGNATURE_CONSTANT);
}
