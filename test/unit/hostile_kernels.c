/* Every example, spoiled: cut at every byte, each token lost, doubled or swapped with its
 * neighbour, bytes changed at random. The compiler goes as far as it can, to the source of a
 * target: it accepts, or it reports one to twenty findings, each at a line, none of them our own
 * bug.
 *
 * Texts stand in memory of their exact length, so that the sanitizers see a read past the end. In
 * check they see half of the texts.
 * Random changes follow CROFT_SEED.
 */
#include "compile/compile.h"
#include "sanitized.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { TOKEN_LIMIT = 1000, RANDOM_TEXTS = SANITIZED ? 100 : 300, SECONDS_LIMIT = 2 };

typedef struct text {
    char *bytes;
    size_t length;
} text;

typedef struct span {
    size_t start, end;
} span;

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What is wrong with the result, or NULL. */
static const char *objection(const compile_result *result, double seconds) {
    const base_diagnostics *diagnostics = &result->diagnostics;
    if (seconds > SECONDS_LIMIT)
        return "too slow";
    if (result->status == COMPILE_OK)
        return diagnostics->count > 0 ? "accepted with findings" : NULL;
    if (result->status != COMPILE_REJECTED)
        return "out of memory";
    if (diagnostics->count < 1 || diagnostics->count > BASE_DIAGNOSTIC_LIMIT)
        return "refused without a finding";
    for (int i = 0; i < diagnostics->count; i++) {
        const base_diagnostic *finding = &diagnostics->items[i];
        if (finding->location.line < 1 || finding->location.column < 1)
            return "a finding without a place";
        if (strstr(finding->message, "CROFT_BUG") != NULL ||
            (finding->hint != NULL && strstr(finding->hint, "CROFT_BUG") != NULL))
            return "our own bug";
    }
    return NULL;
}

static void check_text(const char *bytes, size_t length) {
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    base_source source = {.name = "k", .text = copy, .length = length};
    compile_request request = {.source = &source,
                               .partial = true,
                               .machine = machine_find(length % 2 == 0 ? "cpu-avx2" : "sm_90"),
                               .stage = COMPILE_TO_SOURCE};
    compile_result result;
    double start = processor_seconds();
    compile_run(&request, &result);
    const char *wrong = objection(&result, processor_seconds() - start);
    if (wrong != NULL)
        fail_msg("%s (%s):\n%.*s", wrong,
                 result.diagnostics.count > 0 ? result.diagnostics.items[0].message : "",
                 (int)length, copy);
    compile_free(&result);
    free(copy);
}

/* ---- examples ---- */

static text read_example(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/examples/%s", CROFT_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text read = {.bytes = malloc(1 << 16)};
    assert_non_null(read.bytes);
    read.length = fread(read.bytes, 1, 1 << 16, file);
    fclose(file);
    assert_true(read.length > 0);
    return read;
}

static void for_each_example(void (*check)(const text *)) {
    DIR *directory = opendir(CROFT_SOURCE_DIR "/examples");
    int count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strstr(entry->d_name, ".croft") == NULL)
            continue;
        text example = read_example(entry->d_name);
        check(&example);
        free(example.bytes);
        count++;
    }
    closedir(directory);
    assert_true(count >= 13);
}

/* ---- cuts ---- */

static size_t one_of(void) {
    return sanitized_in_part() ? 2 : 1;
}

static void check_cuts(const text *example) {
    for (size_t length = 0; length <= example->length; length += one_of())
        check_text(example->bytes, length);
}

static void cut_at_every_byte(void **state) {
    (void)state;
    for_each_example(check_cuts);
}

/* ---- tokens ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int find_tokens(const text *from, span tokens[TOKEN_LIMIT]) {
    int count = 0;
    for (size_t i = 0; i < from->length;) {
        size_t start = i;
        if (from->bytes[i] == '#')
            while (i < from->length && from->bytes[i] != '\n')
                i++;
        else if (is_word(from->bytes[i]))
            while (i < from->length && is_word(from->bytes[i]))
                i++;
        else
            i++;
        if (from->bytes[start] == '#' || from->bytes[start] == ' ')
            continue;
        assert_true(count < TOKEN_LIMIT);
        tokens[count++] = (span){start, i};
    }
    return count;
}

static void append(text *to, const text *from, size_t start, size_t end) {
    memcpy(to->bytes + to->length, from->bytes + start, end - start);
    to->length += end - start;
}

static void check_tokens(const text *example) {
    static span tokens[TOKEN_LIMIT];
    int count = find_tokens(example, tokens);
    size_t end = example->length;
    text spoiled = {.bytes = malloc(2 * end)};
    assert_non_null(spoiled.bytes);
    for (int i = 0; i < count; i += (int)one_of()) {
        span t = tokens[i];
        spoiled.length = 0;
        append(&spoiled, example, 0, t.start);
        append(&spoiled, example, t.end, end);
        check_text(spoiled.bytes, spoiled.length);

        spoiled.length = 0;
        append(&spoiled, example, 0, t.end);
        spoiled.bytes[spoiled.length++] = ' ';
        append(&spoiled, example, t.start, end);
        check_text(spoiled.bytes, spoiled.length);

        span next = i + 1 < count ? tokens[i + 1] : t;
        spoiled.length = 0;
        append(&spoiled, example, 0, t.start);
        append(&spoiled, example, next.start, next.end);
        if (i + 1 < count) {
            append(&spoiled, example, t.end, next.start);
            append(&spoiled, example, t.start, t.end);
        }
        append(&spoiled, example, next.end, end);
        check_text(spoiled.bytes, spoiled.length);
    }
    free(spoiled.bytes);
}

static void every_token_lost_doubled_and_swapped(void **state) {
    (void)state;
    for_each_example(check_tokens);
}

/* ---- random bytes ---- */

static unsigned random_state;

static unsigned next_random(unsigned below) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void change_at_random(text *spoiled) {
    size_t at = next_random((unsigned)spoiled->length);
    switch (next_random(4)) {
    case 0:
        spoiled->bytes[at] = (char)next_random(256);
        break;
    case 1:
        memmove(spoiled->bytes + at, spoiled->bytes + at + 1, spoiled->length - at - 1);
        spoiled->length--;
        break;
    case 2:
        memmove(spoiled->bytes + at + 1, spoiled->bytes + at, spoiled->length - at);
        spoiled->bytes[at] = (char)(32 + next_random(95));
        spoiled->length++;
        break;
    default:
        spoiled->bytes[at] = (char)(spoiled->bytes[at] ^ (1 << next_random(8)));
        break;
    }
}

static void check_random(const text *example) {
    text spoiled = {.bytes = malloc(example->length + 8)};
    assert_non_null(spoiled.bytes);
    for (int i = 0; i < RANDOM_TEXTS; i += (int)one_of()) {
        memcpy(spoiled.bytes, example->bytes, example->length);
        spoiled.length = example->length;
        for (unsigned changes = 1 + next_random(3); changes > 0; changes--)
            change_at_random(&spoiled);
        check_text(spoiled.bytes, spoiled.length);
    }
    free(spoiled.bytes);
}

static void bytes_changed_at_random(void **state) {
    (void)state;
    const char *seed = getenv("CROFT_SEED");
    random_state = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1;
    for_each_example(check_random);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_token_lost_doubled_and_swapped),
        cmocka_unit_test(bytes_changed_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
