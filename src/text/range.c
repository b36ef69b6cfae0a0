/* Ranges: polynomials over atoms, and the proof that one is never negative.
 *
 *     N - 1 - i   with 0 <= i <= N - 1:   -i is bounded below by -(N - 1), and 0 >= 0 is left
 *
 * A negative term is replaced by what it can at most take away, a positive one by what it at least
 * adds, a minimum, maximum or select by each of its cases; depth and steps are bounded.
 */
#include "text/range_internal.h"

#include "base/checked.h"

#include <string.h>

enum { PROOF_DEPTH = 8, PROOF_STEPS = 1000, EFFORT = 1 << 21 };

void range_init(range *r, base_arena *arena, ir_module *module, const int64_t *bound) {
    *r = (range){.arena = arena, .module = module, .bound = bound, .effort = EFFORT};
}

/* ---- polynomials ---- */

range_poly range_constant(int64_t value) {
    range_poly p = {.valid = true};
    if (value != 0)
        p.terms[p.count++] = (range_term){.factor = value};
    return p;
}

bool range_is_constant(const range_poly *p, int64_t *value) {
    if (!p->valid || p->count > 1 || (p->count == 1 && p->terms[0].degree > 0))
        return false;
    *value = p->count == 1 ? p->terms[0].factor : 0;
    return true;
}

static int term_compare(const range_term *a, const range_term *b) {
    if (a->degree != b->degree)
        return a->degree - b->degree;
    for (int32_t i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] < b->atoms[i] ? -1 : 1;
    return 0;
}

static void poly_push(range_poly *p, range_term term) {
    if (term.factor == 0)
        return;
    if (p->count == RANGE_TERMS)
        p->valid = false;
    else
        p->terms[p->count++] = term;
}

range_poly range_add(range_poly a, range_poly b) {
    range_poly sum = {.valid = a.valid && b.valid};
    int32_t i = 0;
    int32_t j = 0;
    while (sum.valid && (i < a.count || j < b.count)) {
        int order = i == a.count ? 1 : j == b.count ? -1 : term_compare(&a.terms[i], &b.terms[j]);
        range_term term = order <= 0 ? a.terms[i] : b.terms[j];
        if (order == 0)
            sum.valid =
                base_checked_add(a.terms[i].factor, b.terms[j].factor, &term.factor) && sum.valid;
        i += order <= 0;
        j += order >= 0;
        poly_push(&sum, term);
    }
    return sum;
}

static range_poly multiply_term(range_poly a, range_term by) {
    range_poly product = {.valid = a.valid};
    for (int32_t i = 0; product.valid && i < a.count; i++) {
        range_term term = {.degree = a.terms[i].degree + by.degree};
        if (term.degree > RANGE_DEGREE ||
            !base_checked_mul(a.terms[i].factor, by.factor, &term.factor)) {
            product.valid = false;
            break;
        }
        int32_t m = 0;
        int32_t n = 0;
        for (int32_t k = 0; k < term.degree; k++) {
            bool left =
                n == by.degree || (m < a.terms[i].degree && a.terms[i].atoms[m] <= by.atoms[n]);
            term.atoms[k] = left ? a.terms[i].atoms[m++] : by.atoms[n++];
        }
        range_poly one = {.valid = true};
        poly_push(&one, term);
        product = range_add(product, one);
    }
    return product;
}

range_poly range_mul(range_poly a, range_poly b) {
    range_poly product = {.valid = a.valid && b.valid};
    for (int32_t j = 0; product.valid && j < b.count; j++)
        product = range_add(product, multiply_term(a, b.terms[j]));
    return product;
}

range_poly range_scale(range_poly a, int64_t factor) {
    return multiply_term(a, (range_term){.factor = factor});
}

range_poly range_sub(range_poly a, range_poly b) {
    return range_add(a, range_scale(b, -1));
}

/* ---- proofs ---- */

static const range_atom *atom_of(const range *r, int32_t id) {
    return r->atoms[id];
}

/* The atoms of a term other than the one at `at` are never negative. */
static bool rest_not_negative(const range *r, const range_term *term, int32_t at) {
    for (int32_t i = 0; i < term->degree; i++)
        if (i != at && !atom_of(r, term->atoms[i])->not_negative)
            return false;
    return true;
}

/* The term without the atom at `at`, times `factor`. */
static range_term term_without(const range_term *term, int32_t at, int64_t factor) {
    range_term rest = {.factor = factor, .degree = term->degree - 1};
    for (int32_t i = 0, k = 0; i < term->degree; i++)
        if (i != at)
            rest.atoms[k++] = term->atoms[i];
    return rest;
}

