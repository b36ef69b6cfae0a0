/* Layouts as pictures: SVG on its own, and an HTML page around it.
 *
 *     +------+------+------+------+      one cell an element, coloured by lane, with thread and
 *     | 0:0  | 1:0  | 2:0  | 3:0  |      slot of its owner; a frame around each sector of 32
 *     +------+------+------+------+      bytes, a strong one where the first access of subgroup 0
 *                                        reaches; below, the banks that it reaches
 *
 * Of a tile of a kernel the frames are the sectors that its own access needs, and no banks are
 * drawn. At most 32 x 32 cells are drawn, and the picture says what it leaves out. Colours follow
 * the reader's choice of light or dark. No script, no fonts or files from elsewhere.
 */
#include "layout.h"

#include "layout_words.h"

#include <inttypes.h>
#include <string.h>

enum {
    MARGIN = 16,
    CELL_HEIGHT = 24,
    CELL_LEAST_WIDTH = 32,
    CHARACTER = 7, /* width, of 11 pixel monospace */
    LINE = 18,
    ROWS_LIMIT = 32,
    COLUMNS_LIMIT = 32,
    HUES = 32,
    BANK_WIDTH = 20,
    LEAST_WIDTH = CLI_LAYOUT_BANKS * BANK_WIDTH,
    TITLE_CLIP = 100,
    NOTE_CLIP = 200,
    ACCESS_LIMIT = 4096 /* elements of the first access */
};

typedef struct picture {
    base_text *out;
    int64_t width, y; /* used so far */
} picture;

typedef struct panel {
    const cli_layout_view *view, *reference; /* reference: mark cells that differ; NULL = none */
    cli_layout_grid grid;
    int64_t rows, columns; /* drawn */
    int64_t x, y, cell;    /* of the cells; width of one */
    int64_t touched[ACCESS_LIMIT];
    int touched_count;
    base_text label;
} panel;

/* ---- text ---- */
/* Bytes that XML cannot hold become `?`. */
static void append_xml(base_text *out, const char *text, size_t limit) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length && i < limit;) {
        size_t bytes = base_utf8_length(text + i, length - i);
        unsigned char c = (unsigned char)text[i];
        if (c == '<')
            base_text_string(out, "&lt;");
        else if (c == '>')
            base_text_string(out, "&gt;");
        else if (c == '&')
            base_text_string(out, "&amp;");
        else if (bytes == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || bytes > 3)
            base_text_string(out, "?");
        else
            base_text_append(out, text + i, bytes);
        i += bytes > 0 ? bytes : 1;
    }
    if (length > limit)
        base_text_string(out, "...");
}

static void draw_line(picture *p, const char *class_, const char *text) {
    int64_t clip = strcmp(class_, "title") == 0 ? TITLE_CLIP : NOTE_CLIP;
    base_text_format(p->out, "<text class=\"%s\" x=\"%d\" y=\"%" PRId64 "\">", class_, MARGIN,
                     p->y + LINE - 5);
    append_xml(p->out, text, (size_t)clip);
    base_text_string(p->out, "</text>\n");
    int64_t length = (int64_t)strlen(text);
    int64_t width = 2 * MARGIN + 8 * (length < clip ? length : clip + 3);
    p->width = width > p->width ? width : p->width;
    p->y += LINE;
}

/* ---- colours ---- */
static int channel(int hue, int shift, int least, int most) {
    int at = (hue + shift) % 360, rise = at < 180 ? at : 360 - at; /* 0 .. 180 */
    int part = rise <= 60 ? 0 : rise >= 120 ? 60 : rise - 60;
    return least + (most - least) * part / 60;
}

static void write_hues(base_text *out, const char *indent, int least, int most) {
    for (int i = 0; i < HUES; i++) {
        int hue = i * 360 / HUES;
        base_text_format(out, "%s.h%d{fill:#%02x%02x%02x}", indent, i,
                         channel(hue, 180, least, most), channel(hue, 60, least, most),
                         channel(hue, 300, least, most));
        base_text_string(out, i % 4 == 3 ? "\n" : "");
    }
}

