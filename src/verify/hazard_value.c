/* Numbers at every block, lane and slot: closed functions of the position, and such a function with
 * one uniform added to it.
 *
 *     %l = iota lane*1 : i64(1)            0 1 2 .. 31
 *     %c = shl %l, %two : i64(1)           0 4 8 .. 124
 *     %v = add %c, %k : i64(1)             the same, beside the base %k: a loop index
 *
 * A table has entries only along what it varies with. Floats, loaded data, carries and what depends
 * on them are not known.
 */
#include "verify/explore_internal.h"
#include "verify/hazard_internal.h"

enum {
    DEPTH = 1000,  /* of ops that feed a number */
    WORK = 1 << 25 /* entries of all tables */
};

static const hazard_table unknown = {.known = false};

int64_t hazard_number(const hazard_table *table, int block, int thread, int slot) {
    int64_t at = table->blocks > 1 ? block : 0;
    at = at * table->threads + (table->threads > 1 ? thread : 0);
    return table->number[at * table->slots + (table->slots > 1 ? slot : 0)];
}

/* Room for a table; not known when there is too much of it. */
static hazard_table table_of(hazards *h, int blocks, int threads, int slots, int64_t **number) {
    int64_t entries = (int64_t)blocks * threads * slots;
    *number = NULL;
    h->work -= entries;
    if (h->work < 0)
        return unknown;
    *number = BASE_NEW_ARRAY(h->arena, int64_t, entries);
    return (hazard_table){
        .known = true, .blocks = blocks, .threads = threads, .slots = slots, .number = *number};
}

