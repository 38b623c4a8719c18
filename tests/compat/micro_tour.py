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
    options.disable_sessions = True
    onlooker = await RobotClient.at_address(address, options)
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
        await wheel.set_power(1)
        seen = Motor.from_robot(onlooker, "wheel")
        found["moves"] = await seen.is_moving()
        await robot.close()
        end = asyncio.get_running_loop().time() + 60
        while await seen.is_moving() and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.05)
        found["stopped"] = not await seen.is_moving()
        await seen.go_to(rpm=6000, position_revolutions=found["position"])
        print("\n" + json.dumps(found))
    finally:
        await onlooker.close()


asyncio.run(main())