static void write_style(base_text *out) {
    base_text_string(
        out, "<style>\n"
             "text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:11px;fill:#1a1a1a}\n"
             ".title{font-size:13px;font-weight:bold}\n"
             ".cell text,.bank text{text-anchor:middle}\n"
             ".label{text-anchor:end;fill:#666666}\n"
             ".cell rect{stroke:#ffffff;stroke-width:1}\n"
             ".accessed text{font-weight:bold}.differs text{text-decoration:underline}\n"
             ".page{fill:#ffffff}\n"
             ".sector{fill:none;stroke:#8a8a8a;stroke-width:1}\n"
             ".touched{fill:none;stroke:#111111;stroke-width:2.5}\n"
             ".rest{fill:#eeeeee}.asked{fill:#b9d7f2}.conflict{fill:#f4b6a6}\n");
    write_hues(out, "", 196, 250);
    base_text_string(out, "@media (prefers-color-scheme:dark){\n"
                          ".page{fill:#16181b}text{fill:#f0f0f0}.label{fill:#a0a0a0}\n"
                          ".cell rect{stroke:#16181b}.sector{stroke:#8a8a8a}"
                          ".touched{stroke:#ffffff}\n"
                          ".rest{fill:#26292d}.asked{fill:#1f4e79}.conflict{fill:#8a3522}\n");
    write_hues(out, "", 36, 104);
    base_text_string(out, "}\n</style>\n");
}

/* ---- cells ---- */
static void set_label(panel *s, int64_t element, int64_t index[LAYOUT_MAX_RANK],
                      layout_position *position) {
    s->label.length = 0;
    cli_layout_owner(s->view, element, index, position);
    cli_layout_cell(&s->label, s->view, position);
}

static bool differs(const panel *s, int64_t element, const layout_position *position) {
    int64_t index[LAYOUT_MAX_RANK];
    layout_position other;
    if (s->reference == NULL)
        return false;
    cli_layout_owner(s->reference, element, index, &other);
    return memcmp(&other, position, sizeof other) != 0;
}

static bool is_accessed(const panel *s, const int64_t index[LAYOUT_MAX_RANK]) {
    int64_t address = cli_layout_address(s->view, index);
    for (int i = 0; i < s->touched_count && address >= 0; i++)
        if (s->touched[i] == address)
            return true;
    return false;
}

static void draw_cell(picture *p, panel *s, int64_t row, int64_t column) {
    int64_t element = row * s->grid.columns + column, index[LAYOUT_MAX_RANK];
    layout_position position;
    set_label(s, element, index, &position);
    int64_t x = s->x + column * s->cell, y = s->y + row * CELL_HEIGHT;
    base_text_format(p->out,
                     "<g class=\"cell%s%s\"><rect class=\"h%" PRId64 "\" x=\"%" PRId64
                     "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%d\"/>"
                     "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s</text><title>element ",
                     is_accessed(s, index) ? " accessed" : "",
                     differs(s, element, &position) ? " differs" : "",
                     cli_layout_thread(s->view, &position) % HUES, x, y, s->cell, CELL_HEIGHT,
                     x + s->cell / 2, y + CELL_HEIGHT / 2 + 4, s->label.bytes);
    cli_layout_index_words(p->out, s->view->tile.rank, index);
    base_text_string(p->out, ": ");
    cli_layout_position_words(p->out, s->view, &position);
    if (s->view->addresses != NULL && cli_layout_address(s->view, index) >= 0)
        base_text_format(p->out, "; byte %" PRId64, cli_layout_address(s->view, index));
    base_text_string(p->out, "</title></g>\n");
}

/* -1: it lies nowhere. */
static int64_t sector_of(const panel *s, int64_t row, int64_t column) {
    int64_t index[LAYOUT_MAX_RANK];
    layout_position position;
    cli_layout_owner(s->view, row * s->grid.columns + column, index, &position);
    int64_t address = cli_layout_address(s->view, index);
    return address < 0 ? -1 : address / CLI_LAYOUT_SECTOR_BYTES;
}

static bool is_touched(const panel *s, int64_t sector) {
    for (int i = 0; i < s->touched_count; i++)
        if (s->touched[i] >= 0 && s->touched[i] / CLI_LAYOUT_SECTOR_BYTES == sector)
            return true;
    return false;
}

static bool in_grid(const panel *s, int64_t row, int64_t column) {
    return column < s->columns && row * s->grid.columns + column < s->view->elements;
}

static void draw_sectors(picture *p, const panel *s, bool touched) {
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t first = 0; in_grid(s, row, first);) {
            int64_t sector = sector_of(s, row, first), end = first + 1;
            while (in_grid(s, row, end) && sector_of(s, row, end) == sector)
                end++;
            if (sector >= 0 && is_touched(s, sector) == touched)
                base_text_format(p->out,
                                 "<rect class=\"%s\" x=\"%" PRId64 "\" y=\"%" PRId64
                                 "\" width=\"%" PRId64 "\" height=\"%d\"/>\n",
                                 touched ? "touched" : "sector", s->x + first * s->cell + 1,
                                 s->y + row * CELL_HEIGHT + 1, (end - first) * s->cell - 2,
                                 CELL_HEIGHT - 2);
            first = end;
        }
    }
}

