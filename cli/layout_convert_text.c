/* A conversion as text: class, owner map, the four steps inside a subgroup, scratch, prices.
 *
 *     owner map    source position = M * destination position ^ c
 *       lane 1       <- lane 8
 *       slot 1       <- lane 1 ^ slot 1
 *     shuffles     2, selects 4
 *
 * The map of lanes shows the first slots and at most 32 threads of the first subgroup.
 */
#include "layout.h"

#include "layout_words.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAP_SLOTS = 4, MAP_LANES = 32, ROW_LANES = 16, LISTED_SLOTS = 32 };

void cli_layout_mask_words(base_text *out, const layout_bits *bits, uint32_t mask) {
    const struct {
        const char *holder;
        int bits;
    } parts[] = {{"lane", bits->lane_bits},
                 {"subgroup", bits->subgroup_bits},
                 {"block", bits->block_bits},
                 {"slot", bits->slot_bits}};
    const char *separator = "";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        uint32_t number = mask & ((1u << parts[i].bits) - 1);
        mask >>= parts[i].bits;
        if (number == 0)
            continue;
        base_text_format(out, "%s%s %" PRIu32, separator, parts[i].holder, number);
        separator = " ^ ";
    }
    if (separator[0] == '\0')
        base_text_string(out, "0");
}

/* ---- owner map ---- */
static void print_columns(base_text *out, const layout_conversion *conversion) {
    base_text_string(out, "owner map    source position = M * destination position ^ c\n");
    for (int p = 0; p < conversion->position_bits; p++) {
        int64_t start = out->length;
        base_text_string(out, "  ");
        cli_layout_mask_words(out, &conversion->destination, 1u << p);
        while (out->length - start < 15)
            base_text_string(out, " ");
        base_text_string(out, "<- ");
        cli_layout_mask_words(out, &conversion->source, conversion->matrix[p]);
        base_text_string(out, "\n");
    }
    base_text_string(out, "  c            = ");
    cli_layout_mask_words(out, &conversion->source, conversion->constant);
    base_text_string(out, "\n");
}

/* What the destination's thread and slot owns: the source's cell; `-` for nothing. */
static void source_cell(base_text *out, const cli_layout_view views[2], int64_t thread,
                        int64_t slot) {
    layout_position asking = cli_layout_position(&views[1], thread, slot), owner;
    int64_t index[LAYOUT_MAX_RANK];
    out->length = 0;
    if (!layout_tile_logical(&views[1].tile, &asking, index) ||
        !layout_tile_owner(&views[0].tile, index, &owner))
        base_text_string(out, "-");
    else
        cli_layout_cell(out, &views[0], &owner);
}

/* The same by the map itself, which takes the nearest of several copies. */
static void mapped_cell(base_text *out, const cli_layout_view views[2],
                        const layout_conversion *conversion, int64_t thread, int64_t slot) {
    int thread_bits = layout_bits_threads(&conversion->destination);
    uint32_t asking = (uint32_t)thread | (uint32_t)slot << thread_bits;
    uint32_t owner = layout_conversion_source(conversion, asking);
    layout_position position = cli_layout_position(&views[0], owner & ((1u << thread_bits) - 1),
                                                   (int64_t)(owner >> thread_bits));
    out->length = 0;
    cli_layout_cell(out, &views[0], &position);
}

typedef struct source_map {
    const cli_layout_view *views;
    const layout_conversion *conversion;
    int64_t lanes, slots; /* shown */
    base_text cell;
    int width;
} source_map;

static void set_cell(source_map *m, int64_t lane, int64_t slot) {
    if (m->conversion->linear)
        mapped_cell(&m->cell, m->views, m->conversion, lane, slot);
    else
        source_cell(&m->cell, m->views, lane, slot);
}

static void measure_cells(source_map *m) {
    m->width = 2;
    for (int64_t slot = 0; slot < m->slots; slot++) {
        for (int64_t lane = 0; lane < m->lanes; lane++) {
            set_cell(m, lane, slot);
            m->width = m->cell.length > m->width ? (int)m->cell.length : m->width;
        }
    }
}

static void print_lanes(base_text *out, source_map *m, int64_t first, int64_t end) {
    base_text_string(out, "  lane   |");
    for (int64_t lane = first; lane < end; lane++)
        base_text_format(out, " %*" PRId64, m->width, lane);
    for (int64_t slot = 0; slot < m->slots; slot++) {
        base_text_format(out, "\n  slot %-2" PRId64 "|", slot);
        for (int64_t lane = first; lane < end; lane++) {
            set_cell(m, lane, slot);
            base_text_format(out, " %*s", m->width, m->cell.bytes);
        }
    }
    base_text_string(out, "\n");
}

