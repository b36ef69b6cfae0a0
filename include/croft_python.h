/* Calls of kernels from CPython, from the interpreter straight into the library.
 *
 *     PyType_FromSpec(Py_tp_call, Py_tp_finalize, __vectorcalloffset__)  ->  a type
 *     class Kernel(that type); the part of an object that is ours, filled
 *     k(x, out=y)  ->  croft_python_call_kernel(k, {x, y}, 1, ("out",))
 *
 * A call does here what is common, and gives everything else, whatever is wrong too, to a method of
 * the object that is written in Python. It never says what is wrong itself.
 *
 * libcroft links nothing of Python and looks nothing up: who makes such types is in a process that
 * has it, and says where what is needed lies (python/croft/_direct.py). All functions here want an
 * interpreter with a lock, and that lock.
 */
#ifndef CROFT_PYTHON_H
#define CROFT_PYTHON_H

#include "croft_torch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sizeof(PyObject), which object.__basicsize__ has to be: our part of an object begins there. */
enum { CROFT_PYTHON_HEAD = 2 * sizeof(void *) };

/* Functions and objects of the interpreter, all by its names; they stay for the life of it. */
typedef struct croft_python {
    size_t size;                                                 /* sizeof(croft_python) */
    void *(*type)(void *object);                                 /* PyObject_Type */
    void (*retain)(void *object);                                /* Py_IncRef */
    void (*release)(void *object);                               /* Py_DecRef */
    void *(*error)(void);                                        /* PyErr_Occurred */
    int (*error_matches)(void *kind);                            /* PyErr_ExceptionMatches */
    void (*error_clear)(void);                                   /* PyErr_Clear */
    void *(*error_memory)(void);                                 /* PyErr_NoMemory */
    void *(*memory)(size_t size);                                /* PyMem_Malloc */
    void (*memory_free)(void *memory);                           /* PyMem_Free */
    ptrdiff_t (*length)(void *tuple);                            /* PyTuple_Size */
    void *(*item)(void *tuple, ptrdiff_t index);                 /* PyTuple_GetItem */
    void *(*tuple)(ptrdiff_t length);                            /* PyTuple_New */
    int (*set_item)(void *tuple, ptrdiff_t index, void *object); /* PyTuple_SetItem */
    void *(*look_up)(void *dictionary, void *key);               /* PyDict_GetItemWithError */
    void *(*capsule_pointer)(void *capsule, const char *name);   /* PyCapsule_GetPointer */
    void *(*number)(long long value);                            /* PyLong_FromLongLong */
    void *(*pointer)(void *number);                              /* PyLong_AsVoidPtr */
    void *(*call_method)(void *name, void *const *arguments, size_t count,
                         void *names); /* PyObject_VectorcallMethod */
    void *none, *no;                   /* Py_None, Py_False */
    void *tuple_type, *exception;      /* PyTuple_Type, PyExc_Exception */
    void *out;                         /* the interned text "out" */
    void *method;                      /* the name of the method that does everything else */
} croft_python;

/* What reads an attribute (PyGetSetDef). */
typedef struct croft_python_getter {
    void *(*get)(void *object, void *closure);
    void *closure;
} croft_python_getter;

/* An element type, and the object that stands for it. */
typedef struct croft_python_dtype {
    void *object;
    uint8_t code, bits; /* as in croft_tensor */
} croft_python_dtype;

/* A type of arrays, and how they are read: by `interface`, or, where it has no function, by
 * `objects`. A second type may be made of the first; others are not known here. */
typedef struct croft_python_arrays {
    size_t size;    /* sizeof(croft_python_arrays) */
    void *types[2]; /* exactly these; NULL: there is none more */
    const croft_objects *objects;
    croft_python_getter interface; /* __array_struct__ of NumPy */
    /* Of PyTorch, with `objects`; NULL elsewhere. It is asked for derivatives and told what was
     * written, of what `_cdata` says. */
    const croft_torch *torch;
    croft_python_getter implementation; /* _cdata */
    bool (*modes)(void);                /* at::impl::torch_function_mode_enabled */
    /* Where the level of forward mode stands, which is `no_level` itself where there is none. */
    void *names, *level, *no_level;
    /* How outputs are made that are not given. Of PyTorch: what makes an object of a tensor
     * (THPVariable_Wrap), NULL where Python makes them, and whether somebody else has to
     * (c10::impl::TorchDispatchModeTLS::any_modes_set). Else: module.empty(shape, dtype). */
    void *(*wrap)(const void *tensor);
    bool (*dispatch_modes)(bool without_own);
    void *module, *empty;
    const croft_python_dtype *dtypes;
    int32_t dtype_count;
} croft_python_arrays;

enum { CROFT_PYTHON_ENTRIES = 4 };

/* The function for calls whose first argument is of such a type and lies on such a device. Where
 * the function stands may become NULL, which is no entry. */
typedef struct croft_python_entry {
    const croft_python_arrays *arrays;
    croft_function *const *function;
    int32_t device_type, device_id;
} croft_python_entry;

/* Our part of an object whose calls launch a kernel. With no entries all calls are the method's.
 * Entries are only added. What a part points to lives until it has ended. */
typedef struct croft_python_kernel {
    void *call; /* croft_python_call_kernel */
    const croft_python *python;
    int32_t ended, entry_count;
    croft_python_entry entries[CROFT_PYTHON_ENTRIES];
} croft_python_kernel;

/* Our part of an object whose calls launch a dispatch. Where there is none, or it becomes NULL, all
 * calls are the method's. */
typedef struct croft_python_bound {
    void *call; /* croft_python_call_bound */
    const croft_python *python;
    int32_t ended;
    croft_dispatch *const *dispatch;
    const croft_objects *objects;
    void *written; /* a tuple of tensors of PyTorch, read by `arrays`; NULL: there are none */
    const croft_python_arrays *arrays;
} croft_python_bound;

/* vectorcallfunc */
CROFT_API void *croft_python_call_kernel(void *self, void *const *arguments, size_t count,
                                         void *names);
CROFT_API void *croft_python_call_bound(void *self, void *const *arguments, size_t count,
                                        void *names);

/* destructor, of Py_tp_finalize: from now on calls are the method's. */
CROFT_API void croft_python_finalize_kernel(void *self);
CROFT_API void croft_python_finalize_bound(void *self);

#ifdef __cplusplus
}
#endif

#endif
