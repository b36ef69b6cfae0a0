/* What `croft layout` knows of a layout before it prints it, and its printers.
 *
 *     cli_layout_view_make      queries of a tile, once: ranges, sizes, sectors, conflicts
 *     cli_layout_*_text, _svg, _html      one report each, into a text; _json: members of an answer
 *
 * Elements are counted row-major, the last axis first. A size that is known at run time only is
 * shown as one round of its runtime digit. Pictures and tables stop at limits and say so.
 */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include "base/dtype.h"
#include "base/json.h"
#include "base/text.h"
#include "layout/conversion.h"
#include "layout/memory.h"
#include "machine/machine.h"

enum {
    CLI_LAYOUT_BANKS = 32,
    CLI_LAYOUT_SECTOR_BYTES = 32,
    CLI_LAYOUT_WORD_BYTES = 4,
    CLI_LAYOUT_LANES = 1024, /* of an access that is looked at lane by lane */
    CLI_LAYOUT_MACHINES = 16,
};

typedef struct cli_layout_view {
    const char *text; /* as it was given, NUL-terminated; what does not print is in it too */
    layout_tile tile;
    layout_tile shown; /* the same, of one round where the tile has a runtime digit */
    bool linear;       /* `bits` is set */
    layout_bits bits;
    base_dtype element;
    int64_t width;                      /* elements a lane reaches with one access */
    int64_t range[LAYOUT_HOLDER_COUNT]; /* of the holders' numbers; 0 = runtime */
    int64_t extent[LAYOUT_MAX_RANK];    /* elements of an axis that can be shown */
    bool runtime;                       /* some size is known at run time only */
    int64_t elements;                   /* product of the extents, at most INT64_MAX */
    int64_t threads, slots, capacity, replication, contiguity;
    layout_traffic traffic; /* no accesses: not counted, the tile is too large */
    int conflicts;          /* of one access to scratch that holds the tile row-major */
    int64_t
        scratch_width; /* elements a lane moves at once there: width, or 1 where those are no run */
    int64_t conflicts_seen; /* accesses looked at; 0 = all are alike, one was */
    /* Where the tile of a kernel lies in memory, by element number; -1: nowhere that is known.
     * NULL: row-major, rows on multiples of 128 bytes. */
    const int64_t *addresses;
    const char *caption, *note; /* of such a tile: what it is, and which access is meant */
    bool in_kernels;            /* identity(...) and bits(...) of a kernel may be this layout */
    const char *not_in_kernels;
} cli_layout_view;

void cli_layout_view_make(base_arena *arena, const char *text, const layout_tile *tile,
                          base_dtype element, int64_t width, cli_layout_view *view);

/* The same for a tile that an access of a kernel puts or finds at these bytes; the texts and
 * addresses outlive the view. Sectors are counted anew, of its own accesses. */
void cli_layout_view_place(cli_layout_view *view, const int64_t *addresses, const char *caption,
                           const char *note);

/* Position of element number `element`, row-major over the extents; its index in *index. */
void cli_layout_owner(const cli_layout_view *view, int64_t element, int64_t index[LAYOUT_MAX_RANK],
                      layout_position *position);
/* Lane, subgroup and block as one number. */
int64_t cli_layout_thread(const cli_layout_view *view, const layout_position *position);
/* The position with that thread and slot, of step and group 0. */
layout_position cli_layout_position(const cli_layout_view *view, int64_t thread, int64_t slot);

/* `12:3`, thread and slot; with steps `12:3.5`, with groups `7/12:3`; slots are left out where
 * there is one. The form itself: `group/thread:slot.step`. */
void cli_layout_cell(base_text *out, const cli_layout_view *view, const layout_position *position);
void cli_layout_cell_form(base_text *out, const cli_layout_view *view);

/* The elements as a table: the last axis along a row, or `columns` of them where there is one axis.
 */
typedef struct cli_layout_grid {
    int64_t rows, columns;
} cli_layout_grid;
cli_layout_grid cli_layout_grid_of(const cli_layout_view *view, int64_t columns);

/* The access of subgroup 0 at slots 0 to width - 1: byte addresses by lane and element of the
 * vector, rows on multiples of 128 bytes; -1 where nothing is owned. Returns their number. */
int cli_layout_first_access(const cli_layout_view *view, int64_t *bytes, int limit);
/* Words that the lanes of subgroup 0 that are served first ask of each bank of scratch with the
 * access at slot 0, where the tile lies row-major without gaps. */
void cli_layout_banks(const cli_layout_view *view, int asked[CLI_LAYOUT_BANKS]);
/* Byte address of an element, rows on multiples of 128 bytes; INT64_MAX past 64 bits; -1: nowhere.
 */
int64_t cli_layout_address(const cli_layout_view *view, const int64_t index[LAYOUT_MAX_RANK]);

/* ---- comparing and converting ---- */
typedef struct cli_layout_difference {
    bool equal;
    bool found; /* a position where they differ, among the first that were looked at */
    int64_t looked_at;
    layout_position position;
    bool owns[2]; /* whether it owns an element in either */
    int64_t index[2][LAYOUT_MAX_RANK];
} cli_layout_difference;
void cli_layout_compare(const cli_layout_view *a, const cli_layout_view *b,
                        cli_layout_difference *difference);

typedef struct cli_layout_machine_price {
    const machine *machine;
    layout_price price;
} cli_layout_machine_price;
typedef struct cli_layout_plan {
    layout_conversion conversion;
    cli_layout_machine_price prices[CLI_LAYOUT_MACHINES];
    int price_count;
} cli_layout_plan;

/* ---- printers ---- */
/* `with_owners`: the tables of who owns what, which a picture shows better. */
void cli_layout_show_text(base_text *out, const cli_layout_view *view, bool with_owners);
void cli_layout_compare_text(base_text *out, const cli_layout_view views[2],
                             const cli_layout_difference *difference);
void cli_layout_convert_text(base_text *out, const cli_layout_view views[2],
                             const cli_layout_plan *plan);
void cli_layout_show_json(base_json *json, const cli_layout_view *view);
void cli_layout_compare_json(base_json *json, const cli_layout_view views[2],
                             const cli_layout_difference *difference);
void cli_layout_convert_json(base_json *json, const cli_layout_view views[2],
                             const cli_layout_plan *plan);
/* One layout, or two beneath each other: cells whose owner differs are marked in the second. */
void cli_layout_svg(base_text *out, const cli_layout_view *views, int count);
/* A page in one file: begin, pictures and words in any order, end. `tag`: that words stand in. */
void cli_layout_page_begin(base_text *out, const char *title);
void cli_layout_page_picture(base_text *out, const cli_layout_view *views, int count);
void cli_layout_page_words(base_text *out, const char *tag, const char *words);
void cli_layout_page_end(base_text *out);
/* A page with the picture and the report's text. */
void cli_layout_html(base_text *out, const cli_layout_view *views, int count, const char *title,
                     const char *report);

#endif
