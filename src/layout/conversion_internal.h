/* Between the files of a conversion; nobody else includes this. */
#ifndef LAYOUT_CONVERSION_INTERNAL_H
#define LAYOUT_CONVERSION_INTERNAL_H

#include "layout/conversion.h"

/* Of scratch, where no machine is given: words that are read at once. */
enum { CONVERSION_BANK_BITS = 5, CONVERSION_BANKS = 1 << CONVERSION_BANK_BITS };

/* Fills conversion->shuffle from matrix and constant, which stay inside the subgroup; may change
 * the matrix by kernel vectors of the source (other copies of the same values). False when no
 * factorisation exists, which takes a replicated source. */
bool layout_shuffle_factor(layout_conversion *conversion);

#endif
