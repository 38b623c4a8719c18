"""Writing a network as a TensorFlow Lite file, and running one."""

from collections.abc import Callable
from pathlib import Path

import flatbuffers
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.lite.python import schema_py_generated as schema


def write_model(
    function: Callable[[tf.Tensor], list[tf.Tensor]], side: int, names: list[str], file: Path
) -> None:
    """Writes a function of one picture, uint8 [1, side, side, 3], to a list of named tensors.

    Only operations that TensorFlow Lite has itself are used; others make the conversion fail.
    """
    signature = [tf.TensorSpec([1, side, side, 3], tf.uint8, name="image")]
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    file.write_bytes(_named(converter.convert(), names))


def interpreter(file: Path) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Gives a function that runs the file on one picture, uint8 [side, side, 3].

    With the runtime of machines: TensorFlow's own would also run operations that machines lack.
    """
    runner = Interpreter(model_path=str(file))
    runner.allocate_tensors()
    (picture,) = runner.get_input_details()
    outputs = runner.get_output_details()

    def run(image: np.ndarray) -> list[np.ndarray]:
        runner.set_tensor(picture["index"], image[None])
        runner.invoke()
        return [runner.get_tensor(output["index"]) for output in outputs]

    return run


def _named(model: bytes, names: list[str]) -> bytes:
    """Gives the outputs their names, in the order in which the function gives them.

    The converter calls them Identity, Identity_1 … and may put them into any order; only the
    signature tells which is output_0, output_1 …
    """
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    graph = tree.subgraphs[0]
    (signature,) = tree.signatureDefs
    outputs = sorted(signature.outputs, key=lambda output: int(output.name.split(b"_")[-1]))
    graph.outputs = [output.tensorIndex for output in outputs]
    for name, index in zip(names, graph.outputs, strict=True):
        graph.tensors[index].name = name
    builder = flatbuffers.Builder(len(model))
    builder.Finish(tree.Pack(builder), b"TFL3")
    return bytes(builder.Output())
