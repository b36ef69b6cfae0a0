/* Layouts: the room of src/layout behind opaque objects, with every number checked on the way in.
 *
 *     croft_layout_parse(context, "digits(slot 4 | lane 32)", &layout, &findings)
 *     croft_layout_owner(layout, (int64_t[]){9}, &position)          slot 1, lane 2
 */
#include "api/api_internal.h"

#include "base/checked.h"
#include "layout/conversion.h"

#include <string.h>

enum { TEXT_LIMIT = 1 << 21 };

struct croft_layout {
    base_allocator allocator;
    layout_tile tile;
    int64_t range[LAYOUT_HOLDER_COUNT]; /* 0: known when a kernel runs */
    int64_t group;                      /* the product of the known ones; 0: beyond 63 bits */
};

_Static_assert((int)CROFT_LAYOUT_AXES == (int)LAYOUT_MAX_RANK, "extents of all axes");
_Static_assert((int)CROFT_LAYOUT_CLUSTER == (int)LAYOUT_CLUSTER - 1, "the same classes");

/* ---- positions ---- */
static layout_position position_in(const croft_position *given) {
    layout_position position;
    position.number[LAYOUT_SLOT] = given->slot;
    position.number[LAYOUT_STEP] = given->step;
    position.number[LAYOUT_LANE] = given->lane;
    position.number[LAYOUT_SUBGROUP] = given->subgroup;
    position.number[LAYOUT_BLOCK] = given->block;
    position.number[LAYOUT_GROUP] = given->group;
    return position;
}

static croft_position position_out(const int64_t number[LAYOUT_HOLDER_COUNT]) {
    return (croft_position){.slot = number[LAYOUT_SLOT],
                            .step = number[LAYOUT_STEP],
                            .lane = number[LAYOUT_LANE],
                            .subgroup = number[LAYOUT_SUBGROUP],
                            .block = number[LAYOUT_BLOCK],
                            .group = number[LAYOUT_GROUP]};
}

/* Whether every number of the position is in its range. One that has no end before a kernel runs
 * may be as large as indices fit 63 bits. */
static bool is_inside(const croft_layout *layout, const layout_position *position) {
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++) {
        int64_t number = position->number[holder], range = layout->range[holder], past = 0;
        bool open = range == 0 && number < INT64_MAX && layout->group > 0 &&
                    base_checked_mul(number + 1, layout->group, &past);
        if (number < 0 || (range != 0 ? number >= range : !open))
            return false;
    }
    return true;
}

/* ---- objects ---- */
static croft_layout *make_layout(base_allocator allocator, const layout_tile *tile) {
    croft_layout *layout = api_allocate(allocator, sizeof *layout);
    if (layout == NULL)
        return NULL;
    layout->allocator = allocator;
    layout->tile = *tile;
    layout->group = 1;
    layout_tile_ranges(tile, layout->range);
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        if (layout->range[holder] != 0 &&
            !base_checked_mul(layout->group, layout->range[holder], &layout->group))
            layout->group = 0;
    return layout;
}

void croft_layout_free(croft_layout *layout) {
    if (layout != NULL)
        api_release(layout->allocator, layout, sizeof *layout);
}

/* ---- text ---- */
static croft_status read_text(api_call *call, const base_source *source, croft_layout **made) {
    layout_tile tile;
    layout_fault fault;
    if (source->length == TEXT_LIMIT)
        return api_refuse(
            call, "source-too-large", source->name, "the text is no layout", NULL,
            base_diagnostics_text(&call->diagnostics, "less than %d bytes", TEXT_LIMIT));
    if (!layout_tile_parse(&call->arena, source->text, source->length, &tile, &fault)) {
        layout_fault_report(&call->diagnostics, source, &fault);
        return CROFT_REJECTED;
    }
    *made = make_layout(call->allocator, &tile);
    return *made != NULL ? CROFT_OK : CROFT_OUT_OF_MEMORY;
}

croft_status croft_layout_parse(croft_context *context, const char *text, croft_layout **made,
                                croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *allocator = context != NULL ? &context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(allocator, findings, "there is nowhere to put the layout");
    *made = NULL;
    if (context == NULL || text == NULL)
        return api_misuse_early(allocator, findings,
                                context == NULL ? "there is no context" : "there is no text");
    base_source source = {"<layout>", text, strnlen(text, TEXT_LIMIT)};
    api_call call;
    api_call_begin(&call, context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, read_text(&call, &source, made));
}

/* LAYOUT_SPELLING_COUNT: there is none of this name. */
static layout_spelling spelling_named(const char *name) {
    int spelling = 0;
    while (spelling < LAYOUT_SPELLING_COUNT &&
           strcmp(layout_spelling_name((layout_spelling)spelling), name) != 0)
        spelling++;
    return (layout_spelling)spelling;
}

