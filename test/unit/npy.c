/* .npy files: what NumPy writes is read, what is not true of the file is refused, and a failed
 * write leaves everything as it was. */
#include "npy.h"
#include "npy_header.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    jmp_buf exhausted;
    base_arena arena;
    base_diagnostics diagnostics;
    char root[64];
    char path[128];
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    strcpy(f->root, "/tmp/croft-npy-XXXXXX");
    if (mkdtemp(f->root) == NULL || setjmp(f->exhausted) != 0)
        return -1;
    base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    base_diagnostics_init(&f->diagnostics, &f->arena);
    snprintf(f->path, sizeof f->path, "%s/a.npy", f->root);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", f->root);
    int removed = system(command);
    base_arena_free(&f->arena);
    free(f);
    return removed == 0 ? 0 : -1;
}

static int count_files(const fixture *f) {
    int count = 0;
    DIR *directory = opendir(f->root);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static void write_bytes(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, char *bytes, size_t limit) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, limit, file);
    fclose(file);
    return length;
}

/* A file of any version with this dictionary, padded as NumPy does, and zeros as data. */
static void write_npy(const fixture *f, int version, const char *dictionary, size_t data_bytes) {
    char bytes[4096] = "\x93NUMPY";
    size_t prefix = version == 1 ? 10 : 12;
    size_t total = (prefix + strlen(dictionary) + 1 + 63) / 64 * 64;
    size_t length = total - prefix;
    assert_true(total + data_bytes <= sizeof bytes);
    bytes[6] = (char)version;
    bytes[8] = (char)(length & 0xff);
    bytes[9] = (char)(length >> 8);
    memset(bytes + prefix, ' ', length);
    memcpy(bytes + prefix, dictionary, strlen(dictionary));
    bytes[total - 1] = '\n';
    write_bytes(f->path, bytes, total + data_bytes);
}

static bool read_file(fixture *f, cli_array *array) {
    base_diagnostics_init(&f->diagnostics, &f->arena);
    bool read = cli_npy_read(f->path, false, array, &f->diagnostics);
    assert_int_equal(f->diagnostics.count, read ? 0 : 1);
    if (!read)
        assert_null(array->data);
    return read;
}

static void assert_refused(fixture *f, const char *slug) {
    cli_array array;
    assert_false(read_file(f, &array));
    assert_string_equal(f->diagnostics.items[0].slug, slug);
    assert_non_null(strstr(f->diagnostics.items[0].message, f->path));
    assert_non_null(f->diagnostics.items[0].found);
}

/* ---- reading ---- */

static void what_numpy_writes_is_read(void **state) {
    fixture *f = *state;
    static const struct {
        const char *dictionary;
        size_t data_bytes;
        base_dtype dtype;
        int rank;
        int64_t extent[4];
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, BASE_F32, 2, {2, 3}},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", 10, BASE_F16, 1, {5}},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8, BASE_F64, 0, {0}},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 1, 3), }",
         48,
         BASE_I64,
         4,
         {1, 2, 1, 3}},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }", 0, BASE_I32, 1, {0}},
        {"{'descr': '<u4', 'fortran_order': False, 'shape': (3, 0, 7), }",
         0,
         BASE_U32,
         3,
         {3, 0, 7}},
        {"{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", 3, BASE_I8, 1, {3}},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3, BASE_U8, 1, {3}},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3, BASE_BOOL, 1, {3}},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }", 6, BASE_BF16, 1, {3}},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }", 6, BASE_BF16, 1, {3}},
        /* Other spellings of the same literals. */
        {"{\"shape\":(2L,3L),\"descr\":\"<f4\",\"fortran_order\":False}", 24, BASE_F32, 2, {2, 3}},
        {" { 'shape' : ( 2 , 3 ) , 'fortran_order' : False , 'descr' : '<f4' } \n",
         24,
         BASE_F32,
         2,
         {2, 3}},
        /* Fortran order that is C order. */
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 6, 1), }",
         24,
         BASE_F32,
         3,
         {1, 6, 1}},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (4, 0, 3), }",
         0,
         BASE_F32,
         3,
         {4, 0, 3}},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (), }", 4, BASE_F32, 0, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int version = 1; version <= 3; version++) {
            cli_array array;
            write_npy(f, version, rows[i].dictionary, rows[i].data_bytes);
            assert_true(read_file(f, &array));
            assert_int_equal(array.dtype, rows[i].dtype);
            assert_int_equal(array.rank, rows[i].rank);
            assert_memory_equal(array.extent, rows[i].extent, sizeof array.extent);
            assert_int_equal(array.size_bytes, rows[i].data_bytes);
            assert_int_equal((uintptr_t)array.data % CLI_ARRAY_ALIGN, 0);
            cli_array_free(&array);
        }
    }
}

