/* What callers of a file for embedders see: names, comments, prototypes, and the functions that
 * check arguments, pack them and go to the version that runs.
 *
 *     int croft_softmax(const float *x, long long x_stride0,
 *                       float *y, long long y_stride0,
 *                       long long R,
 *                       long long begin, long long end);
 *
 * Parameters in the order of the signature, each tensor with the strides of all dimensions but the
 * last, then the sizes that are not built in, then the range. Only plain types: the header needs no
 * other. */
#include "target/c_embed_internal.h"

#include <string.h>

/* Names that no parameter may have: the keywords of C++ that C has not, and what the functions
 * below use. */
static const char *const public_words[] = {
    "alignas",     "alignof",
    "and",         "and_eq",
    "bitand",      "bitor",
    "bool",        "catch",
    "char16_t",    "char32_t",
    "char8_t",     "class",
    "co_await",    "co_return",
    "co_yield",    "compl",
    "concept",     "const_cast",
    "consteval",   "constexpr",
    "constinit",   "decltype",
    "delete",      "dynamic_cast",
    "explicit",    "export",
    "false",       "friend",
    "mutable",     "namespace",
    "new",         "noexcept",
    "not",         "not_eq",
    "nullptr",     "operator",
    "or",          "or_eq",
    "private",     "protected",
    "public",      "reinterpret_cast",
    "requires",    "static_assert",
    "static_cast", "template",
    "this",        "thread_local",
    "throw",       "true",
    "try",         "typeid",
    "typename",    "using",
    "virtual",     "wchar_t",
    "xor",         "xor_eq",
    "rows",        "NULL",
    "errno",       NULL,
};

/* Macros of headers that callers may have included before: those of the standard that are words,
 * and of systems that are known for theirs. Those with `_` are not parameters of anybody. */
static const char *const macros[] = {
    "I",       "complex", "imaginary", "noreturn", "EOF",     "NAN",    "INFINITY",  "BUFSIZ",
    "EDOM",    "ERANGE",  "EILSEQ",    "SIGINT",   "SIGABRT", "SIGFPE", "SIGILL",    "SIGSEGV",
    "SIGTERM", "HUGE",    "near",      "far",      "small",   "IN",     "OUT",       "OPTIONAL",
    "CONST",   "VOID",    "TRUE",      "FALSE",    "ERROR",   "DELETE", "interface", "slots",
    "signals", "emit",    "foreach",   "sun",      "mips",    "vector", "pixel",     NULL,
};

static const struct {
    const char *word, *meaning;
} statuses[] = {
    [TARGET_EMBED_OK] = {"OK", "everything is written"},
    [TARGET_EMBED_UNSUPPORTED] = {"UNSUPPORTED", "no version in the file is for this processor"},
    [TARGET_EMBED_SIZE] = {"SIZE",
                           "a size below 0, or a tensor with more bytes than 63 bits count"},
    [TARGET_EMBED_RANGE] = {"RANGE", "begin and end are not as they must be"},
    [TARGET_EMBED_STRIDE] = {"STRIDE", "a stride below 0"},
    [TARGET_EMBED_ALIGNMENT] = {"ALIGNMENT", "a pointer not aligned to its elements"},
    [TARGET_EMBED_WORKSPACE] = {"WORKSPACE", "no workspace, or one not aligned to 64 bytes"},
};

/* ---- names and types ---- */

static void reserve(target_names *names, const char *name) {
    target_names_add(names, name, strlen(name));
}

const char *target_embed_comment(base_arena *arena, const char *text) {
    char *clean = base_arena_copy(arena, text, strlen(text));
    for (char *at = clean; *at != '\0'; at++) {
        bool ends = at > clean && ((at[-1] == '*' && *at == '/') || (at[-1] == '/' && *at == '*'));
        bool plain = *at >= 0x20 && *at < 0x7f && *at != '\\' && *at != '?';
        *at = ends || !plain ? '.' : *at;
    }
    return clean;
}

static const char *upper_case(base_arena *arena, const char *name) {
    char *upper = base_arena_copy(arena, name, strlen(name));
    for (char *at = upper; *at != '\0'; at++)
        *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    return upper;
}

