/* The program as steps, with a place for a sync before each access and each loop.
 *
 *     put A              place, access 0
 *     for .. {           place, loop {
 *       put B                place, access 1
 *       put C                access 2              puts in a row wait together
 *       get B                place, access 3
 *     }                  }
 *
 * And what comes next behind a place: of each array the gets before the next put, and that put, on
 * all paths. A sync makes something of a token only where that is asked for later.
 */
#include "pass/syncs_internal.h"

#include "pass/simplify.h"

/* ---- building ---- */
typedef struct list {
    syncs_step *first, *last;
} list;

static syncs_step *add(syncs *s, list *to, syncs_kind kind, ir_op *op) {
    syncs_step *step = BASE_NEW(s->arena, syncs_step);
    step->kind = kind;
    step->op = op;
    step->previous = to->last;
    if (to->last != NULL)
        to->last->following = step;
    else
        to->first = step;
    to->last = step;
    return step;
}

static void add_place(syncs *s, list *to, ir_op *op, int depth) {
    syncs_step *place = add(s, to, SYNCS_PLACE, op);
    place->depth = depth;
    place->scope = IR_SCOPE_GROUP;
    BASE_PUSH(s->arena, s->places, s->place_count, s->place_capacity, place);
}

static bool is_access(const syncs *s, const ir_op *op) {
    if (op->opcode == IR_LOAD || (op->opcode == IR_STORE && syncs_is_alike(op)))
        return s->array_of[op->operands[0]->number] != 0;
    return op->opcode == IR_PUT || op->opcode == IR_GET;
}

static bool has_access(const syncs *s, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (is_access(s, op))
            return true;
        for (int k = 0; k < op->region_count; k++)
            if (has_access(s, op->regions[k]))
                return true;
    }
    return false;
}

static void build_access(syncs *s, ir_op *op, list *to, int depth) {
    const syncs_step *last = to->last;
    bool in_a_row = last != NULL && last->kind == SYNCS_ACCESS && op->opcode != IR_STORE &&
                    last->op->opcode == op->opcode;
    if (!in_a_row)
        add_place(s, to, op, depth);
    add(s, to, SYNCS_ACCESS, op)->access = (int)s->access_count;
    syncs_access access;
    syncs_access_make(s, op, &access);
    BASE_PUSH(s->arena, s->accesses, s->access_count, s->access_capacity, access);
}

/* A loop or branch without accesses is a step too: it may carry tokens until now. */
static void build_region(syncs *s, ir_region *region, list *to, int depth) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        if (is_access(s, op))
            build_access(s, op, to, depth);
        if (op->opcode != IR_FOR && op->opcode != IR_IF)
            continue;
        bool loop = op->opcode == IR_FOR;
        if (loop && has_access(s, op->regions[0]))
            add_place(s, to, op, depth);
        syncs_step *step = add(s, to, loop ? SYNCS_LOOP : SYNCS_BRANCH, op);
        pass_trips trips = loop ? pass_loop_trips(op) : PASS_TRIPS_ANY;
        step->once = trips == PASS_TRIPS_ONE;
        step->runs = step->once || trips == PASS_TRIPS_SOME;
        for (int k = 0; k < op->region_count; k++) {
            list inside = {NULL, NULL};
            build_region(s, op->regions[k], &inside, depth + loop);
            step->inside[k] = inside.first;
            step->last[k] = inside.last;
        }
    }
}

/* ---- arrays ---- */
static bool count_array(void *pointer, ir_op *op) {
    *(int *)pointer += op->opcode == IR_SCRATCH;
    return true;
}

static bool note_array(void *pointer, ir_op *op) {
    syncs *s = pointer;
    if (op->opcode != IR_SCRATCH)
        return true;
    layout_extent_known(&s->module->extents, op->results[0]->type.extent[0],
                        &s->cells[s->array_count]);
    s->arrays[s->array_count++] = op;
    s->array_of[op->results[0]->number] = s->array_count;
    return true;
}

static void note_tensors(syncs *s) {
    const bool *alike = syncs_tensors_find(s->module);
    for (int i = 0; i < s->module->parameter_count; i++) {
        const ir_value *value = s->module->parameters[i].value;
        if (value == NULL || !alike[value->number])
            continue;
        s->array_of[value->number] = ++s->array_count;
        s->tensor_count++;
    }
}

/* Before access b, whenever it is made, of access a before it. */
static void note_need(syncs *s, int64_t a, int64_t b) {
    ir_scope need = syncs_need(s, &s->accesses[a], &s->accesses[b]);
    if (need != IR_SCOPE_NONE)
        syncs_add(s->any[b], a);
    if (need == IR_SCOPE_GROUP)
        syncs_add(s->group[b], a);
}