static hazard_table single(hazards *h, int64_t value) {
    int64_t *number;
    hazard_table table = table_of(h, 1, 1, 1, &number);
    if (table.known)
        number[0] = value;
    return table;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* ---- positions ---- */
hazard_table hazard_affine(hazards *h, const ir_affine *affine, int slots) {
    bool by_slot = ir_affine_uses(affine, LAYOUT_SLOT);
    bool by_thread = ir_affine_uses(affine, LAYOUT_LANE) || ir_affine_uses(affine, LAYOUT_SUBGROUP);
    int64_t *number;
    hazard_table table = table_of(h, 1, by_thread ? h->lanes : 1, by_slot ? slots : 1, &number);
    if (!table.known)
        return unknown;
    int64_t *of_slot = BASE_NEW_ARRAY(h->arena, int64_t, table.slots);
    for (int s = 0; s < table.slots; s++)
        of_slot[s] = ir_affine_at(affine, (ir_position){.slot = s});
    for (int t = 0; t < table.threads; t++) {
        ir_position position = ir_module_position(h->state->module, t, 0);
        uint64_t of_thread = (uint64_t)ir_affine_at(affine, position);
        for (int s = 0; s < table.slots; s++)
            *number++ = (int64_t)(of_thread + (uint64_t)of_slot[s]);
    }
    return table;
}

static hazard_table block_number(hazards *h) {
    int64_t *number;
    hazard_table table = table_of(h, h->blocks, 1, 1, &number);
    for (int b = 0; table.known && b < h->blocks; b++)
        number[b] = b;
    return table;
}

/* ---- arithmetic ---- */
typedef struct operands {
    hazard_table of[3];
    int count, blocks, threads, slots; /* that any of them varies along */
} operands;

static bool operands_of(hazards *h, const ir_op *op, operands *in) {
    *in = (operands){.count = op->operand_count, .blocks = 1, .threads = 1, .slots = 1};
    for (int i = 0; i < op->operand_count; i++) {
        in->of[i] = hazard_value(h, op->operands[i]);
        if (!in->of[i].known)
            return false;
        in->blocks = larger(in->blocks, in->of[i].blocks);
        in->threads = larger(in->threads, in->of[i].threads);
        in->slots = larger(in->slots, in->of[i].slots);
    }
    return true;
}

/* What an op of the table gives for these numbers. */
static int64_t computed(const ir_op *op, const int64_t x[3]) {
    base_dtype dtype = op->results[0]->type.dtype;
    if (op->opcode == IR_SELECT)
        return x[0] != 0 ? x[1] : x[2];
    if (op->opcode == IR_CAST)
        return explore_wrapped(dtype, x[0]);
    explore_function function = explore_integer_function(op->opcode);
    return explore_wrapped(dtype, function(dtype, x[0], x[1]));
}

static hazard_table compute(hazards *h, const ir_op *op, const operands *in) {
    int64_t *number;
    hazard_table table = table_of(h, in->blocks, in->threads, in->slots, &number);
    for (int b = 0; table.known && b < table.blocks; b++)
        for (int t = 0; t < table.threads; t++)
            for (int s = 0; s < table.slots; s++) {
                int64_t x[3] = {0};
                for (int i = 0; i < in->count; i++)
                    x[i] = hazard_number(&in->of[i], b, t, s);
                *number++ = computed(op, x);
            }
    return table;
}

hazard_table hazard_add(hazards *h, hazard_table a, hazard_table b) {
    if (!a.known || !b.known || (a.base != NULL && b.base != NULL))
        return unknown;
    int64_t *number;
    hazard_table sum = table_of(h, larger(a.blocks, b.blocks), larger(a.threads, b.threads),
                                larger(a.slots, b.slots), &number);
    for (int k = 0; sum.known && k < sum.blocks; k++)
        for (int t = 0; t < sum.threads; t++)
            for (int s = 0; s < sum.slots; s++)
                *number++ = (int64_t)((uint64_t)hazard_number(&a, k, t, s) +
                                      (uint64_t)hazard_number(&b, k, t, s));
    sum.base = a.base != NULL ? a.base : b.base;
    sum.epoch = a.base != NULL ? a.epoch : b.epoch;
    return sum;
}

static bool is_computed(const ir_op *op) {
    if (op->opcode == IR_CAST)
        return op->attributes.rounding == IR_ROUND_ZERO &&
               !base_dtype_is_float(op->operands[0]->type.dtype);
    return op->opcode == IR_SELECT || explore_integer_function(op->opcode) != NULL;
}

/* An addition of 64 bits keeps one base; everything else needs plain numbers. */
static hazard_table table_op(hazards *h, const ir_op *op) {
    operands in;
    if (!is_computed(op) || op->operand_count > 3 || !operands_of(h, op, &in))
        return unknown;
    if (op->opcode == IR_ADD && op->results[0]->type.dtype == BASE_I64)
        return hazard_add(h, in.of[0], in.of[1]);
    for (int i = 0; i < in.count; i++)
        if (in.of[i].base != NULL)
            return unknown;
    return compute(h, op, &in);
}

/* ---- lanes and slots ---- */
static int64_t linear(const ir_list *columns, int64_t lane) {
    int64_t sum = 0;
    for (int i = 0; i < columns->count; i++)
        if ((lane >> i & 1) != 0)
            sum ^= columns->items[i];
    return sum;
}

/* The thread and slot whose number an op of lanes or slots takes. */
static void source_of(const hazards *h, const ir_op *op, int *thread, int *slot) {
    const ir_attributes *attributes = &op->attributes;
    int lane = *thread % h->subgroup;
    if (op->opcode == IR_SHUFFLE) {
        int64_t c = *slot < attributes->slots.count ? attributes->slots.items[*slot] : 0;
        *thread += (int)(linear(&attributes->lanes, lane) ^ c) - lane;
    } else if (op->opcode == IR_RENAME) {
        *slot = *slot < attributes->slots.count ? (int)attributes->slots.items[*slot] : 0;
    } else {
        *slot ^= (int)linear(&attributes->lanes, lane);
    }
}

static hazard_table moved(hazards *h, const ir_op *op) {
    hazard_table from = hazard_value(h, op->operands[0]);
    int slots = op->results[0]->type.slots, given = op->operands[0]->type.slots;
    int64_t *number;
    if (!from.known || slots > HAZARD_MAX_SLOTS)
        return unknown;
    hazard_table table = table_of(h, from.blocks, h->lanes, slots, &number);
    for (int b = 0; table.known && b < table.blocks; b++)
        for (int t = 0; t < table.threads; t++)
            for (int s = 0; s < slots; s++) {
                int thread = t, slot = s;
                source_of(h, op, &thread, &slot);
                bool exists = thread >= 0 && thread < h->lanes && slot >= 0 && slot < given;
                *number++ = exists ? hazard_number(&from, b, thread, slot) : 0;
            }
    table.base = from.base;
    table.epoch = from.epoch;
    return table;
}

/* ---- values ---- */
static hazard_table leaf(hazards *h, const ir_op *op) {
    int64_t size = 0;
    if (op->opcode == IR_CONSTANT)
        return single(h, op->attributes.constant.integer);
    if (op->opcode == IR_SIZE &&
        layout_extent_known(&h->state->module->extents, op->attributes.extent, &size))
        return single(h, size);
    if (op->opcode == IR_IOTA && op->results[0]->type.slots <= HAZARD_MAX_SLOTS)
        return hazard_affine(h, &op->attributes.affine, op->results[0]->type.slots);
    return op->opcode == IR_BLOCK ? block_number(h) : unknown;
}

static hazard_table closed(hazards *h, const ir_op *op) {
    if (!verify_op_is_formed(h->state, op))
        return unknown;
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_LEAF)
        return leaf(h, op);
    if (op->opcode == IR_BROADCAST)
        return hazard_value(h, op->operands[0]);
    if (op->opcode == IR_SHUFFLE || op->opcode == IR_RENAME || op->opcode == IR_XORSLOT)
        return moved(h, op);
    hazard_table of = op->opcode == IR_UNIFORM ? hazard_value(h, op->operands[0]) : unknown;
    if (op->opcode == IR_UNIFORM)
        return of.threads == 1 ? of : unknown;
    return table_op(h, op);
}

