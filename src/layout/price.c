/* The price of a conversion by either mechanism, from the costs of a machine.
 *
 *     shuffles   count * shuffle + selects * select
 *     scratch    stores + loads, each access * (1 + further waves), + 2 barriers a round
 *
 * Elements under 4 bytes: a shuffle moves a whole register, so values that keep each other's
 * company (slot bits that choose no lane) go packed, for one select to pack and one to unpack a
 * register; in scratch they share words where such slots are vectors on both sides, else each has a
 * word of its own. Elements of 8 bytes are two registers.
 *
 *     identity(2048, slots=8) -> its bits reversed, 4 bytes: 8 shuffles and no select, against 8
 *     stores and 8 loads and 2 barriers, whichever the machine finds cheaper
 *
 * Not here: latency that other subgroups hide, and address arithmetic.
 */
#include "layout/memory.h"

enum { WORD_BYTES = 4, VECTOR_BYTES = 16 };

static int64_t at_least_one(int64_t value) {
    return value > 1 ? value : 1;
}

static int rank_of(const uint32_t *columns, int count) {
    uint32_t copy[LAYOUT_MAX_BITS];
    for (int i = 0; i < count; i++)
        copy[i] = columns[i];
    return layout_space_reduce(copy, count);
}

/* ---- shuffles ---- */

static double price_shuffles(const layout_conversion *conversion, int64_t element_bytes,
                             const layout_costs *costs, int packing_bits, layout_price *price) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    int registers = (int)at_least_one(element_bytes / WORD_BYTES);
    int packed = ((1 << shuffle->source_slot_bits) + (1 << shuffle->slot_bits)) >> packing_bits;
    price->packing = 1 << packing_bits;
    price->shuffle_count = (shuffle->shuffles >> packing_bits) * registers;
    price->select_count = shuffle->selects * registers;
    if (packing_bits > 0 && price->shuffle_count > 0)
        price->select_count += packed;
    return price->shuffle_count * costs->shuffle + price->select_count * costs->select;
}

/* Slot bits that choose other registers of the same lane: they may share a register. */
static int packing_bits(const layout_conversion *conversion, int64_t element_bytes) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    int together = rank_of(conversion->matrix + shuffle->thread_bits, shuffle->slot_bits) -
                   rank_of(shuffle->offset, shuffle->slot_bits);
    int wanted = layout_log2(at_least_one(WORD_BYTES / element_bytes));
    return together < wanted ? together : wanted;
}

static void price_by_shuffles(const layout_conversion *conversion, int64_t element_bytes,
                              const layout_costs *costs, layout_price *price) {
    price->shuffles = -1;
    if (conversion->class_ >= LAYOUT_SCRATCH)
        return;
    for (int bits = packing_bits(conversion, element_bytes); bits >= 0; bits--) {
        layout_price packed = *price;
        packed.shuffles = price_shuffles(conversion, element_bytes, costs, bits, &packed);
        if (price->shuffles < 0 || packed.shuffles < price->shuffles)
            *price = packed;
    }
}

/* ---- scratch ---- */

/* Slot bits of one copy: what the canonical owners store. */
static int stored_slot_bits(const layout_bits *source) {
    uint32_t kernel[LAYOUT_MAX_BITS];
    int dimension = layout_bits_kernel(source, kernel), bits = source->slot_bits;
    for (int i = 0; i < dimension; i++)
        bits -= kernel[i] >> layout_bits_threads(source) != 0; /* its greatest bit is a slot */
    return bits;
}

static int conflicts_of(const layout_bits *bits, const layout_swizzle *swizzle, int vector_bits,
                        int64_t place_bytes, int64_t banks) {
    uint32_t words[LAYOUT_MAX_BITS];
    for (int p = 0; p < bits->lane_bits; p++)
        words[p] =
            (uint32_t)(layout_swizzle_address(swizzle, bits->column[p]) * place_bytes / WORD_BYTES);
    int64_t width = at_least_one((place_bytes << vector_bits) / WORD_BYTES);
    return layout_bank_conflicts(words, bits->lane_bits, (int)banks, (int)width);
}

static double price_access(const layout_bits *bits, int vector_bits, int64_t place_bytes,
                           int conflicts, double access, const layout_costs *costs) {
    int64_t bytes = place_bytes << (bits->lane_bits + vector_bits);
    int64_t waves = costs->banks > 1 ? at_least_one(bytes / (costs->banks * WORD_BYTES)) : 1;
    return access + costs->wave * (double)(waves * conflicts - 1);
}

