/* Sweeps: ops are placed by levels, roots first.
 *
 * Roots are what must happen: reductions, stores, and tiles that a for, if or yield takes whole. A
 * root brings the element-by-element ops behind it that stand nowhere yet and have its axes. Levels
 * count passes: a scalar op is ready at the level of the sweeps that it needs, a sweep or a for one
 * level later than all it needs; in one level the sweeps and fors run first (in any order), then
 * the scalar ops.
 *
 *     level 1   sweep {load, reduce max, reduce sum}     level 1   div (of the sums)
 *     level 2   sweep {sub, exp, reduce sum}
 *
 * A root joins the lowest sweep with its axes whose level lies above everything that it needs, else
 * a new one. *Floating* ops (light ones that read no tensor the kernel writes) bind to no level;
 * in the end they stand in the first sweep that uses them. One that is used as a whole is a root
 * of the lowest level that it can have: all its users have that or a higher one, and in one level
 * the sweeps with fewer axes run first, so that it is there before them.
 */
#include "analysis/sweeps_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct op_info {
    ir_op *op;
    bool is_tile;     /* stands in a sweep */
    bool is_floating; /* binds to no level */
    bool comes_late;  /* its result is there only after its sweep */
    int space_count;
    int space[IR_MAX_RANK];
    int sorted[IR_MAX_RANK]; /* the space as a set */
    int sweep;               /* into the region's sweeps, -1 = not placed */
    int64_t level;           /* of what is placed */
    int64_t memory_level;    /* loads: level of the last store before */
    int64_t stamp;           /* of the last collection that met it */
    bool is_rooted; /* floating, and placed over its own axes since it is used as a whole */
} op_info;

/* Loads of one tensor since the last store, in one region. */
typedef struct tensor_state {
    bool is_stored; /* anywhere in the module */
    int64_t store_level;
    op_info **loads; /* tile loads; levels of others are in load_level */
    int64_t count, capacity;
    int64_t load_level;
} tensor_state;

typedef struct sweep_state {
    base_arena *arena;
    const ir_module *module;
    const analysis_axes *axes;
    analysis_sweeps result;
    op_info **buckets; /* open addressing by op */
    int64_t bucket_count;
    tensor_state *tensors; /* by parameter */
    int *parameter_of;     /* [value number] */
    int64_t stamp;
    /* the region at work */
    const ir_region *region;
    analysis_sweep *sweeps;
    int64_t count, capacity;
} sweep_state;

/* ---- one record per op ---- */
static op_info *info_of(const sweep_state *state, const ir_op *op) {
    uint64_t at = (uint64_t)(uintptr_t)op / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; at++) {
        op_info *info = state->buckets[at & (uint64_t)(state->bucket_count - 1)];
        if (info == NULL || info->op == op)
            return info;
    }
}

static void info_insert(sweep_state *state, op_info *info) {
    uint64_t at = (uint64_t)(uintptr_t)info->op / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    while (state->buckets[at & (uint64_t)(state->bucket_count - 1)] != NULL)
        at++;
    state->buckets[at & (uint64_t)(state->bucket_count - 1)] = info;
}

static bool op_is_tile(const ir_op *op) {
    if (op->region_count > 0 || op->opcode == IR_YIELD || op->opcode == IR_CONVERT)
        return false;
    for (int i = 0; i < op->result_count; i++)
        if (ir_value_is_tile(op->results[i]))
            return true;
    for (int i = 0; i < op->operand_count; i++)
        if (ir_value_is_tile(op->operands[i]))
            return true;
    return false;
}

static tensor_state *tensor_of(sweep_state *state, const ir_op *access) {
    return &state->tensors[state->parameter_of[access->operands[0]->number]];
}

/* A load of a tensor that is written somewhere must keep its place, and so must what is light only
 * through it. */
