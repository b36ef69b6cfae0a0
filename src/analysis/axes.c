/* Axis classes by union-find over (value, dimension).
 *
 *     %t = load %x[%row, :]      dimension 0 of %t                     class A, extent N
 *     %d = sub %t, %m            dimension 0 of %d joins that of %t    class A
 *     %w = load %w[:]            dimension 0 of %w                     class B, extent N
 *     %y = mul %d, %w            joins A and B                         axis `N`
 *
 * First every op equates what it must, then classes of one extent formula are merged in the order
 * of their first appearance, then they are named. It knows no plan and looks at no index formula.
 *
 *     %o = arange 64 layout lane 32 | slot 2     class C, extent 64, fixed
 *     %v = convert %t layout lane 32 | slot 2    class D, fixed alike: merged with C, not with %t's
 */
#include "analysis/axes.h"

#include "layout/tile.h"

#include <string.h>

typedef struct class_pair {
    int a, b; /* two classes in one tile */
} class_pair;

typedef struct axes_state {
    base_arena *arena;
    const ir_module *module;
    analysis_axes result;
    int *parent; /* of node value number * IR_MAX_RANK + dimension; then the stores' nodes */
    int64_t node_count, node_capacity;
    /* classes, before merging, in the order of first appearance */
    int *class_of_root; /* per node, -1 = none yet */
    const layout_extent **extents;
    int64_t extent_count, extent_capacity;
    const ir_value **fixers; /* per class: the first value whose op fixes its layout, or NULL */
    int *merged;             /* per class: the class it went into */
    class_pair *pairs;
    int64_t pair_count, pair_capacity;
    int64_t stores_classified;
} axes_state;

/* ---- union-find ---- */
static int node_find(axes_state *state, int node) {
    while (state->parent[node] != node) {
        state->parent[node] = state->parent[state->parent[node]];
        node = state->parent[node];
    }
    return node;
}

static void node_unite(axes_state *state, int a, int b) {
    state->parent[node_find(state, a)] = node_find(state, b);
}

static int node_of(const ir_value *value, int dimension) {
    return value->number * IR_MAX_RANK + dimension;
}

static bool extent_is_one(const axes_state *state, const layout_extent *extent) {
    return layout_extent_is(&state->module->extents, extent, 1);
}

/* Dimension a of one tile is dimension b of the other, unless one of them is broadcast. */
static void unite_dimension(axes_state *state, const ir_value *x, int a, const ir_value *y, int b) {
    if (!extent_is_one(state, x->type.extent[a]) && !extent_is_one(state, y->type.extent[b]))
        node_unite(state, node_of(x, a), node_of(y, b));
}

static void unite_tiles(axes_state *state, const ir_value *x, const ir_value *y) {
    if (!ir_value_is_tile(x) || !ir_value_is_tile(y) || x->type.rank != y->type.rank)
        return;
    for (int i = 0; i < x->type.rank; i++)
        unite_dimension(state, x, i, y, i);
}

/* ---- what each op equates ---- */
/* Adds or drops one dimension: `large` has it, `small` has not. */
static void unite_around(axes_state *state, const ir_value *large, const ir_value *small,
                         int axis) {
    for (int i = 0; i < large->type.rank; i++)
        if (i != axis && ir_value_is_tile(small))
            unite_dimension(state, large, i, small, i < axis ? i : i - 1);
}

static void unite_reduce(axes_state *state, const ir_op *op) {
    const ir_value *operand = op->operands[0], *result = op->results[0];
    for (int i = 0; i < operand->type.rank; i++)
        if (i != op->attributes.axis && ir_value_is_tile(result))
            unite_dimension(state, operand, i, result, i);
}

static void unite_load(axes_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    for (int i = 0; i < access->rank; i++)
        if (access->index[i].kind == IR_INDEX_GATHER)
            unite_tiles(state, op->results[0], op->operands[access->index[i].operand]);
}

