/* The JSON writer: commas, lines, escapes, and numbers that JSON has not. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

static void writes_containers_on_lines_and_numbers_on_one(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_text text;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    assert_int_equal(setjmp(exhausted), 0);
    base_text_init(&text, &arena);
    base_json json = base_json_begin(&text);
    base_json_object(&json, NULL);
    base_json_array(&json, "size");
    base_json_integer(&json, NULL, -1);
    base_json_integer(&json, NULL, INT64_MAX);
    base_json_close(&json);
    base_json_array(&json, "rows");
    base_json_object(&json, NULL);
    base_json_bool(&json, "fits", true);
    base_json_close(&json);
    base_json_close(&json);
    base_json_object(&json, "empty");
    base_json_close(&json);
    base_json_array(&json, "reals");
    base_json_real(&json, NULL, 0.5);
    base_json_real(&json, NULL, INFINITY);
    base_json_real(&json, NULL, NAN);
    base_json_close(&json);
    base_json_close(&json);
    assert_string_equal(text.bytes, "{\n"
                                    "  \"size\": [-1, 9223372036854775807],\n"
                                    "  \"rows\": [\n"
                                    "    {\n"
                                    "      \"fits\": true\n"
                                    "    }\n"
                                    "  ],\n"
                                    "  \"empty\": {},\n"
                                    "  \"reals\": [0.5, null, null]\n"
                                    "}\n");
    base_arena_free(&arena);
}

static void escapes_what_json_and_unicode_do_not_hold(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_text text;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    assert_int_equal(setjmp(exhausted), 0);
    base_text_init(&text, &arena);
    base_json json = base_json_begin(&text);
    base_json_array(&json, NULL);
    base_json_string(&json, NULL, "a\"b\\c\n\x01");
    base_json_string(&json, NULL, "\xc3\xa9\xff\xc3");
    base_json_string(&json, NULL, NULL);
    base_json_close(&json);
    assert_string_equal(text.bytes,
                        "[\"a\\\"b\\\\c\\n\\u0001\", \"\xc3\xa9\\ufffd\\ufffd\", null]\n");
    base_arena_free(&arena);
}

static void appends_parts_that_were_written_before(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_text texts[4];
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    assert_int_equal(setjmp(exhausted), 0);
    for (int i = 0; i < 4; i++)
        base_text_init(&texts[i], &arena);
    base_json members = base_json_begin_part(&texts[0], 1, false);
    base_json_hash(&members, "hash", 0xabc);
    base_json_digits(&members, "digits", "-0.5");
    base_json numbers = base_json_begin_part(&texts[1], 2, true);
    base_json_number(&numbers, NULL, 1.5);
    base_json_number(&numbers, NULL, -INFINITY);
    base_json_number(&numbers, NULL, NAN);
    base_json nothing = base_json_begin_part(&texts[2], 2, true);
    base_json json = base_json_begin(&texts[3]);
    base_json_object(&json, NULL);
    base_json_bool(&json, "first", true);
    base_json_append(&json, &members);
    base_json_array(&json, "numbers");
    base_json_append(&json, &numbers);
    base_json_append(&json, &numbers);
    base_json_close(&json);
    base_json_array(&json, "nothing");
    base_json_append(&json, &nothing);
    base_json_close(&json);
    base_json_close(&json);
    assert_string_equal(texts[3].bytes,
                        "{\n"
                        "  \"first\": true,\n"
                        "  \"hash\": \"0000000000000abc\",\n"
                        "  \"digits\": -0.5,\n"
                        "  \"numbers\": [1.5, \"-inf\", \"nan\", 1.5, \"-inf\", \"nan\"],\n"
                        "  \"nothing\": []\n"
                        "}\n");
    base_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_containers_on_lines_and_numbers_on_one),
        cmocka_unit_test(escapes_what_json_and_unicode_do_not_hold),
        cmocka_unit_test(appends_parts_that_were_written_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