static bool reads_stored(sweep_state *state, const ir_op *op) {
    if (op->opcode == IR_LOAD && tensor_of(state, op)->is_stored)
        return true;
    for (int i = 0; i < op->operand_count; i++) {
        const ir_op *definer = op->operands[i]->definer;
        if (ir_value_is_tile(op->operands[i]) && definer != NULL) {
            const op_info *info = info_of(state, definer);
            if (info != NULL && !info->is_floating)
                return true;
        }
    }
    return false;
}

static void sort_space(op_info *info) {
    memcpy(info->sorted, info->space, sizeof info->sorted);
    for (int i = 1; i < info->space_count; i++)
        for (int j = i; j > 0 && info->sorted[j] < info->sorted[j - 1]; j--) {
            int swap = info->sorted[j];
            info->sorted[j] = info->sorted[j - 1];
            info->sorted[j - 1] = swap;
        }
}

static void info_create(sweep_state *state, ir_op *op) {
    op_info *info = BASE_NEW(state->arena, op_info);
    info->op = op;
    info->sweep = -1;
    info->is_tile = op_is_tile(op);
    if (info->is_tile) {
        info->space_count = analysis_axes_space(state->axes, op, info->space);
        sort_space(info);
        bool scalar = op->result_count == 1 && op->results[0]->type.rank == 0;
        info->comes_late = scalar || op->opcode == IR_REDUCE;
        info->is_floating = op->result_count == 1 && !info->comes_late &&
                            analysis_value_is_light(op->results[0]) && !reads_stored(state, op);
    }
    info_insert(state, info);
}

static int64_t region_count_ops(const ir_region *region) {
    int64_t count = 0;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        count++;
        for (int i = 0; i < op->region_count; i++)
            count += region_count_ops(op->regions[i]);
    }
    return count;
}

static void infos_create(sweep_state *state, const ir_region *region) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        info_create(state, op);
        for (int i = 0; i < op->region_count; i++)
            infos_create(state, op->regions[i]);
    }
}

static void mark_stored(sweep_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_STORE)
            tensor_of(state, op)->is_stored = true;
        for (int i = 0; i < op->region_count; i++)
            mark_stored(state, op->regions[i]);
    }
}

/* ---- placing a root ---- */
/* What a root and the ops that it brings need. */
typedef struct needs {
    int64_t base;      /* the sweep's level must be above */
    op_info **members; /* the ops met; those that are not floating come along */
    int64_t count, capacity;
    int *soft; /* sweeps that may be the root's own, else must lie below */
    int64_t soft_count, soft_capacity;
    int64_t stamp; /* marks the members; set by place() when 0 */
} needs;

static int64_t level_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool same_space(const op_info *a, const op_info *b) {
    return a->space_count == b->space_count &&
           memcmp(a->sorted, b->sorted, sizeof(int) * (size_t)a->space_count) == 0;
}

static void place(sweep_state *state, op_info *root, needs *need);

static void place_plain(sweep_state *state, op_info *root) {
    needs need = {0};
    place(state, root, &need);
}

static void need_member(sweep_state *state, needs *need, op_info *info) {
    if (info->stamp == need->stamp)
        return;
    info->stamp = need->stamp;
    BASE_PUSH(state->arena, need->members, need->count, need->capacity, info);
}

static void need_sweep(sweep_state *state, needs *need, int sweep) {
    for (int64_t i = need->soft_count; i > 0 && i > need->soft_count - 8; i--)
        if (need->soft[i - 1] == sweep)
            return;
    BASE_PUSH(state->arena, need->soft, need->soft_count, need->soft_capacity, sweep);
}

static void need_value(sweep_state *state, needs *need, const op_info *root,
                       const ir_value *value) {
    if (value == NULL || value->definer == NULL || value->definer->parent != state->region)
        return;
    op_info *info = info_of(state, value->definer);
    if (!info->is_tile) {
        need->base = level_max(need->base, info->level);
    } else if (info->is_floating) {
        need_member(state, need, info);
    } else if (info->comes_late) {
        need->base = level_max(need->base, info->level);
    } else if (info->sweep >= 0) {
        need_sweep(state, need, info->sweep);
    } else if (same_space(info, root)) {
        need_member(state, need, info);
    } else {
        place_plain(state, info);
        need_sweep(state, need, info->sweep);
    }
}

