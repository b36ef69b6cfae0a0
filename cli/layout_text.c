/* Layout reports as text: facts, spellings, memory, and who owns what.
 *
 *     owners (thread:slot)
 *        0 |  0:0  8:0 16:0 24:0  0:1  8:1 16:1 24:1
 *        8 |  1:0  9:0 17:0 25:0  1:1  9:1 17:1 25:1
 *
 * A line has at most 100 columns, a table its first and last rows; what is left out is counted.
 */
#include "layout.h"

#include "layout_words.h"

#include <inttypes.h>
#include <string.h>

enum {
    LINE_COLUMNS = 100,
    ALL_ROWS = 34,
    FIRST_ROWS = 16,
    LAST_ROWS = 2,
    ROW_ELEMENTS = 16,
    SLOTS_LIMIT = 4096
};

/* ---- facts ---- */
static void print_size(base_text *out, const cli_layout_view *view) {
    base_text_string(out, "size         ");
    for (int a = 0; a < view->tile.rank; a++) {
        base_text_string(out, a > 0 ? " x " : "");
        if (view->tile.size[a] == 0)
            base_text_string(out, "*");
        else
            base_text_format(out, "%" PRId64, view->tile.size[a]);
    }
    if (view->tile.rank == 0)
        base_text_string(out, "1");
    if (view->runtime)
        base_text_format(out, ", known at run time; shown: %" PRId64, view->elements);
    else if (view->tile.rank > 1)
        base_text_format(out, " = %" PRId64, view->elements);
    base_text_string(out, view->elements == 1 && !view->runtime ? " element" : " elements");
    for (int a = 0; a < view->tile.rank; a++)
        if (view->tile.shift[a] != 0)
            base_text_format(out, ", axis %d shifted by %" PRId64, a, view->tile.shift[a]);
    base_text_string(out, "\n");
}

static void print_range(base_text *out, const char *word, int64_t range) {
    if (range == 0)
        base_text_format(out, "%s *\n", word);
    else if (range != 1)
        base_text_format(out, "%s %" PRId64 "\n", word, range);
}

static void print_facts(base_text *out, const cli_layout_view *view) {
    print_size(out, view);
    base_text_format(out, "threads      %" PRId64 ": lanes %" PRId64, view->threads,
                     view->range[LAYOUT_LANE]);
    if (view->range[LAYOUT_SUBGROUP] != 1)
        base_text_format(out, ", subgroups %" PRId64, view->range[LAYOUT_SUBGROUP]);
    if (view->range[LAYOUT_BLOCK] != 1)
        base_text_format(out, ", blocks %" PRId64, view->range[LAYOUT_BLOCK]);
    base_text_format(out, "\nslots        %" PRId64, view->slots);
    if (view->slots != view->capacity)
        base_text_format(out, " used of %" PRId64, view->capacity);
    base_text_string(out, "\n");
    print_range(out, "steps       ", view->range[LAYOUT_STEP]);
    print_range(out, "groups      ", view->range[LAYOUT_GROUP]);
    base_text_format(out, "owners       %" PRId64 " of each element\n", view->replication);
    base_text_format(out, "contiguous   %" PRId64 " in consecutive slots\n", view->contiguity);
    if (view->in_kernels)
        base_text_string(out, "kernel text  may ask for it\n");
    else
        base_text_format(out, "kernel text  may not ask for it: %s\n", view->not_in_kernels);
}

static void print_spellings(base_text *out, const cli_layout_view *view) {
    base_text_string(out, "\nspellings\n");
    for (int s = 0; s < LAYOUT_SPELLING_COUNT; s++) {
        int64_t before = out->length;
        base_text_format(out, "  %-15s", layout_spelling_name((layout_spelling)s));
        if (layout_tile_print(out, &view->tile, (layout_spelling)s)) {
            base_text_string(out, "\n");
            continue;
        }
        out->length = before;
        out->bytes[before] = '\0';
    }
}

void cli_layout_memory_words(base_text *out, const cli_layout_view *view) {
    const layout_traffic *traffic = &view->traffic;
    if (traffic->accesses == 0) {
        base_text_string(out, "sectors not counted: the tile is too large");
        return;
    }
    base_text_format(out,
                     "sectors of 32 bytes %" PRId64 ", half lines %" PRId64 ", lines %" PRId64
                     " at most; accesses %" PRId64 ", sectors in all %" PRId64,
                     traffic->sectors, traffic->half_lines, traffic->lines, traffic->accesses,
                     traffic->total_sectors);
    if (!traffic->whole)
        base_text_string(out, ", of one step of one group");
}