void target_embed_names(target_embed_state *state) {
    static const char *const functions[] = {"rows", "choose", NULL};
    const ir_module *kernel = state->kernel;
    target_names names;
    target_names_init(&names, state->arena);
    for (int i = 0; target_c_words[i] != NULL; i++)
        reserve(&names, target_c_words[i]);
    for (int i = 0; public_words[i] != NULL; i++)
        reserve(&names, public_words[i]);
    for (int i = 0; macros[i] != NULL; i++)
        reserve(&names, macros[i]);
    for (int i = 0; functions[i] != NULL; i++) {
        base_text name;
        base_text_init(&name, state->arena);
        base_text_format(&name, "%s_%s", state->name, functions[i]);
        reserve(&names, name.bytes);
    }
    state->upper = upper_case(state->arena, state->name);
    state->parameters = BASE_NEW_ARRAY(state->arena, target_parameter, kernel->parameter_count + 1);
    state->symbols = BASE_NEW_ARRAY(state->arena, const char *, kernel->extents.symbol_count + 1);
    for (int64_t i = 0; i < kernel->extents.symbol_count; i++)
        state->symbols[i] = kernel->extents.symbols[i].known
                                ? NULL
                                : target_names_take(&names, kernel->extents.symbols[i].name, 1);
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ir_parameter *parameter = &kernel->parameters[i];
        target_parameter *seen = &state->parameters[i];
        seen->name = target_names_take(&names, parameter->name, 1);
        for (int d = 0; parameter->is_tensor && d + 1 < parameter->value->type.rank; d++) {
            base_text stride;
            base_text_init(&stride, state->arena);
            base_text_format(&stride, "%s_stride%d", seen->name, d);
            seen->strides[d] = target_names_take(&names, stride.bytes, 1);
        }
    }
}

static const char *c_type_of(base_dtype dtype) {
    switch (dtype) {
    case BASE_F32:
        return "float";
    case BASE_F64:
        return "double";
    case BASE_F16:
    case BASE_BF16:
        return "unsigned short";
    case BASE_I64:
    case BASE_INDEX:
        return "long long";
    case BASE_I32:
        return "int";
    case BASE_U32:
        return "unsigned";
    case BASE_I8:
        return "signed char";
    case BASE_U8:
    case BASE_BOOL:
        return "unsigned char";
    }
    return "void";
}

/* ---- prototypes ---- */

/* `long long R, long long N`; false: there is none. */
static bool append_sizes(const target_embed_state *s, base_text *out) {
    bool any = false;
    for (int64_t i = 0; i < s->kernel->extents.symbol_count; i++) {
        if (s->symbols[i] == NULL)
            continue;
        base_text_format(out, "%slong long %s", any ? ", " : "", s->symbols[i]);
        any = true;
    }
    return any;
}

static void append_run_head(const target_embed_state *s, base_text *out) {
    base_text indent;
    base_text_init(&indent, s->arena);
    base_text_string(&indent, ",\n           ");
    for (size_t i = 0; i < strlen(s->name); i++)
        base_text_string(&indent, " ");
    base_text_format(out, "int croft_%s(", s->name);
    for (int i = 0; i < s->kernel->parameter_count; i++) {
        const ir_parameter *parameter = &s->kernel->parameters[i];
        base_text_string(out, i > 0 ? indent.bytes : "");
        base_text_format(
            out, "%s%s %s%s", parameter->is_tensor && parameter->mode == IR_IN ? "const " : "",
            c_type_of(parameter->dtype), parameter->is_tensor ? "*" : "", s->parameters[i].name);
        for (int d = 0; parameter->is_tensor && d + 1 < parameter->value->type.rank; d++)
            base_text_format(out, ", long long %s", s->parameters[i].strides[d]);
    }
    base_text_string(out, indent.bytes);
    if (append_sizes(s, out))
        base_text_string(out, indent.bytes);
    base_text_format(out, "long long begin, long long end%s)",
                     s->workspace ? ", void *workspace" : "");
}

static void append_workspace_head(const target_embed_state *s, base_text *out) {
    base_text_format(out, "long long croft_%s_workspace(", s->name);
    base_text_string(out, append_sizes(s, out) ? ")" : "void)");
}

void target_embed_prototypes(const target_embed_state *state, base_text *out) {
    base_text_string(out, "\n");
    append_run_head(state, out);
    if (state->workspace) {
        base_text_string(out, ";\n");
        append_workspace_head(state, out);
    }
    base_text_format(out, ";\nconst char *croft_%s_version(void);\n", state->name);
}

/* ---- comments ---- */

static void append_shape(const ir_module *kernel, const ir_parameter *parameter, base_text *out) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    const ir_type *type = &parameter->value->type;
    base_text_format(out, "%s %s[", modes[parameter->mode], base_dtype_name(parameter->dtype));
    for (int d = 0; d < type->rank; d++) {
        base_text_string(out, d > 0 ? ", " : "");
        layout_extent_print(out, &kernel->extents, type->extent[d]);
    }
    base_text_string(out, "]");
}