static void need_type(sweep_state *state, needs *need, const op_info *root, const ir_type *type) {
    for (int i = 0; i < IR_MAX_RANK; i++)
        need_value(state, need, root, type->domain[i]);
}

static void need_op(sweep_state *state, needs *need, const op_info *root, const op_info *info) {
    const ir_op *op = info->op;
    need->base = level_max(need->base, info->memory_level);
    for (int i = 0; i < op->operand_count; i++) {
        need_value(state, need, root, op->operands[i]);
        need_type(state, need, root, &op->operands[i]->type);
    }
    for (int i = 0; i < op->result_count; i++)
        need_type(state, need, root, &op->results[i]->type);
}

static int reduced_axis(const sweep_state *state, const ir_op *op) {
    if (op->opcode != IR_REDUCE)
        return -1;
    return state->axes->of_value[op->operands[0]->number][op->attributes.axis];
}

static bool sweep_takes(const sweep_state *state, const analysis_sweep *sweep, const op_info *root,
                        const needs *need) {
    int reduced = reduced_axis(state, root->op);
    if (sweep->axis_count != root->space_count || need->base >= sweep->level ||
        (reduced >= 0 && sweep->reduced >= 0 && reduced != sweep->reduced))
        return false;
    for (int i = 0; i < root->space_count; i++) {
        bool found = false;
        for (int j = 0; j < sweep->axis_count; j++)
            found |= sweep->axes[j] == root->space[i];
        if (!found)
            return false;
    }
    for (int64_t i = 0; i < need->soft_count; i++) {
        const analysis_sweep *soft = &state->sweeps[need->soft[i]];
        if (soft != sweep && soft->level >= sweep->level)
            return false;
    }
    return true;
}

/* That of a sweep of its own. */
static int64_t lowest_level(const sweep_state *state, const needs *need) {
    int64_t level = need->base;
    for (int64_t i = 0; i < need->soft_count; i++)
        level = level_max(level, state->sweeps[need->soft[i]].level);
    return level + 1;
}

static int sweep_create(sweep_state *state, const op_info *root, const needs *need) {
    analysis_sweep sweep = {.region = state->region,
                            .axis_count = root->space_count,
                            .reduced = -1,
                            .level = lowest_level(state, need)};
    memcpy(sweep.axes, root->space, sizeof sweep.axes);
    BASE_PUSH(state->arena, state->sweeps, state->count, state->capacity, sweep);
    return (int)state->count - 1;
}

/* `need` may already hold what only the caller knows (memory). */
static void place(sweep_state *state, op_info *root, needs *need) {
    need->stamp = need->stamp == 0 ? ++state->stamp : need->stamp;
    need_member(state, need, root);
    for (int64_t i = 0; i < need->count; i++)
        need_op(state, need, root, need->members[i]);
    int best = -1;
    int64_t lowest = lowest_level(state, need);
    for (int s = 0; s < (int)state->count; s++)
        if ((!root->is_floating || state->sweeps[s].level <= lowest) &&
            (best < 0 || state->sweeps[s].level < state->sweeps[best].level) &&
            sweep_takes(state, &state->sweeps[s], root, need))
            best = s;
    if (best < 0)
        best = sweep_create(state, root, need);
    analysis_sweep *sweep = &state->sweeps[best];
    if (reduced_axis(state, root->op) >= 0)
        sweep->reduced = reduced_axis(state, root->op);
    for (int64_t i = 0; i < need->count; i++) {
        op_info *info = need->members[i];
        if (info->is_floating && info != root)
            continue;
        info->is_rooted = info->is_floating;
        info->sweep = best;
        info->level = sweep->level;
    }
}

/* ---- memory ---- */
static void place_loads(sweep_state *state, tensor_state *tensor) {
    for (int64_t i = 0; i < tensor->count; i++)
        if (tensor->loads[i]->sweep < 0)
            place_plain(state, tensor->loads[i]);
}

