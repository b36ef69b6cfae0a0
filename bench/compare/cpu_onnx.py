"""The row operators as ONNX models, built in code: what ONNX Runtime is given.

Softmax, LayerNormalization (after an Add for the residual one), ReduceSum, RMSNormalization and
SoftmaxCrossEntropyLoss, each one node of the standard, with static shapes.
"""
import onnx
from onnx import TensorProto, helper

OPSET = {"rmsnorm": 23}  # where the operator is new; others are of 17
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
INPUTS = {"sum": ["x"], "softmax": ["x"], "rmsnorm": ["x", "weight"],
          "layernorm": ["x", "weight", "bias"],
          "residual_layernorm": ["x", "residual", "weight", "bias"],
          "cross_entropy": ["x", "label"]}


def nodes_of(operator):
    if operator == "sum":
        return [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    if operator == "softmax":
        return [helper.make_node("Softmax", ["x"], ["y"], axis=-1)]
    if operator == "rmsnorm":
        return [helper.make_node("RMSNormalization", ["x", "weight"], ["y"], axis=-1, epsilon=1e-5)]
    if operator == "cross_entropy":
        return [helper.make_node("SoftmaxCrossEntropyLoss", ["x", "label"], ["y"],
                                 reduction="none")]
    added = "x" if operator == "layernorm" else "t"
    norm = helper.make_node("LayerNormalization", [added, "weight", "bias"], ["y"], axis=-1,
                            epsilon=1e-5)
    return [norm] if added == "x" else [helper.make_node("Add", ["x", "residual"], ["t"]), norm]


def model_of(operator, dtype, rows, width):
    """The bytes of a model."""
    shapes = {"x": [rows, width], "residual": [rows, width], "weight": [width], "bias": [width],
              "label": [rows]}
    kind = TYPES[dtype]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64 if name == "label" else kind,
                                            shapes[name]) for name in INPUTS[operator]]
    reduced = operator in ("sum", "cross_entropy")
    output = helper.make_tensor_value_info("y", kind, [rows] if reduced else [rows, width])
    axes = [helper.make_tensor("axes", TensorProto.INT64, [1], [-1])] if operator == "sum" else []
    graph = helper.make_graph(nodes_of(operator), operator, inputs, [output], axes)
    model = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", OPSET.get(operator, 17))])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model.SerializeToString()
