/* Queries of a layout, once, for every printer; and where two layouts differ.
 *
 *     bits(3, 4, 5, 0, 1, 2, slots=2), f32    64 elements, 32 threads, 2 slots; an access of a
 *                                             subgroup reaches 8 sectors; scratch: 4-way conflict
 *
 * What the layout room answers in closed form is asked there. Looked at lane by lane are: one
 * access, for its picture; conflicts of layouts that are no bit layouts, up to a limit; and the
 * first position where two such layouts differ.
 */
#include "layout.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROW_BYTES = 128,          /* rows begin on its multiples */
    LOOKED_AT = 1 << 17,      /* positions whose accesses are looked at for conflicts */
    POSITION_LIMIT = 1 << 20, /* positions that are compared one by one */
    COUNTED_BITS = 48 /* addresses of up to so many elements fit 64 bits whatever the rows */
};

/* ---- sizes ---- */
static int64_t product(int64_t a, int64_t b) {
    int64_t both = 0;
    return base_checked_mul(a, b, &both) ? both : INT64_MAX;
}

/* Runtime digits become 1, runtime sizes what is then in the box. */
static layout_tile one_round(const layout_tile *tile) {
    layout_tile shown = *tile;
    for (int a = 0; a < tile->rank; a++) {
        int64_t box = 1;
        for (int i = 0; i < tile->axis[a].count; i++) {
            int64_t *radix = &shown.axis[a].digits[i].radix;
            *radix = *radix == 0 ? 1 : *radix;
            box = product(box, *radix);
        }
        shown.size[a] = tile->size[a] != 0 ? tile->size[a] : box - tile->shift[a];
    }
    return shown;
}

/* ---- positions ---- */
void cli_layout_owner(const cli_layout_view *view, int64_t element, int64_t index[LAYOUT_MAX_RANK],
                      layout_position *position) {
    for (int a = view->tile.rank - 1; a >= 0; a--) {
        index[a] = element % view->extent[a];
        element /= view->extent[a];
    }
    *position = (layout_position){0};
    (void)layout_tile_owner(&view->shown, index, position);
}

int64_t cli_layout_thread(const cli_layout_view *view, const layout_position *position) {
    const int64_t *number = position->number;
    return number[LAYOUT_LANE] +
           view->range[LAYOUT_LANE] *
               (number[LAYOUT_SUBGROUP] + view->range[LAYOUT_SUBGROUP] * number[LAYOUT_BLOCK]);
}

layout_position cli_layout_position(const cli_layout_view *view, int64_t thread, int64_t slot) {
    int64_t lanes = view->range[LAYOUT_LANE], subgroups = view->range[LAYOUT_SUBGROUP];
    layout_position position = {0};
    position.number[LAYOUT_LANE] = thread % lanes;
    position.number[LAYOUT_SUBGROUP] = thread / lanes % subgroups;
    position.number[LAYOUT_BLOCK] = thread / lanes / subgroups;
    position.number[LAYOUT_SLOT] = slot;
    return position;
}

/* ---- cells ---- */
static bool varies(const cli_layout_view *view, layout_holder holder) {
    return view->range[holder] != 1;
}

void cli_layout_cell(base_text *out, const cli_layout_view *view, const layout_position *position) {
    const int64_t *number = position->number;
    if (varies(view, LAYOUT_GROUP))
        base_text_format(out, "%lld/", (long long)number[LAYOUT_GROUP]);
    base_text_format(out, "%lld", (long long)cli_layout_thread(view, position));
    if (varies(view, LAYOUT_SLOT))
        base_text_format(out, ":%lld", (long long)number[LAYOUT_SLOT]);
    if (varies(view, LAYOUT_STEP))
        base_text_format(out, ".%lld", (long long)number[LAYOUT_STEP]);
}

void cli_layout_cell_form(base_text *out, const cli_layout_view *view) {
    base_text_format(out, "%sthread%s%s", varies(view, LAYOUT_GROUP) ? "group/" : "",
                     varies(view, LAYOUT_SLOT) ? ":slot" : "",
                     varies(view, LAYOUT_STEP) ? ".step" : "");
}

cli_layout_grid cli_layout_grid_of(const cli_layout_view *view, int64_t columns) {
    int rank = view->tile.rank;
    if (view->elements == 0 || rank == 0)
        return (cli_layout_grid){view->elements, 1};
    if (rank > 1)
        return (cli_layout_grid){view->elements / view->extent[rank - 1], view->extent[rank - 1]};
    return (cli_layout_grid){view->elements / columns + (view->elements % columns != 0),
                             columns < view->elements ? columns : view->elements};
}