/* The level after every load and store of the tensor so far; its loads are placed. */
static int64_t memory_after(sweep_state *state, tensor_state *tensor) {
    place_loads(state, tensor);
    int64_t level = level_max(tensor->store_level, tensor->load_level);
    for (int64_t i = 0; i < tensor->count; i++)
        level = level_max(level, tensor->loads[i]->level);
    return level;
}

static void memory_stored(tensor_state *tensor, int64_t level) {
    tensor->store_level = level_max(tensor->store_level, level);
    tensor->load_level = 0;
    tensor->count = 0;
}

/* A store may share the sweep of a load of the same elements; other loads must be over. */
static void place_store(sweep_state *state, op_info *info) {
    tensor_state *tensor = tensor_of(state, info->op);
    needs need = {.base = level_max(tensor->store_level, tensor->load_level)};
    for (int64_t i = 0; i < tensor->count; i++) {
        op_info *load = tensor->loads[i];
        bool same = analysis_access_same_elements(state->axes, load->op, info->op);
        if (!same || !same_space(load, info)) {
            if (load->sweep < 0)
                place_plain(state, load);
            need.base = level_max(need.base, load->level);
        }
    }
    need.stamp = ++state->stamp;
    for (int64_t i = 0; i < tensor->count; i++) {
        if (tensor->loads[i]->sweep >= 0)
            need_sweep(state, &need, tensor->loads[i]->sweep);
        else
            need_member(state, &need, tensor->loads[i]);
    }
    place(state, info, &need);
    memory_stored(tensor, info->level);
}

/* ---- ops in the order of the region ---- */
static int64_t value_level(sweep_state *state, const ir_value *value) {
    if (value == NULL || value->definer == NULL || value->definer->parent != state->region)
        return 0;
    op_info *info = info_of(state, value->definer);
    if (info->is_tile && info->sweep < 0)
        place_plain(state, info);
    return info->level;
}

static int64_t op_level(sweep_state *state, const ir_op *op) {
    int64_t level = 0;
    for (int i = 0; i < op->operand_count; i++) {
        level = level_max(level, value_level(state, op->operands[i]));
        for (int d = 0; d < IR_MAX_RANK; d++)
            level = level_max(level, value_level(state, op->operands[i]->type.domain[d]));
    }
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            level = level_max(level, value_level(state, op->results[i]->type.domain[d]));
    return level;
}

/* What a for or if needs: its operands, what its regions capture, the memory they touch. */
static int64_t node_level(sweep_state *state, const ir_op *op) {
    int64_t level = op_level(state, op);
    for (int i = 0; i < op->region_count; i++)
        for (const ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next) {
            level = level_max(level, node_level(state, inner));
            if (inner->opcode == IR_LOAD)
                level = level_max(level, tensor_of(state, inner)->store_level);
            if (inner->opcode == IR_STORE)
                level = level_max(level, memory_after(state, tensor_of(state, inner)));
        }
    return level;
}

static void node_touches(sweep_state *state, const ir_op *op, int64_t level) {
    for (int i = 0; i < op->region_count; i++)
        for (const ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next) {
            node_touches(state, inner, level);
            if (inner->opcode == IR_LOAD) {
                tensor_state *tensor = tensor_of(state, inner);
                tensor->load_level = level_max(tensor->load_level, level);
            }
            if (inner->opcode == IR_STORE)
                memory_stored(tensor_of(state, inner), level);
        }
}

static void visit_scalar(sweep_state *state, op_info *info) {
    info->level = op_level(state, info->op);
    if (info->op->opcode == IR_LOAD) {
        tensor_state *tensor = tensor_of(state, info->op);
        info->level = level_max(info->level, tensor->store_level);
        tensor->load_level = level_max(tensor->load_level, info->level);
    } else if (info->op->opcode == IR_STORE) {
        tensor_state *tensor = tensor_of(state, info->op);
        info->level = level_max(info->level, memory_after(state, tensor));
        memory_stored(tensor, info->level);
    }
}

