/* .npy files: NumPy's one-array format, versions 1, 2 and 3.
 *
 *     \x93NUMPY | version 1 0 | header length | {'descr': '<f4', 'fortran_order': False,
 *     'shape': (2, 3), } and spaces up to a multiple of 64 | 24 bytes of data
 *
 * Little endian, C order, rank 0 to 4. Types: f4 f2 f8 i8 i4 u4 i1 u1 b1, and bf16 as V2. Files are
 * not trusted: every field is checked against the file's true size before memory is taken.
 * Not read: pickled objects, structured types, pipes.
 *
 * Diagnostics: file-open, file-read, file-write (the system's word); npy-magic, npy-version,
 * npy-header, npy-dtype, npy-byte-order, npy-order, npy-shape, npy-size (the file's content);
 * array-shape, array-memory.
 */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "array.h"
#include "output.h"

/* Reads a whole file into a new array. `u2_is_bf16` lets type u2 stand for bf16, which is what
 * NumPy users without a bf16 type write. On failure *array is zeroed and a finding is added. */
bool cli_npy_read(const char *path, bool u2_is_bf16, cli_array *array,
                  base_diagnostics *diagnostics);

/* Stages an array (cli/output.h). The array's data is read again by commit for a device or pipe. */
bool cli_npy_stage(cli_output *output, const char *path, const cli_array *array,
                   base_diagnostics *diagnostics);

#endif
