/* C for embedders: one file that needs nothing, and a header (c_embed_public.c).
 *
 *     what it is, in a comment
 *     NAME_rows                         how many programs the first axis has
 *     baseline   NAME_baseline ...      for each version: its plan in a comment, the functions of
 *     avx2       NAME_avx2 ...          the target (c.c), static, and NAME_avx2_run around them
 *     NAME_choose                       the last version that the processor can run
 *     croft_NAME                        the functions of the header
 *
 * A version that not every processor runs stands between pragmas that let the compiler use its
 * instructions. Functions of the prelude are written once: a version may use those of one before,
 * which asks for less. Which forms of them the file has is decided here by the version's flags and
 * not by the preprocessor: clang's pragma does not define __AVX2__ and the like.
 *
 *     static int k_avx2_run(pointers, words, rows, begin, end, workspace)
 *
 * runs programs begin .. end - 1 of the first axis: groups count it slowest, so these are a range
 * of groups in every launch, and launches hand on only what belongs to a program. A plan whose
 * groups walk over the programs has no such ranges, and is refused.
 */
#include "target/c_embed_internal.h"

#include <string.h>

enum { FEATURE_LIMIT = 16 };

/* ---- what a processor must have ---- */

/* The features that the machine's flags turn on, without `-m`. A flag with a value, such as
 * -mprefer-vector-width=512, turns on none. */
static int find_features(base_arena *arena, const machine *on,
                         const char *features[FEATURE_LIMIT]) {
    int count = 0;
    for (const char *at = on->compiler_flags; *at != '\0' && count < FEATURE_LIMIT;) {
        size_t length = strcspn(at, " ");
        if (length > 2 && memcmp(at, "-m", 2) == 0 && memchr(at, '=', length) == NULL)
            features[count++] = base_arena_copy(arena, at + 2, length - 2);
        at += length;
        at += strspn(at, " ");
    }
    return count;
}

static bool needs_processor(const target_version *version) {
    return version->machine->compiler_flags[0] != '\0';
}

/* Pragmas around a version: `avx2,fma,f16c`, and for gcc what only chooses a form. */
static void open_version(base_arena *arena, const target_version *version, base_text *out) {
    const char *features[FEATURE_LIMIT];
    base_text list;
    base_text_init(&list, arena);
    int count = find_features(arena, version->machine, features);
    for (int i = 0; i < count; i++)
        base_text_format(&list, "%s%s", i > 0 ? "," : "", features[i]);
    const char *form = strstr(version->machine->compiler_flags, "-mprefer");
    base_text_format(out,
                     "\n#if defined(__x86_64__)\n"
                     "#if defined(__clang__)\n"
                     "#pragma clang attribute push(__attribute__((target(\"%s\"))), apply_to = "
                     "function)\n"
                     "#else\n"
                     "#pragma GCC push_options\n"
                     "#pragma GCC target(\"%s%s%s\")\n"
                     "#endif\n",
                     list.bytes, list.bytes, form != NULL ? "," : "", form != NULL ? form + 2 : "");
}

static const char close_version[] = "\n#if defined(__clang__)\n"
                                    "#pragma clang attribute pop\n"
                                    "#else\n"
                                    "#pragma GCC pop_options\n"
                                    "#endif\n"
                                    "#endif\n";

/* ---- ranges ---- */

static const ir_axis *axis_of(const ir_module *module, int program) {
    for (int i = 0; i < module->axis_count; i++)
        if (module->axes[i].is_program && module->axes[i].program == program)
            return &module->axes[i];
    return NULL;
}

/* How many programs of the kernel's first axis share a group. (A kernel without programs that is
 * split into parts has an axis of parts, which does not count.) */
