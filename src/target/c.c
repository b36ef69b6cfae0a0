/* The dialect of the cpu target: C with vector types of gcc and clang.
 *
 * A lane is a lane of a vector, a slot a variable; with one lane, slots are scalars. The emitted
 * file includes nothing and exports three functions (runtime/cpu.h states their contract):
 *
 *     void croft_NAME(void *const *pointers, const i64 *words, i64 begin, i64 end,
 *                     void *workspace);
 *     i64 croft_NAME_groups(const i64 *words);
 *     i64 croft_NAME_workspace(const i64 *words);
 *
 * In a vector a bool is an i32 mask, 0 or -1; f16 and bf16 are their bits; an i64 vector is a
 * struct of two halves, since twice the width of a register is what compilers handle badly. What
 * is not an operator of the language is a function of the prelude (c_prelude.def). Loads and stores
 * are in c_access.c. */
#include "target/emitter_internal.h"

#include <string.h>

/* ---- types ---- */

static bool c_vectors(const target_emitter *e) {
    return e->lanes > 1;
}

base_dtype target_c_register_dtype(base_dtype dtype) {
    if (dtype == BASE_BOOL)
        return BASE_I32;
    return dtype == BASE_INDEX ? BASE_I64 : dtype;
}

static const char *c_type(const target_emitter *e, base_dtype dtype, bool vector) {
    const char *name = base_dtype_name(target_c_register_dtype(dtype));
    return vector ? target_emit_text(e, "%sx%d", name, e->lanes) : name;
}

static bool c_operators(base_dtype dtype, bool vector) {
    return !(vector && target_c_register_dtype(dtype) == BASE_I64);
}

static const char *c_splat(target_emitter *e, base_dtype dtype, const char *scalar) {
    const char *form = dtype == BASE_BOOL ? "splat_%s(-%s)"
                       : scalar[0] == '(' ? "splat_%s%s" /* a negative literal */
                                          : "splat_%s(%s)";
    return target_emit_text(e, form, c_type(e, dtype, true), scalar);
}

base_dtype target_c_memory_dtype(base_dtype dtype) {
    return dtype == BASE_BOOL ? BASE_U8 : target_c_register_dtype(dtype);
}

/* ---- memory ---- */

const char *target_c_from_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                                 const char *expression) {
    if (dtype != BASE_BOOL)
        return expression;
    if (!vector)
        return target_emit_text(emitter, "%s != 0", expression);
    return target_emit_text(emitter, "%s != 0",
                            target_emit_convert(emitter, "i32", "u8", true, expression));
}

const char *target_c_to_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                               const char *expression) {
    if (dtype != BASE_BOOL)
        return expression;
    if (!vector)
        return target_emit_text(emitter, "(u8)%s", expression);
    return target_emit_text(emitter, "(u8x%d)i8_from_i32x%d(%s & 1)", emitter->lanes,
                            emitter->lanes, expression);
}

/* There are no clusters: a group is the first of its own. */
static void c_block(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], "0");
}

/* ---- around the body ---- */

/* Of C, and of the emitted text around the body. */
const char *const target_c_words[] = {
    "auto",   "break",    "case",     "char",      "const",    "continue", "default", "do",
    "double", "else",     "enum",     "extern",    "float",    "for",      "goto",    "if",
    "inline", "int",      "long",     "register",  "restrict", "return",   "short",   "signed",
    "sizeof", "static",   "struct",   "switch",    "typedef",  "typeof",   "union",   "unsigned",
    "void",   "volatile", "while",    "asm",       "linux",    "unix",     "i386",    "pointers",
    "words",  "begin",    "end",      "workspace", "memory",   "bytes",    "halves",  "shorts",
    "chars",  "va_list",  "__func__", NULL,
};

static const target_dialect c_dialect = {
    .type = c_type,
    .vectors = c_vectors,
    .operators = c_operators,
    .splat = c_splat,
    .infinity = "__builtin_inff()",
    .nan = "__builtin_nanf(\"\")",
    .words = target_c_words,
    .block = c_block,
    .iota = target_c_iota,
    .combine = target_c_combine,
    .shuffle = target_c_shuffle,
    .xorslot = target_c_xorslot,
    .uniform = target_c_uniform,
    .sync = target_c_sync,
    .spread = target_c_spread,
    .load = target_c_load,
    .store = target_c_store,
    .pull = target_c_pull,
    .push = target_c_push,
};