#define DICT(descr, order, shape)                                                                  \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void untrue_headers_are_refused_by_name(void **state) {
    fixture *f = *state;
    static const struct {
        const char *slug, *dictionary;
        size_t data_bytes;
    } rows[] = {
        {"npy-size", DICT("'<f4'", "False", "(2, 3)"), 23},
        {"npy-size", DICT("'<f4'", "False", "(2, 3)"), 25},
        {"npy-size", DICT("'<f4'", "False", "(2, 3)"), 0},
        {"npy-size", DICT("'<f4'", "False", "(1000000000000000000,)"), 24},
        {"npy-size", DICT("'<f4'", "False", "()"), 0},
        {"npy-shape", DICT("'<f4'", "False", "(4294967296, 4294967296)"), 24},
        {"npy-shape", DICT("'<f4'", "False", "(0, 4294967296, 4294967296)"), 0},
        {"npy-shape", DICT("'<f4'", "False", "(99999999999999999999999,)"), 24},
        {"npy-shape", DICT("'<f4'", "False", "(-1, 3)"), 24},
        {"npy-shape", DICT("'<f4'", "False", "(1, 1, 1, 1, 6)"), 24},
        {"npy-shape", DICT("'<f4'", "False", "(6)"), 24},
        {"npy-byte-order", DICT("'>f4'", "False", "(2, 3)"), 24},
        {"npy-byte-order", DICT("'>i8'", "False", "(3,)"), 24},
        {"npy-order", DICT("'<f4'", "True", "(2, 3)"), 24},
        {"npy-dtype", DICT("'|O'", "False", "(3,)"), 24},
        {"npy-dtype", DICT("'<c8'", "False", "(3,)"), 24},
        {"npy-dtype", DICT("'<u2'", "False", "(3,)"), 6},
        {"npy-dtype", DICT("'<U1'", "False", "(3,)"), 12},
        {"npy-dtype", DICT("'|V4'", "False", "(6,)"), 24},
        {"npy-dtype", DICT("'|f4'", "False", "(6,)"), 24},
        {"npy-dtype", DICT("'f4'", "False", "(6,)"), 24},
        {"npy-dtype", DICT("''", "False", "(6,)"), 24},
        {"npy-dtype", DICT("'<f4aaaaaaaaaaaaaaaaaaaaaaaaa'", "False", "(6,)"), 24},
        {"npy-dtype", DICT("[('a', '<f4')]", "False", "(6,)"), 24},
        {"npy-header", DICT("'<f4'", "false", "(6,)"), 24},
        {"npy-header", DICT("'<f4'", "False", "[6]"), 24},
        {"npy-header", DICT("'<f4'", "False", "(6.0,)"), 24},
        {"npy-header", DICT("'<f4'", "False", "(,)"), 24},
        {"npy-header", DICT("'<f4'", "False", "(2 3)"), 24},
        {"npy-header", DICT("'<f4\\x00'", "False", "(6,)"), 24},
        {"npy-header", DICT("'<f4'", "False", "(6,)") "x", 24},
        {"npy-header", "{'descr': '<f4', 'fortran_order': False}", 24},
        {"npy-header", "{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}", 24},
        {"npy-header", "{'descr': '<f4', 'order': False, 'shape': (6,)}", 24},
        {"npy-header", "{'descr' '<f4'}", 24},
        {"npy-header", "{'descr': '<f4' 'shape': (6,)}", 24},
        {"npy-header", "{'descr': '<f4", 24},
        {"npy-header", "{", 24},
        {"npy-header", "", 24},
        {"npy-header", "(((((((((((((((((((((((((", 24},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_npy(f, 1, rows[i].dictionary, rows[i].data_bytes);
        assert_refused(f, rows[i].slug);
    }
}

