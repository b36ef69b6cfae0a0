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

static bool begins(const runtime_tensor *tensor, int64_t amount, runtime_obstacle *obstacle) {
    int64_t past = (int64_t)(tensor->address % (uint64_t)amount);
    *obstacle = (runtime_obstacle){.kind = RUNTIME_OBSTACLE_ADDRESS, .number = past};
    return past == 0;
}

/* The low bits of products and differences are right where they wrap, and amounts are powers of
 * two. */
static int64_t in_bytes(const runtime_tensor *tensor, uint64_t elements) {
    return (int64_t)(elements * (uint64_t)tensor->element_bytes);
}

/* The strides but the last are multiples, beyond those of an array without gaps where `dense`. */
static bool strides_hold(const runtime_tensor *tensor, int64_t amount, bool dense,
                         runtime_obstacle *obstacle) {
    uint64_t own = 1;
    for (int d = tensor->rank - 2; d >= 0; d--) {
        own *= (uint64_t)tensor->extents[d + 1];
        uint64_t stride = (uint64_t)tensor->strides[d];
        if (rest(in_bytes(tensor, dense ? stride - own : stride), amount) == 0)
            continue;
        *obstacle = (runtime_obstacle){
            .kind = RUNTIME_OBSTACLE_STRIDE, .dimension = d, .number = in_bytes(tensor, stride)};
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
    const runtime_tensor *tensor = &arguments->tensors[condition->subject];
    switch (condition->kind) {
    case LAYOUT_CONDITION_ALIGNED:
        return begins(tensor, condition->amount, found) &&
               strides_hold(tensor, condition->amount, false, found);
    case LAYOUT_CONDITION_BEGINS:
        return begins(tensor, condition->amount, found);
    case LAYOUT_CONDITION_SPACED:
        return strides_hold(tensor, condition->amount, true, found);
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
