/* Labels: the name that a value has in the text of its module.
 *
 * A value is written by its source name when no other value has it, by `name.position` when several
 * have, by its position when it has none. Position counts definitions in text order (parameters,
 * then for each op its results, the arguments of its regions, what stands inside), so that text
 * depends on neither the history of a module nor on pointers, and a reader that numbers values as
 * they come prints the same labels.
 *
 *     %x: in f32[N]      %t.3 = load ...      %4 = sub %t.3, %m
 */
#include "ir/print_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* A letter or `_`, then letters, digits and `_`; bytes past ASCII count as letters. */
static bool name_is_plain(const char *name) {
    if (name == NULL || !letter(name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!letter(*c) && !(*c >= '0' && *c <= '9'))
            return false;
    return true;
}

typedef struct walk {
    ir_labels *labels;
    int64_t position;
} walk;

static void define(walk *w, const ir_value *value, const char *name) {
    if (value == NULL || value->number < 0 || value->number >= w->labels->count)
        return;
    ir_label *label = &w->labels->items[value->number];
    label->name = name_is_plain(name) ? name : NULL;
    label->position = w->position++;
}

static void define_arguments(walk *w, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        define(w, region->arguments[i], region->arguments[i]->name);
}

static void define_region(walk *w, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            define(w, op->results[i], op->results[i]->name);
        for (int i = 0; i < op->region_count; i++) {
            define_arguments(w, op->regions[i]);
            define_region(w, op->regions[i]);
        }
    }
}

static int compare_names(const void *a, const void *b) {
    const ir_label *const *left = a, *const *right = b;
    int order = strcmp((*left)->name, (*right)->name);
    if (order != 0)
        return order;
    return (*left)->position < (*right)->position ? -1 : 1;
}

static void mark_shared(base_arena *arena, ir_labels *labels) {
    ir_label **named = BASE_NEW_ARRAY(arena, ir_label *, labels->count);
    int64_t count = 0;
    for (int64_t i = 0; i < labels->count; i++)
        if (labels->items[i].position >= 0 && labels->items[i].name != NULL)
            named[count++] = &labels->items[i];
    qsort(named, (size_t)count, sizeof *named, compare_names);
    for (int64_t i = 1; i < count; i++)
        if (strcmp(named[i - 1]->name, named[i]->name) == 0)
            named[i - 1]->shared = named[i]->shared = true;
}

ir_labels ir_labels_find(base_arena *arena, const ir_module *module) {
    ir_labels labels = {.count = module->next_value};
    labels.items = BASE_NEW_ARRAY(arena, ir_label, labels.count);
    for (int64_t i = 0; i < labels.count; i++)
        labels.items[i].position = -1;
    walk w = {.labels = &labels};
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor)
            define(&w, module->parameters[i].value, module->parameters[i].name);
    define_arguments(&w, &module->body);
    define_region(&w, &module->body);
    mark_shared(arena, &labels);
    return labels;
}

void ir_label_print(base_text *out, const ir_labels *labels, const ir_value *value) {
    if (value == NULL) {
        base_text_string(out, "%?");
        return;
    }
    const ir_label *label =
        value->number >= 0 && value->number < labels->count ? &labels->items[value->number] : NULL;
    if (label == NULL || label->position < 0)
        base_text_format(out, "%%?%" PRId32, value->number);
    else if (label->name == NULL)
        base_text_format(out, "%%%" PRId64, label->position);
    else if (label->shared)
        base_text_format(out, "%%%s.%" PRId64, label->name, label->position);
    else
        base_text_format(out, "%%%s", label->name);
}