/* The extents of what a store writes, one per dimension. */
static int store_shape(const axes_state *state, const ir_op *op,
                       const layout_extent *extent[IR_MAX_RANK]) {
    const ir_access *access = op->attributes.access;
    int rank = 0, gather_rank = 0;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->kind == IR_INDEX_RANGE)
            extent[rank++] = index->length;
        if (index->kind != IR_INDEX_GATHER)
            continue;
        const ir_type *type = &op->operands[index->operand]->type;
        for (int d = 0; d < type->rank; d++)
            if (d >= gather_rank || extent_is_one(state, extent[d]))
                extent[d] = type->extent[d];
        gather_rank = type->rank > gather_rank ? type->rank : gather_rank;
    }
    return gather_rank > 0 ? gather_rank : rank;
}

/* A store gets nodes of its own, since nothing else may have its shape. */
static void unite_store(axes_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const layout_extent *extent[IR_MAX_RANK];
    analysis_store_axes store = {.op = op, .rank = store_shape(state, op, extent)};
    if (store.rank == 0)
        return;
    for (int d = 0; d < store.rank; d++) {
        bool one = extent_is_one(state, extent[d]);
        store.axis[d] = one ? -1 : (int)state->node_count;
        if (one)
            continue;
        int node = (int)state->node_count;
        BASE_PUSH(state->arena, state->parent, state->node_count, state->node_capacity, node);
        for (int k = 0; k < op->operand_count; k++) {
            bool counts = k == op->operand_count - 1;
            for (int i = 0; i < access->rank; i++)
                counts |= access->index[i].kind == IR_INDEX_GATHER && access->index[i].operand == k;
            const ir_value *tile = op->operands[k];
            if (counts && ir_value_is_tile(tile) && tile->type.rank == store.rank &&
                !extent_is_one(state, tile->type.extent[d]))
                node_unite(state, node, node_of(tile, d));
        }
    }
    BASE_PUSH(state->arena, state->result.stores, state->result.store_count,
              state->result.store_capacity, store);
}

/* What a loop carries, without what it yields. */
static void unite_carries(axes_state *state, const ir_op *op) {
    for (int k = 0; k < op->result_count; k++) {
        unite_tiles(state, op->results[k], op->operands[3 + k]);
        unite_tiles(state, op->results[k], op->regions[0]->arguments[1 + k]);
    }
}

static void unite_for(axes_state *state, const ir_op *op) {
    const ir_op *yield = ir_region_yield(op->regions[0]);
    unite_carries(state, op);
    for (int k = 0; k < op->result_count && yield != NULL; k++)
        unite_tiles(state, op->results[k], yield->operands[k]);
}

static void unite_if(axes_state *state, const ir_op *op) {
    for (int i = 0; i < op->region_count; i++) {
        const ir_op *yield = ir_region_yield(op->regions[i]);
        for (int k = 0; yield != NULL && k < op->result_count; k++)
            unite_tiles(state, op->results[k], yield->operands[k]);
    }
}

static void unite_op(axes_state *state, const ir_op *op) {
    if (op->opcode == IR_LOAD)
        unite_load(state, op);
    else if (op->opcode == IR_STORE)
        unite_store(state, op);
    else if (op->opcode == IR_FOR)
        unite_for(state, op);
    else if (op->opcode == IR_IF)
        unite_if(state, op);
    else if (op->opcode == IR_REDUCE)
        unite_reduce(state, op);
    else if (op->opcode == IR_EXPAND)
        unite_around(state, op->results[0], op->operands[0], op->attributes.axis);
    else if (op->opcode == IR_DROP)
        unite_around(state, op->operands[0], op->results[0], op->attributes.axis);
    else if (op->result_count == 1 && op->opcode != IR_CONVERT)
        for (int i = 0; i < op->operand_count; i++)
            unite_tiles(state, op->results[0], op->operands[i]);
}

static void unite_region(axes_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        unite_op(state, op);
        for (int i = 0; i < op->region_count; i++)
            unite_region(state, op->regions[i]);
    }
}

