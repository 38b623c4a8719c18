"""Looks through a machine's vision services with the published Python SDK's clients.

Arguments: the server's address (host:port), which lets everybody in and has no TLS, and a picture.
Writes one JSON object to the last line of standard output.
"""

import asyncio
import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from viam.gen.service.mlmodel.v1.mlmodel_grpc import MLModelServiceStub
from viam.media.video import CameraMimeType, ViamImage
from viam.proto.service.mlmodel import (
    FlatTensor,
    FlatTensorDataFloat,
    FlatTensorDataUInt8,
    FlatTensors,
    InferRequest,
    MetadataRequest,
)
from viam.services.vision import Vision

from tour import error_of, open_machine


async def main(address: str, picture: str):
    async with open_machine(address) as machine:
        # The SDK's MLModelClient needs numpy; its stub carries the same messages without.
        boxes = MLModelServiceStub(machine._channel)

        async def infer(tensor):
            tensors = FlatTensors(tensors={"image": tensor})
            return await boxes.Infer(InferRequest(name="boxes", input_tensors=tensors))

        finder = Vision.from_robot(machine, "finder")
        image = ViamImage(Path(picture).read_bytes(), CameraMimeType.PNG)
        metadata = (await boxes.Metadata(MetadataRequest(name="boxes"))).metadata
        shape = [1, 16, 16, 3]
        red = bytes(255 if x < 8 and y < 8 and c == 0 else 0 for y in range(16) for x in range(16) for c in range(3))
        answer = await infer(FlatTensor(shape=shape, uint8_tensor=FlatTensorDataUInt8(data=red)))
        outputs = answer.output_tensors.tensors
        floats = FlatTensor(shape=shape, float_tensor=FlatTensorDataFloat(data=[0.0] * 768))
        everything = await finder.capture_all_from_camera(
            "cam", return_image=True, return_detections=True, return_classifications=True
        )
        properties = await finder.get_properties()
        found = {
            "metadata": [metadata.name, metadata.type, metadata.output_info[0].extra["labels"]],
            "score": outputs["score"].float_tensor.data[0],
            "location": list(outputs["location"].float_tensor.data),
            "wrong_type": await error_of(infer(floats)),
            "camera": [MessageToDict(each) for each in await finder.get_detections_from_camera("cam")],
            "image": [each.class_name for each in await finder.get_detections(image)],
            "red": [
                [each.class_name, each.x_max, each.y_max]
                for each in await Vision.from_robot(machine, "red-things").get_detections(image)
            ],
            "all": [everything.image.width, len(everything.detections), everything.classifications],
            "properties": [
                properties.detections_supported,
                properties.classifications_supported,
                properties.object_point_clouds_supported,
            ],
            "classify": await error_of(finder.get_classifications(image, 1)),
            "points": await error_of(finder.get_object_point_clouds("cam")),
        }
        print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