/* Rounds, so that what stands in scratch at once fits; 0 = it cannot. A vector's slots stay in one
 * round. */
static int64_t rounds_to_fit(const layout_conversion *conversion, int vector_bits, int64_t bytes,
                             int64_t scratch_bytes) {
    int bits = 0;
    while (bytes >> bits > scratch_bytes)
        bits++;
    return bits == 0 || bits + vector_bits <= conversion->repeat_bits ? (int64_t)1 << bits : 0;
}

/* One shape of vectors: a place is an element, or a word that an element has for itself. */
static bool price_vectors(const layout_conversion *conversion, int store_bits, int load_bits,
                          int64_t place_bytes, const layout_costs *costs, layout_price *price,
                          layout_swizzle *swizzle) {
    const layout_bits *source = &conversion->source, *destination = &conversion->destination;
    int bank_bits = layout_log2(at_least_one(costs->banks * WORD_BYTES / place_bytes));
    int store_slots = stored_slot_bits(source);
    int load_slots =
        rank_of(destination->column + layout_bits_threads(destination), destination->slot_bits);
    if (store_bits > store_slots || load_bits > load_slots ||
        !layout_swizzle_make(source, destination, store_bits, load_bits, bank_bits, swizzle))
        return false;
    int shared = store_bits < load_bits ? load_bits : store_bits;
    int64_t bytes = place_bytes << source->index_bits;
    price->repetitions = rounds_to_fit(conversion, shared, bytes, costs->scratch_bytes);
    if (price->repetitions == 0)
        return false;
    price->scratch_bytes = bytes / price->repetitions;
    price->store_vector = 1 << store_bits;
    price->load_vector = 1 << load_bits;
    price->stores = (int64_t)1 << (store_slots - store_bits);
    price->loads = (int64_t)1 << (load_slots - load_bits);
    price->store_conflicts = conflicts_of(source, swizzle, store_bits, place_bytes, costs->banks);
    price->load_conflicts =
        conflicts_of(destination, swizzle, load_bits, place_bytes, costs->banks);
    price->scratch =
        (double)price->stores * price_access(source, store_bits, place_bytes,
                                             price->store_conflicts, costs->store, costs) +
        (double)price->loads * price_access(destination, load_bits, place_bytes,
                                            price->load_conflicts, costs->load, costs) +
        2 * costs->barrier * (double)price->repetitions;
    return true;
}

/* Cheaper, or as cheap with fewer instructions. */
static bool is_better(const layout_price *candidate, const layout_price *price) {
    if (price->scratch < 0 || candidate->scratch != price->scratch)
        return price->scratch < 0 || candidate->scratch < price->scratch;
    return candidate->stores + candidate->loads < price->stores + price->loads;
}

/* The cheapest vectors for places of a size. Elements that share words go at least a word at once,
 * on both sides. */
static void price_places(const layout_conversion *conversion, int64_t place_bytes,
                         const layout_costs *costs, layout_price *price, layout_swizzle *swizzle) {
    int least = layout_log2(at_least_one(WORD_BYTES / place_bytes));
    int most = costs->banks > 1 ? layout_log2(at_least_one(VECTOR_BYTES / place_bytes)) : 0;
    for (int store_bits = least; store_bits <= most; store_bits++)
        for (int load_bits = least; load_bits <= most; load_bits++) {
            layout_price candidate = *price;
            layout_swizzle made;
            if (!price_vectors(conversion, store_bits, load_bits, place_bytes, costs, &candidate,
                               &made) ||
                !is_better(&candidate, price))
                continue;
            *price = candidate;
            if (swizzle != NULL)
                *swizzle = made;
        }
}

layout_price layout_price_of_bits(const layout_conversion *conversion, int64_t element_bytes,
                                  const layout_costs *costs, layout_swizzle *swizzle) {
    layout_price price = {.scratch = -1};
    price_by_shuffles(conversion, element_bytes, costs, &price);
    price_places(conversion, element_bytes, costs, &price, swizzle);
    if (element_bytes < WORD_BYTES)
        price_places(conversion, WORD_BYTES, costs, &price, swizzle);
    return price;
}
