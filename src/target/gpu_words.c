/* Packs: the vectors of OpenCL C and MSL, which have one name before the number of their elements;
 * words of 32 bits, where a language has no vectors of every element type.
 *
 *     f16, element 3 of 8        (f16)(pack.b >> 16)
 *     u8, 4 elements             (u32)(u8)t_0 | (u32)(u8)t_1 << 8 | ...
 */
#include "target/gpu_internal.h"

enum { WORD_BYTES = 4 };

const char *target_gpu_vector_of(base_dtype dtype) {
    switch (dtype) {
    case BASE_F32:
        return "float";
    case BASE_F16:
    case BASE_BF16:
        return "ushort";
    case BASE_I32:
        return "int";
    case BASE_U32:
        return "uint";
    case BASE_I64:
    case BASE_INDEX:
        return "long";
    case BASE_I8:
        return "char";
    case BASE_U8:
    case BASE_BOOL:
        return "uchar";
    case BASE_F64:
        break;
    }
    return "double";
}

const char *target_gpu_words_part(const target_emitter *emitter, base_dtype dtype, const char *pack,
                                  int i) {
    const target_emitter *e = emitter;
    int size = (int)base_dtype_size(dtype), byte = i * size;
    const char *letters = target_gpu_spelling_of(e)->word_letters;
    letters = letters != NULL ? letters : "abcd";
    const char *word = target_emit_text(e, "%s.%c", pack, letters[byte / WORD_BYTES]);
    if (size == 8)
        return target_emit_text(e, "(i64)(%s | (u64)%s.%c << 32)", word, pack,
                                letters[byte / WORD_BYTES + 1]);
    if (byte % WORD_BYTES > 0)
        word = target_emit_text(e, "%s >> %d", word, 8 * (byte % WORD_BYTES));
    if (dtype == BASE_F32)
        return target_emit_text(e, "%s(%s)", target_gpu_spelling_of(e)->f32_from_u32, word);
    if (dtype == BASE_BOOL)
        return target_emit_text(e, "(u8)(%s) != 0", word);
    return target_emit_text(e, "(%s)(%s)", target_gpu_type(dtype), word);
}

/* The bits of an element as a number of 32, at its place in a word. */
static const char *bits_of(const target_emitter *e, base_dtype dtype, const char *value, int byte) {
    const char *bits = target_emit_text(e, "(u32)%s", value);
    if (dtype == BASE_F32)
        bits = target_emit_text(e, "%s(%s)", target_gpu_spelling_of(e)->u32_from_f32, value);
    else if (base_dtype_size(dtype) == 1)
        bits = target_emit_text(e, "(u32)(u8)%s", value);
    return byte > 0 ? target_emit_text(e, "%s << %d", bits, 8 * byte) : bits;
}

const char *target_gpu_words_of(const target_emitter *emitter, base_dtype dtype, int count,
                                const char *const *elements) {
    int size = (int)base_dtype_size(dtype);
    base_text out;
    base_text_init(&out, emitter->arena);
    for (int i = 0; i < count; i++) {
        int byte = i * size % WORD_BYTES;
        base_text_string(&out, i == 0 ? "" : byte > 0 ? " | " : ", ");
        if (size < 8)
            base_text_string(&out, bits_of(emitter, dtype, elements[i], byte));
        else
            base_text_format(&out, "(u32)%s, (u32)((u64)%s >> 32)", elements[i], elements[i]);
    }
    return out.bytes;
}