static void append_bits(base_dtype dtype, base_text *out) {
    if (dtype == BASE_F16 || dtype == BASE_BF16)
        base_text_format(out, "; the bits of %s", base_dtype_name(dtype));
    else if (dtype == BASE_BOOL)
        base_text_string(out, "; 0 or 1");
}

static void append_default(const ir_parameter *parameter, base_text *out) {
    if (!parameter->has_default)
        return;
    base_text_string(out, "; the kernel's text gives it ");
    if (parameter->dtype == BASE_F32)
        base_text_float(out, (float)parameter->initial.real);
    else if (base_dtype_is_float(parameter->dtype))
        base_text_double(out, parameter->initial.real);
    else
        base_text_format(out, "%lld", (long long)parameter->initial.integer);
}

static void describe_parameters(const target_embed_state *s, base_text *out) {
    const ir_module *kernel = s->kernel;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ir_parameter *parameter = &kernel->parameters[i];
        base_text_format(out, " *   %-10s ", s->parameters[i].name);
        if (parameter->is_tensor)
            append_shape(kernel, parameter, out);
        else
            base_text_string(out, base_dtype_name(parameter->dtype));
        append_bits(parameter->dtype, out);
        if (!parameter->is_tensor)
            append_default(parameter, out);
        base_text_string(out, "\n");
    }
    for (int64_t i = 0; i < kernel->extents.symbol_count; i++) {
        if (s->symbols[i] != NULL)
            base_text_format(out, " *   %-10s the size %s\n", s->symbols[i],
                             kernel->extents.symbols[i].name);
        else
            base_text_format(out, " *   %-10s %lld, built in\n", kernel->extents.symbols[i].name,
                             (long long)kernel->extents.symbols[i].value);
    }
}

/* What `begin` and `end` count, and how far. */
static void describe_range(const target_embed_state *s, base_text *out) {
    const ir_module *kernel = s->kernel;
    if (kernel->program_count == 0) {
        base_text_string(out, " *   begin, end 0 and 1: there is one program\n");
        return;
    }
    const ir_program *program = &kernel->programs[0];
    base_text_format(out,
                     " *   begin, end the range of `%s`: 0 <= begin <= end <= ", program->name);
    layout_extent_print(out, &kernel->extents, program->extent);
    if (program->step > 1)
        base_text_format(out, ", in steps of %lld, rounded up", (long long)program->step);
    if (s->grain > 1)
        base_text_format(out,
                         ";\n *              begin a multiple of %lld, end a multiple or the last",
                         (long long)s->grain);
    base_text_string(out, "\n");
}

static void describe_workspace(const target_embed_state *s, base_text *out) {
    if (!s->workspace)
        return;
    base_text_format(out,
                     " *   workspace  croft_%s_workspace() bytes of yours, aligned to 64, for this "
                     "call alone;\n"
                     " *              nothing in it matters before or after; may be NULL for 0 "
                     "bytes\n",
                     s->name);
    for (int v = 0; v < s->embedding->count; v++) {
        const target_version *version = &s->embedding->versions[v];
        if (version->count > 1)
            base_text_format(out,
                             " *              (%s: %d launches, one after the other, hand results "
                             "on in it)\n",
                             version->name, version->count);
    }
}

static void describe_versions(const target_embed_state *s, base_text *out) {
    base_text_string(out, " * Versions:");
    for (int v = 0; v < s->embedding->count; v++)
        base_text_format(out, "%s %s", v > 0 ? "," : "", s->embedding->versions[v].name);
    base_text_string(out, s->embedding->count > 1
                              ? ". The last one that the processor can run does; two may "
                                "differ in\n * the last bits of results unless they were emitted "
                                "with --strict.\n"
                              : ".\n");
}

void target_embed_describe(const target_embed_state *state, base_text *out) {
    const target_embedding *embedding = state->embedding;
    base_arena *arena = state->arena;
    base_text_format(out,
                     "/* Kernel %s in C11, emitted by croft %s from %s.\n"
                     " * %s is the code and %s declares it. Both are yours: use, change and pass "
                     "them on as you\n * like.\n *\n",
                     state->name, embedding->croft, target_embed_comment(arena, embedding->origin),
                     target_embed_comment(arena, embedding->source),
                     target_embed_comment(arena, embedding->header));
    describe_parameters(state, out);
    describe_range(state, out);
    describe_workspace(state, out);
    base_text_string(
        out, " *\n"
             " * NAME_strideK is the number of elements from one index to the next in "
             "dimension K of NAME: 0\n"
             " * or more, 0 only of what is read; the last dimension is dense. Memory "
             "stays the caller's;\n"
             " * nothing is allocated, no thread is started and nothing is kept between "
             "calls. Calls whose\n"
             " * ranges do not meet may run at the same time in threads of the caller's.\n"
             " *\n"
             " * It is right where pointers are aligned to their elements, no element of "
             "an output is another\n"
             " * one of it or of another tensor, and floating arithmetic rounds to nearest "
             "with subnormals\n"
             " * kept, as in a program that has not said otherwise. gcc from 12 on and "
             "clang compile it at\n"
             " * any -O without further flags, but not with -ffast-math, and clang not with\n"
             " * -ffp-contract=fast. Where there is no instruction for it, fmaf and sqrtf "
             "come from -lm.\n"
             " *\n");
    describe_versions(state, out);
    base_text_string(out, " */\n");
}

