/* Kernel text: parsing to a syntax tree, binding arguments, lowering to level tile.
 *
 *     file   = text_file_parse(arena, source, diagnostics)   syntax, and the names of signatures
 *     kernel = text_file_find(file, "softmax", ...)          NULL name: the only kernel
 *     ok     = text_kernel_bind(...)                         argument shapes, dtypes -> bindings
 *     module = text_kernel_lower(kernel, bindings, ...)      names, types, domains -> tile IR
 *
 * Each step reports into the diagnostics and goes on as far as it can, so that one run shows
 * several errors. The tree is owned by the arena. Nothing here knows of plans, machines or targets.
 */
#ifndef TEXT_KERNEL_H
#define TEXT_KERNEL_H

#include "ir/module.h"

typedef struct text_file text_file;
typedef struct text_kernel text_kernel;

/* Never NULL; errors are in the diagnostics. The source outlives the arena's users. */
text_file *text_file_parse(base_arena *arena, const base_source *source,
                           base_diagnostics *diagnostics);
int text_file_count(const text_file *file);
const text_kernel *text_file_at(const text_file *file, int index);
/* NULL with a diagnostic when there is no such kernel, or name is NULL and there are several or
 * none. */
const text_kernel *text_file_find(const text_file *file, const char *name,
                                  base_diagnostics *diagnostics);
const char *text_kernel_name(const text_kernel *kernel);

/* What a signature says of one parameter, for callers that make arguments. */
typedef struct text_signature_entry {
    const char *name;
    enum {
        TEXT_ENTRY_TENSOR,
        TEXT_ENTRY_SCALAR,
        TEXT_ENTRY_DTYPE,
        TEXT_ENTRY_CONST,
        TEXT_ENTRY_LAYOUT,
    } kind;
    ir_access_mode mode; /* TENSOR */
    int rank;            /* TENSOR */
    int first_size; /* TENSOR: of bindings->sizes, which its first axis is; -1: it is none alone */
    const char *dtype_name; /* TENSOR, SCALAR: the dtype parameter that it follows, or NULL */
    base_dtype dtype; /* TENSOR, SCALAR: fixed, or the first choice. DTYPE: the first choice */
    bool has_default; /* SCALAR, CONST, LAYOUT */
} text_signature_entry;

/* Parameters in the order of the list; sizes are not among them. False past the end. */
bool text_kernel_signature(const text_kernel *kernel, int index, text_signature_entry *entry);

/* What the caller knows of one parameter. */
typedef struct text_argument {
    const char *name;
    enum {
        TEXT_ARGUMENT_TENSOR, /* dtype, rank, extent */
        TEXT_ARGUMENT_NUMBER, /* a scalar or const parameter, or a size (`R=4`): number, and integer
                                 when is_integer */
        TEXT_ARGUMENT_DTYPE,  /* `T=bf16` */
        TEXT_ARGUMENT_LAYOUT, /* `L=bits(1, 0, 2, 3, 4)`: layout */
    } kind;
    base_dtype dtype;
    bool dtype_open;  /* TENSOR: the dtype follows the parameter (a generated input without a dtype,
                         an output to be made) */
    bool extent_open; /* TENSOR: the extents follow from the other arguments (an output to be made)
                       */
    int rank;
    int64_t extent[IR_MAX_RANK]; /* in bindings -1: not known (then extent_open) */
    const char *home; /* TENSOR: another tensor, an input, whose memory it is, element for element;
                         NULL: it has its own */
    bool is_integer;
    int64_t integer;
    double number;
    const char *layout; /* any spelling of layout_tile_parse */
} text_argument;

/* A layout that a kernel or an argument spells, in the form that the IR holds. */
typedef struct text_layout {
    bool known;       /* false: it was reported */
    layout_axis axis; /* one digits for one function */
    int64_t size;     /* elements that have an owner */
    int64_t threads;  /* replicas included */
    const char *spelling;
    base_location location; /* where it is written */
} text_layout;

/* The result of binding: everything that specialises a kernel, and the full shapes of all
 * parameters. */
typedef struct text_bindings {
    base_dtype *dtypes; /* one per dtype parameter, in the order of the list; unbound ones take
                           their first choice */
    int64_t *sizes; /* one per size symbol in order of first appearance; -1 = not given: dynamic */
    const char **size_names;
    int size_count;
    int64_t *consts;      /* one per const parameter */
    text_layout *layouts; /* one per layout parameter */
    /* One per parameter of the module (tensors and scalars, in order): */
    text_argument *arguments;
    int argument_count;
} text_bindings;

/* Binds dtype parameters, sizes, consts, layouts and scalars from the arguments and checks them
 * against the signature: missing, extra and repeated arguments, dtype and rank mismatch, sizes that
 * disagree (naming both arguments), shape expressions. With `partial`, missing tensors and sizes
 * are fine (check, emit and plan): their sizes stay dynamic. Open extents of outputs are filled in.
 * False when anything was reported. */
bool text_kernel_bind(base_arena *arena, const text_kernel *kernel, const text_argument *arguments,
                      int argument_count, bool partial, text_bindings *bindings,
                      base_diagnostics *diagnostics);

/* Lowers to a verified-to-be-clean tile module (promotions explicit, domains set, `inside` and
 * `injective` facts proved or left false with an index check), or NULL with diagnostics. A bound
 * size that stands in a tile extent and is not declared dynamic becomes known in module->extents;
 * others stay symbols. Symbols are declared in the order of bindings->size_names. */
ir_module *text_kernel_lower(base_arena *arena, const text_kernel *kernel,
                             const text_bindings *bindings, base_diagnostics *diagnostics);

#endif
