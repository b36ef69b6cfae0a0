/* For the tests of the portable functions: builds the expansion of one function and evaluates it op
 * by op, by the formulas of the op table, on blocks of arguments. */
#ifndef TEST_EXPANSION_FIXTURE_H
#define TEST_EXPANSION_FIXTURE_H

#include "ir/portable_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BLOCK = 1024 };

typedef union cell {
    float real;
    int32_t integer; /* bool: 0 or 1 */
    uint32_t bits;
} cell;

typedef struct expansion {
    base_arena arena;
    jmp_buf exhausted;
    ir_module *module;
    ir_value *argument, *result;
    cell *cells; /* BLOCK of them for each value, by number */
} expansion;

static inline cell *cells_of(const expansion *e, const ir_value *value) {
    return e->cells + (size_t)value->number * BLOCK;
}

static inline void expansion_open(expansion *e, ir_opcode opcode, ir_type type) {
    base_arena_init(&e->arena, base_allocator_default(), &e->exhausted);
    if (setjmp(e->exhausted) != 0)
        fail_msg("out of memory");
    e->module = ir_module_create(&e->arena, "test", NULL);
    e->module->level = IR_THREAD;
    e->argument = ir_value_create(e->module, type, "x");
    ir_builder builder = {.module = e->module, .region = &e->module->body};
    e->result = ir_portable_math(&builder, opcode, e->argument);
    e->cells = calloc((size_t)e->module->next_value * BLOCK, sizeof(cell));
    assert_non_null(e->cells);
}

static inline void expansion_close(expansion *e) {
    free(e->cells);
    base_arena_free(&e->arena);
}

/* ---- evaluation of one op on one lane ---- */

static inline cell evaluate_integer(ir_opcode opcode, int32_t a, int32_t b) {
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    cell out = {0};
    if (opcode == IR_SUB)
        out.bits = x - y;
    else if (opcode == IR_ADD)
        out.bits = x + y;
    else if (opcode == IR_AND)
        out.bits = x & y;
    else if (opcode == IR_OR)
        out.bits = x | y;
    else if (opcode == IR_SHL)
        out.bits = x << (y & 31);
    else if (opcode == IR_SHR)
        out.integer = a >> (y & 31);
    else
        fail_msg("no integer rule for op %s", ir_op_describe(opcode)->text);
    return out;
}

static inline cell evaluate_real(ir_opcode opcode, float a, float b, float c) {
    cell out = {0};
    if (opcode == IR_ADD)
        out.real = a + b;
    else if (opcode == IR_SUB)
        out.real = a - b;
    else if (opcode == IR_MUL)
        out.real = a * b;
    else if (opcode == IR_DIV)
        out.real = a / b;
    else if (opcode == IR_FMA)
        out.real = fmaf(a, b, c);
    else if (opcode == IR_SQRT)
        out.real = sqrtf(a);
    else if (opcode == IR_NEG)
        out.real = -a;
    else if (opcode == IR_ABS)
        out.real = fabsf(a);
    else if (opcode == IR_LT)
        out.integer = a < b;
    else if (opcode == IR_EQ)
        out.integer = a == b;
    else
        fail_msg("no f32 rule for op %s", ir_op_describe(opcode)->text);
    return out;
}

static inline cell evaluate_op(const ir_op *op, const cell *in) {
    if (op->opcode == IR_CONSTANT) {
        const ir_constant *constant = &op->attributes.constant;
        if (constant->dtype == BASE_F32)
            return (cell){.real = (float)constant->real};
        return (cell){.integer = (int32_t)constant->integer};
    }
    if (op->opcode == IR_BITCAST)
        return in[0];
    if (op->opcode == IR_SELECT)
        return in[0].integer != 0 ? in[1] : in[2];
    if (op->opcode == IR_CAST)
        return (cell){.real = (float)in[0].integer};
    if (op->operands[0]->type.dtype == BASE_F32)
        return evaluate_real(op->opcode, in[0].real, in[1].real, in[2].real);
    return evaluate_integer(op->opcode, in[0].integer, in[1].integer);
}

static inline void evaluate_block(expansion *e, int count) {
    for (const ir_op *op = e->module->body.first; op != NULL; op = op->next) {
        const cell *operand[3] = {NULL, NULL, NULL};
        assert_in_range(op->operand_count, 0, 3);
        for (int k = 0; k < op->operand_count; k++)
            operand[k] = cells_of(e, op->operands[k]);
        cell *out = cells_of(e, op->results[0]);
        for (int lane = 0; lane < count; lane++) {
            cell in[3] = {{0}, {0}, {0}};
            for (int k = 0; k < op->operand_count; k++)
                in[k] = operand[k][lane];
            out[lane] = evaluate_op(op, in);
        }
    }
}

#endif
