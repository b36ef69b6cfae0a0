/* Inputs for the interpretation of a module.
 *
 *     kernel @k[R, N](%x: in f32[R, N], %y: out f32[R, N], eps: f32 = 1e-05) level tile
 *     x=randn:4x9         R = 4, N = 9; eps has its default; y is f32[4, 9], all poison
 *
 * A module knows sizes and types but nothing of the kernel's text, so that none of cli/job.c is
 * used: there is one dimension, one symbol, and no type parameter.
 */
#include "inputs.h"

#include "generate.h"
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    cli_inputs *inputs;
    const ir_module *module;
    const cli_options *options;
    base_diagnostics *diagnostics;
    bool *bound; /* [symbol] */
} reader;

static const base_location nowhere = {0};

static const cli_pair *find_pair(const reader *r, const char *name) {
    for (int i = 0; i < r->options->pair_count; i++) {
        const cli_pair *pair = &r->options->pairs[i];
        if ((size_t)pair->name_length == strlen(name) &&
            memcmp(pair->name, name, strlen(name)) == 0)
            return pair;
    }
    return NULL;
}

static bool refuse(const reader *r, const char *name, const char *found, const char *expected) {
    base_diagnostic *d = base_diagnostics_add(r->diagnostics, "argument-value", nowhere,
                                              "%.200s: no value that fits", name);
    d->found = found;
    d->expected = expected;
    return false;
}

static bool missing(const reader *r, const char *name, const char *expected) {
    base_diagnostic *d = base_diagnostics_add(r->diagnostics, "missing-argument", nowhere,
                                              "no argument for the parameter `%.200s`", name);
    d->expected = base_diagnostics_text(r->diagnostics, "`%.200s=` %s", name, expected);
    return false;
}

/* ---- names ---- */
static bool is_known(const reader *r, const cli_pair *pair) {
    for (int i = 0; i < r->module->parameter_count; i++)
        if (find_pair(r, r->module->parameters[i].name) == pair)
            return true;
    for (int64_t i = 0; i < r->module->extents.symbol_count; i++)
        if (find_pair(r, r->module->extents.symbols[i].name) == pair)
            return true;
    return false;
}

static const char *list_names(const reader *r) {
    base_text text;
    base_text_init(&text, r->diagnostics->arena);
    for (int i = 0; i < r->module->parameter_count; i++)
        base_text_format(&text, "%s%s", i > 0 ? ", " : "", r->module->parameters[i].name);
    for (int64_t s = 0; s < r->module->extents.symbol_count; s++)
        base_text_format(&text, ", %s", r->module->extents.symbols[s].name);
    return text.bytes;
}

static bool check_names(const reader *r) {
    bool good = true;
    for (int i = 0; i < r->options->pair_count; i++) {
        const cli_pair *pair = &r->options->pairs[i];
        if (is_known(r, pair))
            continue;
        base_diagnostic *d =
            base_diagnostics_add(r->diagnostics, "unknown-name", nowhere,
                                 "`%.*s` is no parameter and no size of the module",
                                 pair->name_length > 100 ? 100 : pair->name_length, pair->name);
        d->expected = list_names(r);
        good = false;
    }
    return good;
}

/* ---- values ---- */
static bool writes_outputs(const reader *r) {
    return strcmp(r->options->command, "run") == 0;
}

/* The input of `in.npy,out.npy`, which only an inout tensor of `run` has. */
static const char *split_inout(const reader *r, int index, const char *value) {
    const char *comma = strrchr(value, ',');
    if (comma == NULL || r->module->parameters[index].mode != IR_INOUT || !writes_outputs(r))
        return value;
    r->inputs->output_path[index] = comma + 1;
    return base_arena_copy(r->diagnostics->arena, value, (size_t)(comma - value));
}

static bool read_output(const reader *r, int index) {
    const cli_pair *pair = find_pair(r, r->module->parameters[index].name);
    if (pair == NULL)
        return true;
    if (!writes_outputs(r))
        return refuse(r, r->module->parameters[index].name, "an output", "inputs only");
    r->inputs->output_path[index] = pair->value;
    return pair->value[0] != '\0' ||
           refuse(r, r->module->parameters[index].name, NULL, "a file to write, or `-` to print");
}

