"""Asks a machine's vision service what its camera sees: python look.py ADDRESS [TIMES]

ADDRESS is the machine's, as 127.0.0.1:8081; the API key is in MACHINE_CLOUD_API_KEY_ID and
MACHINE_CLOUD_API_KEY.
"""

import asyncio
import os
import sys

from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions
from viam.services.vision import VisionClient


def options():
    made = DialOptions.with_api_key(
        api_key=os.environ["MACHINE_CLOUD_API_KEY"],
        api_key_id=os.environ["MACHINE_CLOUD_API_KEY_ID"],
    )
    made.insecure = True  # this machine has no TLS
    return RobotClient.Options(dial_options=made)


async def main(address, times="1"):
    machine = await RobotClient.at_address(address, options())
    try:
        vision = VisionClient.from_robot(machine, "what-is-it")
        for _ in range(int(times)):
            (best, *_) = await vision.get_classifications_from_camera("eye", 1)
            print(f"{best.class_name} {best.confidence:.2f}", flush=True)
    finally:
        await machine.close()


asyncio.run(main(*sys.argv[1:]))
