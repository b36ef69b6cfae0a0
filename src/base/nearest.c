/* The nearest name: the fewest edits, of which a swap of neighbours is one. A letter in the other
 * case is none: `n` is near `N`, though one letter is near nothing else.
 */
#include "base/nearest.h"

#include <string.h>

/* Of ASCII; others stay as they are. */
static char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b, or more than `limit`. */
static int edit_distance(const char *a, const char *b, int limit) {
    enum { LENGTH = 32 };
    int rows[3][LENGTH + 1];
    int m = (int)strlen(a);
    int n = (int)strlen(b);
    if (m > LENGTH || n > LENGTH || m - n > limit || n - m > limit)
        return limit + 1;
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *now = rows[i % 3];
        const int *last = rows[(i + 2) % 3];
        const int *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = last[j - 1] + (lower_case(a[i - 1]) != lower_case(b[j - 1]));
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[m % 3][n];
}

const char *base_nearest_name(const char *wanted, const char *const *names, int64_t count) {
    const char *best = NULL;
    size_t length = strlen(wanted);
    int best_distance = length < 2 ? 1 : length <= 3 ? 2 : 3; /* fewer edits than that */
    for (int64_t i = 0; i < count; i++) {
        int distance = edit_distance(wanted, names[i], best_distance - 1);
        if (distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
