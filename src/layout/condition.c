/* Conditions: the table, and their text.
 *
 *     {LAYOUT_CONDITION_MULTIPLE, subject N, 4}  prints  N % 4 == 0      columns of conditions.def
 *
 * Whether one holds is asked where arguments are (runtime/condition.c), what follows from one where
 * programs are (analysis/alignment.c).
 */
#include "layout/condition.h"

static const layout_condition_info infos[] = {
#define CONDITION(ID, name, SUBJECT, word, tail, doc)                                              \
    {name, LAYOUT_CONDITION_##SUBJECT, word, tail, doc},
#include "layout/conditions.def"
#undef CONDITION
};

const layout_condition_info *layout_condition_describe(layout_condition_kind kind) {
    return &infos[kind];
}

void layout_condition_print(base_text *out, const layout_condition *condition,
                            const char *subject) {
    const layout_condition_info *info = layout_condition_describe(condition->kind);
    base_text_format(out, "%s %s %lld", subject, info->word, (long long)condition->amount);
    if (info->tail[0] != '\0')
        base_text_format(out, " %s", info->tail);
}

int64_t layout_conditions_amount(const layout_condition *conditions, int64_t count,
                                 layout_condition_kind kind, int64_t subject) {
    int64_t amount = 1;
    for (int64_t i = 0; i < count; i++)
        if (conditions[i].kind == kind && conditions[i].subject == subject &&
            conditions[i].amount > amount)
            amount = conditions[i].amount;
    return amount;
}