/* ---- accesses ---- */
int64_t cli_layout_address(const cli_layout_view *view, const int64_t index[LAYOUT_MAX_RANK]) {
    int rank = view->tile.rank;
    int64_t row = 0, bytes = base_dtype_size(view->element), address = 0;
    if (rank == 0)
        return 0;
    for (int a = 0; a < rank - 1; a++)
        row = row * view->extent[a] + index[a];
    if (view->addresses != NULL)
        return view->addresses[row * view->extent[rank - 1] + index[rank - 1]];
    int64_t row_bytes = product(view->extent[rank - 1], bytes);
    int64_t pitch = product(row_bytes / ROW_BYTES + (row_bytes % ROW_BYTES != 0), ROW_BYTES);
    return base_checked_add(product(row, pitch), product(index[rank - 1], bytes), &address)
               ? address
               : INT64_MAX;
}

int cli_layout_first_access(const cli_layout_view *view, int64_t *bytes, int limit) {
    int count = 0;
    for (int64_t lane = 0; lane < view->range[LAYOUT_LANE] && count < limit; lane++) {
        for (int64_t e = 0; e < view->width && e < view->capacity && count < limit; e++) {
            layout_position position = cli_layout_position(view, lane, e);
            int64_t index[LAYOUT_MAX_RANK];
            bool owns = layout_tile_logical(&view->shown, &position, index);
            bytes[count++] = owns ? cli_layout_address(view, index) : -1;
        }
    }
    return count;
}

/* Words that lanes which are served together ask of each bank. `vector`: what each lane reaches, as
 * a number of vectors of `words` words; -1: nothing. Equal vectors are asked for once. */
static int count_banks(const int64_t *vector, int lanes, int words, int asked[CLI_LAYOUT_BANKS]) {
    int worst = 0;
    for (int bank = 0; bank < CLI_LAYOUT_BANKS; bank++)
        asked[bank] = 0;
    for (int i = 0; i < lanes; i++) {
        bool is_new = vector[i] >= 0;
        for (int earlier = 0; earlier < i && is_new; earlier++)
            is_new = vector[earlier] != vector[i];
        for (int word = 0; is_new && word < words; word++) {
            int bank = (int)((vector[i] % CLI_LAYOUT_BANKS * words + word) % CLI_LAYOUT_BANKS);
            asked[bank]++;
            worst = asked[bank] > worst ? asked[bank] : worst;
        }
    }
    return worst;
}

static int scratch_words(const cli_layout_view *view) {
    int64_t words = view->scratch_width * base_dtype_size(view->element) / CLI_LAYOUT_WORD_BYTES;
    return words < 1 ? 1 : (int)words;
}

/* Where an element stands in scratch that holds the tile row-major without gaps but for shifts,
 * which move vectors to multiples of their length. */
static int64_t scratch_place(const cli_layout_view *view, const int64_t index[LAYOUT_MAX_RANK]) {
    int64_t place = 0;
    for (int a = 0; a < view->tile.rank; a++)
        place = place * (view->extent[a] + view->tile.shift[a]) + index[a] + view->tile.shift[a];
    return place;
}

/* The vector that a position's slot and the next ones reach; -1 where they own nothing. */
static int64_t scratch_vector(const cli_layout_view *view, layout_position position,
                              int64_t elements) {
    for (int64_t i = 0; i < view->scratch_width; i++) {
        int64_t index[LAYOUT_MAX_RANK];
        if (layout_tile_logical(&view->shown, &position, index))
            return scratch_place(view, index) / elements;
        position.number[LAYOUT_SLOT]++;
    }
    return -1;
}

/* The lanes from `first` on that are served together, at `position` otherwise; the most words of a
 * bank. */
static int ask_banks(const cli_layout_view *view, layout_position position, int64_t first,
                     int asked[CLI_LAYOUT_BANKS]) {
    int words = scratch_words(view), together = CLI_LAYOUT_BANKS / words;
    int64_t vector[CLI_LAYOUT_BANKS];
    for (int i = 0; i < together; i++) {
        position.number[LAYOUT_LANE] = first + i;
        vector[i] = scratch_vector(view, position,
                                   words * CLI_LAYOUT_WORD_BYTES / base_dtype_size(view->element));
    }
    return count_banks(vector, together, words, asked);
}

