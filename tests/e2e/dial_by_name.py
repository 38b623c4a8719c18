"""Connects to a machine by its name with the published SDK, and prints its resources."""

import asyncio
import sys

from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions


async def main(name: str) -> None:
    dial = DialOptions(insecure=True, allow_insecure_downgrade=True, timeout=60)
    options = RobotClient.Options(dial_options=dial, refresh_interval=0)
    machine = await RobotClient.at_address(name, options)
    print("resources:", *(resource.name for resource in machine.resource_names), flush=True)
    await machine.close()


asyncio.run(main(sys.argv[1]))