static int64_t together(const target_embed_state *s, const ir_module *module) {
    const ir_axis *first = s->kernel->program_count > 0 ? axis_of(module, 0) : NULL;
    return first != NULL ? layout_axis_chunk(&first->digits) : 1;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

static const char *find_ranges(target_embed_state *s) {
    s->grain = 1;
    for (int v = 0; v < s->embedding->count; v++)
        for (int k = 0; k < s->embedding->versions[v].count; k++) {
            const ir_module *module = s->embedding->versions[v].modules[k];
            for (int p = 0; p < module->program_count; p++)
                if (axis_of(module, p) == NULL ||
                    layout_axis_has(&axis_of(module, p)->digits, LAYOUT_STEP))
                    return "groups of the plan walk over the programs, so that no range of rows "
                           "is a range of groups";
            int64_t own = together(s, module);
            s->grain = s->grain / common_divisor(s->grain, own) * own;
        }
    return NULL;
}

/* ---- a version ---- */

typedef struct embed_version {
    target_embed_state *state;
    const target_version *version;
    const char *suffix, *name;     /* `_avx2`, `k_avx2` */
    target_c_functions *functions; /* of the launches */
    bool hands; /* launches hand results on, in tensors that follow the kernel's own */
} embed_version;

/* `(i64)4 * R * 16`: `before` times the extents from dimension `first` on; `before` may be NULL.
 * The emitted code has checked before that the product fits. */
static const char *product(target_emitter *e, const ir_type *type, int first, const char *before) {
    const char *text = before;
    for (int d = first; d < type->rank; d++) {
        const char *extent = target_emit_extent(e, type->extent[d]);
        text = text == NULL ? extent : target_emit_text(e, "%s * %s", text, extent);
    }
    return text != NULL ? text : "1";
}

static int64_t scalar_count(const ir_module *kernel) {
    return kernel->parameter_count - ir_module_pointer_count(kernel);
}

/* Words and pointers of a launch with the tensors that are handed on. */
static int64_t word_count(const embed_version *v) {
    return ir_module_word_count(v->version->modules[0]);
}

/* `k_avx2_hand`: the arguments with the tensors that launches hand on. They lie at `memory`, their
 * strides stand behind those of the kernel's. It returns what is left of the memory. */
static void append_hand(embed_version *v, base_text *out) {
    target_emitter emitter, *e = &emitter;
    const ir_module *kernel = v->state->kernel, *module = v->version->modules[0];
    int64_t own = ir_module_word_count(kernel) - scalar_count(kernel), word = own;
    int pointer = ir_module_pointer_count(kernel);
    base_text body;
    target_names used;
    target_c_begin(e, v->state->arena, module, v->version->machine, v->suffix);
    const char *all = target_emit_fresh(e, "all"), *tensors = target_emit_fresh(e, "tensors");
    base_text_init(&body, e->arena);
    base_text_format(&body,
                     "    __builtin_memcpy(%s, words, %lld * sizeof *words);\n"
                     "    __builtin_memcpy(%s, pointers, %d * sizeof *pointers);\n",
                     all, (long long)own, tensors, pointer);
    for (int i = kernel->parameter_count; i < module->parameter_count; i++) {
        const ir_type *type = &module->parameters[i].value->type;
        int64_t bytes = base_dtype_size(target_c_memory_dtype(module->parameters[i].dtype));
        const char *size = target_emit_text(e, "(i64)%lld", (long long)bytes);
        base_text_format(&body, "    %s[%d] = memory;\n", tensors, pointer++);
        for (int d = 0; d < type->rank; d++)
            base_text_format(&body, "    %s[%lld] = %s;\n", all, (long long)word++,
                             product(e, type, d + 1, NULL));
        base_text_format(&body, "    memory += (%s + 63) / 64 * 64;\n", product(e, type, 0, size));
    }
    if (scalar_count(kernel) > 0)
        base_text_format(&body,
                         "    __builtin_memcpy(%s + %lld, words + %lld, %lld * sizeof *words);\n",
                         all, (long long)word, (long long)own, (long long)scalar_count(kernel));
    base_text_format(out,
                     "\nstatic char *%s_hand(void *const *pointers, const i64 *words, void **%s, "
                     "i64 *%s,\n    char *memory) {\n",
                     v->name, tensors, all);
    target_names_init(&used, e->arena);
    target_names_scan(&used, body.bytes);
    target_c_declare_words(e, &used, out);
    base_text_string(out, body.bytes);
    base_text_string(out, "    return memory;\n}\n");
    target_c_handed(e, v->name, kernel->parameter_count, out);
}

/* `k_avx2_bytes`: what a call needs, -1 where that leaves 64 bits. */
static void append_bytes(const embed_version *v, base_text *out) {
    base_text_format(out, "\nstatic i64 %s_bytes(const i64 *words) {\n", v->name);
    if (v->version->count == 1 && !v->hands) {
        base_text_format(out, "    return %s_workspace(words);\n}\n", v->functions[0].entry);
        return;
    }
    base_text_format(out, "    i64 most = 0;\n");
    for (int k = 0; k < v->version->count; k++)
        base_text_format(out,
                         "    const i64 launch%d = %s_workspace(words);\n"
                         "    if (launch%d < 0)\n        return -1;\n"
                         "    most = launch%d > most ? launch%d : most;\n",
                         k + 1, v->functions[k].entry, k + 1, k + 1, k + 1);
    if (v->hands)
        base_text_format(out,
                         "    const i64 handed = %s_handed(words);\n"
                         "    int overflow = handed < 0;\n"
                         "    const i64 total = size_add(most, handed, &overflow);\n"
                         "    return overflow ? -1 : total;\n}\n",
                         v->name);
    else
        base_text_string(out, "    return most;\n}\n");
}

/* How many groups so many programs make, as an expression of C. */
static const char *in_groups(base_arena *arena, const char *count, int64_t programs) {
    base_text text;
    if (programs == 1)
        return count;
    base_text_init(&text, arena);
    base_text_format(&text, "(%s / %lld + (%s %% %lld != 0))", count, (long long)programs, count,
                     (long long)programs);
    return text.bytes;
}

static void append_launches(const embed_version *v, base_text *out) {
    base_arena *arena = v->state->arena;
    const char *pointers = v->hands ? "tensors" : "pointers", *words = v->hands ? "all" : "words";
    for (int k = 0; k < v->version->count; k++) {
        int64_t own = together(v->state, v->version->modules[k]);
        base_text_format(out,
                         "    const i64 each%d = groups%d / %s;\n"
                         "    %s(%s, %s, %s * each%d, %s * each%d, %s);\n",
                         k + 1, k + 1, in_groups(arena, "rows", own), v->functions[k].entry,
                         pointers, words, in_groups(arena, "begin", own), k + 1,
                         in_groups(arena, "end", own), k + 1, v->hands ? "memory" : "workspace");
    }
}

/* `k_avx2_run`. Nothing has been written where it answers something else than 0. */
static void append_run(const embed_version *v, base_text *out) {
    base_text_format(out,
                     "\n/* Rows begin .. end - 1 of rows; there are some. */\n"
                     "static int %s_run(void *const *pointers, const i64 *words, i64 rows, i64 "
                     "begin, i64 end,\n    void *workspace) {\n",
                     v->name);
    for (int k = 0; k < v->version->count; k++)
        base_text_format(out, "    const i64 groups%d = %s_groups(words);\n", k + 1,
                         v->functions[k].entry);
    base_text_string(out, "    if (groups1 < 0");
    for (int k = 1; k < v->version->count; k++)
        base_text_format(out, " || groups%d < 0", k + 1);
    base_text_format(out, ")\n        return %d; /* size */\n", TARGET_EMBED_SIZE);
    if (v->state->workspace)
        base_text_format(out,
                         "    const i64 bytes = %s_bytes(words);\n"
                         "    if (bytes < 0)\n        return %d; /* size */\n"
                         "    if (bytes > 0 && (!workspace || (__UINTPTR_TYPE__)workspace %% 64 != "
                         "0))\n        return %d; /* workspace */\n",
                         v->name, TARGET_EMBED_SIZE, TARGET_EMBED_WORKSPACE);
    if (v->hands)
        base_text_format(out,
                         "    i64 all[%lld];\n    void *tensors[%d];\n"
                         "    char *const memory = %s_hand(pointers, words, tensors, all, "
                         "workspace);\n",
                         (long long)word_count(v), ir_module_pointer_count(v->version->modules[0]),
                         v->name);
    append_launches(v, out);
    base_text_string(out, "    return 0;\n}\n");
}

static void append_plan(base_arena *arena, const target_version *version, base_text *out) {
    base_text_format(out, "\n/* ---- %s: the plan ----\n *\n", version->name);
    for (const char *at = version->plan; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        base_text_format(out, " *     %s\n",
                         target_embed_comment(arena, base_arena_copy(arena, at, length)));
        at += length + (at[length] == '\n');
    }
    for (int k = 0; k < version->count; k++)
        base_text_format(out, "%s %016llx", k == 0 ? " *\n * hash" : "",
                         (unsigned long long)version->modules[k]->plan_hash);
    base_text_string(out, "\n */\n");
}

/* The prelude that a text needs and that is not written yet. */
static void append_needs(const char *text, int lanes, const char *flags, target_names *written,
                         base_text *out) {
    target_names used;
    target_names_init(&used, out->arena);
    target_names_scan(&used, text);
    target_c_prelude(out, &used, written, lanes, flags);
}

static void append_version(embed_version *v, target_names *written, base_text *out) {
    const target_version *version = v->version;
    const char *flags = needs_processor(version) ? version->machine->compiler_flags : NULL;
    base_text all, calls;
    base_text_init(&all, v->state->arena);
    base_text_init(&calls, v->state->arena);
    append_plan(v->state->arena, version, out);
    if (flags != NULL)
        open_version(v->state->arena, version, out);
    base_text_string(out, "\n");
    for (int k = 0; k < version->count; k++) {
        target_c_functions *one = &v->functions[k];
        if (v->state->workspace)
            base_text_string(&one->text, one->asking.bytes);
        append_needs(one->text.bytes, one->lanes, flags, written, out);
        base_text_string(&all, one->text.bytes);
    }
    if (v->hands)
        append_hand(v, &calls);
    if (v->state->workspace)
        append_bytes(v, &calls);
    append_run(v, &calls);
    append_needs(calls.bytes, v->functions[0].lanes, flags, written, out);
    base_text_string(out, all.bytes);
    base_text_string(out, calls.bytes);
    if (flags != NULL)
        base_text_string(out, close_version);
}

/* ---- the file ---- */

/* What every file asks of the compiler. */
static const char conditions[] =
    "\n#if defined(__FAST_MATH__)\n"
    "#error \"-ffast-math changes results: this file needs IEEE arithmetic\"\n"
    "#endif\n"
    "#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16\n"
    "#error \"this file needs arithmetic of float in float\"\n"
    "#endif\n"
    "#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
    "#error \"this file is for little-endian machines\"\n"
    "#endif\n"
    "#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12\n"
    "#error \"this file needs gcc 12 or clang\"\n"
    "#endif\n";

static const char no_baseline[] = "#if !defined(__x86_64__)\n"
                                  "#error \"this file has versions for x86-64 only\"\n"
                                  "#endif\n";

/* Options and warnings are set for this file alone, as a program may include it: what was set
 * before is restored at its end. Generated code may compare a value with itself. */
static const char push[] = "\n#if defined(__clang__)\n"
                           "#pragma clang diagnostic push\n"
                           "#pragma clang diagnostic ignored \"-Wtautological-compare\"\n"
                           "#elif defined(__GNUC__)\n"
                           "#pragma GCC push_options\n"
                           "#pragma GCC diagnostic push\n"
                           "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
                           "#pragma GCC optimize(\"fp-contract=off\", \"no-math-errno\", "
                           "\"no-trapping-math\")\n"
                           "#endif\n";
static const char pop[] = "\n#if defined(__clang__)\n"
                          "#pragma clang diagnostic pop\n"
                          "#elif defined(__GNUC__)\n"
                          "#pragma GCC diagnostic pop\n"
                          "#pragma GCC pop_options\n"
                          "#endif\n";

/* `k_choose`: the last version whose features the processor has; -1: none. f16c is not asked for,
 * since not every compiler can: all that has avx2 has it. */
static void append_choose(const target_embed_state *s, base_text *out) {
    const target_embedding *embedding = s->embedding;
    base_text_format(out,
                     "\n/* The number of the version that this processor runs, -1: it runs none. "
                     "*/\nstatic int %s_choose(void) {\n",
                     s->name);
    if (s->processors)
        base_text_string(out, "#if defined(__x86_64__)\n");
    for (int v = embedding->count - 1; v >= 0; v--) {
        const char *features[FEATURE_LIMIT];
        int count = find_features(s->arena, embedding->versions[v].machine, features), asked = 0;
        for (int i = 0; i < count; i++)
            if (strcmp(features[i], "f16c") != 0)
                base_text_format(out, "%s__builtin_cpu_supports(\"%s\")",
                                 asked++ == 0 ? "    if (" : " &&\n        ", features[i]);
        if (asked > 0)
            base_text_format(out, ")\n        return %d;\n", v);
    }
    if (s->processors)
        base_text_string(out, "#endif\n");
    base_text_format(out, "    return %d;\n}\n", needs_processor(&embedding->versions[0]) ? -1 : 0);
}

static void append_rows(const target_embed_state *s, target_names *written, base_text *out) {
    const target_version *first = &s->embedding->versions[0];
    target_emitter emitter;
    base_text text;
    base_text_init(&text, s->arena);
    target_c_begin(&emitter, s->arena, first->modules[0], first->machine, "");
    target_c_rows(&emitter, s->name, s->kernel->parameter_count, &text);
    append_needs(text.bytes, 1, NULL, written, out);
    base_text_string(out, text.bytes);
}

static void prepare_version(target_embed_state *s, const target_version *version,
                            embed_version *v) {
    base_arena *arena = s->arena;
    base_text name;
    base_text_init(&name, arena);
    base_text_format(&name, "%s_%s", s->name, version->name);
    *v = (embed_version){.state = s,
                         .version = version,
                         .name = name.bytes,
                         .suffix = name.bytes + strlen(s->name),
                         .functions = BASE_NEW_ARRAY(arena, target_c_functions, version->count)};
    v->hands = version->modules[0]->parameter_count > s->kernel->parameter_count;
    s->workspace = s->workspace || v->hands;
    s->processors = s->processors || needs_processor(version);
    for (int k = 0; k < version->count; k++) {
        v->functions[k] =
            target_c_functions_of(arena, version->modules[k], version->machine, v->suffix);
        s->workspace = s->workspace || v->functions[k].workspace;
    }
}

const char *target_embed(base_arena *arena, const target_embedding *embedding,
                         target_embedded *made) {
    target_embed_state state = {.arena = arena,
                                .embedding = embedding,
                                .kernel = embedding->kernel,
                                .name = embedding->kernel->name};
    const char *reason = find_ranges(&state);
    if (reason != NULL)
        return reason;
    embed_version *versions = BASE_NEW_ARRAY(arena, embed_version, embedding->count);
    for (int v = 0; v < embedding->count; v++)
        prepare_version(&state, &embedding->versions[v], &versions[v]);
    target_embed_names(&state);
    base_text out;
    target_names written;
    base_text_init(&out, arena);
    target_names_init(&written, arena);
    target_embed_describe(&state, &out);
    base_text_string(&out, conditions);
    base_text_string(&out, needs_processor(&embedding->versions[0]) ? no_baseline : "");
    base_text_string(&out, push);
    base_text_string(&out, target_c_pragmas);
    target_embed_prototypes(&state, &out);
    base_text_string(&out, "\n");
    append_rows(&state, &written, &out);
    for (int v = 0; v < embedding->count; v++)
        append_version(&versions[v], &written, &out);
    append_choose(&state, &out);
    target_embed_functions(&state, &out);
    base_text_string(&out, pop);
    *made = (target_embedded){.source = out.bytes, .header = target_embed_header(&state)};
    return NULL;
}
