/* The pass table as data. */
#include "pass/pass.h"

#include <stddef.h>

enum { T = IR_TILE, M = IR_MAPPED, R = IR_THREAD };

static const pass_row pass_table[] = {
#define PASS(name_, from_, to_, doc_)                                                              \
    {.name = #name_,                                                                               \
     .from = (ir_level)from_,                                                                      \
     .to = (ir_level)to_,                                                                          \
     .run = pass_##name_,                                                                          \
     .doc = doc_},
#include "pass/passes.def"
#undef PASS
};

const pass_row *pass_at(int index) {
    int count = (int)(sizeof pass_table / sizeof pass_table[0]);
    return index >= 0 && index < count ? &pass_table[index] : NULL;
}