void cli_layout_banks(const cli_layout_view *view, int asked[CLI_LAYOUT_BANKS]) {
    (void)ask_banks(view, (layout_position){0}, 0, asked);
}

static int access_conflicts(const cli_layout_view *view, layout_position position) {
    int asked[CLI_LAYOUT_BANKS], worst = 0, together = CLI_LAYOUT_BANKS / scratch_words(view);
    for (int64_t first = 0; first < view->range[LAYOUT_LANE] && first < CLI_LAYOUT_LANES;
         first += together) {
        int most = ask_banks(view, position, first, asked);
        worst = most > worst ? most : worst;
    }
    return worst;
}

/* Runs of `width` slots whose elements stand side by side, at multiples of it in every row. */
static bool has_vectors(const cli_layout_view *view) {
    int last = view->tile.rank - 1;
    return view->contiguity >= view->width &&
           (last < 1 || (view->extent[last] + view->tile.shift[last]) % view->width == 0);
}

/* Accesses are numbered by slots, subgroups, blocks, steps. */
static void find_conflicts(cli_layout_view *view) {
    view->scratch_width = has_vectors(view) ? view->width : 1;
    int64_t width = view->scratch_width;
    int64_t slots = view->capacity / width, steps = view->range[LAYOUT_STEP];
    int64_t subgroups = view->range[LAYOUT_SUBGROUP], blocks = view->range[LAYOUT_BLOCK];
    int64_t all = product(product(slots, subgroups), product(blocks, steps == 0 ? 1 : steps));
    int64_t lanes =
        view->range[LAYOUT_LANE] < CLI_LAYOUT_LANES ? view->range[LAYOUT_LANE] : CLI_LAYOUT_LANES;
    int64_t limit = LOOKED_AT / lanes;
    int64_t seen = view->linear ? 1 : all < limit ? all : limit;
    for (int64_t access = 0; access < seen; access++) {
        layout_position position = {0};
        position.number[LAYOUT_SLOT] = access % slots * width;
        position.number[LAYOUT_SUBGROUP] = access / slots % subgroups;
        position.number[LAYOUT_BLOCK] = access / slots / subgroups % blocks;
        position.number[LAYOUT_STEP] = access / slots / subgroups / blocks;
        int degree = access_conflicts(view, position);
        view->conflicts = degree > view->conflicts ? degree : view->conflicts;
    }
    view->conflicts_seen = view->linear || seen == all ? 0 : seen;
}

void cli_layout_view_make(base_arena *arena, const char *text, const layout_tile *tile,
                          base_dtype element, int64_t width, cli_layout_view *view) {
    layout_fault fault;
    *view = (cli_layout_view){.text = text, .tile = *tile, .element = element, .width = width};
    view->shown = one_round(tile);
    view->linear = layout_tile_to_bits(tile, &view->bits);
    layout_tile_ranges(tile, view->range);
    view->elements = 1;
    for (int a = 0; a < tile->rank; a++) {
        view->extent[a] = view->shown.size[a];
        view->runtime = view->runtime || tile->size[a] == 0;
        view->elements = product(view->elements, view->extent[a]);
    }
    view->threads = layout_tile_threads(tile);
    view->slots = layout_tile_slots(tile);
    view->capacity = layout_tile_capacity(tile);
    view->replication = layout_tile_replication(tile);
    view->contiguity = layout_contiguity(tile);
    view->in_kernels = layout_tile_check_kernel(arena, tile, &fault);
    view->not_in_kernels = view->in_kernels ? NULL : fault.reason;
    if (view->elements >> COUNTED_BITS != 0)
        return;
    view->traffic = layout_traffic_of(&view->shown, base_dtype_size(element), width);
    find_conflicts(view);
}

