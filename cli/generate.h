/* Generated inputs: an array from a short text such as `randn:4x8` or `randint:4:0:8:i32`.
 *
 *     SPEC  = FORM ":" SHAPE { ":" ARGUMENT } [ ":" DTYPE ]
 *     SHAPE = [ EXTENT { "x" EXTENT } ]                  empty: rank 0; at most 4 axes; 0 allowed
 *     DTYPE = f32 f16 bf16 i64 i32 u32 i8 u8 bool f64    else the parameter's, else the form's
 *
 *     form        arguments           elements                               types       else
 *     zeros ones                      0, 1                                   all         f32
 *     const       VALUE{,VALUE}       the values in turn, again and again    all         f32
 *     arange                          0, 1, 2, ...                           all         f32
 *     randn       [MEAN [DEVIATION]]  normal, mean 0 and deviation 1         floats      f32
 *     uniform     [LOW [HIGH]]        LOW <= value < HIGH before rounding    floats      f32
 *     randint     LOW HIGH            whole numbers, LOW <= value < HIGH     all         i64
 *     magnitudes                      both signs, 1e-30..1e30 (f16:          floats      f32
 *                                     1e-7..6e4), even in the exponent
 *     special                         a kind for each row, see below         floats      f32
 *
 * `special` gives row r (along the last axis) the kind r % 12: normal; one NaN; one +inf; one -inf;
 * +inf and -inf; all -inf; all equal; zeros of both signs; subnormals; the largest finite values;
 * magnitudes; all of these mixed.
 *
 * The generator is splitmix64 used by position: draw n of an element is a function of (seed, name,
 * index, n), so that each parameter has a stream of its own and the order of filling is no matter.
 * Normal values are Box-Muller in double, the cosine half. Equal arguments give equal bytes with
 * the same libm.
 */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

#include "array.h"

/* Whether a command-line value is meant as a spec and not as a file: a lower-case word and a colon,
 * no `/`, and no `.npy` at the end. The form need not exist. */
bool cli_generate_is_spec(const char *text);

/* Makes the array of parameter `name`. `wanted` is the type of the parameter, NULL when it is open.
 * On failure *array is zeroed and a finding is added: generate-form, generate-shape,
 * generate-argument, generate-dtype, array-shape, array-memory. */
bool cli_generate(const char *spec, const char *name, uint64_t seed, const base_dtype *wanted,
                  cli_array *array, base_diagnostics *diagnostics);

#endif