static void u2_is_bf16_only_where_it_is_wanted(void **state) {
    fixture *f = *state;
    cli_array array;
    write_npy(f, 1, DICT("'<u2'", "False", "(3,)"), 6);
    assert_true(cli_npy_read(f->path, true, &array, &f->diagnostics));
    assert_int_equal(array.dtype, BASE_BF16);
    cli_array_free(&array);
    write_npy(f, 1, DICT("'>u2'", "False", "(3,)"), 6);
    assert_false(cli_npy_read(f->path, true, &array, &f->diagnostics));
    assert_string_equal(f->diagnostics.items[0].slug, "npy-byte-order");
}

static void foreign_files_are_refused_by_name(void **state) {
    fixture *f = *state;
    static const struct {
        const char *slug, *bytes;
        size_t length;
    } rows[] = {
        {"npy-magic", "", 0},
        {"npy-magic", "\x93NUMPY\x01", 7},
        {"npy-magic", "PK\x03\x04 a zip archive", 18},
        {"npy-version", "\x93NUMPY\x04\x00\x02\x00{}", 12},
        {"npy-version", "\x93NUMPY\x01\x01\x02\x00{}", 12},
        {"npy-version", "\x93NUMPY\x00\x00\x02\x00{}", 12},
        {"npy-header", "\x93NUMPY\x01\x00", 8},
        {"npy-header", "\x93NUMPY\x01\x00\x03\x00{}", 12},
        {"npy-header", "\x93NUMPY\x02\x00\x00\x00", 10},
        {"npy-header", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14},
        {"npy-header", "\x93NUMPY\x03\x00\x02\x00\x00\x80{}", 14},
        {"npy-header", "\x93NUMPY\x01\x00\x02\x00\x00\x00", 12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_bytes(f->path, rows[i].bytes, rows[i].length);
        assert_refused(f, rows[i].slug);
    }
    static char long_header[200000] = "\x93NUMPY\x02";
    memset(long_header + 12, ' ', sizeof long_header - 12);
    memcpy(long_header + 8, "\x34\x0d\x03\x00", 4); /* 199,988 */
    write_bytes(f->path, long_header, sizeof long_header);
    assert_refused(f, "npy-header");
}

static void what_is_no_file_is_refused(void **state) {
    fixture *f = *state;
    assert_refused(f, "file-open"); /* not there */
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_refused(f, "file-open");
    assert_int_equal(rmdir(f->path), 0);
    assert_int_equal(mkfifo(f->path, 0700), 0);
    assert_refused(f, "file-open"); /* and does not wait for a writer */
}

static void every_cut_of_a_file_is_refused(void **state) {
    fixture *f = *state;
    char bytes[512];
    write_npy(f, 2, DICT("'<f4'", "False", "(2, 3)"), 24);
    size_t length = read_bytes(f->path, bytes, sizeof bytes);
    for (size_t cut = 0; cut < length; cut++) {
        cli_array array;
        write_bytes(f->path, bytes, cut);
        assert_false(read_file(f, &array));
    }
}

/* Every byte of the head replaced by bytes of every kind: refused, or read as what the file holds.
 */
static void no_changed_byte_is_believed_against_the_size(void **state) {
    fixture *f = *state;
    static const char others[] = "\0\xff\x80 09-'\"(){}[],:L<>|fV\\\n";
    char bytes[512];
    int accepted = 0;
    write_npy(f, 1, DICT("'<f4'", "False", "(2, 3)"), 24);
    size_t length = read_bytes(f->path, bytes, sizeof bytes);
    for (size_t at = 0; at < length - 24; at++) {
        for (size_t i = 0; i < sizeof others - 1; i++) {
            cli_array array;
            char kept = bytes[at];
            bytes[at] = others[i];
            write_bytes(f->path, bytes, length);
            if (read_file(f, &array)) {
                accepted++;
                assert_int_equal(array.size_bytes, 24);
                cli_array_free(&array);
            }
            bytes[at] = kept;
        }
    }
    assert_true(accepted > 0); /* blanks for blanks, at least */
}

static void bool_bytes_become_0_and_1(void **state) {
    fixture *f = *state;
    char bytes[512];
    cli_array array;
    write_npy(f, 1, DICT("'|b1'", "False", "(4,)"), 4);
    size_t length = read_bytes(f->path, bytes, sizeof bytes);
    memcpy(bytes + length - 4, "\x00\x01\x02\xff", 4);
    write_bytes(f->path, bytes, length);
    assert_true(read_file(f, &array));
    assert_memory_equal(array.data, "\x00\x01\x01\x01", 4);
    cli_array_free(&array);
}

/* ---- writing ---- */

/* As the command writes one output. */
static bool write_array(const char *path, const cli_array *array, base_diagnostics *diagnostics) {
    cli_output output;
    return cli_npy_stage(&output, path, array, diagnostics) &&
           cli_output_commit(&output, diagnostics);
}

static cli_array make_array(fixture *f, base_dtype dtype, int rank, const int64_t *extent) {
    cli_array array;
    assert_true(cli_array_create(&array, dtype, rank, extent, 0, "test", &f->diagnostics));
    for (int64_t i = 0; i < array.size_bytes; i++)
        ((unsigned char *)array.data)[i] = (unsigned char)(dtype == BASE_BOOL ? i % 2 : i * 7 + 1);
    return array;
}

static void every_type_and_rank_comes_back(void **state) {
    fixture *f = *state;
    static const int64_t extents[][4] = {{2, 3, 4, 5}, {1, 1, 1, 1}, {0, 3, 4, 5}, {3, 0, 2, 1}};
    for (int dtype = 0; dtype < BASE_DTYPE_COUNT; dtype++) {
        for (int i = 0; i < 20 && dtype != BASE_INDEX; i++) {
            cli_array array = make_array(f, (base_dtype)dtype, i % 5, extents[i / 5]), back;
            assert_true(write_array(f->path, &array, &f->diagnostics));
            assert_true(read_file(f, &back));
            assert_int_equal(back.dtype, array.dtype);
            assert_int_equal(back.rank, array.rank);
            assert_memory_equal(back.extent, array.extent, sizeof array.extent);
            assert_memory_equal(back.data, array.data, (size_t)array.size_bytes);
            cli_array_free(&back);
            cli_array_free(&array);
        }
    }
    assert_int_equal(count_files(f), 1);
}

static void the_bytes_are_those_numpy_writes(void **state) {
    fixture *f = *state;
    static const char head[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (2, 3), }";
    char bytes[512];
    cli_array array = make_array(f, BASE_F32, 2, (int64_t[]){2, 3});
    assert_true(write_array(f->path, &array, &f->diagnostics));
    assert_int_equal(read_bytes(f->path, bytes, sizeof bytes), 128 + 24);
    assert_memory_equal(bytes, head, sizeof head - 1);
    for (size_t i = sizeof head - 1; i < 127; i++)
        assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, array.data, 24);
    cli_array_free(&array);
}