void cli_layout_scratch_words(base_text *out, const cli_layout_view *view) {
    if (view->conflicts == 0)
        base_text_string(out, "conflicts not counted: the tile is too large");
    else if (view->conflicts == 1)
        base_text_string(out, "no bank conflicts");
    else
        base_text_format(out, "bank conflicts: an access is served %d times", view->conflicts);
    if (view->conflicts_seen != 0)
        base_text_format(out, " (of the first %" PRId64 " accesses)", view->conflicts_seen);
}

static void print_memory(base_text *out, const cli_layout_view *view) {
    base_text_format(out, "\nmemory (%s, row-major, %" PRId64 " %s of a lane an access)\n",
                     base_dtype_name(view->element), view->width,
                     view->width == 1 ? "element" : "elements");
    base_text_string(out, "  tensor       ");
    cli_layout_memory_words(out, view);
    base_text_string(out, "\n  scratch      ");
    cli_layout_scratch_words(out, view);
    base_text_string(out, "\n");
}

/* ---- tables ---- */
void cli_layout_index_words(base_text *out, int rank, const int64_t *index) {
    if (rank == 1) {
        base_text_format(out, "%" PRId64, index[0]);
        return;
    }
    base_text_string(out, "(");
    for (int a = 0; a < rank; a++)
        base_text_format(out, "%s%" PRId64, a > 0 ? ", " : "", index[a]);
    base_text_string(out, ")");
}

static void print_padded(base_text *out, const char *text, int64_t length, int64_t width) {
    for (int64_t i = length; i < width; i++)
        base_text_string(out, " ");
    base_text_append(out, text, (size_t)length);
}

typedef struct table {
    const cli_layout_view *view;
    cli_layout_grid grid;
    int64_t label_width, cell_width, columns; /* columns that fit */
    base_text cell;
} table;

static bool row_is_shown(const table *t, int64_t row) {
    return t->grid.rows <= ALL_ROWS || row < FIRST_ROWS || row >= t->grid.rows - LAST_ROWS;
}

static void set_cell(table *t, int64_t element) {
    int64_t index[LAYOUT_MAX_RANK];
    layout_position position;
    t->cell.length = 0;
    cli_layout_owner(t->view, element, index, &position);
    cli_layout_cell(&t->cell, t->view, &position);
}

/* `12`, the first element of the row, or `(3, 1)`, the axes before the last. */
static void set_label(table *t, int64_t row) {
    int64_t index[LAYOUT_MAX_RANK];
    layout_position position;
    int rank = t->view->tile.rank;
    t->cell.length = 0;
    cli_layout_owner(t->view, row * t->grid.columns, index, &position);
    cli_layout_index_words(&t->cell, rank > 1 ? rank - 1 : rank, index);
}

static void measure(table *t) {
    for (int64_t row = 0; row < t->grid.rows; row++) {
        if (!row_is_shown(t, row)) {
            row = t->grid.rows - LAST_ROWS - 1;
            continue;
        }
        set_label(t, row);
        t->label_width = t->cell.length > t->label_width ? t->cell.length : t->label_width;
        for (int64_t c = 0; c < t->grid.columns && c < LINE_COLUMNS / 2; c++) {
            if (row * t->grid.columns + c >= t->view->elements)
                break;
            set_cell(t, row * t->grid.columns + c);
            t->cell_width = t->cell.length > t->cell_width ? t->cell.length : t->cell_width;
        }
    }
    int64_t fit = (LINE_COLUMNS - t->label_width - 4) / (t->cell_width + 1);
    t->columns = fit < 1 ? 1 : fit > t->grid.columns ? t->grid.columns : fit;
}

static void print_row(base_text *out, table *t, int64_t row) {
    set_label(t, row);
    base_text_string(out, "  ");
    print_padded(out, t->cell.bytes, t->cell.length, t->label_width);
    base_text_string(out, " |");
    int64_t shown = 0;
    for (; shown < t->columns; shown++) {
        int64_t element = row * t->grid.columns + shown;
        if (element >= t->view->elements)
            break;
        set_cell(t, element);
        print_padded(out, t->cell.bytes, t->cell.length, t->cell_width + 1);
    }
    base_text_string(out, shown < t->grid.columns && shown == t->columns ? " ...\n" : "\n");
}

/* Along one axis the rows are as long as fits, a power of two. */
static void print_owners(base_text *out, const cli_layout_view *view) {
    table t = {.view = view};
    base_text_init(&t.cell, out->arena);
    base_text_string(out, "\nowners (");
    cli_layout_cell_form(out, view);
    base_text_string(out, view->replication > 1 ? "; the first of each element's)\n" : ")\n");
    for (int64_t columns = ROW_ELEMENTS; columns >= 1; columns /= 2) {
        t.grid = cli_layout_grid_of(view, columns);
        t.label_width = t.cell_width = 0;
        measure(&t);
        if (view->tile.rank != 1 || t.columns == t.grid.columns)
            break;
    }
    for (int64_t row = 0; row < t.grid.rows; row++) {
        if (!row_is_shown(&t, row)) {
            base_text_format(out, "  ... %" PRId64 " rows more\n",
                             t.grid.rows - FIRST_ROWS - LAST_ROWS);
            row = t.grid.rows - LAST_ROWS;
        }
        print_row(out, &t, row);
    }
    if (t.columns < t.grid.columns)
        base_text_format(out, "  (the first %" PRId64 " of %" PRId64 " columns)\n", t.columns,
                         t.grid.columns);
}

