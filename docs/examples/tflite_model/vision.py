"""example:tflite:vision: looks at a camera with a model of an ML model service."""

import io

import numpy as np
from PIL import Image
from viam.components.camera import Camera
from viam.media.video import CameraMimeType
from viam.proto.service.vision import Classification, Detection
from viam.resource.easy_resource import EasyResource
from viam.services.mlmodel import MLModel
from viam.services.vision import CaptureAllResult, Vision
from viam.utils import struct_to_dict


class TfliteVision(Vision, EasyResource):
    """Attributes: mlmodel_name, camera_name; default_minimum_confidence (0 to 1, default 0)."""

    MODEL = "example:tflite:vision"

    @classmethod
    def validate_config(cls, config):
        attributes = struct_to_dict(config.attributes)
        for name, what in (("mlmodel_name", "an ML model service"), ("camera_name", "a camera")):
            if not isinstance(attributes.get(name), str):
                raise ValueError(f"attributes.{name}: the name of {what} is missing")
        return [attributes["mlmodel_name"], attributes["camera_name"]], []

    @classmethod
    def new(cls, config, dependencies):
        self = super().new(config, dependencies)
        attributes = struct_to_dict(config.attributes)
        self.camera_name = attributes["camera_name"]
        self.least = attributes.get("default_minimum_confidence", 0)
        self.model = next(one for one in dependencies.values() if isinstance(one, MLModel))
        self.camera = next(one for one in dependencies.values() if isinstance(one, Camera))
        return self

    async def get_classifications_from_camera(
        self, camera_name, count, *, extra=None, timeout=None, **kwargs
    ):
        return await self.get_classifications(await self.look(camera_name), count)

    async def get_classifications(self, image, count, *, extra=None, timeout=None, **kwargs):
        _, _, outputs, labels = await self.infer(image)
        scores = next(iter(outputs.values())).reshape(-1)
        best = [int(index) for index in np.argsort(-scores) if scores[index] >= self.least]
        return [
            Classification(class_name=label_of(labels, index), confidence=float(scores[index]))
            for index in best[: count or None]
        ]

    async def get_detections_from_camera(self, camera_name, *, extra=None, timeout=None, **kwargs):
        return await self.get_detections(await self.look(camera_name))

    async def get_detections(self, image, *, extra=None, timeout=None, **kwargs):
        width, height, outputs, labels = await self.infer(image)
        if not {"location", "category", "score"} <= outputs.keys():
            raise ValueError(f"the model finds no boxes: its outputs are {list(outputs)}")
        boxes = np.clip(outputs["location"].reshape(-1, 4), 0, 1)
        scores, categories = outputs["score"].reshape(-1), outputs["category"].reshape(-1)
        return [
            Detection(
                class_name=label_of(labels, int(category)),
                confidence=float(score),
                x_min=round(x_min * width),
                x_max=round(x_max * width),
                y_min=round(y_min * height),
                y_max=round(y_max * height),
                x_min_normalized=x_min,
                x_max_normalized=x_max,
                y_min_normalized=y_min,
                y_max_normalized=y_max,
            )
            for (y_min, x_min, y_max, x_max), category, score in zip(
                boxes.tolist(), categories, scores, strict=True
            )
            if score > 0 and score >= self.least  # rows without a box have 0
        ]

    async def capture_all_from_camera(
        self,
        camera_name,
        return_image=False,
        return_classifications=False,
        return_detections=False,
        return_object_point_clouds=False,
        return_detections_3d=False,
        *,
        extra=None,
        timeout=None,
        **kwargs,
    ):
        image = await self.look(camera_name)
        finds_boxes = (await self.get_properties()).detections_supported
        result = CaptureAllResult(image=image if return_image else None)
        if return_classifications and not finds_boxes:
            result.classifications = await self.get_classifications(image, 0)
        if return_detections and finds_boxes:
            result.detections = await self.get_detections(image)
        return result

    async def get_object_point_clouds(self, camera_name, *, extra=None, timeout=None, **kwargs):
        raise NotImplementedError("there are no point clouds")

    async def get_detections_3d(self, camera_name, *, extra=None, timeout=None, **kwargs):
        raise NotImplementedError("there are no boxes in space")

    async def get_properties(self, *, extra=None, timeout=None, **kwargs):
        finds_boxes = (await self.model.metadata()).type == "tflite_detector"
        return Vision.Properties(
            classifications_supported=not finds_boxes,
            detections_supported=finds_boxes,
            object_point_clouds_supported=False,
            default_camera=self.camera_name,
        )

    async def look(self, camera_name):
        if camera_name not in ("", self.camera_name):
            raise ValueError(
                f"attributes.camera_name is {self.camera_name!r}; it cannot look at {camera_name!r}"
            )
        images, _ = await self.camera.get_images()
        # A camera may also tell depths.
        return next(image for image in images if image.mime_type != CameraMimeType.VIAM_RAW_DEPTH)

    async def infer(self, image):
        """Width and height of the picture, what the model says of it, and its labels."""
        picture = Image.open(io.BytesIO(image.data)).convert("RGB")
        metadata = await self.model.metadata()
        wanted = metadata.input_info[0]
        _, height, width, _ = wanted.shape
        pixels = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))[None]
        if wanted.data_type == "float32":
            pixels = pixels.astype(np.float32) / 255
        outputs = await self.model.infer({wanted.name: pixels})
        files = [file.name for info in metadata.output_info for file in info.associated_files]
        return picture.width, picture.height, outputs, read_labels(files[0]) if files else []


def read_labels(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def label_of(labels, index):
    return labels[index] if index < len(labels) else str(index)