void target_c_declare_words(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int64_t word = m->extents.symbol_count;
    for (int64_t i = 0; i < word; i++)
        if (target_names_has(used, e->symbols[i], strlen(e->symbols[i])))
            base_text_format(out, "    const i64 %s = words[%lld];\n", e->symbols[i], (long long)i);
    for (int i = 0; i < m->parameter_count; i++) {
        int rank = m->parameters[i].is_tensor ? m->parameters[i].value->type.rank : 0;
        for (int d = 0; d < rank; d++, word++) {
            const char *name = e->parameters[i].strides[d];
            if (target_names_has(used, name, strlen(name)))
                base_text_format(out, "    const i64 %s = words[%lld];\n", name, (long long)word);
        }
    }
    for (int i = 0; i < m->parameter_count; i++) {
        if (m->parameters[i].is_tensor)
            continue;
        const char *name = e->parameters[i].name;
        base_dtype dtype = m->parameters[i].dtype;
        const char *form = dtype == BASE_F32    ? "u32_as_f32((u32)words[%lld])"
                           : dtype == BASE_BOOL ? "(words[%lld] & 255) != 0"
                                                : NULL;
        if (form == NULL)
            form = target_emit_text(e, "(%s)words[%%lld]", c_type(e, dtype, false));
        if (target_names_has(used, name, strlen(name))) {
            base_text_format(out, "    const %s %s = ", c_type(e, dtype, false), name);
            base_text_format(out, form, (long long)word);
            base_text_string(out, ";\n");
        }
        word++;
    }
}

static void c_declare_pointers(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int pointer = 0;
    for (int i = 0; i < m->parameter_count; i++) {
        if (!m->parameters[i].is_tensor)
            continue;
        const char *name = e->parameters[i].name;
        const char *type = c_type(e, target_c_memory_dtype(m->parameters[i].dtype), false);
        if (target_names_has(used, name, strlen(name)))
            base_text_format(out, "    %s%s *const %s = pointers[%d];\n",
                             m->parameters[i].mode == IR_IN ? "const " : "", type, name, pointer);
        pointer++;
    }
}

static void c_append_entry(target_emitter *e, const char *entry, const target_c_arrays *arrays,
                           base_text *out) {
    base_text declarations, tail;
    base_text_init(&declarations, e->arena);
    base_text_init(&tail, e->arena);
    target_c_arrays_declare(e, arrays, &declarations);
    target_names used;
    target_names_init(&used, e->arena);
    target_names_scan(&used, e->body.bytes);
    target_names_scan(&used, declarations.bytes);
    base_text_format(out,
                     "\n%svoid %s(void *const *pointers, const i64 *words, i64 begin, i64 end,\n"
                     "    void *workspace) {\n",
                     e->suffix != NULL ? "static " : "", entry);
    c_declare_pointers(e, &used, &tail);
    base_text_string(out, tail.length > 0 ? "" : "    (void)pointers;\n");
    base_text_string(out, tail.bytes);
    base_text_init(&tail, e->arena);
    target_c_declare_words(e, &used, &tail);
    base_text_string(out, tail.length > 0 ? "" : "    (void)words;\n");
    base_text_string(out, tail.bytes);
    if (arrays->count > 0 && e->spilled_bytes > 0)
        base_text_format(out, "    char *memory = (char *)workspace + %lld;\n",
                         (long long)e->spilled_bytes);
    else if (arrays->count > 0)
        base_text_string(out, "    char *memory = workspace;\n");
    else if (e->spilled_bytes == 0)
        base_text_string(out, "    (void)workspace;\n");
    base_text_string(out, declarations.bytes);
    base_text_format(out, "    for (i64 %s = begin; %s < end; %s++) {\n", e->group, e->group,
                     e->group);
    base_text_string(out, e->body.bytes);
    base_text_string(out, e->streams ? "    }\n    streamed();\n}\n" : "    }\n}\n");
}

/* Vectors are explicit; what gcc's vectorisers add is nothing but their faults. gcc 12 folds
 * `-4 >> (a == 0 ? 0 : 1)` in sixteen lanes to -1, and loses three quarters of the factors where a
 * loop of eight iterations multiplies to two carries. */