static void print_map(base_text *out, const cli_layout_view views[2],
                      const layout_conversion *conversion) {
    const cli_layout_view *to = &views[1];
    source_map m = {.views = views, .conversion = conversion};
    base_text_init(&m.cell, out->arena);
    m.lanes = to->range[LAYOUT_LANE] < MAP_LANES ? to->range[LAYOUT_LANE] : MAP_LANES;
    m.slots = to->capacity < MAP_SLOTS ? to->capacity : MAP_SLOTS;
    measure_cells(&m);
    base_text_string(out, "\nsource (");
    cli_layout_cell_form(out, &views[0]);
    base_text_string(out, ") by destination lane, first subgroup\n");
    int64_t row = m.width <= 4 ? ROW_LANES : ROW_LANES / 2;
    for (int64_t first = 0; first < m.lanes; first += row)
        print_lanes(out, &m, first, first + row < m.lanes ? first + row : m.lanes);
    if (m.slots < to->capacity)
        base_text_format(out, "  ... %" PRId64 " slots more\n", to->capacity - m.slots);
    if (m.lanes < to->threads)
        base_text_format(out, "  ... %" PRId64 " threads more\n", to->threads - m.lanes);
}

/* ---- inside a subgroup ---- */
static void print_masks(base_text *out, const char *word, const uint32_t *masks, int count) {
    base_text_string(out, word);
    for (int i = 0; i < count; i++)
        base_text_format(out, " %" PRIu32, masks[i]);
    base_text_string(out, "\n");
}

static bool any(const uint32_t *masks, int count) {
    uint32_t all = 0;
    for (int i = 0; i < count; i++)
        all |= masks[i];
    return all != 0;
}

static void print_slots(base_text *out, const layout_shuffle *shuffle,
                        uint32_t (*number)(const layout_shuffle *shuffle, uint32_t slot)) {
    uint32_t slots = 1u << shuffle->slot_bits;
    for (uint32_t slot = 0; slot < slots && slot < LISTED_SLOTS; slot++)
        base_text_format(out, " %" PRIu32, number(shuffle, slot));
    base_text_string(out, slots > LISTED_SLOTS ? " ...\n" : "\n");
}

int cli_layout_renames(const layout_shuffle *shuffle) {
    int renames = 0;
    for (uint32_t slot = 0; slot >> shuffle->slot_bits == 0; slot++)
        renames += layout_shuffle_rename(shuffle, slot) != slot;
    return renames;
}

static void print_steps(base_text *out, const layout_conversion *conversion) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    if (conversion->class_ > LAYOUT_SHUFFLE)
        return;
    base_text_format(out, "\nshuffles     %d, selects %d, renames %d\n", shuffle->shuffles,
                     shuffle->selects, cli_layout_renames(shuffle));
    if (conversion->class_ == LAYOUT_FORWARD)
        return;
    if (any(shuffle->before, shuffle->thread_bits))
        print_masks(out,
                    "  xorslot    slot ^ before(thread), masks by thread bit:", shuffle->before,
                    shuffle->thread_bits);
    base_text_string(out, "  rename     source slots in the order of the destination's:");
    print_slots(out, shuffle, layout_shuffle_rename);
    if (conversion->class_ == LAYOUT_SHUFFLE) {
        base_text_format(out, "  shuffle    source thread = L * thread ^ c(slot)%s\n",
                         shuffle->exclusive_or ? ", L = identity: a butterfly" : "");
        if (!shuffle->exclusive_or)
            print_masks(out, "    L        columns by thread bit:", shuffle->linear,
                        shuffle->thread_bits);
        base_text_string(out, "    c        by slot:");
        print_slots(out, shuffle, layout_shuffle_offset);
    }
    if (any(shuffle->after, shuffle->thread_bits))
        print_masks(out, "  xorslot    slot ^ after(thread), masks by thread bit:", shuffle->after,
                    shuffle->thread_bits);
}

/* ---- scratch and prices ---- */
static void print_conflicts(base_text *out, const layout_conversion *conversion) {
    base_text_format(out, "; conflicts: store %d, load %d (1 = none)\n",
                     conversion->store_conflicts, conversion->load_conflicts);
}

static void print_rows(base_text *out, const layout_conversion *conversion) {
    if (conversion->class_ < LAYOUT_SCRATCH) {
        base_text_string(out, "\n");
        return;
    }
    if (conversion->row_words != conversion->scratch_words)
        base_text_format(out, ", row-major, rows %" PRId64 " apart", conversion->row_words);
    print_conflicts(out, conversion);
}

