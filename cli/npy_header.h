/* The dictionary in a .npy file's head: text to fields and back, no files.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 */
#ifndef CLI_NPY_HEADER_H
#define CLI_NPY_HEADER_H

#include "array.h"

typedef struct cli_npy_header {
    base_dtype dtype;
    int rank;
    int64_t extent[CLI_RANK_LIMIT];
} cli_npy_header;

/* Reads the dictionary, which may be any bytes. `path` names the file in the finding. */
bool cli_npy_header_parse(const char *text, size_t length, bool u2_is_bf16, const char *path,
                          cli_npy_header *header, base_diagnostics *diagnostics);

/* Appends the whole head of a file of version 1: magic, version, length, dictionary, padding. */
void cli_npy_header_print(base_text *out, const cli_array *array);

#endif
