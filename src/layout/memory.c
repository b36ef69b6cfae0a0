/* What accesses cost, by ranks.
 *
 * The addresses of one access are an affine space, so the number of different words, banks, sectors
 * or lines among them is a power of two: 2 to the rank of the columns, cut down to the bits that
 * number words, banks, sectors or lines. All accesses of a bit layout cost the same.
 *
 *     lane columns 32 64 128 256 512 (a column of a row of 32 words): words 2^5, banks 2^0: degree
 *     32; sectors of 8 words: all 32 different
 */
#include "layout/memory.h"

/* Rank of (column >> shift) & mask. */
static int rank_cut(const uint32_t *column, int count, int shift, uint32_t mask) {
    uint32_t cut[2 * LAYOUT_MAX_BITS];
    for (int i = 0; i < count; i++)
        cut[i] = column[i] >> shift & mask;
    return layout_space_reduce(cut, count);
}

int layout_bank_conflicts(const uint32_t *column, int lane_bits, int banks, int width_words) {
    int width_bits = layout_log2(width_words), bank_bits = layout_log2(banks) - width_bits;
    int lanes = lane_bits < bank_bits ? lane_bits : bank_bits;
    if (bank_bits < 0)
        return 1;
    int words = rank_cut(column, lanes, width_bits, ~(uint32_t)0);
    return 1 << (words - rank_cut(column, lanes, width_bits, (1u << bank_bits) - 1));
}

int64_t layout_contiguity_bits(const layout_bits *bits) {
    int threads = layout_bits_threads(bits), run = 0;
    while (run < bits->slot_bits && bits->column[threads + run] == 1u << run)
        run++;
    /* Low index bits that anything else moves do not count. */
    uint32_t others = bits->constant;
    for (int p = 0; p < layout_bits_positions(bits); p++)
        if (p < threads || p >= threads + run)
            others |= bits->column[p];
    while (run > 0 && others & ((1u << run) - 1))
        run--;
    return (int64_t)1 << run;
}

layout_traffic layout_traffic_of_bits(const layout_bits *bits, int64_t element_bytes,
                                      int64_t width) {
    uint32_t column[2 * LAYOUT_MAX_BITS];
    int count = 0, threads = layout_bits_threads(bits), width_bits = layout_log2(width);
    if (width_bits > bits->slot_bits)
        width_bits = bits->slot_bits;
    for (int p = 0; p < bits->lane_bits; p++)
        column[count++] = bits->column[p];
    for (int b = 0; b < width_bits; b++)
        column[count++] = bits->column[threads + b];
    int sector =
        layout_log2(LAYOUT_SECTOR_BYTES) - layout_log2(element_bytes); /* index bits within one */
    layout_traffic traffic = {
        .sectors = (int64_t)1 << rank_cut(column, count, sector, ~(uint32_t)0),
        .half_lines = (int64_t)1 << rank_cut(column, count, sector + 1, ~(uint32_t)0),
        .lines = (int64_t)1 << rank_cut(column, count, sector + 2, ~(uint32_t)0),
        .accesses = (int64_t)1 << (layout_bits_positions(bits) - bits->lane_bits - width_bits)};
    traffic.total_sectors = traffic.sectors * traffic.accesses;
    traffic.whole = true;
    return traffic;
}
