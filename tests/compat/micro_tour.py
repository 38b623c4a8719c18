"""Reads a machine-micro-server with the published Python SDK: ADDRESS KEY_ID KEY [tls]."""

import asyncio
import json
import sys

from viam.components.motor import Motor
from viam.components.sensor import Sensor
from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions


async def main():
    address, key_id, key, *tls = sys.argv[1:]
    dial = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    dial.insecure = not tls
    dial.disable_webrtc = bool(tls)
    options = RobotClient.Options(dial_options=dial, refresh_interval=0, check_connection_interval=0)
    robot = await RobotClient.at_address(address, options)
    try:
        fake = Sensor.from_robot(robot, "fake")
        many = [await fake.get_readings() for _ in range(100)]
        wheel = Motor.from_robot(robot, "wheel")
        await wheel.go_for(rpm=6000, revolutions=2)
        found = {
            "resources": sorted(name.name for name in robot.resource_names),
            "fake": many[-1],
            "position": await wheel.get_position(),
            "echo": await fake.do_command({"text": "é" * 9000}),
            "version": (await robot.get_version()).version,
        }
        found["echo"] = len(found["echo"]["text"])
        print("\n" + json.dumps(found))
    finally:
        await robot.close()


asyncio.run(main())
