/* Calls from CPython: what is common is done here, all else by a method in Python.
 *
 *     k(x, w, out=y)   arguments {x, w, y}, names ("out",)
 *         types known, no derivative asked for  ->  read  ->  function of the entry  ->  versions
 *     k(x, w)
 *         likewise                              ->  read, y made  ->  function of the entry
 *         anything else                         ->  k.method(x, w, out=y)
 *
 * Arguments are borrowed: the caller keeps them until the call returns, also while the
 * interpreter's lock is left for a long launch.
 */
#include "api/torch_internal.h"

#include "croft_python.h"

#include <string.h>

enum { METHOD_ARGUMENTS = 32 }; /* on the stack */

/* What PEP 590 adds to the number of arguments: the word before the first may be written. */
#define HAS_WORD_BEFORE ((size_t)1 << (8 * sizeof(size_t) - 1))

/* The result of an attempt. */
typedef enum outcome { DONE, NOT_HERE, RAISED } outcome;

typedef struct python_call {
    const croft_python *python;
    const croft_python_arrays *arrays;
    const croft_function *shape;         /* of any device: the slots */
    void *objects[API_PARAMETERS_LIMIT]; /* by slot; this and the next not zeroed: they are large */
    croft_tensor tensors[API_PARAMETERS_LIMIT];
    int64_t axes[API_PARAMETERS_LIMIT][2 * CROFT_OUTPUT_AXES]; /* of arrays without `objects` */
    void *implementations[API_PARAMETERS_LIMIT]; /* of PyTorch, of those that were asked for */
    void *out;                                   /* NULL: none is given */
    bool makes;                                  /* outputs are not given, and NULL until made */
} python_call;

static void *part_of(void *self) {
    return (char *)self + CROFT_PYTHON_HEAD;
}

static bool is_made(const python_call *call, int slot) {
    return call->makes && !call->shape->slots[slot].is_read;
}

/* ---- everything else ---- */
static void *call_method(const croft_python *python, void *self, void *const *arguments,
                         size_t counted, void *names) {
    void *few[METHOD_ARGUMENTS];
    size_t count = counted & ~HAS_WORD_BEFORE;
    size_t total = count + (names != NULL ? (size_t)python->length(names) : 0) + 1;
    void **all = total <= METHOD_ARGUMENTS ? few : python->memory(total * sizeof *all);
    if (all == NULL)
        return python->error_memory();
    all[0] = self;
    if (total > 1)
        memcpy(all + 1, arguments, (total - 1) * sizeof *all);
    void *result = python->call_method(python->method, all, count + 1, names);
    if (all != few)
        python->memory_free(all);
    return result;
}

/* An error of the interpreter is left to the method, which meets it again; what is no Exception
 * (KeyboardInterrupt) is not. */
static outcome give_up(const croft_python *python) {
    if (python->error() == NULL)
        return NOT_HERE;
    if (!python->error_matches(python->exception))
        return RAISED;
    python->error_clear();
    return NOT_HERE;
}

/* ---- what came ---- */
/* The type without a reference of ours: its object has one. */
static void *type_of(const croft_python *python, void *object) {
    void *type = python->type(object);
    python->release(type);
    return type;
}

static bool is_of(const croft_python_arrays *arrays, void *type) {
    return type == arrays->types[0] || (arrays->types[1] != NULL && type == arrays->types[1]);
}

/* The output that is given by name, if anything is. False: something else is. */
static bool take_out(python_call *call, void *const *behind, void *names) {
    const croft_python *python = call->python;
    call->out = NULL;
    if (names == NULL)
        return true;
    if (python->length(names) != 1 || python->item(names, 0) != python->out)
        return false;
    call->out = behind[0] != python->none ? behind[0] : NULL;
    return true;
}

/* Puts every object to its slot. False: there are more or fewer of them. */
static bool take_objects(python_call *call, void *const *arguments, size_t count) {
    const croft_python *python = call->python;
    const croft_function *shape = call->shape;
    const int written = shape->slot_count - shape->read_count;
    call->makes = written > 0 && call->out == NULL;
    if (count != (size_t)shape->read_count || (written == 0 && call->out != NULL))
        return false;
    if (written > 1 && !call->makes &&
        (type_of(python, call->out) != python->tuple_type || python->length(call->out) != written))
        return false;
    int input = 0, output = 0;
    for (int i = 0; i < shape->slot_count; i++)
        call->objects[i] = shape->slots[i].is_read       ? arguments[input++]
                           : call->makes || written == 1 ? call->out
                                                         : python->item(call->out, output++);
    for (int i = 0; i < shape->slot_count; i++)
        if (call->objects[i] != NULL && !is_of(call->arrays, type_of(python, call->objects[i])))
            return false;
    return true;
}