/* ---- tiles of kernels ---- */
static int compare_addresses(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* Pieces of so many bytes that sorted addresses lie in. */
static int64_t count_pieces(const int64_t *sorted, int64_t count, int64_t bytes) {
    int64_t pieces = 0;
    for (int64_t i = 0; i < count; i++)
        pieces += i == 0 || sorted[i] / bytes != sorted[i - 1] / bytes;
    return pieces;
}

/* The access of a subgroup at `width` slots from `slot` on. */
static void count_access(cli_layout_view *view, int64_t subgroup, int64_t slot) {
    int64_t reached[CLI_LAYOUT_LANES * 16], count = 0;
    layout_traffic *traffic = &view->traffic;
    for (int64_t lane = 0; lane < view->range[LAYOUT_LANE]; lane++) {
        for (int64_t e = 0; e < view->width; e++) {
            layout_position position =
                cli_layout_position(view, subgroup * view->range[LAYOUT_LANE] + lane, slot + e);
            int64_t index[LAYOUT_MAX_RANK];
            if (!layout_tile_logical(&view->shown, &position, index) ||
                cli_layout_address(view, index) < 0)
                continue;
            reached[count++] = cli_layout_address(view, index);
        }
    }
    if (count == 0)
        return;
    qsort(reached, (size_t)count, sizeof reached[0], compare_addresses);
    int64_t sectors = count_pieces(reached, count, CLI_LAYOUT_SECTOR_BYTES);
    int64_t half_lines = count_pieces(reached, count, 2 * CLI_LAYOUT_SECTOR_BYTES);
    int64_t lines = count_pieces(reached, count, ROW_BYTES);
    traffic->sectors = sectors > traffic->sectors ? sectors : traffic->sectors;
    traffic->half_lines = half_lines > traffic->half_lines ? half_lines : traffic->half_lines;
    traffic->lines = lines > traffic->lines ? lines : traffic->lines;
    traffic->total_sectors += sectors;
    traffic->accesses++;
}

void cli_layout_view_place(cli_layout_view *view, const int64_t *addresses, const char *caption,
                           const char *note) {
    view->addresses = addresses;
    view->caption = caption;
    view->note = note;
    view->traffic = (layout_traffic){.whole = true};
    if (view->range[LAYOUT_LANE] > CLI_LAYOUT_LANES || view->width > 16)
        return;
    for (int64_t subgroup = 0; subgroup < view->range[LAYOUT_SUBGROUP]; subgroup++)
        for (int64_t slot = 0; slot < view->capacity; slot += view->width)
            count_access(view, subgroup, slot);
}

/* ---- comparing ---- */
static bool same_at(const cli_layout_view *a, const cli_layout_view *b,
                    cli_layout_difference *difference) {
    difference->owns[0] =
        layout_tile_logical(&a->tile, &difference->position, difference->index[0]);
    difference->owns[1] =
        layout_tile_logical(&b->tile, &difference->position, difference->index[1]);
    bool same = difference->owns[0] == difference->owns[1];
    for (int axis = 0; axis < a->tile.rank && same && difference->owns[0]; axis++)
        same = difference->index[0][axis] == difference->index[1][axis];
    return same;
}

/* Position number `number`: lanes, subgroups, blocks, slots, steps, groups, in the larger ranges of
 * the two. */
static layout_position position_at(const cli_layout_view *a, const cli_layout_view *b,
                                   int64_t number) {
    static const layout_holder order[] = {LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK,
                                          LAYOUT_SLOT, LAYOUT_STEP,     LAYOUT_GROUP};
    layout_position position = {0};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int64_t of_a = a->range[order[i]], of_b = b->range[order[i]];
        int64_t range = of_a == 0 || of_b == 0 ? 0 : of_a > of_b ? of_a : of_b;
        position.number[order[i]] = range == 0 ? number : number % range;
        number = range == 0 ? 0 : number / range;
    }
    return position;
}

/* Two affine maps differ first at the least position bit whose columns do, or at 0. */
static int64_t first_affine_difference(const layout_bits *a, const layout_bits *b) {
    if (a->constant != b->constant)
        return 0;
    for (int p = 0; p < layout_bits_positions(a) && p < layout_bits_positions(b); p++)
        if (a->column[p] != b->column[p])
            return (int64_t)1 << p;
    int smaller = layout_bits_positions(a) < layout_bits_positions(b) ? layout_bits_positions(a)
                                                                      : layout_bits_positions(b);
    return (int64_t)1 << smaller;
}

void cli_layout_compare(const cli_layout_view *a, const cli_layout_view *b,
                        cli_layout_difference *difference) {
    *difference = (cli_layout_difference){.equal = layout_tile_equal(&a->tile, &b->tile)};
    if (difference->equal)
        return;
    int64_t number = 0;
    if (a->linear && b->linear && a->tile.rank == 1 && b->tile.rank == 1)
        number = first_affine_difference(&a->bits, &b->bits);
    for (int64_t limit = number + POSITION_LIMIT; number < limit && !difference->found; number++) {
        difference->position = position_at(a, b, number);
        difference->found = !same_at(a, b, difference);
        difference->looked_at = number + 1;
    }
}