/* `f32[R, N]` */
static const char *describe_type(const reader *r, const ir_parameter *parameter) {
    const ir_type *type = &parameter->value->type;
    base_text text;
    base_text_init(&text, r->diagnostics->arena);
    base_text_format(&text, "%s[", base_dtype_name(parameter->dtype));
    for (int d = 0; d < type->rank; d++) {
        base_text_string(&text, d > 0 ? ", " : "");
        layout_extent_print(&text, &r->module->extents, type->extent[d]);
    }
    base_text_string(&text, "]");
    return text.bytes;
}

/* The array of the parameter, or for outputs that have none yet what its type comes to. */
static bool refuse_shape(const reader *r, int index) {
    const ir_parameter *parameter = &r->module->parameters[index];
    base_text found;
    base_text_init(&found, r->diagnostics->arena);
    if (r->inputs->arrays[index].memory != NULL)
        cli_array_print_type(&found, &r->inputs->arrays[index]);
    else
        base_text_string(&found, "sizes that give it no shape");
    return refuse(r, parameter->name, found.bytes, describe_type(r, parameter));
}

static bool read_array(const reader *r, int index) {
    const ir_parameter *parameter = &r->module->parameters[index];
    cli_array *array = &r->inputs->arrays[index];
    const cli_pair *pair = find_pair(r, parameter->name);
    if (pair == NULL)
        return missing(r, parameter->name, "an array such as randn:4x8");
    const char *value = split_inout(r, index, pair->value);
    bool made = cli_generate_is_spec(value)
                    ? cli_generate(value, parameter->name, r->options->seed, &parameter->dtype,
                                   array, r->diagnostics)
                    : cli_npy_read(value, parameter->dtype == BASE_BF16, array, r->diagnostics);
    if (!made)
        return false;
    if (array->dtype == parameter->dtype && array->rank == parameter->value->type.rank)
        return true;
    base_text found;
    base_text_init(&found, r->diagnostics->arena);
    cli_array_print_type(&found, array);
    return refuse(r, parameter->name, found.bytes, describe_type(r, parameter));
}

static bool read_number(const reader *r, const char *name, double *value) {
    const cli_pair *pair = find_pair(r, name);
    if (pair == NULL)
        return missing(r, name, "a number");
    return base_number_parse(pair->value, strlen(pair->value), value) ||
           refuse(r, name, pair->value, "a number");
}

static bool read_scalar(const reader *r, int index) {
    const ir_parameter *parameter = &r->module->parameters[index];
    ir_constant *scalar = &r->inputs->scalars[index];
    double value = 0;
    *scalar = parameter->initial;
    if (find_pair(r, parameter->name) == NULL && parameter->has_default)
        return true;
    if (!read_number(r, parameter->name, &value))
        return false;
    *scalar = (ir_constant){.dtype = parameter->dtype};
    if (base_dtype_is_float(parameter->dtype))
        scalar->real = base_float_round(parameter->dtype, value);
    else if (value >= -9e15 && value <= 9e15 &&
             base_dtype_holds(parameter->dtype, (int64_t)value) && (double)(int64_t)value == value)
        scalar->integer = (int64_t)value;
    else
        return refuse(r, parameter->name, NULL, base_dtype_name(parameter->dtype));
    return true;
}

/* ---- sizes ---- */
static bool bind_size(const reader *r, int64_t symbol, int64_t value) {
    const char *name = r->module->extents.symbols[symbol].name;
    int64_t *size = &r->inputs->sizes[symbol];
    if (r->bound[symbol] && *size != value)
        return refuse(
            r, name, base_diagnostics_text(r->diagnostics, "%lld", (long long)value),
            base_diagnostics_text(r->diagnostics, "%lld, as elsewhere", (long long)*size));
    *size = value;
    r->bound[symbol] = true;
    return true;
}