/* ---- PyTorch ---- */
/* The implementation of a tensor; NULL: an error is set, or it has none. */
static void *implementation_of(const croft_python *python, const croft_python_arrays *arrays,
                               void *object) {
    void *number = arrays->implementation.get(object, arrays->implementation.closure);
    if (number == NULL)
        return NULL;
    void *implementation = python->pointer(number);
    python->release(number);
    return implementation;
}

/* Asks PyTorch what it has to be asked. False: somebody may want a derivative, or wants to see
 * what is called. */
static bool meet_torch(python_call *call) {
    const croft_python *python = call->python;
    const croft_python_arrays *arrays = call->arrays;
    if (arrays->torch == NULL)
        return true;
    if (arrays->modes() || python->look_up(arrays->names, arrays->level) != arrays->no_level)
        return false;
    const bool asks = arrays->torch->grad_mode();
    for (int i = 0; i < call->shape->slot_count; i++) {
        if (call->objects[i] == NULL || (!asks && !call->shape->slots[i].is_written))
            continue;
        call->implementations[i] = implementation_of(python, arrays, call->objects[i]);
        if (call->implementations[i] == NULL ||
            (asks && arrays->torch->requires_grad(call->implementations[i])))
            return false;
    }
    return true;
}

/* Tells PyTorch that a tensor is not what it was. A handle is a pointer to what points to the
 * implementation. */
static void count_version(const croft_torch *torch, void *implementation) {
    void *const handle[] = {implementation};
    if (!torch->is_inference(handle)) /* which has no version */
        torch->count_version(handle);
}

static void count_written(const python_call *call) {
    if (call->arrays->torch == NULL)
        return;
    for (int i = 0; i < call->shape->slot_count; i++)
        if (call->shape->slots[i].is_written && !is_made(call, i))
            count_version(call->arrays->torch, call->implementations[i]);
}

/* ---- reading ---- */
/* PyArrayInterface, which NumPy documents and keeps. */
typedef struct array_interface {
    int two, axes;
    char kind;
    int element_bytes, flags;
    intptr_t *shape, *strides;
    void *data;
} array_interface;

enum { DENSE = 0x1, NATIVE_ORDER = 0x200, WRITEABLE = 0x400 };

static int code_of(char kind) {
    return kind == 'f'   ? CROFT_FLOAT
           : kind == 'i' ? CROFT_INT
           : kind == 'u' ? CROFT_UINT
           : kind == 'b' ? CROFT_BOOL
                         : -1;
}

/* False: an array that Python has to look at. */
static bool read_interface(const array_interface *array, bool is_written, int64_t *axes,
                           croft_tensor *tensor) {
    const int bytes = array->element_bytes, code = code_of(array->kind);
    if (array->two != 2 || code < 0 || bytes <= 0 || bytes > 8 || array->axes < 0 ||
        array->axes > CROFT_OUTPUT_AXES || (array->flags & NATIVE_ORDER) == 0 ||
        (is_written && (array->flags & WRITEABLE) == 0))
        return false;
    const bool dense = (array->flags & DENSE) != 0; /* strides of no elements are any */
    for (int d = 0; d < array->axes; d++) {
        if (!dense && array->strides[d] % bytes != 0)
            return false;
        axes[d] = array->shape[d];
        axes[CROFT_OUTPUT_AXES + d] = array->strides[d] / bytes;
    }
    *tensor = (croft_tensor){.data = array->data,
                             .device_type = CROFT_ON_CPU,
                             .rank = array->axes,
                             .dtype_code = (uint8_t)code,
                             .dtype_bits = (uint8_t)(8 * bytes),
                             .dtype_lanes = 1,
                             .shape = axes,
                             .strides = dense ? NULL : axes + CROFT_OUTPUT_AXES};
    return true;
}

static bool read_array(python_call *call, int slot) {
    const croft_python *python = call->python;
    const croft_python_getter *getter = &call->arrays->interface;
    void *capsule = getter->get(call->objects[slot], getter->closure);
    if (capsule == NULL)
        return false;
    const array_interface *array = python->capsule_pointer(capsule, NULL);
    bool good = array != NULL && read_interface(array, call->shape->slots[slot].is_written,
                                                call->axes[slot], &call->tensors[slot]);
    python->release(capsule);
    return good;
}

static bool read_tensor(python_call *call, int slot) {
    const croft_python_arrays *arrays = call->arrays;
    return arrays->interface.get != NULL
               ? read_array(call, slot)
               : api_object_read(arrays->objects, call->objects[slot], &call->tensors[slot]);
}