static void draw_label(picture *p, panel *s, int64_t row) {
    int64_t index[LAYOUT_MAX_RANK];
    layout_position position;
    int rank = s->view->tile.rank;
    s->label.length = 0;
    cli_layout_owner(s->view, row * s->grid.columns, index, &position);
    cli_layout_index_words(&s->label, rank > 1 ? rank - 1 : rank, index);
    base_text_format(p->out,
                     "<text class=\"label\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s</text>\n",
                     s->x - 6, s->y + row * CELL_HEIGHT + CELL_HEIGHT / 2 + 4, s->label.bytes);
}

/* ---- banks ---- */
static void draw_banks(picture *p, const panel *s) {
    int asked[CLI_LAYOUT_BANKS];
    cli_layout_banks(s->view, asked);
    draw_line(p, "note",
              "scratch: words asked of each of 32 banks by the lanes of the first access "
              "that are served first");
    for (int bank = 0; bank < CLI_LAYOUT_BANKS; bank++) {
        const char *class_ = asked[bank] == 0 ? "rest" : asked[bank] == 1 ? "asked" : "conflict";
        int x = MARGIN + bank * BANK_WIDTH;
        base_text_format(p->out,
                         "<g class=\"bank\"><rect class=\"%s\" x=\"%d\" y=\"%" PRId64
                         "\" width=\"%d\" height=\"%d\"/><text x=\"%d\" y=\"%" PRId64
                         "\">%d</text><title>bank %d</title></g>\n",
                         class_, x, p->y + 2, BANK_WIDTH - 2, LINE, x + BANK_WIDTH / 2 - 1,
                         p->y + LINE - 3, asked[bank], bank);
    }
    p->y += 2 * LINE;
}

/* ---- panels ---- */
static int64_t choose_columns(const cli_layout_view *view) {
    int64_t sector = CLI_LAYOUT_SECTOR_BYTES / base_dtype_size(view->element);
    return view->elements >= 256 || sector > 16 ? 32 : 16;
}

static void measure(panel *s) {
    int64_t length = 0, label = 0;
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t column = 0; in_grid(s, row, column); column++) {
            int64_t index[LAYOUT_MAX_RANK];
            layout_position position;
            set_label(s, row * s->grid.columns + column, index, &position);
            length = s->label.length > length ? s->label.length : length;
            if (column > 0)
                continue;
            s->label.length = 0;
            cli_layout_index_words(&s->label, s->view->tile.rank, index);
            label = s->label.length > label ? s->label.length : label;
        }
    }
    s->cell = length * CHARACTER + 8 > CELL_LEAST_WIDTH ? length * CHARACTER + 8 : CELL_LEAST_WIDTH;
    s->x = MARGIN + label * CHARACTER + 10;
}

static void draw_captions(picture *p, panel *s) {
    const cli_layout_view *view = s->view;
    base_text *text = &s->label;
    text->length = 0;
    if (view->caption != NULL)
        base_text_format(text, "%s: ", view->caption);
    layout_tile_print_shortest(text, &view->tile);
    draw_line(p, "title", text->bytes);
    if (view->note != NULL)
        draw_line(p, "note", view->note);
    text->length = 0;
    base_text_format(text, "%s; ", base_dtype_name(view->element));
    if (view->addresses == NULL || view->traffic.accesses > 0) {
        cli_layout_memory_words(text, view);
        draw_line(p, "note", text->bytes);
    }
    text->length = 0;
    if (view->addresses == NULL) {
        base_text_string(text, "scratch, row-major: ");
        cli_layout_scratch_words(text, view);
        draw_line(p, "note", text->bytes);
    }
    text->length = 0;
    base_text_string(text, "cell: ");
    cli_layout_cell_form(text, view);
    base_text_string(text, ", colour: lane; frame: sector of 32 bytes; strong: the first access of "
                           "subgroup 0");
    draw_line(p, "note", text->bytes);
    if (s->reference != NULL)
        draw_line(p, "note", "underlined: another owner than in the first layout");
    if (s->rows == s->grid.rows && s->columns == s->grid.columns && !view->runtime)
        return;
    text->length = 0;
    base_text_format(text,
                     "shown: %" PRId64 " of %" PRId64 " rows, %" PRId64 " of %" PRId64 " columns%s",
                     s->rows, s->grid.rows, s->columns, s->grid.columns,
                     view->runtime ? "; the size is known at run time" : "");
    draw_line(p, "note", text->bytes);
}

