/* Conditions against arguments: one function for each kind of conditions.def.
 *
 *     x aligned 16 against x at 0x1004     false; obstacle: ADDRESS, 4 bytes past
 *     N % 4 == 0   against N = 1009        false; obstacle: SIZE, 1009
 *
 * Nothing is dereferenced: addresses, strides and sizes are numbers here.
 */
#include "runtime/condition.h"

/* The remainder of any integer, from 0 up. */
static int64_t rest(int64_t value, int64_t amount) {
    int64_t remainder = value % amount;
    return remainder < 0 ? remainder + amount : remainder;
}

static bool is_aligned(const runtime_tensor *tensor, int64_t amount, runtime_obstacle *obstacle) {
    int64_t past = (int64_t)(tensor->address % (uint64_t)amount);
    if (past != 0) {
        *obstacle = (runtime_obstacle){.kind = RUNTIME_OBSTACLE_ADDRESS, .number = past};
        return false;
    }
    for (int d = 0; d + 1 < tensor->rank; d++) {
        /* the low bits of the product are right where it wraps, and amounts are powers of two */
        int64_t bytes = (int64_t)((uint64_t)tensor->strides[d] * (uint64_t)tensor->element_bytes);
        if (rest(bytes, amount) == 0)
            continue;
        *obstacle =
            (runtime_obstacle){.kind = RUNTIME_OBSTACLE_STRIDE, .dimension = d, .number = bytes};
        return false;
    }
    return true;
}

static bool is_multiple(int64_t size, int64_t amount, runtime_obstacle *obstacle) {
    *obstacle = (runtime_obstacle){.kind = RUNTIME_OBSTACLE_SIZE, .number = size};
    return rest(size, amount) == 0;
}

bool runtime_condition_holds(const layout_condition *condition, const runtime_arguments *arguments,
                             runtime_obstacle *obstacle) {
    runtime_obstacle unread, *found = obstacle != NULL ? obstacle : &unread;
    switch (condition->kind) {
    case LAYOUT_CONDITION_ALIGNED:
        return is_aligned(&arguments->tensors[condition->subject], condition->amount, found);
    case LAYOUT_CONDITION_MULTIPLE:
        return is_multiple(arguments->sizes[condition->subject], condition->amount, found);
    case LAYOUT_CONDITION_COUNT:
        break;
    }
    return false;
}

void runtime_obstacle_print(base_text *out, const layout_condition *condition, const char *subject,
                            const runtime_obstacle *obstacle) {
    long long number = (long long)obstacle->number;
    switch (obstacle->kind) {
    case RUNTIME_OBSTACLE_ADDRESS:
        base_text_format(out, "%s begins %lld bytes past a multiple of %lld", subject, number,
                         (long long)condition->amount);
        return;
    case RUNTIME_OBSTACLE_STRIDE:
        base_text_format(out, "%s has %lld bytes from one index of dimension %d to the next",
                         subject, number, obstacle->dimension);
        return;
    case RUNTIME_OBSTACLE_SIZE:
        base_text_format(out, "%s is %lld", subject, number);
        return;
    }
}