const char *target_embed_header(const target_embed_state *state) {
    base_text out;
    base_text_init(&out, state->arena);
    target_embed_describe(state, &out);
    base_text_format(&out,
                     "#ifndef CROFT_%s_H\n#define CROFT_%s_H\n\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                     "/* What croft_%s answers. Where it is not 0, nothing has been written. */\n"
                     "enum {\n",
                     state->upper, state->upper, state->name);
    for (int i = 0; i < TARGET_EMBED_STATUS_COUNT; i++)
        base_text_format(&out, "    CROFT_%s_%s = %d, /* %s */\n", state->upper, statuses[i].word,
                         i, statuses[i].meaning);
    base_text_string(&out, "};\n\n");
    append_run_head(state, &out);
    base_text_string(&out, ";\n");
    if (state->workspace) {
        base_text_string(&out, "\n/* Bytes of workspace that a call needs with these sizes; -1: "
                               "SIZE or UNSUPPORTED. */\n");
        append_workspace_head(state, &out);
        base_text_string(&out, ";\n");
    }
    base_text_format(&out,
                     "\n/* The version that this processor runs, such as \"%s\"; NULL: none. */\n"
                     "const char *croft_%s_version(void);\n\n"
                     "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
                     state->embedding->versions[state->embedding->count - 1].name, state->name);
    return out.bytes;
}

/* ---- functions ---- */

/* `const long long words[] = {R, 1009, x_stride0, 1};`, then the bits of scalars. With `sizes` the
 * sizes alone. */
static void append_words(const target_embed_state *s, bool sizes, base_text *out) {
    const ir_module *kernel = s->kernel;
    int64_t count = ir_module_word_count(kernel), scalar = count;
    for (int i = 0; i < kernel->parameter_count; i++)
        scalar -= !kernel->parameters[i].is_tensor;
    bool bits = !sizes && scalar < count;
    base_text_format(out, "    %slong long words[%lld] = {", bits ? "" : "const ",
                     (long long)(count > 0 ? count : 1));
    const char *comma = "";
    for (int64_t i = 0; i < kernel->extents.symbol_count; i++, comma = ", ")
        if (s->symbols[i] != NULL)
            base_text_format(out, "%s%s", comma, s->symbols[i]);
        else
            base_text_format(out, "%s%lld", comma, (long long)kernel->extents.symbols[i].value);
    for (int i = 0; !sizes && i < kernel->parameter_count; i++) {
        int rank = kernel->parameters[i].is_tensor ? kernel->parameters[i].value->type.rank : 0;
        for (int d = 0; d < rank; d++, comma = ", ")
            base_text_format(out, "%s%s", comma, d + 1 < rank ? s->parameters[i].strides[d] : "1");
    }
    base_text_string(out, comma[0] == '\0' ? "0};\n" : "};\n");
    for (int i = 0; bits && i < kernel->parameter_count; i++)
        if (!kernel->parameters[i].is_tensor)
            base_text_format(out, "    __builtin_memcpy(&words[%lld], &%s, sizeof %s);\n",
                             (long long)scalar++, s->parameters[i].name, s->parameters[i].name);
}

/* `R < 0 || N < 0`, of the sizes that are arguments; "" where there are none. */
static const char *size_test(const target_embed_state *s) {
    base_text test;
    base_text_init(&test, s->arena);
    base_text_string(&test, "");
    for (int64_t i = 0; i < s->kernel->extents.symbol_count; i++)
        if (s->symbols[i] != NULL)
            base_text_format(&test, "%s%s < 0", test.length > 0 ? " || " : "", s->symbols[i]);
    return test.bytes;
}

static void append_check(const char *test, target_embed_status status, const char *why,
                         base_text *out) {
    if (test[0] != '\0')
        base_text_format(out, "    if (%s)\n        return %d; /* %s */\n", test, status, why);
}