/* p with term `t` replaced by `by` times the rest of the term. */
static range_poly replace(const range_poly *p, int32_t t, int32_t at, range_poly by,
                          int64_t factor) {
    range_poly left = *p;
    memmove(&left.terms[t], &left.terms[t + 1],
            sizeof left.terms[0] * (size_t)(left.count - t - 1));
    left.count--;
    return range_add(left, multiply_term(by, term_without(&p->terms[t], at, factor)));
}

/* p with every occurrence of the atom replaced. */
static range_poly substitute(const range_poly *p, int32_t atom, range_poly by) {
    range_poly result = {.valid = true};
    for (int32_t t = 0; t < p->count; t++) {
        range_poly part = range_constant(p->terms[t].factor);
        for (int32_t i = 0; i < p->terms[t].degree; i++) {
            range_poly single = {.valid = true, .count = 1};
            single.terms[0] =
                (range_term){.factor = 1, .degree = 1, .atoms = {p->terms[t].atoms[i]}};
            part = range_mul(part, p->terms[t].atoms[i] == atom ? by : single);
        }
        result = range_add(result, part);
    }
    return result;
}

static bool all_not_negative(const range *r, const range_poly *p) {
    for (int32_t t = 0; t < p->count; t++)
        if (p->terms[t].factor < 0 || !rest_not_negative(r, &p->terms[t], -1))
            return false;
    return true;
}

static bool prove(range *r, const range_poly *p, int depth);

/* Replaces a quotient q = a // c: c*q <= a and c*q >= a - (c - 1). */
static bool prove_by_quotient(range *r, const range_poly *p, int32_t t, int32_t at, int depth) {
    const range_term *term = &p->terms[t];
    const range_atom *atom = atom_of(r, term->atoms[at]);
    if (atom->kind != RANGE_DIV || term->factor % atom->number != 0)
        return false;
    range_poly by = atom->a;
    if (term->factor > 0)
        by = range_sub(by, range_constant(atom->number - 1));
    range_poly q = replace(p, t, at, by, term->factor / atom->number);
    return prove(r, &q, depth - 1);
}

static bool prove_by_bounds(range *r, const range_poly *p, int32_t t, int32_t at, int depth) {
    const range_term *term = &p->terms[t];
    const range_atom *atom = atom_of(r, term->atoms[at]);
    if (!rest_not_negative(r, term, at))
        return false;
    if (prove_by_quotient(r, p, t, at, depth))
        return true;
    int count = term->factor < 0 ? atom->upper_count : atom->lower_count;
    const range_poly *bounds = term->factor < 0 ? atom->upper : atom->lower;
    for (int i = 0; i < count; i++) {
        range_poly q = replace(p, t, at, bounds[i], term->factor);
        if (prove(r, &q, depth - 1))
            return true;
    }
    return false;
}

static bool prove_by_cases(range *r, const range_poly *p, int32_t atom_id, int depth) {
    const range_atom *atom = atom_of(r, atom_id);
    if (atom->kind != RANGE_MIN && atom->kind != RANGE_MAX && atom->kind != RANGE_SELECT)
        return false;
    range_poly first = substitute(p, atom_id, atom->a);
    range_poly second = substitute(p, atom_id, atom->b);
    return prove(r, &first, depth - 1) && prove(r, &second, depth - 1);
}

static bool prove(range *r, const range_poly *p, int depth) {
    if (!p->valid || r->steps-- <= 0 || r->effort-- <= 0)
        return false;
    if (all_not_negative(r, p))
        return true;
    if (depth == 0)
        return false;
    for (int sign = -1; sign <= 1; sign += 2)
        for (int32_t t = 0; t < p->count; t++)
            for (int32_t i = 0; i < p->terms[t].degree; i++)
                if ((p->terms[t].factor < 0) == (sign < 0) && prove_by_bounds(r, p, t, i, depth))
                    return true;
    for (int32_t t = 0; t < p->count; t++)
        for (int32_t i = 0; i < p->terms[t].degree; i++)
            if (prove_by_cases(r, p, p->terms[t].atoms[i], depth))
                return true;
    return false;
}

bool range_proves_not_negative(range *r, const range_poly *p) {
    r->steps = PROOF_STEPS;
    return prove(r, p, PROOF_DEPTH);
}
