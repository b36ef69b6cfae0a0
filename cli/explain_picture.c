/* A tile of a kernel as a picture: who owns each element, and the sectors that its access needs.
 *
 *     croft explain transpose8.croft --value v --svg
 *
 *     croft explain softmax.croft N=1009 --html     the report, pictures of layouts, the plan
 *
 * The picture is that of cli/layout_picture.c. Its frames are the sectors of the load that makes
 * the tile, or of a store that writes it, at the addresses of the thread module: for program 0, in
 * the first step. Addresses that data decides have no frame.
 */
#include "explain.h"

#include "layout.h"

#include <string.h>

enum { ELEMENT_LIMIT = 1 << 16, PICTURE_LIMIT = 8 };

/* By element number. Returns how many are known. */
static int64_t find_addresses(const compile_report *report, const compile_report_value *value,
                              const cli_layout_view *view, int64_t *addresses) {
    int64_t known = 0;
    for (int64_t element = 0; element < view->elements; element++) {
        int64_t index[LAYOUT_MAX_RANK];
        layout_position position;
        cli_layout_owner(view, element, index, &position);
        bool first = position.number[LAYOUT_STEP] == 0 && position.number[LAYOUT_GROUP] == 0;
        if (!first || !compile_report_address(report, value, cli_layout_thread(view, &position),
                                              position.number[LAYOUT_SLOT], &addresses[element]))
            addresses[element] = -1;
        known += addresses[element] >= 0;
    }
    return known;
}

static const compile_report_access *access_of(const compile_report *report,
                                              const compile_report_value *value) {
    for (int64_t i = 0; value->access != NULL && i < report->access_count; i++)
        if (strcmp(report->accesses[i].anchor, value->access) == 0)
            return &report->accesses[i];
    return NULL;
}

static const char *note_of(base_arena *arena, const compile_report_access *access, bool known,
                           bool in_steps) {
    base_text note;
    base_text_init(&note, arena);
    if (access == NULL)
        base_text_string(&note, "no load makes it and no store writes it: no sectors");
    else if (!known)
        base_text_format(&note, "%s of %s: its addresses hang on data or on sizes of the run",
                         access->anchor, access->tensor);
    else
        base_text_format(&note, "sectors of the %s %s in %s, %d at once, of program 0%s",
                         access->is_store ? "store" : "load", access->anchor, access->tensor,
                         access->width, in_steps ? ", in the first step" : "");
    return note.bytes;
}

/* The view of a value with what its sectors are; `caption` is what it shows. */
static void make_view(const compile_report *report, const compile_report_value *value,
                      base_text *caption, cli_layout_view *view) {
    base_arena *arena = caption->arena;
    const compile_report_access *access = access_of(report, value);
    cli_layout_view_make(arena, value->layout, &value->tile, value->dtype,
                         access != NULL && !report->by_team ? access->width : 1, view);
    base_text_format(caption, "%s of %s, %s of %s elements", value->anchor, report->kernel,
                     base_dtype_name(value->dtype), value->shape);
    if (view->elements > ELEMENT_LIMIT)
        return;
    int64_t *addresses = BASE_NEW_ARRAY(arena, int64_t, view->elements + 1);
    int64_t known = find_addresses(report, value, view, addresses);
    cli_layout_view_place(view, addresses, caption->bytes,
                          note_of(arena, access, known > 0, value->steps != 1));
}

void cli_explain_picture(base_text *out, const compile_report *report,
                         const compile_report_value *value, bool html) {
    base_text caption, text;
    cli_layout_view view;
    base_text_init(&caption, out->arena);
    base_text_init(&text, out->arena);
    make_view(report, value, &caption, &view);
    if (!html) {
        cli_layout_svg(out, &view, 1);
        return;
    }
    cli_explain_text(&text, report);
    cli_layout_html(out, &view, 1, caption.bytes, text.bytes);
}

/* ---- the whole page ---- */
/* A value before this one is owned alike and accessed as wide: its picture serves for both. */
static bool is_drawn(const compile_report *report, int64_t index) {
    const compile_report_value *value = &report->values[index];
    for (int64_t i = 0; i < index; i++)
        if (report->values[i].tile.rank > 0 &&
            strcmp(report->values[i].layout, value->layout) == 0 &&
            strcmp(report->values[i].shape, value->shape) == 0)
            return true;
    return false;
}

static void write_pictures(base_text *out, const compile_report *report) {
    int drawn = 0;
    for (int64_t i = 0; i < report->value_count && drawn < PICTURE_LIMIT; i++) {
        const compile_report_value *value = &report->values[i];
        base_text caption;
        cli_layout_view view;
        if (value->tile.rank == 0 || is_drawn(report, i))
            continue;
        base_text_init(&caption, out->arena);
        make_view(report, value, &caption, &view);
        if (drawn++ == 0)
            cli_layout_page_words(out, "h2", "Who owns each element");
        cli_layout_page_picture(out, &view, 1);
    }
}

/* Under the heading the launch has where there are several. */
static void write_launch(base_text *out, const compile_report *report, bool split) {
    base_text text;
    base_text_init(&text, out->arena);
    cli_explain_text(&text, report);
    if (split)
        cli_layout_page_words(out, "h1", report->kernel);
    cli_layout_page_words(out, "pre", text.bytes);
    write_pictures(out, report);
}

void cli_explain_page(base_text *out, const cli_explain_launches *launches) {
    const compile_report *first = launches->reports[0];
    bool split = cli_explain_is_split(launches);
    base_text title, text, plan;
    base_text_init(&title, out->arena);
    base_text_init(&text, out->arena);
    base_text_init(&plan, out->arena);
    base_text_format(&title, "%s on %s", launches->kernel, first->machine->name);
    ir_plan_print(&plan, launches->plan);
    cli_layout_page_begin(out, title.bytes);
    if (split) {
        cli_explain_launches_text(&text, launches);
        cli_layout_page_words(out, "pre", text.bytes);
    }
    for (int i = 0; i < launches->count; i++)
        write_launch(out, launches->reports[i], split);
    if (launches->planning != NULL)
        cli_explain_choice_table(out, launches->planning);
    cli_layout_page_words(out, "h2", "The plan");
    cli_layout_page_words(out, "pre", plan.bytes);
    if (first->module->source != NULL) {
        const base_source *source = first->module->source;
        cli_layout_page_words(out, "h2", "The kernel's file");
        cli_layout_page_words(out, "pre",
                              base_arena_copy(out->arena, source->text, source->length));
    }
    cli_layout_page_end(out);
}
