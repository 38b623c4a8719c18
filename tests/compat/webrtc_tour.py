"""Uses a machine over WebRTC with the published Python SDK.

Arguments: what to do, the machine's address (host:port), API key id and API key; without a key:
two empty ones. Connections are plaintext until WebRTC stands. Writes one JSON object a line.

tour   goes through kinds of calls once and ends.
watch  asks for the version ten times a second until it is ended, and says what came of it.
move   starts a motor in a session and stays until it is ended.
rate   counts readings per second, one after the other and 64 at a time, and megabytes of pictures.
"""

import asyncio
import hashlib
import json
import sys
import time

from viam.components.audio_in import AudioIn
from viam.components.camera import Camera
from viam.components.generic import Generic
from viam.components.motor import Motor
from viam.components.sensor import Sensor
from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions

from tour import error_of


def say(**found):
    print(json.dumps(found, default=str), flush=True)


async def connect(address, key_id, key, **extra):
    if key_id:
        dial = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    else:
        dial = DialOptions()
    dial.insecure = True
    # Default 3, after which the program ends.
    dial.max_reconnect_attempts = 30
    # Default 20.
    dial.timeout = 90
    options = RobotClient.Options(
        dial_options=dial, refresh_interval=0, check_connection_interval=0
    )
    for name, value in extra.items():
        setattr(options, name, value)
    return await RobotClient.at_address(address, options)


async def tour(robot):
    sensor = Sensor.from_robot(robot, "sensor")
    command = {"text": "x" * 200_000, "list": [1, 2]}
    [picture], _ = await Camera.from_robot(robot, "camera").get_images()
    microphone = AudioIn.from_robot(robot, "audio_in")
    chunks = [each.audio async for each in await microphone.get_audio("pcm16", 0.25, 0)]
    motor = Motor.from_robot(robot, "motor")
    await motor.set_power(0.5)
    powered = await motor.is_powered()
    await motor.stop()
    # Fewer at once than the 100 that a resource allows.
    many = []
    for _ in range(4):
        many += await asyncio.gather(*[sensor.get_readings() for _ in range(50)])
    say(
        resources=sorted(name.name for name in robot.resource_names),
        readings=await sensor.get_readings(),
        echoed=await Generic.from_robot(robot, "generic").do_command(command) == command,
        picture=[len(picture.data), hashlib.sha256(picture.data).hexdigest()],
        audio=[len(chunk.audio_data) for chunk in chunks],
        powered=list(powered),
        many=len([each for each in many if each == many[0]]),
        refused=await error_of(motor.go_for(rpm=0, revolutions=1)),
        version=(await robot.get_version()).version,
    )


async def watch(robot):
    while True:
        try:
            # Not a sensor: this release's resource clients stay with the connection of before.
            # A call that was on its way when it broke is never ended.
            version = await asyncio.wait_for(robot.get_version(), 3)
            say(version=version.version)
        except Exception as error:
            say(error=str(error) or repr(error))
        await asyncio.sleep(0.1)


async def move(robot):
    motor = Motor.from_robot(robot, "motor")
    await motor.set_power(0.5)
    say(powered=list(await motor.is_powered()))
    await asyncio.sleep(60)


async def rate(robot):
    sensor = Sensor.from_robot(robot, "sensor")
    await sensor.get_readings()

    async def count(width, seconds=3):
        done = 0
        end = time.monotonic() + seconds

        async def one():
            nonlocal done
            while time.monotonic() < end:
                await sensor.get_readings()
                done += 1

        began = time.monotonic()
        await asyncio.gather(*[one() for _ in range(width)])
        return round(done / (time.monotonic() - began))

    camera = Camera.from_robot(robot, "camera")
    began = time.monotonic()
    pictures = [(await camera.get_images())[0][0] for _ in range(5)]
    megabytes = sum(len(picture.data) for picture in pictures) / 1e6
    per_second = round(megabytes / (time.monotonic() - began), 1)
    say(one=await count(1), many=await count(64), megabytes_per_second=per_second)


async def main():
    what, address, key_id, key = sys.argv[1:]
    began = time.monotonic()
    extra = {"check_connection_interval": 1, "attempt_reconnect_interval": 1}
    robot = await connect(address, key_id, key, **(extra if what == "watch" else {}))
    say(connected_ms=round((time.monotonic() - began) * 1000))
    try:
        await {"tour": tour, "watch": watch, "move": move, "rate": rate}[what](robot)
    finally:
        await robot.close()


asyncio.run(main())