/* ---- classes ---- */
/* The class of a node; a new one on first sight. */
static int class_of(axes_state *state, int node, const layout_extent *extent) {
    int root = node_find(state, node);
    if (state->class_of_root[root] < 0) {
        state->class_of_root[root] = (int)state->extent_count;
        BASE_PUSH(state->arena, state->extents, state->extent_count, state->extent_capacity,
                  extent);
    }
    return state->class_of_root[root];
}

/* Notes that the classes of one tile must stay apart. */
static void note_pairs(axes_state *state, int rank, const int axis[IR_MAX_RANK],
                       const ir_value *value) {
    for (int i = 0; i < rank; i++)
        for (int j = i + 1; j < rank; j++) {
            if (axis[i] < 0 || axis[j] < 0)
                continue;
            if (axis[i] == axis[j] && state->result.doubled == NULL)
                state->result.doubled = value;
            class_pair pair = {axis[i], axis[j]};
            bool known = false;
            for (int64_t k = 0; k < state->pair_count && !known; k++)
                known = state->pairs[k].a == pair.a && state->pairs[k].b == pair.b;
            if (!known)
                BASE_PUSH(state->arena, state->pairs, state->pair_count, state->pair_capacity,
                          pair);
        }
}

static void classify_value(axes_state *state, const ir_value *value) {
    if (!ir_value_is_tile(value))
        return;
    int *axis = state->result.of_value[value->number];
    for (int i = 0; i < value->type.rank; i++)
        if (!extent_is_one(state, value->type.extent[i]))
            axis[i] = class_of(state, node_of(value, i), value->type.extent[i]);
    note_pairs(state, value->type.rank, axis, value);
}

/* Stores come in the order in which unite_store met them. */
static void classify_store(axes_state *state, const ir_op *op) {
    if (state->stores_classified == state->result.store_count ||
        state->result.stores[state->stores_classified].op != op)
        return;
    analysis_store_axes *store = &state->result.stores[state->stores_classified++];
    const layout_extent *extent[IR_MAX_RANK];
    store_shape(state, op, extent);
    for (int d = 0; d < store->rank; d++)
        if (store->axis[d] >= 0)
            store->axis[d] = class_of(state, store->axis[d], extent[d]);
    note_pairs(state, store->rank, store->axis, op->operands[op->operand_count - 1]);
}

static void classify_region(axes_state *state, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        classify_value(state, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            classify_value(state, op->results[i]);
        if (op->opcode == IR_STORE)
            classify_store(state, op);
        for (int i = 0; i < op->region_count; i++)
            classify_region(state, op->regions[i]);
    }
}

/* ---- fixed owners ---- */
/* The layout that the value's op fixes, or NULL. */
static const layout_axis *fixed_layout(const ir_value *value) {
    const ir_op *op = value->definer;
    return op != NULL && (op->opcode == IR_ARANGE || op->opcode == IR_CONVERT)
               ? op->attributes.layout
               : NULL;
}

static bool fixed_alike(const ir_value *a, const ir_value *b) {
    if (a == NULL || b == NULL)
        return a == b;
    return layout_axis_same(fixed_layout(a), fixed_layout(b));
}

static void note_fixers(axes_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->region_count; i++)
            note_fixers(state, op->regions[i]);
        if (op->result_count != 1 || fixed_layout(op->results[0]) == NULL)
            continue;
        int class = state->result.of_value[op->results[0]->number][0];
        if (class >= 0 && state->fixers[class] == NULL)
            state->fixers[class] = op->results[0];
    }
}

/* ---- merging classes of one extent ---- */
static int merged_find(const axes_state *state, int class) {
    while (state->merged[class] != class)
        class = state->merged[class];
    return class;
}

static bool classes_meet(const axes_state *state, int a, int b) {
    for (int64_t k = 0; k < state->pair_count; k++) {
        int x = merged_find(state, state->pairs[k].a), y = merged_find(state, state->pairs[k].b);
        if ((x == a && y == b) || (x == b && y == a))
            return true;
    }
    return false;
}