/* Those that are given. */
static bool read_tensors(python_call *call) {
    bool good = true;
    for (int i = 0; i < call->shape->slot_count && good; i++)
        good = call->objects[i] == NULL || read_tensor(call, i);
    return good;
}

/* ---- making ---- */
static bool can_make(const croft_python_arrays *arrays) {
    return arrays->torch == NULL ? arrays->module != NULL
                                 : arrays->wrap != NULL && !arrays->dispatch_modes(false);
}

static void *make_of_torch(const croft_python_arrays *arrays, const croft_output *output,
                           const croft_tensor *like) {
    void *handle = NULL;
    if (api_torch_create(arrays->torch, output, like->device_type, like->device_id, &handle) != 0)
        return NULL;
    void *object = arrays->wrap(handle);
    (void)arrays->torch->destroy(handle);
    return object;
}

static void *make_shape(const croft_python *python, const croft_output *output) {
    void *shape = python->tuple(output->rank);
    for (int d = 0; d < output->rank && shape != NULL; d++) {
        void *number = python->number(output->shape[d]);
        if (number == NULL) {
            python->release(shape);
            return NULL;
        }
        (void)python->set_item(shape, d, number);
    }
    return shape;
}

static void *find_dtype(const croft_python_arrays *arrays, const croft_output *output) {
    for (int i = 0; i < arrays->dtype_count; i++)
        if (arrays->dtypes[i].code == output->dtype_code &&
            arrays->dtypes[i].bits == output->dtype_bits)
            return arrays->dtypes[i].object;
    return NULL;
}

static void *make_of_module(const croft_python *python, const croft_python_arrays *arrays,
                            const croft_output *output) {
    void *dtype = find_dtype(arrays, output);
    void *shape = dtype != NULL ? make_shape(python, output) : NULL;
    if (shape == NULL)
        return NULL;
    void *const arguments[] = {arrays->module, shape, dtype};
    void *object = python->call_method(arrays->empty, arguments, 3, NULL);
    python->release(shape);
    return object;
}

/* Releases what was made. */
static void drop_outputs(const python_call *call) {
    for (int i = 0; i < call->shape->slot_count; i++)
        if (is_made(call, i) && call->objects[i] != NULL)
            call->python->release(call->objects[i]);
}

/* Makes the outputs, whose objects are then ours. */
static bool make_outputs(python_call *call, croft_function *function, const croft_tensor **pointers,
                         const croft_tensor *like) {
    croft_output outputs[API_PARAMETERS_LIMIT]; /* large: not zeroed */
    const int count = function->slot_count;
    for (int i = 0; i < count; i++)
        outputs[i].size = sizeof *outputs;
    if (!can_make(call->arrays) ||
        croft_function_outputs(function, pointers, count, outputs, NULL) != CROFT_OK)
        return false;
    for (int i = 0; i < count; i++) {
        if (!is_made(call, i))
            continue;
        call->objects[i] = call->arrays->torch != NULL
                               ? make_of_torch(call->arrays, &outputs[i], like)
                               : make_of_module(call->python, call->arrays, &outputs[i]);
        if (call->objects[i] == NULL || !read_tensor(call, i))
            return false;
        pointers[i] = &call->tensors[i];
    }
    return true;
}

/* What is returned of outputs that were made: one, or a tuple, which takes them; NULL: an error. */
static void *take_made(const python_call *call) {
    const croft_function *shape = call->shape;
    const bool several = shape->slot_count - shape->read_count > 1;
    void *made = several ? call->python->tuple(shape->slot_count - shape->read_count) : NULL;
    int place = 0;
    if (several && made == NULL) {
        drop_outputs(call);
        return NULL;
    }
    for (int i = 0; i < shape->slot_count; i++) {
        if (!is_made(call, i))
            continue;
        if (several)
            (void)call->python->set_item(made, place++, call->objects[i]);
        else
            made = call->objects[i];
    }
    return made;
}

/* ---- calling ---- */
/* The entry for arrays of this type whose first lies there; any for -1. */
static const croft_python_entry *find_entry(const croft_python_kernel *kernel,
                                            const croft_python_arrays *arrays,
                                            const croft_tensor *first) {
    for (int i = 0; i < kernel->entry_count; i++) {
        const croft_python_entry *entry = &kernel->entries[i];
        if (entry->arrays == arrays && *entry->function != NULL &&
            entry->device_type == first->device_type && entry->device_id == first->device_id)
            return entry;
    }
    return NULL;
}

static const croft_python_arrays *find_arrays(const croft_python_kernel *kernel, void *type) {
    for (int i = 0; i < kernel->entry_count; i++)
        if (is_of(kernel->entries[i].arrays, type))
            return kernel->entries[i].arrays;
    return NULL;
}

