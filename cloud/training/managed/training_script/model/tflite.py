"""Writing a network as a TensorFlow Lite file, and running one."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import flatbuffers
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def write_model(
    function: Callable[[tf.Tensor], list[tf.Tensor]], side: int, names: list[str], file: Path
) -> None:
    """Writes a function of one image, uint8 [1, side, side, 3], to a list of named tensors.

    Only operations that TensorFlow Lite has itself are used; others make the conversion fail.
    """
    picture = tf.TensorSpec([1, side, side, 3], tf.uint8, name="image")
    concrete = tf.function(function, input_signature=[picture]).get_concrete_function()
    # With weights as constants: the converter loses variables of Keras.
    frozen = convert_variables_to_constants_v2(concrete)
    exported = tf.Module()
    exported.run = tf.function(
        lambda image: dict(zip(names, frozen(image), strict=True)), input_signature=[picture]
    )
    with TemporaryDirectory() as saved:
        tf.saved_model.save(exported, saved, {"serving_default": exported.run})
        converter = tf.lite.TFLiteConverter.from_saved_model(saved)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        file.write_bytes(_named(converter.convert(), names))


def interpreter(file: Path) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Gives a function that runs the file on one image, uint8 [side, side, 3].

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
    """Gives the tensors the signature's names, and the outputs the order of `names`.

    The converter calls them StatefulPartitionedCall:0 and so on, and puts them into an order of its
    own; users look for what they are.
    """
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    graph = tree.subgraphs[0]
    (signature,) = tree.signatureDefs
    tensors = {part.name.decode(): part.tensorIndex for part in signature.outputs}
    graph.outputs = [tensors[name] for name in names]
    for name, index in zip(["image", *names], [*graph.inputs, *graph.outputs], strict=True):
        graph.tensors[index].name = name
    builder = flatbuffers.Builder(len(model))
    builder.Finish(tree.Pack(builder), b"TFL3")
    return bytes(builder.Output())