/* Checks that no size, stride or pointer is impossible. */
static void append_checks(const target_embed_state *s, base_text *out) {
    const ir_module *kernel = s->kernel;
    base_text strides, pointers;
    base_text_init(&strides, s->arena);
    base_text_init(&pointers, s->arena);
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ir_parameter *parameter = &kernel->parameters[i];
        int rank = parameter->is_tensor ? parameter->value->type.rank : 0;
        int64_t bytes = base_dtype_size(parameter->dtype);
        for (int d = 0; d + 1 < rank; d++)
            base_text_format(&strides, "%s%s < 0", strides.length > 0 ? " || " : "",
                             s->parameters[i].strides[d]);
        if (parameter->is_tensor && bytes > 1)
            base_text_format(&pointers, "%s(__UINTPTR_TYPE__)%s %% %lld != 0",
                             pointers.length > 0 ? " ||\n        " : "", s->parameters[i].name,
                             (long long)bytes);
    }
    append_check(size_test(s), TARGET_EMBED_SIZE, "size", out);
    append_check(strides.bytes, TARGET_EMBED_STRIDE, "stride", out);
    append_check(pointers.bytes, TARGET_EMBED_ALIGNMENT, "alignment", out);
}

static void append_range_check(const target_embed_state *s, base_text *out) {
    base_text test;
    base_text_init(&test, s->arena);
    base_text_format(out, "    const long long rows = %s_rows(words);\n", s->name);
    append_check("rows < 0", TARGET_EMBED_SIZE, "size", out);
    base_text_string(&test, "begin < 0 || begin > end || end > rows");
    if (s->grain > 1)
        base_text_format(&test,
                         " || begin %% %lld != 0 ||\n        (end %% %lld != 0 && end != rows)",
                         (long long)s->grain, (long long)s->grain);
    append_check(test.bytes, TARGET_EMBED_RANGE, "range", out);
}

/* A switch with a case for each version, whose name stands before `form`, or alone where that is
 * NULL. */
static void append_switch(const target_embed_state *s, const char *form, const char *otherwise,
                          base_text *out) {
    base_text_format(out, "    switch (%s_choose()) {\n", s->name);
    for (int v = 0; v < s->embedding->count; v++) {
        const target_version *version = &s->embedding->versions[v];
        bool guarded = version->machine->compiler_flags[0] != '\0';
        base_text name;
        base_text_init(&name, s->arena);
        base_text_format(&name, "%s_%s", s->name, version->name);
        base_text_string(out, guarded ? "#if defined(__x86_64__)\n" : "");
        base_text_format(out, "    case %d:\n        return ", v);
        if (form == NULL)
            base_text_format(out, "\"%s\"", version->name);
        else
            base_text_format(out, "%s%s", name.bytes, form);
        base_text_string(out, guarded ? ";\n#endif\n" : ";\n");
    }
    base_text_format(out, "    default:\n        return %s\n    }\n}\n", otherwise);
}

static void append_run_function(const target_embed_state *s, base_text *out) {
    const ir_module *kernel = s->kernel;
    int pointers = 0;
    base_text unsupported;
    base_text_init(&unsupported, s->arena);
    base_text_format(&unsupported, "%d; /* unsupported */", TARGET_EMBED_UNSUPPORTED);
    base_text_string(out, "\n");
    append_run_head(s, out);
    base_text_string(out, " {\n");
    append_checks(s, out);
    append_words(s, false, out);
    append_range_check(s, out);
    base_text_string(out, "    void *const pointers[] = {");
    for (int i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].is_tensor)
            base_text_format(out, "%s(void *)(__UINTPTR_TYPE__)%s", pointers++ > 0 ? ", " : "",
                             s->parameters[i].name);
    base_text_string(out, "};\n    if (begin == end)\n        return 0;\n");
    append_switch(s,
                  s->workspace ? "_run(pointers, words, rows, begin, end, workspace)"
                               : "_run(pointers, words, rows, begin, end, (void *)0)",
                  unsupported.bytes, out);
}

static void append_workspace_function(const target_embed_state *s, base_text *out) {
    const char *test = size_test(s);
    base_text_string(out, "\n");
    append_workspace_head(s, out);
    base_text_string(out, " {\n");
    if (test[0] != '\0')
        base_text_format(out, "    if (%s)\n        return -1;\n", test);
    append_words(s, true, out);
    append_switch(s, "_bytes(words)", "-1;", out);
}

void target_embed_functions(const target_embed_state *state, base_text *out) {
    append_run_function(state, out);
    if (state->workspace)
        append_workspace_function(state, out);
    base_text_format(out, "\nconst char *croft_%s_version(void) {\n", state->name);
    append_switch(state, NULL, "(const char *)0;", out);
}