static void heads_name_one_byte_types_bf16_and_one_axis(void **state) {
    fixture *f = *state;
    static const struct {
        base_dtype dtype;
        const char *expected;
    } rows[] = {{BASE_BF16, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"},
                {BASE_BOOL, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }"},
                {BASE_F64, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array = {.dtype = rows[i].dtype, .rank = 1, .extent = {2}};
        base_text head;
        base_text_init(&head, &f->arena);
        cli_npy_header_print(&head, &array);
        assert_int_equal(head.length % 64, 0);
        assert_memory_equal(head.bytes + 10, rows[i].expected, strlen(rows[i].expected));
    }
}

static void an_unwritable_place_is_refused(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){3});
    char path[200];
    snprintf(path, sizeof path, "%s/absent/a.npy", f->root);
    assert_false(write_array(path, &array, &f->diagnostics));
    assert_string_equal(f->diagnostics.items[0].slug, "file-write");
    assert_non_null(strstr(f->diagnostics.items[0].message, path));
    assert_false(write_array(f->root, &array, &f->diagnostics));
    assert_string_equal(f->diagnostics.items[1].found, "Is a directory");
    assert_int_equal(count_files(f), 0);
    cli_array_free(&array);
}

static void a_long_name_and_a_link_are_written_through(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){3}), back;
    char name[256], path[400], link[128];
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(path, sizeof path, "%s/%s", f->root, name);
    snprintf(link, sizeof link, "%s/link.npy", f->root);
    assert_true(write_array(path, &array, &f->diagnostics));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(name, link), 0);
    assert_true(write_array(link, &array, &f->diagnostics));
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_true(cli_npy_read(path, false, &back, &f->diagnostics));
    assert_int_equal(count_files(f), 2);
    cli_array_free(&back);
    cli_array_free(&array);
}

