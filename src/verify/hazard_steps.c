/* The program as steps: puts and gets, syncs, loops and branches.
 *
 *     for 0, 4, 1 (%k) {                  put cells 0 .. 63
 *       put %s[%k * 64 + lane*1 ..]       put cells 64 .. 127
 *       yield                       ==>   put cells 128 .. 191
 *     }                                   put cells 192 .. 255
 *
 * A loop with constant bounds is written out where its index decides what an access touches and
 * there is room for it; the other loops stay, and what their index decides may be any.
 */
#include "verify/hazard_internal.h"

#include "base/checked.h"

enum {
    UNROLLS = 512,       /* accesses that are written out */
    POSITIONS = 1 << 22, /* of these together */
    MAX_ACCESSES = 1 << 12
};

typedef struct list {
    hazard_step *first, **end;
} list;

static hazard_step *add(hazards *h, list *to, hazard_step_kind kind) {
    hazard_step *step = BASE_NEW(h->arena, hazard_step);
    step->kind = kind;
    *to->end = step;
    to->end = &step->next;
    return step;
}

/* ---- what the index of a loop decides ---- */
static bool is_access(const ir_op *op) {
    return op->opcode == IR_PUT || op->opcode == IR_GET;
}

static void mark_region(hazards *h, const ir_region *region);

static void mark_op(hazards *h, const ir_op *op) {
    bool any = false;
    for (int i = 0; i < op->operand_count; i++)
        any = any || h->marked[op->operands[i]->number];
    for (int k = 0; k < op->region_count; k++) {
        for (int i = 0; i < op->regions[k]->argument_count; i++)
            h->marked[op->regions[k]->arguments[i]->number] = any;
        mark_region(h, op->regions[k]);
        const ir_op *yield = ir_region_yield(op->regions[k]);
        for (int i = 0; yield != NULL && i < yield->operand_count; i++)
            any = any || h->marked[yield->operands[i]->number];
    }
    for (int i = 0; i < op->result_count; i++)
        h->marked[op->results[i]->number] = any;
}

static void mark_region(hazards *h, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        mark_op(h, op);
}

static bool is_decided(const hazards *h, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const int operands[] = {access->index[0].operand, access->index[0].vector, access->mask,
                            access->block};
    for (int i = 0; i < 4; i++)
        if (operands[i] > 0 && h->marked[op->operands[operands[i]]->number])
            return true;
    return false;
}

/* What is to be written out of a region once: accesses, their positions, whether any is decided. */
typedef struct extent_of_region {
    int64_t accesses, positions;
    bool decided;
} extent_of_region;

static void measure(const hazards *h, const ir_region *region, extent_of_region *sum) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (is_access(op)) {
            const ir_value *value = op->opcode == IR_PUT ? ir_op_stored(op) : op->results[0];
            int slots = ir_type_slot_count(&value->type);
            sum->accesses++;
            sum->positions += (int64_t)h->blocks * h->lanes * slots;
            sum->decided = sum->decided || is_decided(h, op);
        }
        for (int k = 0; k < op->region_count; k++)
            measure(h, op->regions[k], sum);
    }
}

static bool is_worth_writing_out(hazards *h, const ir_region *body, int64_t trips) {
    extent_of_region once = {0};
    for (int i = 0; i < body->argument_count; i++)
        h->marked[body->arguments[i]->number] = i == 0;
    mark_region(h, body);
    measure(h, body, &once);
    return once.decided && trips <= UNROLLS && once.accesses * trips <= h->unrolls &&
           once.positions <= POSITIONS / trips;
}

/* ---- building ---- */
static void build_region(hazards *h, const ir_region *region, list *to);

static void build_for(hazards *h, const ir_op *op, list *to) {
    int64_t lo = 0, hi = 0, stride = 0, span = 0;
    bool known =
        hazard_constant(h, op->operands[0], &lo) && hazard_constant(h, op->operands[1], &hi);
    if (known && lo >= hi)
        return;
    const ir_region *body = op->regions[0];
    bool counted = known && hazard_constant(h, op->operands[2], &stride) && stride >= 1 &&
                   base_checked_sub(hi, lo, &span);
    int64_t trips = counted ? (span - 1) / stride + 1 : 0;
    if (trips > 0 && is_worth_writing_out(h, body, trips)) {
        extent_of_region once = {0};
        measure(h, body, &once);
        h->unrolls -= once.accesses * trips;
        for (int64_t i = 0; i < trips; i++) {
            hazard_region_forget(h, body);
            hazard_value_set(h, body->arguments[0], lo + i * stride);
            build_region(h, body, to);
        }
        return;
    }
    hazard_step *loop = add(h, to, HAZARD_LOOP);
    list inside = {.end = &loop->inside[0]};
    loop->region = body;
    loop->runs = known;
    loop->once = trips == 1;
    build_region(h, body, &inside);
}

