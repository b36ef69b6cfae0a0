/* The cache of compiled programs as files: what is found, what is refused, what is removed. The
 * programs are texts here; test/unit/cache_compiler.c has those that a compiler made.
 *
 * threads: tsan */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/hash.h"
#include "cache_fixture.h"

enum { NOBODY = 65534 };

static const char *const head = "compiled by a test\ntext\n";

static void keep_text(runtime_cache *cache, const char *text, const char *program) {
    runtime_cache_key key = key_of(head, text);
    runtime_cache_keep(cache, &key, program, strlen(program));
}

static bool finds(runtime_cache *cache, const char *text, const char *program) {
    char room[4096];
    runtime_cache_key key = key_of(head, text);
    int64_t length = find_program(cache, &key, room, sizeof room);
    return length == (int64_t)strlen(program) && memcmp(room, program, strlen(program)) == 0;
}

static bool finds_none(runtime_cache *cache, const char *text) {
    runtime_cache_key key = key_of(head, text);
    return !is_found(cache, &key);
}

static void assert_content(const runtime_cache *cache) {
    runtime_report report;
    if (runtime_cache_complaint((runtime_cache *)cache, &report))
        fail_msg("%s", report.text);
}

/* ---- finding ---- */
static void what_is_kept_is_found_by_its_whole_key(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    assert_true(finds_none(cache, "a"));
    keep_text(cache, "a", "program of a");
    keep_text(cache, "", "program of nothing");
    assert_true(finds(cache, "a", "program of a"));
    assert_true(finds(cache, "", "program of nothing"));
    assert_true(finds_none(cache, "b"));
    assert_true(finds_none(cache, "aa"));
    runtime_cache_key other = key_of("compiled by another\ntext\n", "a");
    assert_false(is_found(cache, &other));
    keep_text(cache, "a", "a newer one");
    assert_true(finds(cache, "a", "a newer one"));
    assert_int_equal(count_files(s.directory, ".program", NULL), 2);
    assert_int_equal(count_files(s.directory, ".new", NULL), 0);
    assert_content(cache);
    runtime_cache_destroy(cache);
    cache = cache_of(s.directory, 0); /* as another process */
    assert_true(finds(cache, "a", "a newer one"));
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* The file of one key under the name that the other's hash gives, as if both had one hash. */
static void keys_of_one_hash_get_their_own_programs(void **state) {
    (void)state;
    scratch s;
    char a[NAME_MAX + 1], b[NAME_MAX + 1], from[700], to[700];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "b", "program of b");
    assert_int_equal(count_files(s.directory, ".program", b), 1);
    snprintf(to, sizeof to, "%s/%s", s.directory, b);
    assert_int_equal(unlink(to), 0);
    keep_text(cache, "a", "program of a");
    assert_int_equal(count_files(s.directory, ".program", a), 1);
    snprintf(from, sizeof from, "%s/%s", s.directory, a);
    assert_int_equal(rename(from, to), 0);
    assert_true(finds_none(cache, "b"));
    assert_int_equal(faults_of(cache), 1);
    keep_text(cache, "b", "program of b");
    assert_true(finds(cache, "b", "program of b"));
    assert_int_equal(faults_of(cache), 0);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static void write_file(const char *path, const char *bytes, size_t length) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Bytes behind what it says are seen too. */
static void every_cut_and_every_changed_byte_is_seen(void **state) {
    (void)state;
    scratch s;
    char name[NAME_MAX + 1], path[700], whole[512], changed[512];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "kernel", "machine code");
    assert_int_equal(count_files(s.directory, ".program", name), 1);
    snprintf(path, sizeof path, "%s/%s", s.directory, name);
    FILE *file = fopen(path, "r");
    size_t length = fread(whole, 1, sizeof whole - 1, file);
    fclose(file);
    assert_true(length > 60 && length < sizeof whole - 1);
    for (size_t i = 0; i < length; i++) {
        for (int bit = 0; bit < 8; bit += 7) {
            memcpy(changed, whole, length);
            changed[i] = (char)(changed[i] ^ (1 << bit));
            write_file(path, changed, length);
            assert_true(finds_none(cache, "kernel"));
            assert_int_equal(faults_of(cache), 1);
        }
        write_file(path, whole, i);
        assert_true(finds_none(cache, "kernel"));
        assert_int_equal(faults_of(cache), 1);
    }
    whole[length] = '\0';
    write_file(path, whole, length + 1);
    assert_true(finds_none(cache, "kernel"));
    write_file(path, whole, length);
    assert_true(finds(cache, "kernel", "machine code"));
    assert_int_equal(faults_of(cache), 0);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* Whole and with a right checksum, as a later version of this library may write it. */
static void an_entry_of_another_form_is_none(void **state) {
    (void)state;
    scratch s;
    char name[NAME_MAX + 1], path[700], bytes[512];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "kernel", "machine code");
    assert_int_equal(count_files(s.directory, ".program", name), 1);
    snprintf(path, sizeof path, "%s/%s", s.directory, name);
    for (int form = 1; form <= 2; form++) {
        FILE *file = fopen(path, "r");
        size_t length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        char *number = strstr(bytes, "croft program ") + strlen("croft program ");
        *number = form == 1 ? '2' : '1';
        uint64_t sum = base_hash_bytes(BASE_HASH_START, bytes, length - sizeof sum);
        memcpy(bytes + length - sizeof sum, &sum, sizeof sum);
        write_file(path, bytes, length);
        assert_true(form == 1 ? finds_none(cache, "kernel")
                              : finds(cache, "kernel", "machine code"));
    }
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static void what_is_no_file_of_the_owner_is_no_entry(void **state) {
    (void)state;
    scratch s;
    char name[NAME_MAX + 1], path[700], elsewhere[700];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "kernel", "machine code");
    assert_int_equal(count_files(s.directory, ".program", name), 1);
    snprintf(path, sizeof path, "%s/%s", s.directory, name);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", s.root);
    assert_int_equal(chmod(path, 0620), 0);
    assert_true(finds_none(cache, "kernel"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(finds(cache, "kernel", "machine code"));
    if (geteuid() == 0) { /* others cannot make such a file */
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        assert_true(finds_none(cache, "kernel"));
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_true(finds_none(cache, "kernel"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* is not waited for */
    assert_true(finds_none(cache, "kernel"));
    keep_text(cache, "kernel", "machine code");
    assert_true(finds(cache, "kernel", "machine code"));
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* ---- the directory ---- */
static void the_directory_is_made_for_its_owner_alone(void **state) {
    (void)state;
    scratch s;
    struct stat status;
    char path[700];
    scratch_make(&s);
    mode_t mask = umask(0);
    runtime_cache_config config = {.cache_home = "relative", .home = s.root};
    runtime_cache *cache = NULL;
    assert_int_equal(runtime_cache_create(base_allocator_default(), &config, &cache), RUNTIME_OK);
    snprintf(path, sizeof path, "%s/.cache", s.root);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(finds_none(cache, "kernel"));
    assert_int_equal(access(path, F_OK), -1); /* looking makes nothing */
    keep_text(cache, "kernel", "machine code");
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(path, sizeof path, "%s/.cache/croft", s.root);
    assert_string_equal(runtime_cache_directory(cache), path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    char name[NAME_MAX + 1];
    assert_int_equal(count_files(path, ".program", name), 1);
    snprintf(path, sizeof path, "%s/.cache/croft/%s", s.root, name);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_content(cache);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static const char *place_of(runtime_cache_config config, char room[PATH_MAX]) {
    runtime_cache *cache = NULL;
    assert_int_equal(runtime_cache_create(base_allocator_default(), &config, &cache), RUNTIME_OK);
    snprintf(room, PATH_MAX, "%s", cache != NULL ? runtime_cache_directory(cache) : "none");
    runtime_cache_destroy(cache);
    return room;
}

static void the_directory_is_the_given_one_or_the_users(void **state) {
    (void)state;
    char room[PATH_MAX], here[PATH_MAX - 10], expected[PATH_MAX];
    assert_string_equal(place_of((runtime_cache_config){0}, room), "none");
    assert_string_equal(place_of((runtime_cache_config){.home = ""}, room), "none");
    assert_string_equal(place_of((runtime_cache_config){.home = "/h"}, room), "/h/.cache/croft");
    assert_string_equal(place_of((runtime_cache_config){.cache_home = "/c", .home = "/h"}, room),
                        "/c/croft");
    assert_string_equal(place_of((runtime_cache_config){.cache_home = "", .home = "/h"}, room),
                        "/h/.cache/croft");
    assert_string_equal(place_of((runtime_cache_config){.directory = "/d//", .home = "/h"}, room),
                        "/d");
    assert_string_equal(place_of((runtime_cache_config){.directory = "", .home = "/h"}, room),
                        "none");
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/there", here);
    assert_string_equal(place_of((runtime_cache_config){.directory = "there"}, room), expected);
}

/* Nowhere, which is said once, and is no trouble to any call. */
static void assert_nowhere(const runtime_cache_config *config, const char *why) {
    static runtime_report report;
    runtime_cache *cache = NULL;
    runtime_cache_removed removed;
    int faults = 0;
    assert_int_equal(runtime_cache_create(base_allocator_default(), config, &cache), RUNTIME_OK);
    assert_non_null(cache);
    keep_text(cache, "kernel", "machine code");
    assert_true(finds_none(cache, "kernel"));
    assert_int_equal(runtime_cache_each(cache, true, count_faults, &faults, &report),
                     RUNTIME_SYSTEM_FAILED);
    assert_non_null(strstr(report.text, why));
    assert_int_equal(runtime_cache_collect(cache, 0, &removed, &report), RUNTIME_SYSTEM_FAILED);
    assert_true(runtime_cache_complaint(cache, &report));
    assert_non_null(strstr(report.text, why));
    assert_false(runtime_cache_complaint(cache, &report));
    runtime_cache_destroy(cache);
}

static int ask_in_a_removed_directory(void *context) {
    const scratch *s = context;
    if (chdir(s->root) != 0 || rmdir(s->root) != 0)
        return 1;
    assert_nowhere(&(runtime_cache_config){.directory = "there"}, "has no name");
    return 0;
}

static void a_place_that_cannot_be_is_told(void **state) {
    (void)state;
    scratch s;
    static char longest[PATH_MAX + 1];
    scratch_make(&s);
    memset(longest, 'd', PATH_MAX);
    longest[0] = '/';
    assert_nowhere(&(runtime_cache_config){.directory = longest}, "too long");
    assert_nowhere(&(runtime_cache_config){.directory = longest + 1}, "too long");
    assert_nowhere(&(runtime_cache_config){.cache_home = longest}, "too long");
    assert_nowhere(&(runtime_cache_config){.home = longest}, "too long");
    assert_nowhere(&(runtime_cache_config){.home = "rel"}, "absolute");
    assert_nowhere(&(runtime_cache_config){.cache_home = "rel", .home = ""}, "absolute");
    assert_int_equal(in_child(ask_in_a_removed_directory, &s), 0);
}

/* Nothing is kept there and nothing found, and it is said once. `inside`: the directory to which a
 * program must not come. */
static void assert_refused(const char *directory, const char *inside, const char *why) {
    static runtime_report report;
    runtime_cache *cache = cache_of(directory, 0);
    runtime_cache_key key = key_of(head, "kernel");
    assert_true(finds_none(cache, "kernel"));
    int lock = runtime_cache_lock(cache, &key, 1);
    keep_text(cache, "kernel", "machine code");
    runtime_cache_unlock(lock);
    assert_true(finds_none(cache, "kernel"));
    assert_int_equal(count_files(inside, ".program", NULL), 0);
    assert_int_equal(count_files(inside, ".new", NULL), 0);
    assert_int_equal(count_files(inside, "lock", NULL), 0);
    assert_true(runtime_cache_complaint(cache, &report));
    if (strstr(report.text, why) == NULL || strstr(report.text, directory) == NULL)
        fail_msg("`%s` does not say `%s` of %s", report.text, why, directory);
    assert_false(runtime_cache_complaint(cache, &report));
    runtime_cache_removed removed;
    if (strstr(why, "denied") == NULL)
        assert_int_equal(runtime_cache_collect(cache, 0, &removed, &report), RUNTIME_SYSTEM_FAILED);
    runtime_cache_destroy(cache);
}

/* Also where a program lies in it that would be taken. */
static void a_directory_that_others_may_write_to_is_refused(void **state) {
    (void)state;
    scratch s;
    static runtime_report report;
    scratch_make(&s);
    assert_int_equal(mkdir(s.directory, 0700), 0);
    assert_int_equal(chmod(s.directory, 0720), 0);
    assert_refused(s.directory, s.directory, "writable for a group");
    assert_int_equal(chmod(s.directory, 0702), 0);
    assert_refused(s.directory, s.directory, "writable for everybody");
    assert_int_equal(chmod(s.directory, 01777), 0);
    assert_refused(s.directory, s.directory, "writable for everybody");
    assert_int_equal(chmod(s.directory, 0755), 0);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "kernel", "machine code");
    assert_true(finds(cache, "kernel", "machine code"));
    assert_int_equal(chmod(s.directory, 0775), 0);
    assert_true(finds_none(cache, "kernel"));
    assert_true(runtime_cache_complaint(cache, &report));
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static void a_link_is_refused(void **state) {
    (void)state;
    scratch s;
    char target[300], slash[310];
    scratch_make(&s);
    snprintf(target, sizeof target, "%s/real", s.root);
    snprintf(slash, sizeof slash, "%s/", s.directory);
    assert_int_equal(symlink(target, s.directory), 0);
    assert_refused(s.directory, target, "symbolic link"); /* to nothing: it is not made either */
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_refused(s.directory, target, "symbolic link");
    runtime_cache *cache = cache_of(slash, 0);
    keep_text(cache, "kernel", "machine code");
    assert_int_equal(count_files(target, ".program", NULL), 0);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* Whoever runs the test: root gives a directory away, others take one of root's. */
static void a_directory_of_somebody_else_is_refused(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    if (geteuid() != 0) {
        assert_refused("/usr", "/usr", "belongs to user 0 and not to this one");
    } else {
        assert_int_equal(mkdir(s.directory, 0700), 0);
        assert_int_equal(chown(s.directory, NOBODY, NOBODY), 0);
        assert_refused(s.directory, s.directory, "belongs to user 65534 and not to this one, 0");
    }
    scratch_remove(&s);
}

static void a_home_that_is_none_is_no_failure(void **state) {
    (void)state;
    scratch s;
    char file[300], below[320];
    scratch_make(&s);
    snprintf(file, sizeof file, "%s/file", s.root);
    snprintf(below, sizeof below, "%s/croft", file);
    write_file(file, "x", 1);
    assert_refused(below, s.root, "Not a directory");
    assert_refused(file, s.root, "Not a directory");
    scratch_remove(&s);
}

static int keep_where_nothing_is_written(void *context) {
    const char *directory = context;
    static runtime_report report;
    if (!obey_permissions())
        return 2;
    runtime_cache *cache = cache_of(directory, 0);
    keep_text(cache, "kernel", "machine code");
    bool none = finds_none(cache, "kernel");
    bool said = runtime_cache_complaint(cache, &report);
    runtime_cache_destroy(cache);
    return none && said && strstr(report.text, "Permission denied") != NULL ? 0 : 1;
}

static void a_home_that_is_not_writable_is_no_failure(void **state) {
    (void)state;
    scratch s;
    char below[320];
    scratch_make(&s);
    snprintf(below, sizeof below, "%s/home/.cache/croft", s.root);
    *strstr(below, "/.cache") = '\0';
    assert_int_equal(mkdir(below, 0500), 0);
    strcat(below, "/.cache/croft");
    assert_int_equal(in_child(keep_where_nothing_is_written, below), 0);
    scratch_remove(&s);
}

/* ---- the limit ---- */
static void set_age(const char *directory, const char *name, long seconds) {
    char path[700];
    struct timespec when[2];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    clock_gettime(CLOCK_REALTIME, &when[0]);
    when[0].tv_sec -= seconds;
    when[1] = when[0];
    assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
}

static void age(const char *directory, runtime_cache *cache, const char *text, long seconds) {
    char name[64];
    runtime_cache_key key = key_of(head, text);
    runtime_cache_found found;
    assert_true(runtime_cache_find(cache, &key, &found));
    char link[64], path[700];
    snprintf(link, sizeof link, "/proc/self/fd/%d", found.file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    close(found.file);
    assert_true(length > 0);
    path[length] = '\0';
    snprintf(name, sizeof name, "%.60s", strrchr(path, '/') + 1);
    set_age(directory, name, seconds);
}

static void what_was_used_least_recently_goes(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    char program[1000];
    memset(program, 'p', sizeof program - 1);
    program[sizeof program - 1] = '\0';
    const char *const texts[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        keep_text(cache, texts[i], program);
        age(s.directory, cache, texts[i], 1000 - 100 * i);
    }
    assert_true(finds(cache, "a", program)); /* which makes it the newest */
    runtime_cache_destroy(cache);
    cache = cache_of(s.directory, 3500); /* three of about 1060 bytes */
    keep_text(cache, "d", program);
    assert_true(finds_none(cache, "b"));
    assert_true(finds(cache, "a", program));
    assert_true(finds(cache, "c", program));
    assert_true(finds(cache, "d", program));
    assert_content(cache);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* As a clock leaves them that was ahead. */
static void times_that_are_not_yet_are_the_longest_ago(void **state) {
    (void)state;
    scratch s;
    static runtime_report report;
    runtime_cache_removed removed;
    char path[700], program[1000];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    memset(program, 'p', sizeof program - 1);
    program[sizeof program - 1] = '\0';
    keep_text(cache, "ahead", program);
    age(s.directory, cache, "ahead", -1000000);
    keep_text(cache, "old", program);
    age(s.directory, cache, "old", 1000000);
    runtime_cache_destroy(cache);
    cache = cache_of(s.directory, 2500); /* two of about 1060 bytes */
    keep_text(cache, "new", program);
    assert_true(finds_none(cache, "ahead"));
    assert_true(finds(cache, "old", program));
    assert_true(finds(cache, "new", program));
    snprintf(path, sizeof path, "%s/0123456789abcdef-0000000000000001.new", s.directory);
    write_file(path, "half", 4);
    set_age(s.directory, "0123456789abcdef-0000000000000001.new", -1000000);
    assert_int_equal(runtime_cache_collect(cache, 1 << 20, &removed, &report), RUNTIME_OK);
    assert_int_equal(removed.unfinished, 1);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static int collect_where_nothing_is_written(void *context) {
    const scratch *s = context;
    static runtime_report report;
    runtime_cache_removed removed;
    if (!obey_permissions())
        return 2;
    runtime_cache *cache = cache_of(s->directory, 0);
    bool told = runtime_cache_collect(cache, 0, &removed, &report) == RUNTIME_SYSTEM_FAILED &&
                removed.unused == 0 && strstr(report.text, "Permission denied") != NULL;
    runtime_cache_destroy(cache);
    return told ? 0 : 1;
}

static void what_cannot_be_removed_is_told(void **state) {
    (void)state;
    scratch s;
    static runtime_report report;
    runtime_cache_removed removed;
    char path[700];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "kernel", "machine code");
    assert_int_equal(chmod(s.directory, 0500), 0);
    assert_int_equal(in_child(collect_where_nothing_is_written, &s), 0);
    assert_int_equal(chmod(s.directory, 0700), 0);
    snprintf(path, sizeof path, "%s/0123456789abcdef.program", s.directory);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(runtime_cache_collect(cache, 1 << 20, &removed, &report),
                     RUNTIME_SYSTEM_FAILED);
    assert_non_null(strstr(report.text, "directory"));
    assert_true(finds(cache, "kernel", "machine code"));
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static void a_program_larger_than_the_limit_is_not_kept(void **state) {
    (void)state;
    scratch s;
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 200);
    keep_text(cache, "small", "x");
    char program[300];
    memset(program, 'p', sizeof program - 1);
    program[sizeof program - 1] = '\0';
    keep_text(cache, "large", program);
    assert_true(finds_none(cache, "large"));
    assert_true(finds(cache, "small", "x"));
    assert_content(cache);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* More of them than are noted at a time. */
static void many_are_removed_at_once(void **state) {
    (void)state;
    enum { PROGRAMS = 200, LEFT = 7 };
    scratch s;
    static runtime_report report;
    struct stat status;
    char text[16], name[NAME_MAX + 1], path[700];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    for (int i = 0; i < PROGRAMS; i++) {
        snprintf(text, sizeof text, "%03d", i);
        keep_text(cache, text, "machine code");
        age(s.directory, cache, text, 10 + (i * 37) % PROGRAMS);
    }
    assert_int_equal(count_files(s.directory, ".program", name), PROGRAMS);
    snprintf(path, sizeof path, "%s/%s", s.directory, name);
    assert_int_equal(stat(path, &status), 0);
    runtime_cache_removed removed;
    assert_int_equal(
        runtime_cache_collect(cache, LEFT * status.st_size + status.st_size / 2, &removed, &report),
        RUNTIME_OK);
    assert_int_equal(removed.unused, PROGRAMS - LEFT);
    assert_int_equal(removed.bytes, (PROGRAMS - LEFT) * status.st_size);
    for (int i = 0; i < PROGRAMS; i++) {
        snprintf(text, sizeof text, "%03d", i);
        bool young = (i * 37) % PROGRAMS < LEFT;
        assert_true(young ? finds(cache, text, "machine code") : finds_none(cache, text));
    }
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

static void what_is_damaged_or_unfinished_is_collected(void **state) {
    (void)state;
    scratch s;
    static runtime_report report;
    char name[NAME_MAX + 1], path[700];
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    keep_text(cache, "a", "program of a");
    assert_int_equal(count_files(s.directory, ".program", name), 1);
    snprintf(path, sizeof path, "%s/%s", s.directory, name);
    assert_int_equal(truncate(path, 50), 0);
    keep_text(cache, "b", "program of b");
    snprintf(path, sizeof path, "%s/0123456789abcdef-0000000000000001.new", s.directory);
    write_file(path, "half", 4);
    snprintf(path, sizeof path, "%s/0123456789abcdef-0000000000000002.new", s.directory);
    write_file(path, "half", 4);
    set_age(s.directory, "0123456789abcdef-0000000000000002.new", 2 * 3600);
    snprintf(path, sizeof path, "%s/notes.txt", s.directory);
    write_file(path, "mine", 4);
    set_age(s.directory, "notes.txt", 2 * 3600);
    runtime_cache_removed removed;
    assert_int_equal(runtime_cache_collect(cache, 1 << 20, &removed, &report), RUNTIME_OK);
    assert_int_equal(removed.damaged, 1);
    assert_int_equal(removed.unfinished, 1);
    assert_int_equal(removed.unused, 0);
    assert_int_equal(removed.bytes, 54);
    assert_int_equal(count_files(s.directory, "1.new", NULL), 1);
    assert_int_equal(count_files(s.directory, "notes.txt", NULL), 1);
    assert_true(finds(cache, "b", "program of b"));
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

/* ---- locks ---- */
typedef struct counting {
    runtime_cache *cache;
    int inside, most, entered;
} counting;

static void *enter(void *context) {
    counting *c = context;
    runtime_cache_key key = key_of(head, "kernel");
    int lock = runtime_cache_lock(c->cache, &key, 100);
    int inside = __atomic_add_fetch(&c->inside, 1, __ATOMIC_SEQ_CST);
    if (inside > __atomic_load_n(&c->most, __ATOMIC_SEQ_CST))
        __atomic_store_n(&c->most, inside, __ATOMIC_SEQ_CST);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    __atomic_sub_fetch(&c->inside, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&c->entered, 1, __ATOMIC_SEQ_CST);
    runtime_cache_unlock(lock);
    return NULL;
}

static void a_lock_lets_one_thread_in(void **state) {
    (void)state;
    enum { THREADS = 16 };
    scratch s;
    pthread_t threads[THREADS];
    scratch_make(&s);
    counting c = {.cache = cache_of(s.directory, 0)};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.entered, THREADS);
    assert_int_equal(c.most, 1);
    runtime_cache_destroy(c.cache);
    scratch_remove(&s);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One that is killed has unlocked; one that only waits is not waited for longer than was said. */
static void a_process_that_has_the_lock(void **state) {
    (void)state;
    scratch s;
    int ready[2];
    char byte;
    scratch_make(&s);
    runtime_cache *cache = cache_of(s.directory, 0);
    runtime_cache_key key = key_of(head, "kernel"), other = key_of(head, "other");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)runtime_cache_lock(cache, &key, 1);
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int64_t begin = now_ms();
    int lock = runtime_cache_lock(cache, &other, 60);
    assert_true(now_ms() - begin < 30000);
    runtime_cache_unlock(lock);
    begin = now_ms();
    lock = runtime_cache_lock(cache, &key, 1);
    assert_true(now_ms() - begin >= 1000);
    runtime_cache_unlock(lock);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    begin = now_ms();
    lock = runtime_cache_lock(cache, &key, 60);
    assert_true(now_ms() - begin < 30000);
    runtime_cache_unlock(lock);
    close(ready[0]);
    close(ready[1]);
    runtime_cache_destroy(cache);
    scratch_remove(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_found_by_its_whole_key),
        cmocka_unit_test(keys_of_one_hash_get_their_own_programs),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_seen),
        cmocka_unit_test(an_entry_of_another_form_is_none),
        cmocka_unit_test(what_is_no_file_of_the_owner_is_no_entry),
        cmocka_unit_test(the_directory_is_made_for_its_owner_alone),
        cmocka_unit_test(the_directory_is_the_given_one_or_the_users),
        cmocka_unit_test(a_place_that_cannot_be_is_told),
        cmocka_unit_test(a_directory_that_others_may_write_to_is_refused),
        cmocka_unit_test(a_link_is_refused),
        cmocka_unit_test(a_directory_of_somebody_else_is_refused),
        cmocka_unit_test(a_home_that_is_none_is_no_failure),
        cmocka_unit_test(a_home_that_is_not_writable_is_no_failure),
        cmocka_unit_test(what_was_used_least_recently_goes),
        cmocka_unit_test(times_that_are_not_yet_are_the_longest_ago),
        cmocka_unit_test(what_cannot_be_removed_is_told),
        cmocka_unit_test(a_program_larger_than_the_limit_is_not_kept),
        cmocka_unit_test(many_are_removed_at_once),
        cmocka_unit_test(what_is_damaged_or_unfinished_is_collected),
        cmocka_unit_test(a_lock_lets_one_thread_in),
        cmocka_unit_test(a_process_that_has_the_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
