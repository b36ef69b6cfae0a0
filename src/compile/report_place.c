/* Where accesses of level thread reach: their indices evaluated at one position.
 *
 *     %5 = iota lane*1 + subgroup*32             lane 3 of subgroup 1    35
 *     %6 = floordiv %5, 8                                                 4
 *     %7 = floormod %5, 8                                                 3
 *     load %source[%b, vector %6, vector %7]     of f32[B, 8, 8]          140 bytes from the start
 *
 * The program is number 0 and every loop in its first step; tensors are in row-major order. What
 * data decides has no number here.
 */
#include "compile/report_internal.h"

#include "base/checked.h"

enum {
    MOST_STEPS = 4096, /* ops looked at for one number */
    MOST_BANKS = 64,
    MOST_LANES = 64, /* of a subgroup */
    WORD_BYTES = 4
};

typedef struct place {
    const ir_module *module;
    ir_position position;
    int steps; /* left */
} place;

static bool value_at(place *at, const ir_value *value, int64_t *number);

static bool binary(ir_opcode opcode, int64_t a, int64_t b, int64_t *number) {
    switch ((int)opcode) {
    case IR_ADD:
        return base_checked_add(a, b, number);
    case IR_SUB:
        return base_checked_sub(a, b, number);
    case IR_MUL:
        return base_checked_mul(a, b, number);
    case IR_FLOOR_DIV:
        *number = base_floor_div(a, b);
        return true;
    case IR_FLOOR_MOD:
        *number = base_floor_mod(a, b);
        return true;
    case IR_MAXIMUM:
        *number = a > b ? a : b;
        return true;
    case IR_MINIMUM:
        *number = a < b ? a : b;
        return true;
    case IR_LT:
        *number = a < b;
        return true;
    case IR_LE:
        *number = a <= b;
        return true;
    case IR_EQ:
        *number = a == b;
        return true;
    case IR_NE:
        *number = a != b;
        return true;
    case IR_AND:
        *number = a & b;
        return true;
    case IR_OR:
        *number = a | b;
        return true;
    case IR_XOR:
        *number = a ^ b;
        return true;
    case IR_SHL:
        return b >= 0 && b < 63 && base_checked_mul(a, INT64_C(1) << b, number);
    case IR_SHR:
        *number = a >> (b & 63);
        return true;
    default:
        return false;
    }
}

static bool is_whole_number(base_dtype dtype) {
    return dtype != BASE_F32 && dtype != BASE_F16 && dtype != BASE_BF16;
}

static bool op_at(place *at, const ir_op *op, int64_t *number) {
    int64_t a = 0, b = 0, c = 0;
    switch ((int)op->opcode) {
    case IR_CONSTANT:
        *number = op->attributes.constant.integer;
        return true;
    case IR_SIZE:
        return layout_extent_known(&at->module->extents, op->attributes.extent, number);
    case IR_GROUP:
    case IR_BLOCK:
        *number = 0;
        return true;
    case IR_IOTA:
        *number = ir_affine_at(&op->attributes.affine, at->position);
        return true;
    case IR_BROADCAST:
    case IR_UNIFORM:
    case IR_CAST:
        return value_at(at, op->operands[0], number);
    case IR_NOT:
        if (!value_at(at, op->operands[0], &a))
            return false;
        *number = op->results[0]->type.dtype == BASE_BOOL ? !a : ~a;
        return true;
    case IR_NEG:
        return value_at(at, op->operands[0], &a) && base_checked_sub(0, a, number);
    case IR_SELECT:
        if (!value_at(at, op->operands[0], &c))
            return false;
        return value_at(at, op->operands[c != 0 ? 1 : 2], number);
    default:
        return op->operand_count == 2 && op->region_count == 0 &&
               value_at(at, op->operands[0], &a) && value_at(at, op->operands[1], &b) &&
               binary(op->opcode, a, b, number);
    }
}

static bool value_at(place *at, const ir_value *value, int64_t *number) {
    if (at->steps-- <= 0 || !is_whole_number(value->type.dtype))
        return false;
    if (value->definer != NULL)
        return op_at(at, value->definer, number);
    const ir_op *loop = value->region != NULL ? value->region->owner : NULL;
    return loop != NULL && loop->opcode == IR_FOR && value == value->region->arguments[0] &&
           value_at(at, loop->operands[0], number);
}

bool report_value_at(const ir_module *module, const ir_value *value, ir_position position,
                     int64_t *number) {
    place at = {.module = module, .position = position, .steps = MOST_STEPS};
    return value_at(&at, value, number);
}

/* ---- addresses ---- */