static void print_scratch(base_text *out, const layout_conversion *conversion) {
    if (conversion->class_ < LAYOUT_SCRATCH)
        base_text_string(out, "\nscratch      not needed");
    else if (conversion->scratch_words == 0)
        base_text_string(out, "\nscratch      as many elements as the run has");
    else
        base_text_format(out, "\nscratch      %" PRId64 " elements", conversion->scratch_words);
    if (!conversion->linear) {
        print_rows(out, conversion);
        return;
    }
    if (conversion->repeat_bits > 0)
        base_text_format(out, " (or %lld rounds of %lld)", 1LL << conversion->repeat_bits,
                         1LL << (conversion->source.index_bits - conversion->repeat_bits));
    print_conflicts(out, conversion);
    print_masks(out, "  swizzle    address of an element, masks by bit of its index:",
                conversion->swizzle.address, conversion->swizzle.index_bits);
}

/* To a tenth. */
static void print_cycles(base_text *out, double cycles) {
    char number[40] = "-";
    long long tenths = cycles < 1e15 ? (long long)(cycles * 10 + 0.5) : (long long)1e16;
    if (cycles >= 0 && tenths % 10 == 0)
        snprintf(number, sizeof number, "%lld", tenths / 10);
    else if (cycles >= 0)
        snprintf(number, sizeof number, "%lld.%lld", tenths / 10, tenths % 10);
    base_text_format(out, " %10s", number);
}

static const char *cheaper(const layout_price *price) {
    if (price->shuffles < 0)
        return price->scratch < 0 ? "-" : "scratch";
    if (price->shuffles == 0)
        return "registers";
    return price->scratch < 0 || price->shuffles <= price->scratch ? "shuffles" : "scratch";
}

/* How scratch would be used: `8 x 4 stores, 2 x 4 loads, 2048 bytes`, `, 2 rounds`. */
static void print_scratch_use(base_text *out, const layout_price *price) {
    base_text_format(out, "%" PRId64 " stores of %d, %" PRId64 " loads of %d, %" PRId64 " bytes",
                     price->stores, price->store_vector, price->loads, price->load_vector,
                     price->scratch_bytes);
    if (price->repetitions > 1)
        base_text_format(out, ", %" PRId64 " rounds", price->repetitions);
    if (price->store_conflicts > 1 || price->load_conflicts > 1)
        base_text_format(out, ", conflicts %d and %d", price->store_conflicts,
                         price->load_conflicts);
}

static void print_prices(base_text *out, const cli_layout_view views[2],
                         const cli_layout_plan *plan) {
    base_text_format(out,
                     "\nprice for %s, estimated cycles of a subgroup\n  %-14s %5s %10s %10s  "
                     "%-10s %s\n",
                     base_dtype_name(views[0].element), "machine", "lanes", "shuffles", "scratch",
                     "cheaper", "by scratch");
    bool other_lanes = false;
    for (int i = 0; i < plan->price_count; i++) {
        const cli_layout_machine_price *row = &plan->prices[i];
        bool other = row->machine->subgroup != views[0].range[LAYOUT_LANE];
        base_text_format(out, "  %-14s %4d%s", row->machine->name, row->machine->subgroup,
                         other ? "*" : " ");
        print_cycles(out, row->price.shuffles);
        print_cycles(out, row->price.scratch);
        base_text_format(out, "  %-10s ", cheaper(&row->price));
        if (row->price.scratch >= 0)
            print_scratch_use(out, &row->price);
        else
            base_text_string(out, "-");
        base_text_string(out, "\n");
        other_lanes = other_lanes || other;
    }
    if (other_lanes)
        base_text_format(out, "  * the layouts have subgroups of %" PRId64 " lanes\n",
                         views[0].range[LAYOUT_LANE]);
}

void cli_layout_convert_text(base_text *out, const cli_layout_view views[2],
                             const cli_layout_plan *plan) {
    const layout_conversion *conversion = &plan->conversion;
    layout_tile_print_shortest(out, &views[0].tile);
    base_text_string(out, " -> ");
    layout_tile_print_shortest(out, &views[1].tile);
    base_text_format(out, "\n\nclass        %s\n", layout_class_name(conversion->class_));
    if (conversion->linear)
        print_columns(out, conversion);
    print_map(out, views, conversion);
    if (conversion->linear)
        print_steps(out, conversion);
    print_scratch(out, conversion);
    print_prices(out, views, plan);
}
