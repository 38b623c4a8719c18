"""A machine that is a program: the published Python SDK's own server, with components of its own.

Argument: the port on 127.0.0.1. There is no sign-in and no TLS.
"""

import asyncio
import sys

from viam.components.camera import Camera
from viam.components.generic import Generic
from viam.components.motor import Motor
from viam.components.movement_sensor import MovementSensor
from viam.components.sensor import Sensor
from viam.errors import NotSupportedError
from viam.media.video import CameraMimeType, NamedImage
from viam.proto.common import ResponseMetadata
from viam.rpc.server import Server


class Force(Sensor):
    async def get_readings(self, *, extra=None, timeout=None, **kwargs):
        if "fail" in (extra or {}):
            raise ValueError("the strain gauge is torn")
        return {"newton": 12, "extra": sorted(extra or {})}

    async def do_command(self, command, *, timeout=None, **kwargs):
        return {"force heard": command}


class Wheel(Motor):
    power = 0.0

    async def set_power(self, power, **kwargs):
        self.power = power

    async def set_rpm(self, rpm, **kwargs):
        self.power = rpm / 100

    async def go_for(self, rpm, revolutions, **kwargs):
        raise NotSupportedError("there is no encoder")

    async def go_to(self, rpm, position_revolutions, **kwargs):
        raise NotSupportedError("there is no encoder")

    async def reset_zero_position(self, offset, **kwargs):
        raise NotSupportedError("there is no encoder")

    async def get_position(self, **kwargs):
        raise NotSupportedError("there is no encoder")

    async def get_properties(self, **kwargs):
        return Motor.Properties(position_reporting=False)

    async def stop(self, **kwargs):
        self.power = 0.0

    async def is_powered(self, **kwargs):
        return self.power != 0, self.power

    async def is_moving(self):
        return self.power != 0


class Compass(MovementSensor):
    async def get_compass_heading(self, **kwargs):
        return 123.5

    async def get_properties(self, **kwargs):
        return MovementSensor.Properties(
            linear_acceleration_supported=False,
            angular_velocity_supported=False,
            orientation_supported=False,
            position_supported=False,
            compass_heading_supported=True,
            linear_velocity_supported=False,
        )

    async def get_readings(self, **kwargs):
        return {"compass": 123.5}

    async def _nothing(self, **kwargs):
        raise NotSupportedError("there is a compass only")

    get_position = get_linear_velocity = get_angular_velocity = _nothing
    get_linear_acceleration = get_orientation = get_accuracy = _nothing


class Eye(Camera):
    async def get_images(self, **kwargs):
        image = NamedImage("left", b"\xff\xd8 a picture", CameraMimeType.JPEG)
        return [image], ResponseMetadata()

    async def get_point_cloud(self, **kwargs):
        raise NotSupportedError("there is no depth")

    async def get_properties(self, **kwargs):
        return Camera.Properties(supports_pcd=False)


class Thing(Generic):
    async def do_command(self, command, *, timeout=None, **kwargs):
        return {"thing heard": command}


async def main(port: int):
    wheels = [Wheel("left"), Wheel("right")]
    resources = [Force("force"), Compass("compass"), Eye("eye"), Thing("thing"), *wheels]
    await Server(resources).serve("127.0.0.1", port)


asyncio.run(main(int(sys.argv[1])))
