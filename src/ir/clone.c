/* Clones: a module copied op by op into another arena.
 *
 *     compile       tile = lower(kernel)   module = ir_module_clone(arena, tile)   map(module)
 *     the runner    before = ir_module_clone(arena, module)   fold(module)   compare the two
 *
 * Values are copied when they are first met, wherever that is, so that uses before definitions (in
 * broken modules, domains) need no second walk. Size formulas are copied in the order of their
 * pool: operands stand before what they are operands of. Fields without pointers are copied with
 * the struct that holds them; a new field that holds a pointer needs a line here.
 */
#include "ir/clone.h"

#include <string.h>

typedef struct cloner {
    base_arena *arena;
    const ir_module *from;
    ir_module *to;
    ir_value **values; /* [number] */
} cloner;

static ir_region *clone_owned_region(cloner *c, const ir_region *region, ir_op *owner);

static const char *clone_text(cloner *c, const char *text) {
    return text == NULL ? NULL : base_arena_copy(c->arena, text, strlen(text));
}

static void *clone_bytes(cloner *c, const void *bytes, size_t size) {
    void *copy = base_arena_alloc(c->arena, size);
    if (bytes != NULL && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

/* ---- sizes ---- */
static const layout_extent *clone_extent(const cloner *c, const layout_extent *extent) {
    return extent == NULL ? NULL : c->to->extents.nodes[extent->id];
}

static void clone_extents(cloner *c) {
    const layout_extents *from = &c->from->extents;
    layout_extents *to = &c->to->extents;
    *to = *from;
    to->arena = c->arena;
    to->nodes = BASE_NEW_ARRAY(c->arena, layout_extent *, from->count);
    to->capacity = from->count;
    for (int64_t i = 0; i < from->count; i++) {
        layout_extent *node = clone_bytes(c, from->nodes[i], sizeof *node);
        to->nodes[i] = node;
        node->left = clone_extent(c, node->left);
        node->right = clone_extent(c, node->right);
    }
    to->buckets = clone_bytes(c, from->buckets, sizeof *from->buckets * (size_t)from->bucket_count);
    to->symbols = clone_bytes(c, from->symbols, sizeof *from->symbols * (size_t)from->symbol_count);
    to->symbol_capacity = from->symbol_count;
    for (int64_t i = 0; i < to->symbol_count; i++)
        to->symbols[i].name = clone_text(c, to->symbols[i].name);
}

/* ---- values ---- */
static ir_value *clone_value(cloner *c, const ir_value *value) {
    if (value == NULL)
        return NULL;
    ir_value **copy = &c->values[value->number];
    if (*copy != NULL)
        return *copy;
    *copy = clone_bytes(c, value, sizeof *value);
    (*copy)->definer = NULL; /* set where the definition is met */
    (*copy)->region = NULL;
    (*copy)->name = clone_text(c, value->name);
    for (int i = 0; i < IR_MAX_RANK; i++) {
        (*copy)->type.extent[i] = clone_extent(c, value->type.extent[i]);
        (*copy)->type.domain[i] = clone_value(c, value->type.domain[i]);
    }
    (*copy)->type.scratch = clone_value(c, value->type.scratch);
    return c->values[value->number];
}

static ir_value **clone_values(cloner *c, int count, ir_value *const *values) {
    ir_value **copies = BASE_NEW_ARRAY(c->arena, ir_value *, count);
    for (int i = 0; i < count; i++)
        copies[i] = clone_value(c, values[i]);
    return copies;
}

/* ---- ops ---- */
static void clone_list(cloner *c, ir_list *list) {
    list->items = clone_bytes(c, list->items, sizeof *list->items * (size_t)list->count);
}

static void clone_attributes(cloner *c, ir_attributes *attributes) {
    attributes->extent = clone_extent(c, attributes->extent);
    clone_list(c, &attributes->lanes);
    clone_list(c, &attributes->slots);
    if (attributes->layout != NULL)
        attributes->layout = clone_bytes(c, attributes->layout, sizeof *attributes->layout);
    if (attributes->access == NULL)
        return;
    attributes->access = clone_bytes(c, attributes->access, sizeof *attributes->access);
    for (int i = 0; i < IR_MAX_RANK; i++)
        attributes->access->index[i].length = clone_extent(c, attributes->access->index[i].length);
}

static ir_op *clone_op(cloner *c, const ir_op *op) {
    ir_op *copy = clone_bytes(c, op, sizeof *op);
    copy->parent = NULL;
    copy->previous = copy->next = NULL;
    copy->operands = clone_values(c, op->operand_count, op->operands);
    copy->results = clone_values(c, op->result_count, op->results);
    for (int i = 0; i < op->result_count; i++)
        copy->results[i]->definer = copy;
    copy->anchor = clone_text(c, op->anchor);
    copy->attributes.array = clone_text(c, op->attributes.array);
    clone_attributes(c, &copy->attributes);
    for (int i = 0; i < op->region_count; i++)
        copy->regions[i] = clone_owned_region(c, op->regions[i], copy);
    return copy;
}

static void clone_region(cloner *c, const ir_region *from, ir_region *to) {
    to->argument_count = from->argument_count;
    to->arguments = clone_values(c, from->argument_count, from->arguments);
    for (int i = 0; i < to->argument_count; i++)
        to->arguments[i]->region = to;
    for (const ir_op *op = from->first; op != NULL; op = op->next)
        ir_op_append(to, clone_op(c, op));
}

static ir_region *clone_owned_region(cloner *c, const ir_region *region, ir_op *owner) {
    ir_region *copy = BASE_NEW(c->arena, ir_region);
    copy->owner = owner;
    clone_region(c, region, copy);
    return copy;
}

/* ---- the module ---- */
static void clone_parameters(cloner *c) {
    ir_module *to = c->to;
    to->parameters =
        clone_bytes(c, c->from->parameters, sizeof *to->parameters * (size_t)to->parameter_count);
    for (int i = 0; i < to->parameter_count; i++) {
        to->parameters[i].name = clone_text(c, to->parameters[i].name);
        to->parameters[i].value = clone_value(c, to->parameters[i].value);
    }
    to->checks = clone_bytes(c, c->from->checks, sizeof *to->checks * (size_t)to->check_count);
    to->check_capacity = to->check_count;
    for (int64_t i = 0; i < to->check_count; i++)
        to->checks[i].expected = clone_extent(c, to->checks[i].expected);
}

static void clone_axes(cloner *c) {
    ir_module *to = c->to;
    for (int i = 0; i < to->program_count; i++) {
        to->programs[i].name = clone_text(c, to->programs[i].name);
        to->programs[i].extent = clone_extent(c, to->programs[i].extent);
    }
    to->axes = clone_bytes(c, c->from->axes, sizeof *to->axes * (size_t)to->axis_count);
    for (int i = 0; i < to->axis_count; i++) {
        to->axes[i].anchor = clone_text(c, to->axes[i].anchor);
        to->axes[i].extent = clone_extent(c, to->axes[i].extent);
        to->axes[i].digits.shift = clone_text(c, to->axes[i].digits.shift);
    }
    to->groups = clone_extent(c, to->groups);
    to->conditions =
        clone_bytes(c, c->from->conditions, sizeof *to->conditions * (size_t)to->condition_count);
    to->condition_capacity = to->condition_count;
}

ir_module *ir_module_clone(base_arena *arena, const ir_module *module) {
    cloner c = {.arena = arena, .from = module};
    c.to = clone_bytes(&c, module, sizeof *module);
    c.values = BASE_NEW_ARRAY(arena, ir_value *, module->next_value);
    c.to->arena = arena;
    c.to->name = clone_text(&c, module->name);
    c.to->machine = clone_text(&c, module->machine);
    clone_extents(&c);
    clone_parameters(&c);
    clone_axes(&c);
    if (module->implements != NULL)
        c.to->implements = ir_module_clone(arena, module->implements);
    c.to->body = (ir_region){0};
    clone_region(&c, &module->body, &c.to->body);
    return c.to;
}