/* `0..3 128..131`: what a thread owns, slots in order; `-` for a slot that owns nothing. */
static void print_thread(base_text *out, const cli_layout_view *view, int64_t thread) {
    int64_t start = out->length, first[LAYOUT_MAX_RANK];
    base_text_format(out, "  thread %-5" PRId64, thread);
    for (int64_t slot = 0; slot < view->capacity;) {
        if (out->length - start > LINE_COLUMNS - 30 || slot > SLOTS_LIMIT) {
            base_text_format(out, " ... %" PRId64 " slots more", view->capacity - slot);
            break;
        }
        layout_position position = cli_layout_position(view, thread, slot);
        base_text_string(out, " ");
        slot++;
        if (!layout_tile_logical(&view->shown, &position, first)) {
            base_text_string(out, "-");
            continue;
        }
        cli_layout_index_words(out, view->tile.rank, first);
        int64_t run = 1, next[LAYOUT_MAX_RANK];
        for (; view->tile.rank == 1 && slot < view->capacity && slot <= SLOTS_LIMIT;
             run++, slot++) {
            position.number[LAYOUT_SLOT] = slot;
            if (!layout_tile_logical(&view->shown, &position, next) || next[0] != first[0] + run)
                break;
        }
        if (run > 1)
            base_text_format(out, "..%" PRId64, first[0] + run - 1);
    }
    base_text_string(out, "\n");
}

static void print_threads(base_text *out, const cli_layout_view *view) {
    bool rounds = view->range[LAYOUT_STEP] != 1 || view->range[LAYOUT_GROUP] != 1;
    base_text_format(out, "\nwhat threads own, by slot%s\n",
                     rounds ? " (of the first step and group)" : "");
    for (int64_t thread = 0; thread < view->threads && thread < 3; thread++)
        print_thread(out, view, thread);
    if (view->threads > 3) {
        base_text_string(out, view->threads > 4 ? "  ...\n" : "");
        print_thread(out, view, view->threads - 1);
    }
}

void cli_layout_show_text(base_text *out, const cli_layout_view *view, bool with_owners) {
    layout_tile_print_shortest(out, &view->tile);
    base_text_string(out, "\n\n");
    print_facts(out, view);
    print_spellings(out, view);
    print_memory(out, view);
    if (with_owners)
        print_owners(out, view);
    print_threads(out, view);
}

/* ---- comparing ---- */
static void print_canonical(base_text *out, const char *name, const cli_layout_view *view) {
    layout_tile canonical = view->tile;
    layout_tile_canonicalise(&canonical);
    base_text_format(out, "  %s  ", name);
    layout_tile_print_shortest(out, &canonical);
    base_text_string(out, "\n");
}

void cli_layout_position_words(base_text *out, const cli_layout_view *view,
                               const layout_position *position) {
    static const layout_holder order[] = {LAYOUT_GROUP,    LAYOUT_STEP, LAYOUT_BLOCK,
                                          LAYOUT_SUBGROUP, LAYOUT_LANE, LAYOUT_SLOT};
    const char *separator = "";
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (view->range[order[i]] == 1 && position->number[order[i]] == 0 &&
            order[i] != LAYOUT_LANE)
            continue;
        base_text_format(out, "%s%s %" PRId64, separator, layout_holder_name(order[i]),
                         position->number[order[i]]);
        separator = ", ";
    }
}

void cli_layout_compare_text(base_text *out, const cli_layout_view views[2],
                             const cli_layout_difference *difference) {
    if (difference->equal) {
        base_text_string(out, "equal: the same function\n");
    } else if (!difference->found) {
        base_text_format(out,
                         "different, in positions past the first %" PRId64
                         " or in slots that own nothing\n",
                         difference->looked_at);
    } else {
        base_text_string(out, "different, first at ");
        cli_layout_position_words(out, &views[0], &difference->position);
        for (int i = 0; i < 2; i++) {
            base_text_format(out, "%s %c owns ", i == 0 ? ":" : ",", "AB"[i]);
            if (difference->owns[i])
                cli_layout_index_words(out, views[i].tile.rank, difference->index[i]);
            else
                base_text_string(out, "nothing");
        }
        base_text_string(out, "\n");
    }
    base_text_string(out, "\ncanonical forms\n");
    print_canonical(out, "A", &views[0]);
    print_canonical(out, "B", &views[1]);
}
