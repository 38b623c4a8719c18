"""What measures: camera, sound, encoder, sensors."""

import base64

from viam.components.audio_in import AudioIn
from viam.components.audio_out import AudioOut
from viam.components.camera import Camera
from viam.components.encoder import Encoder
from viam.components.movement_sensor import MovementSensor
from viam.components.pose_tracker import PoseTracker
from viam.components.power_sensor import PowerSensor
from viam.components.sensor import Sensor
from viam.proto.common import AudioInfo

from fakes_calls import error_of, until


async def audio_in(robot):
    microphone = AudioIn.from_robot(robot, "audio_in")
    chunks = [each.audio async for each in await microphone.get_audio("pcm16", 0.25, 0)]
    return {
        "properties": await microphone.get_properties(),
        "bytes": [len(chunk.audio_data) for chunk in chunks],
        "sequence": [chunk.sequence for chunk in chunks],
        "info": chunks[0].audio_info,
    }


async def audio_out(robot):
    speaker = AudioOut.from_robot(robot, "audio_out")
    info = AudioInfo(codec="pcm16", sample_rate_hz=44100, num_channels=1)

    async def chunks():
        for _ in range(3):
            yield bytes(10)

    await speaker.play(bytes(100), info)
    await speaker.play_stream(info, chunks())
    unknown = AudioInfo(codec="wax", sample_rate_hz=78, num_channels=1)
    return {
        "properties": await speaker.get_properties(),
        "status": await speaker.get_status(),
        "unknown": await error_of(speaker.play(bytes(1), unknown)),
    }


async def camera(robot):
    camera = Camera.from_robot(robot, "camera")
    [image], metadata = await camera.get_images()
    points, mime_type = await camera.get_point_cloud()
    return {
        "image": base64.b64encode(image.data).decode(),
        "mime_type": str(image.mime_type),
        "source": image.name,
        "size": [image.width, image.height],
        "captured": metadata.captured_at.seconds,
        "properties": await camera.get_properties(),
        "points": points.split(b"DATA")[0].decode(),
        "points_mime_type": mime_type,
        "no_source": await error_of(camera.get_images(filter_source_names=["depth"])),
    }


async def encoder(robot):
    encoder = Encoder.from_robot(robot, "encoder")

    async def turned():
        return (await encoder.get_position())[0] >= 10

    await until("ticks", turned)
    properties = await encoder.get_properties()
    await encoder.reset_position()
    return {
        "after_reset": (await encoder.get_position())[0],
        "kind": (await encoder.get_position())[1],
        "ticks": properties.ticks_count_supported,
    }


async def movement_sensor(robot):
    sensor = MovementSensor.from_robot(robot, "movement_sensor")
    place, altitude = await sensor.get_position()
    accuracy = await sensor.get_accuracy()
    return {
        "place": [place.latitude, place.longitude, altitude],
        "velocity": await sensor.get_linear_velocity(),
        "acceleration": await sensor.get_linear_acceleration(),
        "turning": await sensor.get_angular_velocity(),
        "compass": await sensor.get_compass_heading(),
        "orientation": await sensor.get_orientation(),
        "fix": accuracy.position_nmea_gga_fix,
        "readings": await sensor.get_readings(),
    }


async def pose_tracker(robot):
    tracker = PoseTracker.from_robot(robot, "pose_tracker")
    return {
        "all": sorted(await tracker.get_poses([])),
        "one": await tracker.get_poses(["body2"]),
    }


async def power_sensor(robot):
    sensor = PowerSensor.from_robot(robot, "power_sensor")
    return {
        "voltage": await sensor.get_voltage(),
        "current": await sensor.get_current(),
        "power": await sensor.get_power(),
        "readings": await sensor.get_readings(),
    }


async def sensor(robot):
    return await Sensor.from_robot(robot, "sensor").get_readings()


TOURS = (audio_in, audio_out, camera, encoder, movement_sensor, pose_tracker, power_sensor, sensor)
