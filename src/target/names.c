/* Identifiers: a hash set, and fresh names near a wanted one.
 *
 *     taken: t, t_0, t_1      wanted: t, 2 slots      given: t2 (with t2_0, t2_1)
 *
 * Names depend only on the order of the calls. The set does not know the language's keywords: the
 * emitter puts them in first. */
#include "target/names_internal.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH_MAX = 40, FIRST_CAPACITY = 256 };

void target_names_init(target_names *names, base_arena *arena) {
    *names = (target_names){.arena = arena, .capacity = FIRST_CAPACITY};
    names->slots = BASE_NEW_ARRAY(arena, target_name, FIRST_CAPACITY);
}

/* The slot that holds the text, or the empty one where it belongs. */
static target_name *names_find(const target_names *names, const char *text, size_t length) {
    uint64_t mask = (uint64_t)names->capacity - 1;
    uint64_t at = base_hash_bytes(BASE_HASH_START, text, length) & mask;
    while (names->slots[at].text != NULL && (strncmp(names->slots[at].text, text, length) != 0 ||
                                             names->slots[at].text[length] != '\0'))
        at = (at + 1) & mask;
    return &names->slots[at];
}

static void names_grow(target_names *names) {
    target_names old = *names;
    names->capacity *= 2;
    names->slots = BASE_NEW_ARRAY(names->arena, target_name, names->capacity);
    for (int64_t i = 0; i < old.capacity; i++) {
        const char *text = old.slots[i].text;
        if (text != NULL)
            *names_find(names, text, strlen(text)) = old.slots[i];
    }
}

target_name *target_names_add(target_names *names, const char *text, size_t length) {
    if (names->count * 2 >= names->capacity)
        names_grow(names);
    target_name *slot = names_find(names, text, length);
    if (slot->text == NULL) {
        *slot = (target_name){.text = base_arena_copy(names->arena, text, length), .next = 2};
        names->count++;
    }
    return slot;
}

bool target_names_has(const target_names *names, const char *text, size_t length) {
    return names_find(names, text, length)->text != NULL;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void target_names_scan(target_names *names, const char *text) {
    while (*text != '\0') {
        size_t length = 0;
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
            continue;
        }
        bool member = text[0] == '.' && is_word(text[1]) && !(text[1] >= '0' && text[1] <= '9');
        text += member;
        while (is_word(text[length]))
            length++;
        if (length > 0 && !member)
            target_names_add(names, text, length);
        text += length > 0 ? length : 1;
    }
}

/* `wanted` as an identifier: other bytes become `_`, long names are cut, a leading digit or
 * underscore and a reserved name get a letter in front. */
static void identifier_from(const target_names *names, char out[NAME_LENGTH_MAX + 2],
                            const char *wanted) {
    size_t length = 0;
    if (!is_word(wanted[0]) || wanted[0] == '_' || (wanted[0] >= '0' && wanted[0] <= '9') ||
        (names->is_reserved != NULL && names->is_reserved(wanted)))
        out[length++] = 'v';
    for (const char *c = wanted; *c != '\0' && length < NAME_LENGTH_MAX; c++)
        out[length++] = is_word(*c) ? *c : '_';
    out[length] = '\0';
}

static bool names_free(const target_names *names, const char *base, int slots) {
    char text[NAME_LENGTH_MAX + 52]; /* longer than any base by `_` and a number */
    if (target_names_has(names, base, strlen(base)))
        return false;
    for (int s = 0; slots > 1 && s < slots; s++) {
        snprintf(text, sizeof text, "%s_%d", base, s);
        if (target_names_has(names, text, strlen(text)))
            return false;
    }
    return true;
}

const char *target_names_take(target_names *names, const char *wanted, int slots) {
    char identifier[NAME_LENGTH_MAX + 2];
    char text[NAME_LENGTH_MAX + 40];
    identifier_from(names, identifier, wanted);
    size_t length = strlen(identifier);
    bool digit = identifier[length - 1] >= '0' && identifier[length - 1] <= '9';
    int32_t number = 1;
    if (target_names_has(names, identifier, length))
        number = names_find(names, identifier, length)->next;
    for (;; number++) {
        const char *middle = digit ? "_v" : "";
        if (number == 1)
            snprintf(text, sizeof text, "%s", identifier);
        else
            snprintf(text, sizeof text, "%s%s%d", identifier, middle, (int)number);
        if (names_free(names, text, slots))
            break;
    }
    target_names_add(names, identifier, length)->next = number + 1;
    const char *base = target_names_add(names, text, strlen(text))->text;
    for (int s = 0; slots > 1 && s < slots; s++) {
        snprintf(text, sizeof text, "%s_%d", base, s);
        target_names_add(names, text, strlen(text));
    }
    return base;
}
