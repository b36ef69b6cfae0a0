/* Tiles of the FP64 reference: shape, memory, broadcast, poison.
 *
 *     f32<4> with domain 3:   value 1.5 2.0 0.0 NaN    error 0 0 0 0
 *
 * Poison is a certain NaN and not a loose one: should it reach an output, the comparison fails.
 */
#include "sim/reference_internal.h"

#include "base/checked.h"

#include <string.h>

const int64_t sim_poison_integer = INT64_C(0x5a5a5a5a5a5a5a5a);

void *sim_array(base_arena *arena, int64_t count, size_t element_size) {
    if ((uint64_t)count > (SIZE_MAX / 2) / element_size)
        return base_arena_alloc(arena, SIZE_MAX);
    return base_arena_alloc(arena, (size_t)count * element_size);
}

/* Shape and domain from the type; the domains are scalars of the program that runs. */
static void tile_set_shape(sim_machine *machine, sim_tile *tile, const ir_type *type) {
    tile->dtype = type->dtype;
    tile->rank = type->rank;
    tile->domain_open = false;
    tile->count = 1;
    for (int a = 0; a < type->rank; a++) {
        int64_t extent = 0;
        if (!layout_extent_evaluate(type->extent[a], machine->sizes, &extent))
            extent = INT64_MAX;
        tile->extent[a] = extent < 0 ? 0 : extent;
        tile->domain[a] = tile->extent[a];
        if (type->domain[a] != NULL) {
            const sim_tile *domain = sim_tile_of(machine, type->domain[a]);
            int64_t inside = domain->integer[0] < 0 ? 0 : domain->integer[0];
            if (inside < tile->domain[a])
                tile->domain[a] = inside;
            tile->domain_open |= domain->error[0] > 0.0;
        }
    }
    for (int a = 0; a < type->rank; a++)
        if (tile->extent[a] == 0)
            tile->count = 0;
    for (int a = 0; a < type->rank; a++)
        if (!base_checked_mul(tile->count, tile->extent[a], &tile->count))
            tile->count = INT64_MAX;
}

static void tile_reserve(base_arena *arena, sim_tile *tile) {
    if (tile->count <= tile->capacity && tile->error != NULL)
        return;
    int64_t count = tile->count > 0 ? tile->count : 1;
    if (base_dtype_is_float(tile->dtype))
        tile->value = sim_array(arena, count, sizeof(double));
    else
        tile->integer = sim_array(arena, count, sizeof(int64_t));
    tile->error = sim_array(arena, count, sizeof(double));
    tile->capacity = count;
}

sim_tile *sim_tile_begin(sim_machine *machine, const ir_value *value) {
    sim_tile *tile = sim_tile_of(machine, value);
    tile_set_shape(machine, tile, &value->type);
    tile_reserve(machine->arena, tile);
    return tile;
}

void sim_tile_view(sim_machine *machine, const ir_value *value, const sim_tile *source) {
    sim_tile *tile = sim_tile_of(machine, value);
    tile_set_shape(machine, tile, &value->type);
    tile->value = source->value;
    tile->integer = source->integer;
    tile->error = source->error;
    tile->capacity = 0;
}

void sim_tile_poison(sim_tile *tile, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) {
        if (sim_tile_is_float(tile))
            tile->value[i] = (double)NAN;
        else
            tile->integer[i] = sim_poison_integer;
        tile->error[i] = 0.0;
    }
}

void sim_tile_loosen(sim_tile *tile) {
    for (int64_t i = 0; i < tile->count; i++)
        tile->error[i] = (double)INFINITY;
}

void sim_tile_position(const sim_tile *tile, int64_t flat, int64_t position[IR_MAX_RANK]) {
    for (int a = tile->rank - 1; a >= 0; a--) {
        position[a] = flat % tile->extent[a];
        flat /= tile->extent[a];
    }
}

bool sim_tile_inside(const sim_tile *tile, const int64_t position[IR_MAX_RANK], int axes) {
    for (int a = 0; a < axes; a++)
        if (position[a] >= tile->domain[a])
            return false;
    return true;
}

static sim_operand operand_direct(const sim_tile *tile, int64_t stride) {
    return (sim_operand){tile->value, tile->integer, tile->error, stride};
}

/* Copies a tile with axes of extent 1 to the whole shape. */
static void tile_spread(const sim_tile *tile, sim_tile *copy) {
    int64_t stride[IR_MAX_RANK] = {0}, weight = 1;
    for (int a = tile->rank - 1; a >= 0; a--) {
        stride[a] = tile->extent[a] == 1 ? 0 : weight;
        weight *= tile->extent[a];
    }
    int64_t position[IR_MAX_RANK] = {0};
    for (int64_t i = 0; i < copy->count; i++) {
        sim_tile_position(copy, i, position);
        int64_t from = 0;
        for (int a = 0; a < tile->rank; a++)
            from += position[a] * stride[a];
        if (sim_tile_is_float(tile))
            copy->value[i] = tile->value[from];
        else
            copy->integer[i] = tile->integer[from];
        copy->error[i] = tile->error[from];
    }
}

sim_operand sim_operand_of(sim_machine *machine, const sim_tile *tile, const sim_tile *shape,
                           int scratch) {
    if (tile->count == 1)
        return operand_direct(tile, 0);
    if (tile->count == shape->count)
        return operand_direct(tile, 1);
    sim_tile *copy = &machine->scratch[scratch];
    if (base_dtype_is_float(copy->dtype) != sim_tile_is_float(tile))
        copy->capacity = 0;
    copy->dtype = tile->dtype;
    copy->rank = shape->rank;
    memcpy(copy->extent, shape->extent, sizeof copy->extent);
    copy->count = shape->count;
    tile_reserve(machine->arena, copy);
    tile_spread(tile, copy);
    return operand_direct(copy, 1);
}

void sim_tile_assign(sim_machine *machine, sim_tile *to, const sim_tile *from) {
    sim_operand source = sim_operand_of(machine, from, to, 0);
    bool is_float = sim_tile_is_float(to);
    for (int64_t i = 0; i < to->count; i++) {
        if (is_float)
            to->value[i] = source.value[i * source.stride];
        else
            to->integer[i] = source.integer[i * source.stride];
        to->error[i] = source.error[i * source.stride];
    }
}
