"""The row operators as ONNX models, written here byte by byte: what ONNX Runtime is given.

Softmax, LayerNormalization (after an Add for the residual one), ReduceSum, RMSNormalization and
SoftmaxCrossEntropyLoss, each one node of the standard, with static shapes. For an ONNX Runtime that
does not have RMSNormalization yet there is its own name for it (`older`). A model is a message of
protobuf; `field` writes one field of it, and the numbers below are those of onnx.proto. So the
package onnx is not needed where a comparison runs.
"""
import struct

OPSET, NEW_OPSET = 17, 23  # the second for RMSNormalization
FLOAT, INT64, FLOAT16, BFLOAT16 = 1, 7, 10, 16  # TensorProto.DataType
TYPES = {"f32": FLOAT, "f16": FLOAT16, "bf16": BFLOAT16}
INPUTS = {"sum": ["x"], "softmax": ["x"], "rmsnorm": ["x", "weight"],
          "layernorm": ["x", "weight", "bias"],
          "residual_layernorm": ["x", "residual", "weight", "bias"],
          "cross_entropy": ["x", "label"]}


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """An integer, a float, a text, or a message (bytes)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    place, kind = {float: (2, 1), int: (3, 2), str: (4, 3)}[type(value)]
    return field(1, name) + field(place, value) + field(20, kind)


def node(operator, inputs, output, **attributes):
    return b"".join([*(field(1, name) for name in inputs), field(2, output), field(4, operator),
                     *(field(5, attribute(*pair)) for pair in attributes.items())])


def tensor_info(name, kind, shape):
    dims = b"".join(field(1, field(1, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def nodes_of(operator, older):
    if operator == "sum":
        return [node("ReduceSum", ["x", "axes"], "y", keepdims=0)]
    if operator == "softmax":
        return [node("Softmax", ["x"], "y", axis=-1)]
    if operator == "rmsnorm":
        name = "SimplifiedLayerNormalization" if older else "RMSNormalization"
        return [node(name, ["x", "weight"], "y", axis=-1, epsilon=1e-5)]
    if operator == "cross_entropy":
        return [node("SoftmaxCrossEntropyLoss", ["x", "label"], "y", reduction="none")]
    added = "x" if operator == "layernorm" else "t"
    norm = node("LayerNormalization", [added, "weight", "bias"], "y", axis=-1, epsilon=1e-5)
    return [norm] if added == "x" else [node("Add", ["x", "residual"], "t"), norm]


def model_of(operator, dtype, rows, width, older=False):
    """The bytes of a model."""
    shapes = {"x": [rows, width], "residual": [rows, width], "weight": [width], "bias": [width],
              "label": [rows]}
    kind = TYPES[dtype]
    graph = [field(1, one) for one in nodes_of(operator, older)] + [field(2, operator)]
    if operator == "sum":  # the axes are a constant: TensorProto
        graph.append(field(5, field(1, 1) + field(2, INT64) + field(8, "axes")
                           + field(9, struct.pack("<q", -1))))
    graph += [field(11, tensor_info(name, INT64 if name == "label" else kind, shapes[name]))
              for name in INPUTS[operator]]
    reduced = operator in ("sum", "cross_entropy")
    graph.append(field(12, tensor_info("y", kind, [rows] if reduced else [rows, width])))
    new = operator == "rmsnorm" and not older
    opset = field(1, "") + field(2, NEW_OPSET if new else OPSET)
    return field(1, 10) + field(7, b"".join(graph)) + field(8, opset)