static bool bind_dimensions(const reader *r) {
    bool good = true;
    for (int i = 0; i < r->module->parameter_count; i++) {
        const ir_parameter *parameter = &r->module->parameters[i];
        const cli_array *array = &r->inputs->arrays[i];
        for (int d = 0; parameter->is_tensor && array->memory != NULL && d < array->rank; d++) {
            const layout_extent *extent = parameter->value->type.extent[d];
            if (extent->kind == LAYOUT_EXTENT_SYMBOL)
                good &= bind_size(r, extent->value, array->extent[d]);
        }
    }
    return good;
}

static bool bind_symbols(const reader *r) {
    const layout_extents *pool = &r->module->extents;
    bool good = true;
    for (int64_t s = 0; s < pool->symbol_count; s++) {
        double value = 0;
        if (pool->symbols[s].known) {
            good &= bind_size(r, s, pool->symbols[s].value);
        } else if (find_pair(r, pool->symbols[s].name) != NULL || !r->bound[s]) {
            if (!read_number(r, pool->symbols[s].name, &value))
                good = false;
            else if (value < 0 || value > 1e9 || (double)(int64_t)value != value)
                good = refuse(r, pool->symbols[s].name, NULL, "a whole number");
            else
                good &= bind_size(r, s, (int64_t)value);
        }
    }
    return good;
}

/* Formulas in shapes, and the module's own checks. */
static bool check_shapes(const reader *r) {
    const ir_module *module = r->module;
    bool good = true;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        sim_tensor *tensor = &r->inputs->tensors[i];
        const cli_array *array = &r->inputs->arrays[i];
        for (int d = 0; parameter->is_tensor && d < tensor->rank; d++) {
            int64_t extent = 0;
            if (!layout_extent_evaluate(parameter->value->type.extent[d], r->inputs->sizes,
                                        &extent) ||
                extent < 0 || extent > (1 << 30) ||
                (array->memory != NULL && array->extent[d] != extent))
                good = refuse_shape(r, i);
            tensor->extent[d] = extent;
        }
    }
    for (int64_t i = 0; i < module->check_count && good; i++) {
        const ir_shape_check *check = &module->checks[i];
        int64_t extent = 0;
        if (!layout_extent_evaluate(check->expected, r->inputs->sizes, &extent) ||
            r->inputs->tensors[check->parameter].extent[check->dimension] != extent)
            good = refuse(r, module->parameters[check->parameter].name, "another shape",
                          "a shape that the module's checks allow");
    }
    return good;
}

static void describe(const reader *r, int index) {
    const ir_parameter *parameter = &r->module->parameters[index];
    const cli_array *array = &r->inputs->arrays[index];
    sim_tensor *tensor = &r->inputs->tensors[index];
    if (!parameter->is_tensor)
        return;
    *tensor = (sim_tensor){
        .dtype = parameter->dtype, .rank = parameter->value->type.rank, .data = array->data};
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        tensor->stride[d] = stride;
        stride *= array->extent[d] > 0 ? array->extent[d] : 1;
    }
}

bool cli_inputs_read(cli_inputs *inputs, const ir_module *module, const cli_options *options,
                     base_diagnostics *diagnostics) {
    memset(inputs, 0, sizeof *inputs);
    reader r = {.inputs = inputs,
                .module = module,
                .options = options,
                .diagnostics = diagnostics,
                .bound = BASE_NEW_ARRAY(diagnostics->arena, bool, module->extents.symbol_count)};
    inputs->sizes = BASE_NEW_ARRAY(diagnostics->arena, int64_t, module->extents.symbol_count);
    inputs->fixture = (pass_fixture){inputs->sizes, inputs->tensors, inputs->scalars};
    if (module->parameter_count > CLI_ARGUMENT_LIMIT)
        return refuse(&r, module->name, "too many parameters", "at most 128");
    bool good = check_names(&r);
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            good &= read_scalar(&r, i);
        else if (parameter->mode != IR_OUT)
            good &= read_array(&r, i);
        else
            good &= read_output(&r, i);
        describe(&r, i);
    }
    return good && bind_dimensions(&r) && bind_symbols(&r) && check_shapes(&r);
}

void cli_inputs_free(cli_inputs *inputs) {
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++)
        cli_array_free(&inputs->arrays[i]);
}