static void a_device_is_written_to_and_stays(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){3});
    struct stat status;
    assert_true(write_array("/dev/null", &array, &f->diagnostics));
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_false(write_array("/dev/full", &array, &f->diagnostics));
    assert_string_equal(f->diagnostics.items[0].found, "No space left on device");
    cli_array_free(&array);
}

static void what_is_staged_can_be_discarded(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){3});
    cli_output first, second;
    char other[128];
    snprintf(other, sizeof other, "%s/b.npy", f->root);
    assert_true(cli_npy_stage(&first, f->path, &array, &f->diagnostics));
    assert_true(cli_npy_stage(&second, other, &array, &f->diagnostics));
    assert_int_equal(count_files(f), 2);
    assert_int_equal(access(f->path, F_OK), -1);
    assert_true(cli_output_commit(&first, &f->diagnostics));
    cli_output_discard(&first);
    cli_output_discard(&second);
    assert_int_equal(access(f->path, F_OK), 0);
    assert_int_equal(count_files(f), 1);
    cli_array_free(&array);
}

static void a_place_lost_after_staging_leaves_nothing(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){3});
    cli_output output;
    assert_true(cli_npy_stage(&output, f->path, &array, &f->diagnostics));
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_false(cli_output_commit(&output, &f->diagnostics));
    assert_int_equal(count_files(f), 1);
    cli_array_free(&array);
}

static int write_on_full_disk(fixture *f, const cli_array *array) {
    for (rlim_t limit = 0; limit < 500; limit += 50) { /* in the head, in the data */
        struct rlimit small = {limit, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &small);
        if (write_array(f->path, array, &f->diagnostics))
            return 1;
    }
    return 0;
}

static void a_full_disk_leaves_the_old_file_and_nothing_else(void **state) {
    fixture *f = *state;
    cli_array array = make_array(f, BASE_F32, 1, (int64_t[]){1000});
    write_bytes(f->path, "old", 3);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        _exit(write_on_full_disk(f, &array));
    }
    int status = -1;
    char bytes[8];
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(f), 1);
    assert_int_equal(read_bytes(f->path, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "old", 3);
    cli_array_free(&array);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_numpy_writes_is_read),
        TEST(untrue_headers_are_refused_by_name),
        TEST(u2_is_bf16_only_where_it_is_wanted),
        TEST(foreign_files_are_refused_by_name),
        TEST(what_is_no_file_is_refused),
        TEST(every_cut_of_a_file_is_refused),
        TEST(no_changed_byte_is_believed_against_the_size),
        TEST(bool_bytes_become_0_and_1),
        TEST(every_type_and_rank_comes_back),
        TEST(the_bytes_are_those_numpy_writes),
        TEST(heads_name_one_byte_types_bf16_and_one_axis),
        TEST(an_unwritable_place_is_refused),
        TEST(a_long_name_and_a_link_are_written_through),
        TEST(a_device_is_written_to_and_stays),
        TEST(what_is_staged_can_be_discarded),
        TEST(a_place_lost_after_staging_leaves_nothing),
        TEST(a_full_disk_leaves_the_old_file_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