static void merge_classes(axes_state *state) {
    state->merged = BASE_NEW_ARRAY(state->arena, int, state->extent_count);
    for (int c = 0; c < (int)state->extent_count; c++)
        state->merged[c] = c;
    for (int c = 0; c < (int)state->extent_count; c++)
        for (int m = 0; m < c; m++)
            if (state->merged[m] == m && state->extents[m] == state->extents[c] &&
                fixed_alike(state->fixers[m], state->fixers[c]) && !classes_meet(state, m, c)) {
                state->merged[c] = m;
                break;
            }
}

/* ---- names ---- */
static bool anchor_taken(const analysis_axes *axes, const char *anchor) {
    for (int i = 0; i < axes->count; i++)
        if (strcmp(axes->axes[i].anchor, anchor) == 0)
            return true;
    return false;
}

static const char *anchor_numbered(axes_state *state, const char *stem, int first) {
    for (int n = first;; n++) {
        base_text text;
        base_text_init(&text, state->arena);
        base_text_string(&text, stem);
        if (n >= 0)
            base_text_format(&text, ".%d", n);
        if (!anchor_taken(&state->result, text.bytes))
            return text.bytes;
        n = n < 0 ? 0 : n;
    }
}

static const char *class_anchor(axes_state *state, const layout_extent *extent) {
    if (extent->kind != LAYOUT_EXTENT_SYMBOL)
        return anchor_numbered(state, "axis", 0);
    return anchor_numbered(state, state->module->extents.symbols[extent->value].name, -1);
}

static void name_programs(axes_state *state) {
    /* Interning a formula changes nothing that the module says. */
    layout_extents *pool = (layout_extents *)&state->module->extents;
    for (int i = 0; i < state->module->program_count; i++) {
        const ir_program *program = &state->module->programs[i];
        const layout_extent *count = program->step == 1
                                         ? program->extent
                                         : layout_extent_ceil(pool, program->extent, program->step);
        state->result.axes[state->result.count++] = (analysis_axis){
            .anchor = program->name, .extent = count, .is_program = true, .program = i};
    }
}

/* Gives the merged classes their final numbers and renumbers everything found. */
static void number_classes(axes_state *state) {
    int *final = BASE_NEW_ARRAY(state->arena, int, state->extent_count);
    for (int c = 0; c < (int)state->extent_count; c++) {
        if (state->merged[c] != c)
            continue;
        const char *anchor = class_anchor(state, state->extents[c]);
        final[c] = state->result.count;
        const ir_value *fixer = state->fixers[c];
        state->result.axes[state->result.count++] =
            (analysis_axis){.anchor = anchor,
                            .extent = state->extents[c],
                            .program = -1,
                            .fixed = fixer == NULL ? NULL : fixed_layout(fixer),
                            .fixed_by = fixer};
    }
    for (int32_t v = 0; v < state->module->next_value; v++)
        for (int i = 0; i < IR_MAX_RANK; i++) {
            int *axis = &state->result.of_value[v][i];
            *axis = *axis < 0 ? -1 : final[merged_find(state, *axis)];
        }
    for (int64_t s = 0; s < state->result.store_count; s++)
        for (int i = 0; i < state->result.stores[s].rank; i++) {
            int *axis = &state->result.stores[s].axis[i];
            *axis = *axis < 0 ? -1 : final[merged_find(state, *axis)];
        }
}

static axes_state axes_begin(base_arena *arena, const ir_module *module) {
    axes_state state = {.arena = arena, .module = module};
    state.node_count = state.node_capacity = (int64_t)module->next_value * IR_MAX_RANK;
    state.parent = BASE_NEW_ARRAY(arena, int, state.node_count);
    for (int i = 0; i < (int)state.node_count; i++)
        state.parent[i] = i;
    return state;
}

