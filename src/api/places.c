/* Where the tensors of a dispatch may lie: what a launch with other addresses has to ask, as a few
 * comparisons that are made ready when it is prepared.
 *
 *     x 4 x 100 f32, `x aligned 16` assumed     the low 4 bits of its address are 0
 *     y an output, x another tensor             [y, y + 1600) and [x, x + 1600) do not meet
 *     y an output that lies in x                y = x
 *
 * Who says no here need not be right: overlap.c and the conditions then say why, or that all is
 * well. There are no places where memory is a handle.
 */
#include "api/api_internal.h"

static uint64_t lowest_bit(uint64_t bits) {
    return bits & (0 - bits);
}

/* The greatest amount of those conditions on a tensor's address that are asked for; 1: none. */
static uint64_t largest_amount(const api_variant *variant, int parameter, bool held_only) {
    uint64_t most = 1;
    for (int64_t i = 0; i < variant->compiled.condition_count; i++) {
        const layout_condition *condition = &variant->compiled.conditions[i];
        bool of_address = condition->kind == LAYOUT_CONDITION_ALIGNED ||
                          condition->kind == LAYOUT_CONDITION_BEGINS;
        if (of_address && condition->subject == parameter && (variant->holds[i] || !held_only) &&
            (uint64_t)condition->amount > most)
            most = (uint64_t)condition->amount;
    }
    return most;
}

static api_place place_of(const croft_dispatch *dispatch, int parameter) {
    const runtime_tensor *tensor = &dispatch->tensors[parameter];
    const api_variant *variant = dispatch->variant;
    uint64_t needed = largest_amount(variant, parameter, true);
    uint64_t told = largest_amount(variant, parameter, false);
    uint64_t element = (uint64_t)tensor->element_bytes;
    api_place place = {.parameter = parameter, .bytes = api_tensor_bytes(tensor)};
    if (place.bytes > 0 && needed < element)
        needed = element;
    place.needed = needed - 1;
    place.told = told > needed ? told : needed;
    place.begins = lowest_bit(tensor->address | place.told);
    return place;
}

croft_status api_places_make(croft_dispatch *dispatch) {
    base_allocator allocator = dispatch->kernel->context->allocator;
    const ir_parameter *parameters = dispatch->variant->compiled.tile->parameters;
    if (dispatch->kernel->context->device->vtable->locate != NULL)
        return CROFT_OK;
    size_t count = (size_t)dispatch->own_pointers;
    dispatch->places = api_allocate(allocator, sizeof(api_place) * (count + 1));
    if (dispatch->places == NULL)
        return CROFT_OUT_OF_MEMORY;
    int place = 0, pairs = 0;
    for (int i = 0; i < dispatch->parameter_count; i++)
        if (parameters[i].is_tensor)
            dispatch->places[place++] = place_of(dispatch, i);
    for (int i = 0; i < place; i++)
        for (int k = 0; k < place; k++)
            pairs += api_pair_matters(dispatch, dispatch->places[i].parameter,
                                      dispatch->places[k].parameter);
    dispatch->pairs = api_allocate(allocator, sizeof(api_pair) * (size_t)(pairs + 1));
    if (dispatch->pairs == NULL)
        return CROFT_OUT_OF_MEMORY;
    dispatch->pair_capacity = pairs;
    for (int i = 0; i < place; i++)
        for (int k = 0; k < place; k++) {
            int output = dispatch->places[i].parameter, other = dispatch->places[k].parameter;
            if (api_pair_matters(dispatch, output, other))
                dispatch->pairs[dispatch->pair_count++] = (api_pair){
                    .output = i, .other = k, .one = api_pair_is_one(dispatch, output, other)};
        }
    return CROFT_OK;
}

void api_places_free(croft_dispatch *dispatch) {
    base_allocator allocator = dispatch->kernel->context->allocator;
    api_release(allocator, dispatch->places,
                sizeof(api_place) * ((size_t)dispatch->own_pointers + 1));
    api_release(allocator, dispatch->pairs,
                sizeof(api_pair) * ((size_t)dispatch->pair_capacity + 1));
}

/* Whether bytes of two tensors that reach into each other's span are the same. */
static bool meet(const croft_dispatch *dispatch, const api_pair *pair, const uint64_t *addresses) {
    runtime_tensor output = dispatch->tensors[dispatch->places[pair->output].parameter];
    runtime_tensor other = dispatch->tensors[dispatch->places[pair->other].parameter];
    output.address = addresses[pair->output];
    other.address = addresses[pair->other];
    return api_tensors_meet(&output, &other);
}

static bool pairs_hold(const croft_dispatch *dispatch, const uint64_t *addresses) {
    for (int i = 0; i < dispatch->pair_count; i++) {
        const api_pair *pair = &dispatch->pairs[i];
        const uint64_t a = addresses[pair->output], b = addresses[pair->other];
        if (pair->one ? a != b
                      : a < b + (uint64_t)dispatch->places[pair->other].bytes &&
                            b < a + (uint64_t)dispatch->places[pair->output].bytes &&
                            meet(dispatch, pair, addresses))
            return false;
    }
    return true;
}

/* There is memory, and its end is an address. */
static bool has_memory(const api_place *place, uint64_t address) {
    return place->bytes == 0 || (address != 0 && address <= UINT64_MAX - (uint64_t)place->bytes);
}

bool api_places_hold(const croft_dispatch *dispatch, const uint64_t *addresses) {
    for (int i = 0; i < dispatch->own_pointers; i++) {
        const api_place *place = &dispatch->places[i];
        if ((addresses[i] & place->needed) != 0 || !has_memory(place, addresses[i]))
            return false;
    }
    return pairs_hold(dispatch, addresses);
}

bool api_places_same(const croft_dispatch *dispatch, const uint64_t *addresses) {
    for (int i = 0; i < dispatch->own_pointers; i++) {
        const api_place *place = &dispatch->places[i];
        if (lowest_bit(addresses[i] | place->told) != place->begins ||
            !has_memory(place, addresses[i]))
            return false;
    }
    return pairs_hold(dispatch, addresses);
}
