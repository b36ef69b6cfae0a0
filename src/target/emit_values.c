/* How the values of the IR are called in the emitted text: a name per slot.
 *
 *     %t: f32(4)      t_0, t_1, t_2, t_3
 *     %n: i64         n
 *     a constant      its literal
 */
#include "target/emitter_internal.h"

bool target_emit_is_vector(const target_emitter *emitter, const ir_type *type) {
    return type->form == IR_FORM_SLOTS && emitter->dialect->vectors(emitter);
}

static target_variable *variable_create(const target_emitter *e, const ir_value *value) {
    target_variable *variable = &e->variables[value->number];
    variable->count = ir_type_slot_count(&value->type);
    variable->spread = false;
    variable->slots = BASE_NEW_ARRAY(e->arena, const char *, variable->count);
    return variable;
}

const char *target_emit_fresh(target_emitter *emitter, const char *wanted) {
    return target_names_take(&emitter->names, wanted, 1);
}

void target_emit_take_names(target_emitter *emitter, const ir_value *value, const char *fallback) {
    target_variable *variable = variable_create(emitter, value);
    const char *wanted = value->name != NULL ? value->name : fallback != NULL ? fallback : "v";
    const char *base = target_names_take(&emitter->names, wanted, variable->count);
    variable->spread = target_emit_is_spread(emitter, value);
    for (int s = 0; s < variable->count; s++)
        variable->slots[s] =
            variable->count == 1 ? base : target_emit_text(emitter, "%s_%d", base, s);
}

void target_emit_alias(target_emitter *emitter, const ir_value *value, const char *name) {
    target_variable *variable = variable_create(emitter, value);
    for (int s = 0; s < variable->count; s++)
        variable->slots[s] = name;
}

void target_emit_rename(target_emitter *emitter, const ir_value *value, const ir_value *from,
                        const int64_t *slots) {
    const target_variable *source = &emitter->variables[from->number];
    target_variable *variable = variable_create(emitter, value);
    variable->spread = source->spread;
    for (int s = 0; s < variable->count; s++) {
        int64_t slot = slots != NULL ? slots[s] : s;
        variable->slots[s] = source->slots[slot < source->count ? slot : 0];
    }
}

const char *target_emit_name(const target_emitter *emitter, const ir_value *value, int slot) {
    return target_emit_part_name(emitter, value, slot, emitter->part);
}

const char *target_emit_variable(const target_emitter *emitter, const ir_value *value, int slot) {
    return emitter->variables[value->number].slots[slot];
}

const char *target_emit_part_name(const target_emitter *emitter, const ir_value *value, int slot,
                                  const char *part) {
    const target_variable *variable = &emitter->variables[value->number];
    const char *name = variable->slots[slot < variable->count ? slot : 0];
    return variable->spread ? target_emit_text(emitter, "%s[%s]", name, part) : name;
}

const char *target_emit_operand(target_emitter *emitter, const ir_value *value, int slot,
                                bool vector) {
    const char *name = target_emit_name(emitter, value, slot);
    if (vector && value->type.form != IR_FORM_SLOTS)
        return emitter->dialect->splat(emitter, value->type.dtype, name);
    return name;
}

const char *target_emit_type(const target_emitter *emitter, const ir_value *value) {
    return emitter->dialect->type(emitter, value->type.dtype,
                                  target_emit_is_vector(emitter, &value->type));
}

void target_emit_declare(target_emitter *emitter, const ir_value *value, int slot) {
    const target_variable *variable = &emitter->variables[value->number];
    if (variable->spread)
        emitter->dialect->spread(emitter, value->type.dtype, variable->slots[slot]);
    else
        target_emit_outside(emitter, "%s %s;", target_emit_type(emitter, value),
                            variable->slots[slot]);
}

void target_emit_define(target_emitter *emitter, const ir_value *value, int slot,
                        const char *expression) {
    const char *name = target_emit_name(emitter, value, slot);
    if (emitter->variables[value->number].spread) {
        target_emit_declare(emitter, value, slot);
        target_emit_line(emitter, "%s = %s;", name, expression);
        return;
    }
    const char *type = target_emit_type(emitter, value);
    if (value->type.form == IR_FORM_UNIFORM)
        target_emit_outside(emitter, "const %s %s = %s;", type, name, expression);
    else
        target_emit_line(emitter, "const %s %s = %s;", type, name, expression);
}