static void visit_op(sweep_state *state, ir_op *op) {
    op_info *info = info_of(state, op);
    if (op->region_count > 0 || op->opcode == IR_CONVERT) {
        info->level = node_level(state, op) + 1;
        node_touches(state, op, info->level);
    } else if (!info->is_tile) {
        visit_scalar(state, info);
    } else if (op->opcode == IR_STORE) {
        place_store(state, info);
    } else if (info->comes_late) {
        place_plain(state, info);
    } else if (op->opcode == IR_LOAD && !info->is_floating) {
        tensor_state *tensor = tensor_of(state, op);
        info->memory_level = tensor->store_level;
        BASE_PUSH(state->arena, tensor->loads, tensor->count, tensor->capacity, info);
    }
}

/* The order of sweeps in the schedule. */
static bool runs_before(const sweep_state *state, int a, int b) {
    const analysis_sweep *left = &state->sweeps[a], *right = &state->sweeps[b];
    if (left->level != right->level)
        return left->level < right->level;
    return left->axis_count != right->axis_count ? left->axis_count < right->axis_count : a < b;
}

/* Floating ops go to the first sweep that uses them; what nothing uses gets a sweep all the same.
 */
static void settle_floating(sweep_state *state) {
    for (ir_op *op = state->region->last; op != NULL; op = op->previous) {
        op_info *info = info_of(state, op);
        if (!info->is_tile)
            continue;
        if (info->sweep < 0)
            place_plain(state, info);
        for (int i = 0; i < op->operand_count; i++) {
            const ir_value *value = op->operands[i];
            if (value->definer == NULL || value->definer->parent != state->region)
                continue;
            op_info *operand = info_of(state, value->definer);
            if (operand->is_floating &&
                (!operand->is_rooted ||
                 state->sweeps[info->sweep].axis_count == operand->space_count) &&
                (operand->sweep < 0 || runs_before(state, info->sweep, operand->sweep))) {
                operand->sweep = info->sweep;
                operand->level = info->level;
            }
        }
    }
}

/* ---- the schedule ---- */
typedef struct keyed_item {
    int64_t level, late, axes, sequence; /* late: a scalar op */
    ir_op *op;
    int sweep;
} keyed_item;

static int compare_keys(const void *left, const void *right) {
    const keyed_item *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->late != b->late)
        return a->late < b->late ? -1 : 1;
    if (a->axes != b->axes)
        return a->axes < b->axes ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int64_t keyed_items(sweep_state *state, keyed_item *items) {
    int64_t count = 0, sequence = 0;
    for (int s = 0; s < (int)state->count; s++)
        if (state->sweeps[s].op_count > 0)
            items[count++] = (keyed_item){.level = state->sweeps[s].level,
                                          .axes = state->sweeps[s].axis_count,
                                          .sequence = sequence++,
                                          .sweep = s};
    for (ir_op *op = state->region->first; op != NULL; op = op->next) {
        const op_info *info = info_of(state, op);
        bool last = op->opcode == IR_YIELD;
        if (!info->is_tile)
            items[count++] = (keyed_item){.level = last ? INT64_MAX : info->level,
                                          .late = op->region_count == 0,
                                          .axes = IR_MAX_RANK + 1,
                                          .sequence = sequence++,
                                          .op = op,
                                          .sweep = -1};
    }
    return count;
}

/* The reduced axis runs innermost: each kept element is finished in turn. */
static void order_axes(analysis_sweep *sweep) {
    for (int i = 0; i + 1 < sweep->axis_count; i++)
        if (sweep->axes[i] == sweep->reduced) {
            sweep->axes[i] = sweep->axes[i + 1];
            sweep->axes[i + 1] = sweep->reduced;
        }
}