static void draw_panel(picture *p, const cli_layout_view *view, const cli_layout_view *reference) {
    panel s = {.view = view, .reference = reference};
    base_text_init(&s.label, p->out->arena);
    s.grid = cli_layout_grid_of(view, choose_columns(view));
    s.rows = s.grid.rows < ROWS_LIMIT ? s.grid.rows : ROWS_LIMIT;
    s.columns = s.grid.columns < COLUMNS_LIMIT ? s.grid.columns : COLUMNS_LIMIT;
    s.touched_count = cli_layout_first_access(view, s.touched, ACCESS_LIMIT);
    measure(&s);
    draw_captions(p, &s);
    s.y = p->y + 6;
    for (int64_t row = 0; row < s.rows; row++) {
        draw_label(p, &s, row);
        for (int64_t column = 0; in_grid(&s, row, column); column++)
            draw_cell(p, &s, row, column);
    }
    draw_sectors(p, &s, false);
    draw_sectors(p, &s, true);
    p->y = s.y + s.rows * CELL_HEIGHT + 8;
    int64_t width = s.x + s.columns * s.cell + MARGIN;
    p->width = width > p->width ? width : p->width;
    if (view->addresses == NULL)
        draw_banks(p, &s);
}

void cli_layout_svg(base_text *out, const cli_layout_view *views, int count) {
    base_text body;
    base_text_init(&body, out->arena);
    picture p = {.out = &body, .width = LEAST_WIDTH + 2 * MARGIN, .y = MARGIN};
    for (int i = 0; i < count; i++)
        draw_panel(&p, &views[i], i > 0 ? &views[0] : NULL);
    base_text_format(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64
                     "\" height=\"%" PRId64 "\" viewBox=\"0 0 %" PRId64 " %" PRId64
                     "\" role=\"img\">\n<title>",
                     p.width, p.y, p.width, p.y);
    base_text name;
    base_text_init(&name, out->arena);
    for (int i = 0; i < count; i++) {
        base_text_string(&name, i > 0 ? " and " : "");
        layout_tile_print_shortest(&name, &views[i].tile);
    }
    append_xml(out, name.bytes, 4 * TITLE_CLIP);
    base_text_string(out, "</title>\n");
    write_style(out);
    base_text_string(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    base_text_append(out, body.bytes, (size_t)body.length);
    base_text_string(out, "</svg>\n");
}

void cli_layout_page_begin(base_text *out, const char *title) {
    base_text_string(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                          "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>");
    append_xml(out, title, TITLE_CLIP);
    base_text_string(out,
                     "</title>\n<style>\n:root{color-scheme:light dark}\n"
                     "body{margin:1.5rem;font-family:system-ui,sans-serif;background:#ffffff;"
                     "color:#1a1a1a}\n"
                     "h1{font-size:1.2rem;overflow-wrap:anywhere}\nh2{font-size:1rem}\n"
                     ".picture{overflow-x:auto}\npre{overflow-x:auto;line-height:1.4}\n"
                     "table{border-collapse:collapse}\nth,td{text-align:left;padding:0 1rem 0 0;"
                     "font-variant-numeric:tabular-nums}\n"
                     "@media (prefers-color-scheme:dark){body{background:#16181b;color:#f0f0f0}}\n"
                     "</style>\n</head>\n<body>\n<h1>");
    append_xml(out, title, 4 * TITLE_CLIP);
    base_text_string(out, "</h1>\n");
}

void cli_layout_page_picture(base_text *out, const cli_layout_view *views, int count) {
    base_text_string(out, "<div class=\"picture\">\n");
    cli_layout_svg(out, views, count);
    base_text_string(out, "</div>\n");
}

void cli_layout_page_words(base_text *out, const char *tag, const char *words) {
    base_text_format(out, "<%s>", tag);
    append_xml(out, words, strlen(words));
    base_text_format(out, "</%s>\n", tag);
}

void cli_layout_page_end(base_text *out) {
    base_text_string(out, "</body>\n</html>\n");
}

void cli_layout_html(base_text *out, const cli_layout_view *views, int count, const char *title,
                     const char *report) {
    cli_layout_page_begin(out, title);
    cli_layout_page_picture(out, views, count);
    cli_layout_page_words(out, "pre", report);
    cli_layout_page_end(out);
}
