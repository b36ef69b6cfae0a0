/* The tables of passes and of the pipeline as data.
 *
 *     pass_find("fold", 4)->from      every level
 *     pass_pipeline_at(1, &step)      map, to level mapped
 */
#include "pass/pass.h"

#include <string.h>

/* ---- the words of the .def files ---- */
enum {
    T = IR_LEVEL_BIT_T,
    M = IR_LEVEL_BIT_M,
    R = IR_LEVEL_BIT_R,
    T_M_R = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M | IR_LEVEL_BIT_R,
};
enum { TO_T = IR_TILE, TO_M = IR_MAPPED, TO_R = IR_THREAD, TO_STAYS = PASS_STAYS };
enum { ONCE, AGAIN };

static const pass_row pass_table[] = {
#define PASS(name_, from_, to_, doc_)                                                              \
    {.name = #name_, .from = from_, .to = TO_##to_, .run = pass_##name_, .doc = doc_},
#include "pass/passes.def"
#undef PASS
};

enum {
#define PASS(name, from, to, doc) ROW_##name,
#include "pass/passes.def"
#undef PASS
    ROW_COUNT
};

static const struct {
    int row, repeat;
} pipeline[] = {
#define PIPELINE(name, repeat_) {ROW_##name, repeat_},
#include "pass/pipeline.def"
#undef PIPELINE
};

const pass_row *pass_at(int index) {
    return index >= 0 && index < ROW_COUNT ? &pass_table[index] : NULL;
}

const pass_row *pass_find(const char *name, size_t length) {
    for (int i = 0; i < ROW_COUNT; i++)
        if (strlen(pass_table[i].name) == length && memcmp(pass_table[i].name, name, length) == 0)
            return &pass_table[i];
    return NULL;
}

bool pass_pipeline_at(int index, pass_step *step) {
    int count = (int)(sizeof pipeline / sizeof pipeline[0]);
    if (index < 0 || index >= count)
        return false;
    step->pass = &pass_table[pipeline[index].row];
    step->again = pipeline[index].repeat == AGAIN;
    step->to = IR_TILE;
    for (int i = 0; i <= index; i++)
        if (pass_table[pipeline[i].row].to != PASS_STAYS)
            step->to = (ir_level)pass_table[pipeline[i].row].to;
    return true;
}

const char *pass_conversion_kind_name(pass_conversion_kind kind) {
    static const char *const names[PASS_CONVERSION_KIND_COUNT] = {"same", "inverse", "chain"};
    return names[kind];
}