/* Stores last: what a sweep reads, also again by the plan, it reads before it writes. */
static void fill_sweeps(sweep_state *state) {
    for (int stores = 0; stores < 2; stores++)
        for (ir_op *op = state->region->first; op != NULL; op = op->next) {
            const op_info *info = info_of(state, op);
            if (!info->is_tile || (op->opcode == IR_STORE) != (stores == 1))
                continue;
            analysis_sweep *sweep = &state->sweeps[info->sweep];
            BASE_PUSH(state->arena, sweep->ops, sweep->op_count, sweep->op_capacity, op);
        }
}

static void emit_schedule(sweep_state *state) {
    int64_t op_count = 0;
    for (ir_op *op = state->region->first; op != NULL; op = op->next)
        op_count++;
    fill_sweeps(state);
    keyed_item *items = BASE_NEW_ARRAY(state->arena, keyed_item, op_count + state->count);
    int64_t count = keyed_items(state, items);
    qsort(items, (size_t)count, sizeof *items, compare_keys);
    analysis_schedule schedule = {.region = state->region};
    for (int64_t i = 0; i < count; i++) {
        analysis_item item = {.op = items[i].op, .sweep = -1};
        if (item.op == NULL) {
            analysis_sweep *sweep = &state->sweeps[items[i].sweep];
            order_axes(sweep);
            item.sweep = (int)state->result.count;
            for (int64_t k = 0; k < sweep->op_count; k++)
                for (int r = 0; r < sweep->ops[k]->result_count; r++)
                    state->result.of_value[sweep->ops[k]->results[r]->number] = item.sweep;
            BASE_PUSH(state->arena, state->result.sweeps, state->result.count,
                      state->result.capacity, *sweep);
        }
        BASE_PUSH(state->arena, schedule.items, schedule.count, schedule.capacity, item);
    }
    BASE_PUSH(state->arena, state->result.schedules, state->result.schedule_count,
              state->result.schedule_capacity, schedule);
}

static void schedule_region(sweep_state *state, const ir_region *region) {
    state->region = region;
    state->sweeps = NULL;
    state->count = state->capacity = 0;
    for (int i = 0; i < state->module->parameter_count; i++)
        state->tensors[i] = (tensor_state){.is_stored = state->tensors[i].is_stored};
    for (ir_op *op = region->first; op != NULL; op = op->next)
        visit_op(state, op);
    settle_floating(state);
    emit_schedule(state);
    for (ir_op *op = region->first; op != NULL; op = op->next)
        for (int i = 0; i < op->region_count; i++)
            schedule_region(state, op->regions[i]);
}

analysis_sweeps analysis_sweeps_find(base_arena *arena, const ir_module *module,
                                     const analysis_axes *axes) {
    sweep_state state = {.arena = arena, .module = module, .axes = axes};
    state.result.axes = axes;
    state.result.module = module;
    state.parameter_of = BASE_NEW_ARRAY(arena, int, module->next_value + 1);
    state.tensors = BASE_NEW_ARRAY(arena, tensor_state, module->parameter_count + 1);
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor)
            state.parameter_of[module->parameters[i].value->number] = i;
    int64_t ops = region_count_ops(&module->body);
    for (state.bucket_count = 16; state.bucket_count < 2 * ops; state.bucket_count *= 2)
        continue;
    state.buckets = BASE_NEW_ARRAY(arena, op_info *, state.bucket_count);
    mark_stored(&state, &module->body);
    infos_create(&state, &module->body);
    state.result.of_value = BASE_NEW_ARRAY(arena, int, module->next_value + 1);
    for (int32_t v = 0; v <= module->next_value; v++)
        state.result.of_value[v] = -1;
    schedule_region(&state, &module->body);
    analysis_sweeps_find_crossings(arena, &state.result);
    return state.result;
}

const analysis_schedule *analysis_sweeps_schedule(const analysis_sweeps *sweeps,
                                                  const ir_region *region) {
    for (int64_t i = 0; i < sweeps->schedule_count; i++)
        if (sweeps->schedules[i].region == region)
            return &sweeps->schedules[i];
    return NULL;
}
