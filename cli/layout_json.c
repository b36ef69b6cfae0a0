/* Layout reports as JSON. docs/layout.md describes every member; a member that is added there keeps
 * the schema's number, one that changes its meaning or goes gives it the next.
 *
 *     {"schema": "croft-layout-show/1", "layout": {...}, "owners": {"thread": [0, 1], ...}}
 *
 * Numbers that are known at run time only are null.
 */
#include "layout.h"

#include "layout_words.h"

#include "base/json.h"

enum { OWNERS_LIMIT = 1 << 16 };

static void write_number_or_null(base_json *json, const char *key, int64_t value, bool known) {
    if (known)
        base_json_integer(json, key, value);
    else
        base_json_null(json, key);
}

static void write_index(base_json *json, const char *key, int rank, const int64_t *index) {
    base_json_array(json, key);
    for (int a = 0; a < rank; a++)
        base_json_integer(json, NULL, index[a]);
    base_json_close(json);
}

static void write_tile(base_json *json, const char *key, const layout_tile *tile) {
    base_text text;
    base_text_init(&text, json->out->arena);
    layout_tile_print_shortest(&text, tile);
    base_json_string(json, key, text.bytes);
}

static void write_spellings(base_json *json, const cli_layout_view *view) {
    base_json_object(json, "spellings");
    for (int s = 0; s < LAYOUT_SPELLING_COUNT; s++) {
        base_text text;
        base_text_init(&text, json->out->arena);
        bool has = layout_tile_print(&text, &view->tile, (layout_spelling)s);
        base_json_string(json, layout_spelling_name((layout_spelling)s), has ? text.bytes : NULL);
    }
    base_json_close(json);
}

static void write_ranges(base_json *json, const cli_layout_view *view) {
    static const struct {
        const char *key;
        layout_holder holder;
    } rows[] = {{"lanes", LAYOUT_LANE},
                {"subgroups", LAYOUT_SUBGROUP},
                {"blocks", LAYOUT_BLOCK},
                {"steps", LAYOUT_STEP},
                {"groups", LAYOUT_GROUP}};
    base_json_integer(json, "threads", view->threads);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        write_number_or_null(json, rows[i].key, view->range[rows[i].holder],
                             view->range[rows[i].holder] != 0);
}

/* The layout itself, without who owns what. */
static void write_layout(base_json *json, const char *key, const cli_layout_view *view) {
    base_json_object(json, key);
    base_json_string(json, "text", view->text);
    layout_tile canonical = view->tile;
    layout_tile_canonicalise(&canonical);
    write_tile(json, "canonical", &canonical);
    write_spellings(json, view);
    base_json_array(json, "size");
    for (int a = 0; a < view->tile.rank; a++)
        write_number_or_null(json, NULL, view->tile.size[a], view->tile.size[a] != 0);
    base_json_close(json);
    write_index(json, "shift", view->tile.rank, view->tile.shift);
    write_ranges(json, view);
    base_json_integer(json, "slots", view->slots);
    base_json_integer(json, "capacity", view->capacity);
    base_json_integer(json, "replication", view->replication);
    base_json_integer(json, "contiguity", view->contiguity);
    base_json_bool(json, "kernel_text", view->in_kernels);
    base_json_close(json);
}

static void write_element(base_json *json, const cli_layout_view *view) {
    base_json_object(json, "element");
    base_json_string(json, "type", base_dtype_name(view->element));
    base_json_integer(json, "bytes", base_dtype_size(view->element));
    base_json_close(json);
}