static void note_needs(syncs *s) {
    s->words = s->access_count / 64 + 1;
    s->any = BASE_NEW_ARRAY(s->arena, uint64_t *, s->access_count + 1);
    s->group = BASE_NEW_ARRAY(s->arena, uint64_t *, s->access_count + 1);
    s->of_array = BASE_NEW_ARRAY(s->arena, uint64_t *, s->array_count);
    for (int i = 0; i < s->array_count; i++)
        s->of_array[i] = BASE_NEW_ARRAY(s->arena, uint64_t, s->words);
    for (int64_t b = 0; b < s->access_count; b++) {
        s->any[b] = BASE_NEW_ARRAY(s->arena, uint64_t, s->words);
        s->group[b] = BASE_NEW_ARRAY(s->arena, uint64_t, s->words);
        syncs_add(s->of_array[s->accesses[b].array], b);
        note_need(s, b, b);
    }
    for (int64_t b = 0; b < s->access_count; b++)
        for (int64_t a = 0; a < b; a++) {
            note_need(s, a, b);
            note_need(s, b, a);
        }
}

static void make_points(syncs *s, syncs_step *steps) {
    for (syncs_step *step = steps; step != NULL; step = step->following) {
        step->next = BASE_NEW_ARRAY(s->arena, uint64_t, s->words);
        step->live = BASE_NEW_ARRAY(s->arena, uint64_t, s->words);
        step->taken = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count);
        step->head = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count);
        step->after = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count);
        bool inner = step->kind == SYNCS_LOOP || step->kind == SYNCS_BRANCH;
        for (int i = 0; inner && i < 2; i++) {
            step->point[i] = (syncs_point){
                .open = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
                .near = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
                .since = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
                .state = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count),
            };
            make_points(s, step->inside[i]);
        }
    }
}

bool syncs_steps_make(syncs *s) {
    int arrays = 0;
    ir_region_walk(&s->module->body, count_array, &arrays);
    if (s->module->cluster > 1)
        return false;
    arrays += s->module->parameter_count;
    s->lanes = s->module->lanes;
    s->subgroup = ir_module_subgroup_lanes(s->module);
    s->numbers = BASE_NEW_ARRAY(s->arena, syncs_numbers, s->module->next_value + 1);
    s->looked = BASE_NEW_ARRAY(s->arena, bool, s->module->next_value + 1);
    s->arrays = BASE_NEW_ARRAY(s->arena, ir_op *, arrays);
    s->array_of = BASE_NEW_ARRAY(s->arena, int, s->module->next_value + 1);
    s->cells = BASE_NEW_ARRAY(s->arena, int64_t, arrays);
    ir_region_walk(&s->module->body, note_array, s);
    note_tensors(s);
    if (s->array_count == 0)
        return false;
    list all = {NULL, NULL};
    build_region(s, &s->module->body, &all, 0);
    s->first = all.first;
    s->last = all.last;
    note_needs(s);
    make_points(s, s->first);
    return true;
}

/* ---- what comes next ---- */
/* True when `into` changes. */
static bool join(const syncs *s, uint64_t *into, const uint64_t *from) {
    bool changed = false;
    for (int64_t w = 0; w < s->words; w++) {
        changed = changed || (from[w] & ~into[w]) != 0;
        into[w] |= from[w];
    }
    return changed;
}

static void copy(const syncs *s, uint64_t *to, const uint64_t *from) {
    for (int64_t w = 0; w < s->words; w++)
        to[w] = from[w];
}

static void look_back(syncs *s, syncs_step *last, uint64_t *next);

/* `next` behind the loop becomes what is next before it. */
static void look_back_loop(syncs *s, syncs_step *loop, uint64_t *next) {
    uint64_t *body = loop->point[0].open;
    copy(s, loop->live, next);
    do {
        copy(s, body, loop->live);
        look_back(s, loop->last[0], body);
    } while (!loop->once && join(s, loop->live, body));
    if (loop->runs)
        copy(s, next, body);
    else
        join(s, next, body);
}

static void look_back(syncs *s, syncs_step *last, uint64_t *next) {
    for (syncs_step *step = last; step != NULL; step = step->previous) {
        if (step->kind == SYNCS_PLACE) {
            copy(s, step->next, next);
        } else if (step->kind == SYNCS_LOOP) {
            look_back_loop(s, step, next);
        } else if (step->kind == SYNCS_BRANCH) {
            copy(s, step->live, next);
            look_back(s, step->last[0], next);
            look_back(s, step->last[1], step->live);
            join(s, next, step->live);
        } else {
            const syncs_access *access = &s->accesses[step->access];
            for (int64_t w = 0; access->writes && w < s->words; w++)
                next[w] &= ~s->of_array[access->array][w];
            syncs_add(next, step->access);
        }
    }
}

void syncs_steps_look_ahead(syncs *s) {
    look_back(s, s->last, BASE_NEW_ARRAY(s->arena, uint64_t, s->words));
}