const char target_c_pragmas[] =
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
    "#pragma GCC optimize(\"no-tree-slp-vectorize\", \"no-tree-loop-vectorize\")\n"
    "#endif\n"
    "#if defined(__clang__)\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#endif\n\n";

static const char *c_entry_name(const target_emitter *e) {
    base_text out;
    base_text_init(&out, e->arena);
    base_text_format(&out, "%s%s%s", e->suffix != NULL ? "" : "croft_", e->module->name,
                     e->suffix != NULL ? e->suffix : "");
    return out.bytes;
}

/* The width of a register: that of the machine, or of a subgroup that is narrower. */
static void c_set_registers(target_emitter *e) {
    int subgroup = ir_module_subgroup_lanes(e->module);
    e->lanes = subgroup < e->machine->subgroup ? subgroup : e->machine->subgroup;
    e->parts = subgroup / e->lanes;
    e->registers = e->parts * ir_module_subgroups(e->module);
}

void target_c_begin(target_emitter *emitter, base_arena *arena, const ir_module *module,
                    const machine *on, const char *suffix) {
    *emitter = (target_emitter){
        .arena = arena, .module = module, .machine = on, .dialect = &c_dialect, .suffix = suffix};
    c_set_registers(emitter);
    target_emit_begin(emitter, target_c_prelude_names(arena, emitter->lanes));
}

const char *target_c_ignores_policy(base_arena *arena, const ir_module *module, const ir_op *op,
                                    const machine *on) {
    if (op->attributes.access->policy == IR_POLICY_EVICT_LAST)
        return "a cpu's caches take no such hint";
    if (op->opcode != IR_STORE)
        return "a cpu loads through its caches";
    target_emitter emitter;
    target_c_begin(&emitter, arena, module, on, NULL);
    emitter.part = "0"; /* any register */
    return target_c_streams(&emitter, op)
               ? NULL
               : "only whole registers of neighbours go past a cpu's caches";
}

target_c_functions target_c_functions_of(base_arena *arena, const ir_module *module,
                                         const machine *on, const char *suffix) {
    target_emitter emitter, *e = &emitter;
    target_c_begin(e, arena, module, on, suffix);
    target_c_functions made = {.entry = c_entry_name(e), .lanes = e->lanes};
    target_c_arrays arrays = target_c_arrays_find(e);
    base_text_init(&made.text, arena);
    base_text_init(&made.asking, arena);
    target_emit_body(e, 2);
    made.workspace = arrays.count > 0 || e->spilled_bytes > 0;
    c_append_entry(e, made.entry, &arrays, &made.text);
    target_c_groups(e, made.entry, &made.text);
    target_c_workspace(e, made.entry, &arrays, &made.asking);
    return made;
}

static void c_append_title(const ir_module *module, const machine *on, base_text *out) {
    base_text_format(
        out,
        "/* Kernel %s for %s, %d lanes. Includes nothing, starts no thread; groups of\n"
        " * the grid are independent. Compile with -ffp-contract=off%s%s. */\n",
        module->name, on->name, module->lanes, on->compiler_flags[0] != '\0' ? " " : "",
        on->compiler_flags);
}

void target_c_emit(base_arena *arena, const ir_module *const *modules, int count, const machine *on,
                   target_source *sources) {
    base_text all, out;
    target_names written;
    base_text_init(&all, arena);
    base_text_init(&out, arena);
    target_names_init(&written, arena);
    for (int i = 0; i < count; i++)
        c_append_title(modules[i], on, &out);
    base_text_string(&out, target_c_pragmas);
    for (int i = 0; i < count; i++) {
        target_names used;
        target_names_init(&used, arena);
        target_c_functions functions = target_c_functions_of(arena, modules[i], on, NULL);
        sources[i] = (target_source){.entry = functions.entry};
        base_text_string(&functions.text, functions.asking.bytes);
        target_names_scan(&used, functions.text.bytes);
        target_c_prelude(&out, &used, &written, functions.lanes, NULL);
        base_text_string(&all, functions.text.bytes);
        base_text_format(&all, "\n/* plan %016llx */\n", (unsigned long long)modules[i]->plan_hash);
    }
    base_text_string(&out, all.bytes);
    for (int i = 0; i < count; i++)
        sources[i].text = out.bytes;
}
