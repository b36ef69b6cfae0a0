/* Reading what `--set` fixes: see the header for an example. A key that is unknown or given twice,
 * and a value that its key does not have, are findings; whether a plan can have the value is for
 * the rules of candidates to say.
 */
#include "planner/setting.h"

#include "base/text.h"
#include "ir/print.h"

#include <string.h>

static const struct {
    const char *key;
    size_t offset;
} number_keys[] = {
    {"w", offsetof(planner_setting, workers)}, {"s", offsetof(planner_setting, subgroups)},
    {"v", offsetof(planner_setting, vector)},  {"u", offsetof(planner_setting, unroll)},
    {"p", offsetof(planner_setting, packed)},  {"g", offsetof(planner_setting, parts)},
    {"b", offsetof(planner_setting, blocks)},
};
enum { NUMBER_KEYS = sizeof number_keys / sizeof number_keys[0] };

static bool refuse_setting(base_diagnostics *diagnostics, const char *message, const char *word,
                           size_t length, const char *expected) {
    base_diagnostic *d =
        base_diagnostics_add(diagnostics, "plan-set", (base_location){0}, "%s", message);
    d->found = base_diagnostics_text(diagnostics, "%.*s", (int)(length < 80 ? length : 80), word);
    d->expected = expected;
    return false;
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool same_word(const char *word, size_t length, const char *other) {
    if (strlen(other) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (lower(word[i]) != other[i])
            return false;
    return true;
}

static bool set_word(planner_setting *setting, const char *key, size_t key_length,
                     const char *value, size_t length) {
    if (same_word(key, key_length, "chunk")) {
        setting->stepped = same_word(value, length, "step")   ? 1
                           : same_word(value, length, "slot") ? 0
                                                              : -1;
        return setting->stepped >= 0;
    }
    if (same_word(key, key_length, "shift")) {
        setting->shifted = same_word(value, length, "yes")  ? 1
                           : same_word(value, length, "no") ? 0
                                                            : -1;
        return setting->shifted >= 0;
    }
    for (int k = 0; k < IR_POLICY_COUNT && same_word(key, key_length, "policy"); k++) {
        setting->policy = (ir_policy)k;
        if (same_word(value, length, ir_policy_name(setting->policy)))
            return true;
    }
    if (!same_word(key, key_length, "keep"))
        return false;
    for (int k = 0; k < PLANNER_KEEPING_COUNT; k++)
        if (same_word(value, length, planner_keeping_name((planner_keeping)k)))
            setting->keeping = k;
    return setting->keeping >= 0;
}

static bool set_number(planner_setting *setting, const char *key, size_t key_length,
                       const char *value, size_t length) {
    double number = 0;
    for (int i = 0; i < NUMBER_KEYS; i++) {
        if (!same_word(key, key_length, number_keys[i].key))
            continue;
        if (!base_number_parse(value, length, &number) || !(number >= 1 && number <= 1e6) ||
            number != (double)(int64_t)number)
            return false;
        int64_t *field = (int64_t *)(void *)((char *)setting + number_keys[i].offset);
        *field = (int64_t)number;
        return true;
    }
    return false;
}

/* Whether an earlier word of the text has the same key; `key` is the key's length. */
static bool is_repeated(const char *text, const char *word, size_t key) {
    for (const char *before = text; before < word; before += strcspn(before, ",") + 1) {
        size_t same = 0;
        while (same <= key && lower(before[same]) == lower(word[same]))
            same++;
        if (same > key)
            return true;
    }
    return false;
}

bool planner_setting_parse(const char *text, planner_setting *setting,
                           base_diagnostics *diagnostics) {
    *setting = (planner_setting){.stepped = -1, .shifted = -1, .keeping = -1};
    for (const char *word = text != NULL ? text : ""; *word != '\0';) {
        size_t length = strcspn(word, ","), key = strcspn(word, "=");
        if (key < length && is_repeated(text, word, key))
            return refuse_setting(diagnostics, "a setting of the plan is given twice", word, length,
                                  "each of them once");
        bool good =
            key < length && (set_number(setting, word, key, word + key + 1, length - key - 1) ||
                             set_word(setting, word, key, word + key + 1, length - key - 1));
        if (!good)
            return refuse_setting(
                diagnostics, "a setting of the plan cannot be read", word, length,
                "w, s, v, u, p, b or g and a number, chunk=slot or step, shift=yes or no, "
                "keep=mixed, registers, again, output, private or nothing, policy=default, "
                "stream or evict_last; with commas between");
        word += length + (word[length] == ',');
    }
    if (setting->workers != 0 && setting->subgroups != 0)
        return refuse_setting(diagnostics, "two settings of the plan count the same", text,
                              strlen(text), "w, all workers of a program, or s, their subgroups");
    return true;
}

bool planner_setting_is_free(const planner_setting *setting) {
    for (int i = 0; i < NUMBER_KEYS; i++)
        if (*(const int64_t *)(const void *)((const char *)setting + number_keys[i].offset) != 0)
            return false;
    return setting->stepped < 0 && setting->shifted < 0 && setting->keeping < 0;
}
