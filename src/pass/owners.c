/* Owners that the kernel fixes, as passes of level tile see them before there is a plan.
 *
 *     %i = arange 64                          free
 *     %u = load %x[gather %i]
 *     %v = convert %u layout lane 8 | ...
 *     %k = arange 64                          lies with %v: not the same op as %i
 *     %w = load %z[gather %k]
 *     %s = add %v, %w
 *
 * Equal ops on tiles of differently fixed classes compute the same elements for different owners;
 * one op for both would bring two layouts into one class.
 */
#include "pass/simplify.h"

static bool any_fixed(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->attributes.layout != NULL)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (any_fixed(op->regions[i]))
                return true;
    }
    return false;
}

const analysis_axes *pass_owners_find(const ir_module *module) {
    if (module->level != IR_TILE || !any_fixed(&module->body))
        return NULL;
    analysis_axes *axes = BASE_NEW(module->arena, analysis_axes);
    *axes = analysis_axes_find(module->arena, module);
    return axes;
}

static const layout_axis *owner_of(const analysis_axes *owners, const ir_value *value, int i) {
    int axis = owners->of_value[value->number][i];
    return axis < 0 ? NULL : owners->axes[axis].fixed;
}

bool pass_owners_same(const analysis_axes *owners, const ir_value *a, const ir_value *b) {
    for (int i = 0; owners != NULL && i < a->type.rank; i++) {
        const layout_axis *x = owner_of(owners, a, i), *y = owner_of(owners, b, i);
        if ((x == NULL) != (y == NULL) || (x != NULL && !layout_axis_equal(x, y)))
            return false;
    }
    return true;
}

uint64_t pass_owners_hash(const analysis_axes *owners, uint64_t hash, const ir_value *value) {
    for (int i = 0; owners != NULL && i < value->type.rank; i++)
        hash = pass_hash_layout(hash, owner_of(owners, value, i));
    return hash;
}
