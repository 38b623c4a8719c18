"""Services: discovery, SLAM, vision and the world state store."""

from viam.components.camera import Camera
from viam.services.discovery import Discovery
from viam.services.slam import SLAM
from viam.services.vision import Vision
from viam.services.worldstatestore import WorldStateStore

from fakes_calls import error_of, first


async def discovery(robot):
    found = await Discovery.from_robot(robot, "discovery").discover_resources()
    return [[each.name, each.api, each.model] for each in found]


async def slam(robot):
    slam = SLAM.from_robot(robot, "slam")
    chunks = await slam.get_point_cloud_map()
    state = await slam.get_internal_state()
    return {
        "position": await slam.get_position(),
        "chunks": len(chunks),
        "map": b"".join(chunks)[:20].decode(),
        "state": len(b"".join(state)),
        "mode": (await slam.get_properties()).mapping_mode,
    }


async def vision(robot):
    vision = Vision.from_robot(robot, "vision")
    [image], _ = await Camera.from_robot(robot, "camera").get_images()
    everything = await vision.capture_all_from_camera(
        "camera", return_image=True, return_classifications=True, return_detections=True
    )
    return {
        "classification": (await vision.get_classifications_from_camera("camera", 1))[0],
        "of_image": (await vision.get_classifications(image, 1))[0],
        "detection": (await vision.get_detections_from_camera("camera"))[0],
        "in_image": (await vision.get_detections(image))[0],
        "everything": [
            len(everything.image.data) == len(image.data),
            len(everything.detections),
            len(everything.classifications),
        ],
        "properties": await vision.get_properties(),
        "no_camera": await error_of(vision.get_detections_from_camera("none")),
    }


async def world_state_store(robot):
    store = WorldStateStore.from_robot(robot, "world_state_store")
    uuids = await store.list_uuids()
    changes = await first(store.stream_transform_changes(), 2)
    return {
        "uuids": sorted(uuid.decode() for uuid in uuids),
        "box": await store.get_transform(b"box"),
        "changes": [[change.transform.reference_frame, change.change_type] for change in changes],
    }


TOURS = (discovery, slam, vision, world_state_store)