/* What was not counted, in a tile too large, is null. */
static void write_memory(base_json *json, const cli_layout_view *view) {
    const layout_traffic *traffic = &view->traffic;
    bool counted = traffic->accesses != 0;
    base_json_object(json, "access");
    base_json_integer(json, "width", view->width);
    write_number_or_null(json, "sectors", traffic->sectors, counted);
    write_number_or_null(json, "half_lines", traffic->half_lines, counted);
    write_number_or_null(json, "lines", traffic->lines, counted);
    write_number_or_null(json, "accesses", traffic->accesses, counted);
    write_number_or_null(json, "total_sectors", traffic->total_sectors, counted);
    base_json_bool(json, "all_accesses", traffic->whole);
    base_json_close(json);
    base_json_object(json, "scratch");
    base_json_integer(json, "banks", CLI_LAYOUT_BANKS);
    base_json_integer(json, "width", view->scratch_width);
    write_number_or_null(json, "conflicts", view->conflicts, view->conflicts != 0);
    base_json_bool(json, "all_accesses", view->conflicts != 0 && view->conflicts_seen == 0);
    base_json_close(json);
}

static void write_owner_column(base_json *json, const char *key, const cli_layout_view *view,
                               int holder, int64_t shown) {
    base_json_array(json, key);
    for (int64_t element = 0; element < shown; element++) {
        int64_t index[LAYOUT_MAX_RANK];
        layout_position position;
        cli_layout_owner(view, element, index, &position);
        base_json_integer(
            json, NULL, holder < 0 ? cli_layout_thread(view, &position) : position.number[holder]);
    }
    base_json_close(json);
}

static void write_owners(base_json *json, const cli_layout_view *view) {
    int64_t shown = view->elements < OWNERS_LIMIT ? view->elements : OWNERS_LIMIT;
    base_json_object(json, "owners");
    base_json_integer(json, "shown", shown);
    write_number_or_null(json, "of", view->elements, !view->runtime);
    write_owner_column(json, "thread", view, -1, shown);
    write_owner_column(json, "slot", view, LAYOUT_SLOT, shown);
    if (view->range[LAYOUT_STEP] != 1)
        write_owner_column(json, "step", view, LAYOUT_STEP, shown);
    if (view->range[LAYOUT_GROUP] != 1)
        write_owner_column(json, "group", view, LAYOUT_GROUP, shown);
    base_json_close(json);
}

void cli_layout_show_json(base_json *json, const cli_layout_view *view) {
    write_layout(json, "layout", view);
    write_element(json, view);
    write_memory(json, view);
    write_owners(json, view);
}

/* ---- comparing ---- */
static void write_position(base_json *json, const char *key, const layout_position *position) {
    base_json_object(json, key);
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        base_json_integer(json, layout_holder_name((layout_holder)holder),
                          position->number[holder]);
    base_json_close(json);
}

static void write_pair(base_json *json, const cli_layout_view views[2], const char *a,
                       const char *b) {
    write_layout(json, a, &views[0]);
    write_layout(json, b, &views[1]);
}

void cli_layout_compare_json(base_json *json, const cli_layout_view views[2],
                             const cli_layout_difference *difference) {
    static const char *const keys[2] = {"a", "b"};
    base_json_bool(json, "equal", difference->equal);
    if (difference->found) {
        base_json_object(json, "first_difference");
        write_position(json, "position", &difference->position);
        for (int i = 0; i < 2; i++) {
            if (difference->owns[i])
                write_index(json, keys[i], views[i].tile.rank, difference->index[i]);
            else
                base_json_null(json, keys[i]);
        }
        base_json_close(json);
    } else {
        base_json_null(json, "first_difference");
    }
    write_pair(json, views, "a", "b");
}

/* ---- converting ---- */
static void write_masks(base_json *json, const char *key, const uint32_t *masks, int count) {
    base_json_array(json, key);
    for (int i = 0; i < count; i++)
        base_json_integer(json, NULL, masks[i]);
    base_json_close(json);
}

static void write_bits(base_json *json, const char *key, const layout_bits *bits) {
    base_json_object(json, key);
    base_json_integer(json, "lane_bits", bits->lane_bits);
    base_json_integer(json, "subgroup_bits", bits->subgroup_bits);
    base_json_integer(json, "block_bits", bits->block_bits);
    base_json_integer(json, "slot_bits", bits->slot_bits);
    base_json_close(json);
}