/* A uniform that is not known is its own base. */
static hazard_table as_base(hazards *h, const ir_value *value) {
    if (value->type.form != IR_FORM_UNIFORM || value->type.dtype != BASE_I64)
        return unknown;
    hazard_table zero = single(h, 0);
    zero.base = value;
    zero.epoch = h->inside[value->number] ? ++h->epochs : 0;
    return zero;
}

hazard_table hazard_value(hazards *h, const ir_value *value) {
    hazard_table *table = &h->tables[value->number];
    if (h->looked[value->number])
        return *table;
    h->looked[value->number] = true; /* a cycle is not known */
    *table = unknown;
    h->depth++;
    if (!base_dtype_is_float(value->type.dtype) && value->definer != NULL && h->depth < DEPTH)
        *table = closed(h, value->definer);
    h->depth--;
    if (!table->known)
        *table = as_base(h, value);
    return *table;
}

void hazard_value_set(hazards *h, const ir_value *value, int64_t number) {
    h->looked[value->number] = true;
    h->tables[value->number] = single(h, number);
}

static void forget(hazards *h, const ir_value *value) {
    h->looked[value->number] = false;
    h->inside[value->number] = true;
}

void hazard_region_forget(hazards *h, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        forget(h, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            forget(h, op->results[i]);
        for (int k = 0; k < op->region_count; k++)
            hazard_region_forget(h, op->regions[k]);
    }
}

bool hazard_constant(hazards *h, const ir_value *value, int64_t *number) {
    hazard_table table = hazard_value(h, value);
    bool one = table.known && table.base == NULL && table.blocks == 1 && table.threads == 1;
    *number = one ? table.number[0] : 0;
    return one;
}

bool hazard_begin(hazards *h, verify_state *state) {
    const ir_module *module = state->module;
    *h = (hazards){.state = state,
                   .arena = state->diagnostics->arena,
                   .blocks = module->cluster > 1 ? module->cluster : 1,
                   .lanes = module->lanes,
                   .subgroup = ir_module_subgroup_lanes(module),
                   .work = WORK};
    if (h->lanes < 1 || h->subgroup < 1 || h->lanes % h->subgroup != 0 ||
        (int64_t)h->lanes * h->blocks > HAZARD_MAX_THREADS)
        return false;
    h->tables = BASE_NEW_ARRAY(h->arena, hazard_table, module->next_value + 1);
    h->looked = BASE_NEW_ARRAY(h->arena, bool, module->next_value + 1);
    h->inside = BASE_NEW_ARRAY(h->arena, bool, module->next_value + 1);
    return true;
}
