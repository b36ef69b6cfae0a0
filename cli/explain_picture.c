/* A tile of a kernel as a picture: who owns each element, and the sectors that its access needs.
 *
 *     croft explain transpose8.croft --value v --svg
 *
 * The picture is that of cli/layout_picture.c. Its frames are the sectors of the load that makes
 * the tile, or of a store that writes it, at the addresses of the thread module: for program 0, in
 * the first step. Addresses that data decides have no frame.
 */
#include "explain.h"

#include "layout.h"

#include <string.h>

enum { ELEMENT_LIMIT = 1 << 16 };

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

void cli_explain_picture(base_text *out, const compile_report *report,
                         const compile_report_value *value, bool html) {
    base_arena *arena = out->arena;
    const compile_report_access *access = access_of(report, value);
    base_text caption, text;
    cli_layout_view view;
    cli_layout_view_make(arena, value->layout, &value->tile, value->dtype,
                         access != NULL && !report->by_team ? access->width : 1, &view);
    base_text_init(&caption, arena);
    base_text_format(&caption, "%s of %s, %s of %s elements", value->anchor, report->kernel,
                     base_dtype_name(value->dtype), value->shape);
    bool small = view.elements <= ELEMENT_LIMIT;
    int64_t *addresses = BASE_NEW_ARRAY(arena, int64_t, small ? view.elements + 1 : 1);
    int64_t known = small ? find_addresses(report, value, &view, addresses) : 0;
    if (small)
        cli_layout_view_place(&view, addresses, caption.bytes,
                              note_of(arena, access, known > 0, value->steps != 1));
    if (!html) {
        cli_layout_svg(out, &view, 1);
        return;
    }
    base_text_init(&text, arena);
    cli_explain_text(&text, report);
    cli_layout_html(out, &view, 1, caption.bytes, text.bytes);
}