static void build_if(hazards *h, const ir_op *op, list *to) {
    hazard_step *branch = add(h, to, HAZARD_BRANCH);
    for (int k = 0; k < 2; k++) {
        list side = {.end = &branch->inside[k]};
        build_region(h, op->regions[k], &side);
    }
}

static void build_access(hazards *h, const ir_op *op, list *to) {
    int array = h->array_of[op->operands[0]->number] - 1;
    if (array < 0)
        return;
    hazard_access access = {
        .op = op, .array = array, .writes = op->opcode == IR_STORE, .tensor = true};
    if (is_access(op))
        hazard_access_make(h, op, &access);
    add(h, to, HAZARD_ACCESS)->access = (int)h->access_count;
    BASE_PUSH(h->arena, h->accesses, h->access_count, h->access_capacity, access);
}

static void build_op(hazards *h, const ir_op *op, list *to) {
    if (is_access(op) || hazard_is_of_tensor(h, op))
        build_access(h, op, to);
    else if (op->opcode == IR_SYNC)
        add(h, to, HAZARD_SYNC)->scope = op->attributes.scope;
    else if (op->opcode == IR_SCRATCH)
        add(h, to, HAZARD_SCRATCH)->array = h->array_of[op->results[0]->number] - 1;
    else if (op->opcode == IR_FOR)
        build_for(h, op, to);
    else if (op->opcode == IR_IF)
        build_if(h, op, to);
    else if (op->opcode == IR_WHEN)
        build_region(h, op->regions[0], to);
}

static void build_region(hazards *h, const ir_region *region, list *to) {
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        build_op(h, op, to);
}

/* ---- arrays ---- */
/* Counts, or with `room` adds; false when an op is not formed. */
static bool collect(hazards *h, const ir_region *region, bool room) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (!verify_op_is_formed(h->state, op))
            return false;
        if (op->opcode == IR_SCRATCH && room) {
            const ir_value *value = op->results[0];
            h->arrays[h->array_count].value = value;
            layout_extent_known(&h->state->module->extents, value->type.extent[0],
                                &h->arrays[h->array_count].cells);
            h->array_of[value->number] = h->array_count + 1;
        }
        h->array_count += op->opcode == IR_SCRATCH;
        for (int k = 0; k < op->region_count; k++)
            if (!collect(h, op->regions[k], room))
                return false;
    }
    return true;
}

static int64_t count_accesses(const hazards *h, const ir_region *region) {
    int64_t count = 0;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        count += is_access(op) || hazard_is_of_tensor(h, op);
        for (int k = 0; k < op->region_count; k++)
            count += count_accesses(h, op->regions[k]);
    }
    return count;
}

hazard_step *hazard_steps_make(hazards *h) {
    const ir_module *module = h->state->module;
    if (!collect(h, &module->body, false))
        return NULL;
    h->array_of = BASE_NEW_ARRAY(h->arena, int, module->next_value + 1);
    h->marked = BASE_NEW_ARRAY(h->arena, bool, module->next_value + 1);
    h->arrays =
        BASE_NEW_ARRAY(h->arena, hazard_array, h->array_count + module->parameter_count + 1);
    h->array_count = 0;
    h->unrolls = UNROLLS;
    collect(h, &module->body, true);
    hazard_tensors_add(h);
    int64_t accesses = count_accesses(h, &module->body);
    if (h->array_count == 0)
        return NULL;
    if (accesses > MAX_ACCESSES) {
        verify_report(h->state, VERIFY_HAZARD_RACE, NULL, "at most 4096", "%lld puts and gets",
                      (long long)accesses);
        return NULL;
    }
    list all = {.first = NULL};
    all.end = &all.first;
    build_region(h, &module->body, &all);
    return all.first;
}
