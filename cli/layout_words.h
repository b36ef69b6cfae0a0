/* Phrases that the printers of `croft layout` share. */
#ifndef CLI_LAYOUT_WORDS_H
#define CLI_LAYOUT_WORDS_H

#include "layout.h"

/* `sectors of 32 bytes 4, half lines 2, lines 1 at most; accesses 2, sectors in all 8` */
void cli_layout_memory_words(base_text *out, const cli_layout_view *view);
/* `no bank conflicts`, `bank conflicts: an access is served 4 times` */
void cli_layout_scratch_words(base_text *out, const cli_layout_view *view);
/* `5`, `(1, 5)` */
void cli_layout_index_words(base_text *out, int rank, const int64_t *index);
/* `subgroup 1, lane 5, slot 0`: holders that the layout has. */
void cli_layout_position_words(base_text *out, const cli_layout_view *view,
                               const layout_position *position);
/* `lane 8 ^ slot 1`: the position bits of a mask; `0` for none. */
void cli_layout_mask_words(base_text *out, const layout_bits *bits, uint32_t mask);
/* Slots that another one's value comes into. */
int cli_layout_renames(const layout_shuffle *shuffle);

#endif