analysis_axes analysis_axes_find(base_arena *arena, const ir_module *module) {
    axes_state state = axes_begin(arena, module);
    size_t size = sizeof *state.result.of_value * (size_t)module->next_value;
    state.result.of_value = base_arena_alloc(arena, size);
    memset(state.result.of_value, -1, size);
    unite_region(&state, &module->body);
    state.class_of_root = BASE_NEW_ARRAY(arena, int, state.node_count);
    for (int i = 0; i < (int)state.node_count; i++)
        state.class_of_root[i] = -1;
    classify_region(&state, &module->body);
    state.fixers = BASE_NEW_ARRAY(arena, const ir_value *, state.extent_count);
    note_fixers(&state, &module->body);
    merge_classes(&state);
    state.result.axes =
        BASE_NEW_ARRAY(arena, analysis_axis, state.extent_count + module->program_count);
    name_programs(&state);
    number_classes(&state);
    return state.result;
}

/* ---- conflicts ---- */
static bool value_is_doubled(axes_state *state, const ir_value *value) {
    for (int i = 0; ir_value_is_tile(value) && i < value->type.rank; i++)
        for (int j = i + 1; j < value->type.rank; j++)
            if (!extent_is_one(state, value->type.extent[i]) &&
                node_find(state, node_of(value, i)) == node_find(state, node_of(value, j)))
                return true;
    return false;
}

static bool any_doubled(axes_state *state, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        if (value_is_doubled(state, region->arguments[i]))
            return true;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (value_is_doubled(state, op->results[i]))
                return true;
        for (int i = 0; i < op->region_count; i++)
            if (any_doubled(state, op->regions[i]))
                return true;
    }
    return false;
}

static bool store_is_doubled(axes_state *state) {
    if (state->result.store_count == 0)
        return false;
    const analysis_store_axes *store = &state->result.stores[state->result.store_count - 1];
    for (int i = 0; i < store->rank; i++)
        for (int j = i + 1; j < store->rank; j++)
            if (store->axis[i] >= 0 && store->axis[j] >= 0 &&
                node_find(state, store->axis[i]) == node_find(state, store->axis[j]))
                return true;
    return false;
}

static const ir_op *conflict_in(axes_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        unite_op(state, op);
        if (any_doubled(state, &state->module->body) || store_is_doubled(state))
            return op;
        for (int i = 0; i < op->region_count; i++) {
            const ir_op *inner = conflict_in(state, op->regions[i]);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

const ir_op *analysis_axes_conflict(base_arena *arena, const ir_module *module) {
    axes_state state = axes_begin(arena, module);
    return conflict_in(&state, &module->body);
}

/* ---- two owners in one class ---- */
typedef struct owners {
    axes_state axes;
    const ir_value **fixers; /* of the module, in walk order */
    int64_t count, capacity;
    int64_t *first_of; /* [node of a value]: of a root, the first fixer of its class + base */
    int64_t base;      /* grows by `count` with each question, so that nothing need be reset */
    const ir_op *end;  /* the walk ends before this op is done */
    const ir_value *first, *second;
} owners;

static void list_fixers(owners *o, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->result_count == 1 && fixed_layout(op->results[0]) != NULL &&
            !extent_is_one(&o->axes, op->results[0]->type.extent[0]))
            BASE_PUSH(o->axes.arena, o->fixers, o->count, o->capacity, op->results[0]);
        for (int i = 0; i < op->region_count; i++)
            list_fixers(o, op->regions[i]);
    }
}

/* Looks at each fixer once. The node of a store is no root where it meets a value. */
static bool owners_meet(owners *o) {
    o->base += o->count;
    for (int64_t i = 0; i < o->count; i++) {
        int64_t *first = &o->first_of[node_find(&o->axes, node_of(o->fixers[i], 0))];
        if (*first < o->base) {
            *first = o->base + i;
        } else if (!fixed_alike(o->fixers[*first - o->base], o->fixers[i])) {
            o->first = o->fixers[*first - o->base];
            o->second = o->fixers[i];
            return true;
        }
    }
    return false;
}

