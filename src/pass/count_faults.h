/* Counting gathers whose index is outside: a canonical tile program becomes one that computes as
 * before and also stores, for each program, how many of its gathers were faults.
 *
 *     z[row] = x[row, index[row, :]]      %o = lt %i, 0 | le %n, %i       element by element
 *                                         %c = reduce sum select %o, 1, 0
 *                                         store %gather_faults[%row], %c
 *
 * A fault is a load of the canonical program without a declared fill, in a program and iteration
 * that runs it: one for each element of its domain whose gathered index is outside, or one for the
 * whole load where a scalar index is. Masks, plans, threads and targets know nothing of it: it is a
 * reduction like any other, so what is computed again or split over lanes, loops and launches is
 * counted once. Indices that are proved inside are not asked.
 *
 * It is no row of passes.def: those keep what a program computes. docs/decisions/faults.md.
 */
#ifndef PASS_COUNT_FAULTS_H
#define PASS_COUNT_FAULTS_H

#include "ir/module.h"

/* Adds an `out i64[programs..]` behind the module's parameters, of which every element is stored,
 * and gives its number. -1: nothing can be a fault, and the module is as it was. The result is not
 * canonical. */
int pass_count_faults(ir_module *module);

#endif