static void write_owner_map(base_json *json, const layout_conversion *conversion) {
    if (!conversion->linear) {
        base_json_null(json, "owner_map");
        return;
    }
    base_json_object(json, "owner_map");
    write_bits(json, "source", &conversion->source);
    write_bits(json, "destination", &conversion->destination);
    write_masks(json, "columns", conversion->matrix, conversion->position_bits);
    base_json_integer(json, "constant", conversion->constant);
    base_json_close(json);
}

static void write_shuffle(base_json *json, const layout_conversion *conversion) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    if (!conversion->linear || conversion->class_ > LAYOUT_SHUFFLE) {
        base_json_null(json, "shuffle");
        return;
    }
    base_json_object(json, "shuffle");
    base_json_integer(json, "shuffles", shuffle->shuffles);
    base_json_integer(json, "selects", shuffle->selects);
    base_json_integer(json, "renames", cli_layout_renames(shuffle));
    base_json_bool(json, "butterfly", shuffle->exclusive_or);
    write_masks(json, "before", shuffle->before, shuffle->thread_bits);
    write_masks(json, "rename_columns", shuffle->rename, shuffle->slot_bits);
    base_json_integer(json, "rename_constant", shuffle->rename_constant);
    write_masks(json, "thread_columns", shuffle->linear, shuffle->thread_bits);
    write_masks(json, "offset_columns", shuffle->offset, shuffle->slot_bits);
    base_json_integer(json, "offset_constant", shuffle->offset_constant);
    write_masks(json, "after", shuffle->after, shuffle->thread_bits);
    base_json_close(json);
}

static void write_conversion_scratch(base_json *json, const layout_conversion *conversion) {
    base_json_object(json, "scratch");
    write_number_or_null(json, "elements", conversion->scratch_words,
                         conversion->scratch_words != 0 || conversion->class_ < LAYOUT_SCRATCH);
    base_json_integer(json, "row_words", conversion->row_words);
    if (conversion->linear) {
        base_json_integer(json, "rounds_possible", (int64_t)1 << conversion->repeat_bits);
        base_json_integer(json, "store_conflicts", conversion->store_conflicts);
        base_json_integer(json, "load_conflicts", conversion->load_conflicts);
        write_masks(json, "swizzle", conversion->swizzle.address, conversion->swizzle.index_bits);
    }
    base_json_close(json);
}

static void write_cycles(base_json *json, const char *key, double cycles) {
    if (cycles < 0)
        base_json_null(json, key);
    else
        base_json_real(json, key, cycles);
}

static void write_price(base_json *json, const cli_layout_machine_price *row) {
    const layout_price *price = &row->price;
    base_json_object(json, NULL);
    base_json_string(json, "machine", row->machine->name);
    base_json_integer(json, "machine_lanes", row->machine->subgroup);
    write_cycles(json, "shuffles", price->shuffles);
    write_cycles(json, "scratch", price->scratch);
    base_json_integer(json, "shuffle_count", price->shuffle_count);
    base_json_integer(json, "select_count", price->select_count);
    base_json_integer(json, "packing", price->packing);
    base_json_integer(json, "stores", price->stores);
    base_json_integer(json, "store_vector", price->store_vector);
    base_json_integer(json, "store_conflicts", price->store_conflicts);
    base_json_integer(json, "loads", price->loads);
    base_json_integer(json, "load_vector", price->load_vector);
    base_json_integer(json, "load_conflicts", price->load_conflicts);
    base_json_integer(json, "rounds", price->repetitions);
    base_json_integer(json, "scratch_bytes", price->scratch_bytes);
    base_json_close(json);
}

void cli_layout_convert_json(base_json *json, const cli_layout_view views[2],
                             const cli_layout_plan *plan) {
    base_json_string(json, "class", layout_class_name(plan->conversion.class_));
    write_pair(json, views, "source", "destination");
    write_element(json, &views[0]);
    write_owner_map(json, &plan->conversion);
    write_shuffle(json, &plan->conversion);
    write_conversion_scratch(json, &plan->conversion);
    base_json_array(json, "prices");
    for (int i = 0; i < plan->price_count; i++)
        write_price(json, &plan->prices[i]);
    base_json_close(json);
}