/* The op that brings two together, or the end of the walk. What a loop or branch yields comes after
 * all that stands in it. */
static const ir_op *owners_in(owners *o, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_FOR)
            unite_carries(&o->axes, op);
        for (int i = 0; i < op->region_count; i++) {
            const ir_op *inner = owners_in(o, op->regions[i]);
            if (inner != NULL)
                return inner;
        }
        if (op == o->end)
            return op;
        unite_op(&o->axes, op);
        if (owners_meet(o))
            return op;
    }
    return NULL;
}

const ir_op *analysis_owners_conflict(base_arena *arena, const ir_module *module,
                                      const ir_value **first, const ir_value **second) {
    owners o = {.axes = axes_begin(arena, module)};
    o.first_of = BASE_NEW_ARRAY(arena, int64_t, o.axes.node_count);
    list_fixers(&o, &module->body);
    const ir_op *op = o.count < 2 ? NULL : owners_in(&o, &module->body);
    *first = o.first;
    *second = o.second;
    return op;
}

static bool lies_with(axes_state *state, const ir_value *value, const ir_value *fixer) {
    for (int i = 0; ir_value_is_tile(value) && i < value->type.rank; i++)
        if (!extent_is_one(state, value->type.extent[i]) &&
            node_find(state, node_of(value, i)) == node_find(state, node_of(fixer, 0)))
            return true;
    return false;
}

const ir_value *analysis_owners_operand(base_arena *arena, const ir_module *module, const ir_op *op,
                                        const ir_value *fixer) {
    owners o = {.axes = axes_begin(arena, module), .end = op};
    owners_in(&o, &module->body);
    for (int i = 0; i < op->operand_count; i++)
        if (lies_with(&o.axes, op->operands[i], fixer))
            return op->operands[i];
    for (int k = 0; k < op->region_count; k++) {
        const ir_op *yield = ir_region_yield(op->regions[k]);
        for (int i = 0; yield != NULL && i < yield->operand_count; i++)
            if (lies_with(&o.axes, yield->operands[i], fixer))
                return yield->operands[i];
    }
    return NULL;
}

/* ---- answers ---- */
const analysis_store_axes *analysis_axes_of_store(const analysis_axes *axes, const ir_op *store) {
    for (int64_t i = 0; i < axes->store_count; i++)
        if (axes->stores[i].op == store)
            return &axes->stores[i];
    return NULL;
}

int analysis_axes_of_last_index(const analysis_axes *axes, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_index *last = access->rank > 0 ? &access->index[access->rank - 1] : NULL;
    if (last == NULL || (last->kind != IR_INDEX_GATHER && last->kind != IR_INDEX_RANGE))
        return -1;
    if (last->kind == IR_INDEX_GATHER) {
        const ir_value *tile = op->operands[last->operand];
        return axes->of_value[tile->number][tile->type.rank - 1];
    }
    if (op->opcode == IR_STORE) {
        const analysis_store_axes *store = analysis_axes_of_store(axes, op);
        return store->axis[store->rank - 1];
    }
    const ir_value *result = op->results[0];
    return axes->of_value[result->number][result->type.rank - 1];
}

int analysis_axes_space(const analysis_axes *axes, const ir_op *op, int space[IR_MAX_RANK]) {
    const int *axis = NULL;
    int rank = 0, count = 0;
    if (op->opcode == IR_STORE) {
        const analysis_store_axes *store = analysis_axes_of_store(axes, op);
        axis = store == NULL ? NULL : store->axis;
        rank = store == NULL ? 0 : store->rank;
    } else if (op->opcode != IR_FOR && op->opcode != IR_IF && op->result_count == 1) {
        const ir_value *shaped = op->opcode == IR_REDUCE ? op->operands[0] : op->results[0];
        axis = axes->of_value[shaped->number];
        rank = shaped->type.rank;
    }
    for (int i = 0; i < rank; i++)
        if (axis[i] >= 0)
            space[count++] = axis[i];
    return count;
}
