"""example:tflite:model: runs a model.tflite."""

import asyncio
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from viam.proto.service.mlmodel import File, LabelType, Metadata, TensorInfo
from viam.resource.easy_resource import EasyResource
from viam.services.mlmodel import MLModel
from viam.utils import dict_to_struct, struct_to_dict


class TfliteModel(MLModel, EasyResource):
    """Attributes: model_path; label_path, a text with a label a line (optional); num_threads."""

    MODEL = "example:tflite:model"

    @classmethod
    def validate_config(cls, config):
        attributes = struct_to_dict(config.attributes)
        if not isinstance(attributes.get("model_path"), str):
            raise ValueError(
                "attributes.model_path: the path of a .tflite file is missing, for example "
                "${packages.ml_model.NAME}/model.tflite"
            )
        return [], []  # it needs no other resources

    @classmethod
    def new(cls, config, dependencies):
        self = super().new(config, dependencies)
        attributes = struct_to_dict(config.attributes)
        self.model_path = existing(attributes, "model_path")
        self.label_path = existing(attributes, "label_path") if "label_path" in attributes else None
        threads = int(attributes.get("num_threads", 1))
        try:
            self.interpreter = Interpreter(model_path=str(self.model_path), num_threads=threads)
            self.interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ValueError(
                f"attributes.model_path: {self.model_path} is no model of TensorFlow Lite: {error}"
            ) from error
        self.inputs = {tensor["name"]: tensor for tensor in self.interpreter.get_input_details()}
        self.outputs = {tensor["name"]: tensor for tensor in self.interpreter.get_output_details()}
        self.one_at_a_time = asyncio.Lock()  # an interpreter keeps the tensors of one run
        return self

    async def infer(self, input_tensors, *, extra=None, timeout=None, **kwargs):
        async with self.one_at_a_time:
            # In a thread: other calls are answered while the model computes.
            return await asyncio.to_thread(self.run, input_tensors)

    async def metadata(self, *, extra=None, timeout=None, **kwargs):
        outputs = [tensor_info(tensor) for tensor in self.outputs.values()]
        if self.label_path and outputs:
            outputs[0].associated_files.append(
                File(name=str(self.label_path), label_type=LabelType.LABEL_TYPE_TENSOR_VALUE)
            )
            outputs[0].extra.CopyFrom(dict_to_struct({"labels": str(self.label_path)}))
        return Metadata(
            name=self.name,
            type="tflite_detector" if "location" in self.outputs else "tflite_classifier",
            input_info=[tensor_info(tensor) for tensor in self.inputs.values()],
            output_info=outputs,
        )

    def run(self, given):
        """One pass through the model, in a thread of its own."""
        for name, tensor in self.inputs.items():
            # A model with one input takes it under any name.
            value = next(iter(given.values()), None) if len(self.inputs) == 1 else given.get(name)
            if value is None:
                raise ValueError(f"the input tensor {name!r} is missing; given are {list(given)}")
            if value.size != np.prod(tensor["shape"]):
                raise ValueError(
                    f"the input tensor {name!r} has the shape {list(value.shape)}; the model "
                    f"needs {tensor['shape'].tolist()}"
                )
            self.interpreter.set_tensor(
                tensor["index"], value.astype(tensor["dtype"]).reshape(tensor["shape"])
            )
        self.interpreter.invoke()
        return {
            name: self.interpreter.get_tensor(tensor["index"])
            for name, tensor in self.outputs.items()
        }


def existing(attributes, name):
    path = Path(attributes[name])
    if not path.is_file():
        raise ValueError(f"attributes.{name}: there is no file {path}")
    return path


def tensor_info(tensor):
    return TensorInfo(
        name=tensor["name"],
        data_type=np.dtype(tensor["dtype"]).name,
        shape=[int(size) for size in tensor["shape_signature"]],  # -1: any size
    )