/* The first tensor that is read. */
static const croft_tensor *first_of(const python_call *call) {
    int slot = 0;
    while (!call->shape->slots[slot].is_read)
        slot++;
    return &call->tensors[slot];
}

static outcome launch(python_call *call, const croft_python_kernel *kernel) {
    const croft_python_entry *entry = find_entry(kernel, call->arrays, first_of(call));
    const croft_tensor *pointers[API_PARAMETERS_LIMIT];
    void *stream = NULL;
    if (entry == NULL)
        return NOT_HERE;
    croft_function *function = *entry->function;
    if (call->arrays->objects != NULL &&
        !api_objects_stream(function->kernel->context, call->arrays->objects, &stream))
        return give_up(call->python);
    for (int i = 0; i < function->slot_count; i++)
        pointers[i] = call->objects[i] != NULL ? &call->tensors[i] : NULL;
    if (call->makes && !make_outputs(call, function, pointers, first_of(call)))
        return give_up(call->python);
    return api_function_call(function, pointers, function->slot_count, stream,
                             call->arrays->objects, NULL) == CROFT_OK
               ? DONE
               : NOT_HERE;
}

static outcome attempt(python_call *call, const croft_python_kernel *kernel, void *const *arguments,
                       size_t count, void *names) {
    if (kernel->entry_count == 0 || count == 0 || !take_out(call, arguments + count, names))
        return NOT_HERE;
    call->arrays = find_arrays(kernel, type_of(call->python, arguments[0]));
    call->shape = *kernel->entries[0].function;
    if (call->arrays == NULL || call->shape == NULL || !take_objects(call, arguments, count))
        return NOT_HERE;
    if (!meet_torch(call) || !read_tensors(call))
        return give_up(call->python);
    outcome result = launch(call, kernel);
    if (result == DONE)
        count_written(call);
    else
        drop_outputs(call);
    return result;
}

void *croft_python_call_kernel(void *self, void *const *arguments, size_t counted, void *names) {
    const croft_python_kernel *kernel = part_of(self);
    python_call call; /* large: not zeroed */
    call.python = kernel->python;
    outcome result = attempt(&call, kernel, arguments, counted & ~HAS_WORD_BEFORE, names);
    if (result == NOT_HERE)
        return call_method(call.python, self, arguments, counted, names);
    if (result == RAISED)
        return NULL;
    if (call.makes)
        return take_made(&call);
    void *returned = call.out != NULL ? call.out : call.python->none;
    call.python->retain(returned);
    return returned;
}

/* ---- calling what is bound ---- */
static void *written_of(const croft_python_bound *bound, ptrdiff_t index) {
    return implementation_of(bound->python, bound->arrays,
                             bound->python->item(bound->written, index));
}

static outcome attempt_bound(const croft_python_bound *bound) {
    const croft_python *python = bound->python;
    void *written[API_PARAMETERS_LIMIT];
    ptrdiff_t count = 0;
    if (bound->dispatch == NULL || *bound->dispatch == NULL)
        return NOT_HERE;
    if (bound->written != NULL) {
        count = python->length(bound->written);
        if (count < 0 || count > API_PARAMETERS_LIMIT || bound->arrays->modes())
            return give_up(python);
    }
    for (ptrdiff_t i = 0; i < count; i++)
        if ((written[i] = written_of(bound, i)) == NULL)
            return give_up(python);
    if (croft_launch_objects(*bound->dispatch, bound->objects, NULL) != CROFT_OK)
        return give_up(python);
    for (ptrdiff_t i = 0; i < count; i++)
        count_version(bound->arrays->torch, written[i]);
    return DONE;
}

void *croft_python_call_bound(void *self, void *const *arguments, size_t counted, void *names) {
    const croft_python_bound *bound = part_of(self);
    const croft_python *python = bound->python;
    const bool alone = (counted & ~HAS_WORD_BEFORE) == 0 && names == NULL;
    outcome result = alone ? attempt_bound(bound) : NOT_HERE;
    if (result == NOT_HERE)
        return call_method(python, self, arguments, counted, names);
    if (result == RAISED)
        return NULL;
    python->retain(python->none);
    return python->none;
}

/* ---- the end of an object ---- */
void croft_python_finalize_kernel(void *self) {
    croft_python_kernel *kernel = part_of(self);
    kernel->entry_count = 0;
    kernel->ended = 1;
}

void croft_python_finalize_bound(void *self) {
    croft_python_bound *bound = part_of(self);
    bound->dispatch = NULL;
    bound->ended = 1;
}