static croft_status write_text(api_call *call, const layout_tile *tile, const char *spelling,
                               char *room, size_t room_size, size_t *length) {
    base_text text;
    base_text_init(&text, &call->arena);
    base_text_string(&text, "");
    bool has = true;
    if (spelling == NULL)
        layout_tile_print_shortest(&text, tile);
    else
        has = layout_tile_print(&text, tile, spelling_named(spelling));
    *length = has ? (size_t)text.length : 0;
    size_t fits = *length < room_size ? *length : room_size - (room_size > 0);
    if (room_size > 0) {
        memcpy(room, text.bytes, fits);
        room[fits] = '\0';
    }
    return has ? CROFT_OK : CROFT_REJECTED;
}

croft_status croft_layout_print(const croft_layout *layout, const char *spelling, char *room,
                                size_t room_size, size_t *length) {
    size_t unasked;
    if (layout == NULL || (room == NULL && room_size > 0) ||
        (spelling != NULL && spelling_named(spelling) == LAYOUT_SPELLING_COUNT))
        return CROFT_MISUSE;
    api_call call;
    api_call_begin(&call, layout->allocator, NULL);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, write_text(&call, &layout->tile, spelling, room, room_size,
                                          length != NULL ? length : &unasked));
}

/* ---- questions ---- */
croft_status croft_layout_measure(const croft_layout *layout, croft_layout_extents *extents) {
    if (layout == NULL || extents == NULL || extents->size < sizeof *extents)
        return CROFT_MISUSE;
    extents->rank = layout->tile.rank;
    for (int a = 0; a < CROFT_LAYOUT_AXES; a++)
        extents->extent[a] = a < layout->tile.rank ? layout->tile.size[a] : 0;
    extents->end = position_out(layout->range);
    extents->replication = layout_tile_replication(&layout->tile);
    return CROFT_OK;
}

croft_status croft_layout_logical(const croft_layout *layout, const croft_position *given,
                                  int64_t *index, int *owns) {
    if (layout == NULL || given == NULL || index == NULL || owns == NULL)
        return CROFT_MISUSE;
    layout_position position = position_in(given);
    if (!is_inside(layout, &position))
        return CROFT_MISUSE;
    int64_t owned[LAYOUT_MAX_RANK] = {0};
    *owns = layout_tile_logical(&layout->tile, &position, owned);
    if (*owns)
        memcpy(index, owned, sizeof owned[0] * (size_t)layout->tile.rank);
    return CROFT_OK;
}

croft_status croft_layout_owner(const croft_layout *layout, const int64_t *index,
                                croft_position *position) {
    if (layout == NULL || index == NULL || position == NULL)
        return CROFT_MISUSE;
    layout_position owner;
    if (!layout_tile_owner(&layout->tile, index, &owner))
        return CROFT_MISUSE;
    *position = position_out(owner.number);
    return CROFT_OK;
}

int croft_layout_equal(const croft_layout *a, const croft_layout *b) {
    return a != NULL && b != NULL && layout_tile_equal(&a->tile, &b->tile);
}

/* ---- two layouts ---- */
static croft_status compose(api_call *call, const croft_layout *outer, const croft_layout *inner,
                            croft_layout **made) {
    layout_tile both;
    if (!layout_tile_compose(&outer->tile, &inner->tile, &both)) {
        base_text texts[2];
        const croft_layout *const layouts[] = {outer, inner};
        for (int i = 0; i < 2; i++) {
            base_text_init(&texts[i], &call->arena);
            layout_tile_print_shortest(&texts[i], &layouts[i]->tile);
        }
        return api_refuse(call, "layout-composition", texts[0].bytes,
                          "no layout does what this one does after the other", texts[1].bytes,
                          "one axis of each, owned whole, as many elements as positions, and "
                          "numbers that split into the same digits");
    }
    *made = make_layout(call->allocator, &both);
    return *made != NULL ? CROFT_OK : CROFT_OUT_OF_MEMORY;
}

croft_status croft_layout_compose(const croft_layout *outer, const croft_layout *inner,
                                  croft_layout **made, croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *allocator = outer != NULL ? &outer->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(allocator, findings, "there is nowhere to put the layout");
    *made = NULL;
    if (outer == NULL || inner == NULL)
        return api_misuse_early(allocator, findings, "a layout is missing");
    api_call call;
    api_call_begin(&call, outer->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, compose(&call, outer, inner, made));
}

static croft_status classify(api_call *call, const croft_layout *from, const croft_layout *to,
                             croft_layout_class *class_) {
    layout_conversion conversion;
    layout_fault fault;
    if (!layout_convert(&call->arena, &from->tile, &to->tile, &conversion, &fault)) {
        base_diagnostics_add(&call->diagnostics, fault.slug, (base_location){0}, "%s",
                             fault.reason);
        return CROFT_REJECTED;
    }
    *class_ = (croft_layout_class)(conversion.class_ - LAYOUT_FORWARD);
    return CROFT_OK;
}

croft_status croft_layout_classify(const croft_layout *from, const croft_layout *to,
                                   croft_layout_class *class_, croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    if (from == NULL || to == NULL || class_ == NULL)
        return api_misuse_early(from != NULL ? &from->allocator : NULL, findings,
                                class_ == NULL ? "there is nowhere to put the class"
                                               : "a layout is missing");
    api_call call;
    api_call_begin(&call, from->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, classify(&call, from, to, class_));
}