static bool index_at(const ir_module *module, const ir_op *op, const ir_index *index,
                     ir_position position, int64_t *sum) {
    int64_t part = 0;
    *sum = ir_affine_at(&index->affine, position);
    for (int i = 0; i < 2; i++) {
        int operand = i == 0 ? index->operand : index->vector;
        if (operand >= 0 && !(report_value_at(module, op->operands[operand], position, &part) &&
                              base_checked_add(*sum, part, sum)))
            return false;
    }
    return true;
}

/* True also where the mask hangs on data. */
static bool takes_part(const ir_module *module, const ir_op *op, ir_position position) {
    const ir_access *access = op->attributes.access;
    int64_t mask = 0;
    if (access->mask_kind == IR_MASK_NONE ||
        !report_value_at(module, op->operands[access->mask], position, &mask))
        return true;
    return access->mask_kind == IR_MASK_BITS ? mask != 0
                                             : ir_affine_at(&access->mask_affine, position) < mask;
}

bool report_address_at(const ir_module *module, const ir_op *op, ir_position position,
                       int64_t *bytes) {
    const ir_access *access = op->attributes.access;
    const ir_type *type = &op->operands[0]->type;
    int64_t stride = base_dtype_size(type->dtype), sum = 0, extent = 0;
    bool known = true; /* the stride */
    *bytes = -1;
    if (!takes_part(module, op, position))
        return true;
    for (int d = access->rank - 1; d >= 0; d--) {
        int64_t index = 0, part = 0;
        if (!index_at(module, op, &access->index[d], position, &index) || (!known && index != 0) ||
            !base_checked_mul(index, known ? stride : 0, &part) ||
            !base_checked_add(sum, part, &sum))
            return false;
        known = known && d < type->rank && type->extent[d] != NULL &&
                layout_extent_known(&module->extents, type->extent[d], &extent) &&
                base_checked_mul(stride, extent, &stride);
    }
    *bytes = sum;
    return true;
}

int report_access_slots(const ir_op *op) {
    if (op->opcode == IR_LOAD || op->opcode == IR_GET)
        return op->results[0]->type.form == IR_FORM_SLOTS ? op->results[0]->type.slots : 0;
    for (int i = op->operand_count - 1; i > 0; i--)
        if (op->operands[i]->type.form == IR_FORM_SLOTS)
            return op->operands[i]->type.slots;
    for (int d = 0; d < op->attributes.access->rank; d++)
        if (op->attributes.access->index[d].affine.count > 0)
            return 1;
    return 0;
}

/* ---- banks ---- */

/* The lanes from `first` on that are served together, each with `words` words from the address on;
 * equal words are served once. */
static int served(const int64_t *address, int lanes, int words, int banks) {
    int64_t seen[MOST_LANES];
    int asked[MOST_BANKS] = {0}, count = 0, worst = 0;
    for (int lane = 0; lane < lanes; lane++) {
        int64_t start = address[lane] / WORD_BYTES;
        bool is_new = address[lane] >= 0;
        for (int i = 0; i < count && is_new; i++)
            is_new = seen[i] != start;
        if (!is_new)
            continue;
        seen[count++] = start;
        for (int word = 0; word < words; word++) {
            int *bank = &asked[(start + word) % banks];
            worst = ++*bank > worst ? *bank : worst;
        }
    }
    return worst;
}

int report_conflicts_of(const ir_module *module, const ir_op *op, const layout_costs *costs) {
    int lanes = ir_module_subgroup_lanes(module), banks = (int)costs->banks, worst = 0;
    int slots = report_access_slots(op), width = op->attributes.access->width;
    int64_t bytes = width * base_dtype_size(op->operands[0]->type.dtype);
    int words = bytes > WORD_BYTES ? (int)(bytes / WORD_BYTES) : 1;
    if (banks < 2 || banks > MOST_BANKS || lanes > MOST_LANES || words > banks)
        return 0;
    for (int subgroup = 0; subgroup < ir_module_subgroups(module); subgroup++) {
        for (int slot = 0; slot < (slots > 0 ? slots : 1); slot += width) {
            int64_t address[MOST_LANES];
            for (int lane = 0; lane < lanes; lane++) {
                ir_position position = {.slot = slot, .lane = lane, .subgroup = subgroup};
                if (!report_address_at(module, op, position, &address[lane]))
                    return 0;
            }
            for (int first = 0; first < lanes; first += banks / words) {
                int left = lanes - first;
                int times = served(address + first, left < banks / words ? left : banks / words,
                                   words, banks);
                worst = times > worst ? times : worst;
            }
        }
    }
    return worst;
}
