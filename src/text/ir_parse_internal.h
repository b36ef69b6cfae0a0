/* What the files of the IR parser share: its state, reports, names, and the readers of types.
 *
 * Every reader returns false after it has reported; the caller then leaves the line. */
#ifndef TEXT_IR_PARSE_INTERNAL_H
#define TEXT_IR_PARSE_INTERNAL_H

#include "ir/module.h"
#include "text/ir_lexer.h"
#include "text/ir_names.h"

/* Regions and parentheses inside one another. */
enum { TEXT_IR_NESTING = 64 };

typedef struct text_ir_parser {
    base_arena *arena;
    base_diagnostics *diagnostics;
    text_ir_lexer lexer;
    ir_module *module;
    bool located;  /* the text says its own source: ops have the locations that it gives */
    bool in_place; /* locations that the text gives are read and dropped */
    int depth;
    text_ir_names sizes, parameters, programs, axes;
    text_ir_names labels; /* items are positions in values */
    ir_value **values;
    int64_t value_count, value_capacity;
} text_ir_parser;

/* What stands behind the name of a result or argument. */
typedef struct text_ir_declaration {
    ir_type type;
    ir_value_layout layout;
    ir_storage storage;
    ir_scope scope;
    bool ranged;
    int64_t low, high;
} text_ir_declaration;

/* Reports at the current token with what was found; returns false. */
bool text_ir_fail(text_ir_parser *parser, const char *slug, const char *expected,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Steps over the word or sign, or reports. */
bool text_ir_expect(text_ir_parser *parser, const char *text);
char *text_ir_copy(text_ir_parser *parser, const text_ir_token *token);

/* Binds a label to a value; reports a second binding at `token`. */
bool text_ir_define(text_ir_parser *parser, const text_ir_token *token, ir_value *value);

bool text_ir_read_value(text_ir_parser *parser, ir_value **value);
bool text_ir_read_integer(text_ir_parser *parser, int64_t least, int64_t greatest, int64_t *value);
bool text_ir_read_constant(text_ir_parser *parser, base_dtype dtype, ir_constant *constant);
/* `lane 8 | slot 4`, to the end of the digits. */
bool text_ir_read_digits(text_ir_parser *parser, layout_axis *digits);
bool text_ir_read_scope(text_ir_parser *parser, ir_scope *scope);
bool text_ir_read_extent(text_ir_parser *parser, const layout_extent **extent);
bool text_ir_read_dtype(text_ir_parser *parser, base_dtype *dtype);
bool text_ir_read_tensor_type(text_ir_parser *parser, ir_type *type);
bool text_ir_read_declaration(text_ir_parser *parser, text_ir_declaration *declaration);
/* A name of the table or, where it is none, a number below count; `-` is -1 where allowed. */
bool text_ir_read_name(text_ir_parser *parser, const text_ir_names *names, const char *noun,
                       int count, int *item);
bool text_ir_read_axis_name(text_ir_parser *parser, int *axis);
/* ` @3:9+10`, when it is there. */
bool text_ir_read_location(text_ir_parser *parser, base_location *location);

/* Reads the ops of a region up to, not including, its `}`. False: the text ended or nests too
 * deeply, reported. */
bool text_ir_read_region(text_ir_parser *parser, ir_region *region);
/* Goes to the end of the line; true when the last token of the line was `{`. */
bool text_ir_skip_line(text_ir_parser *parser);

#endif
