"""Goes through a machine's fake resources with the published Python SDK's clients.

Argument: the server's address (host:port), which lets everybody in and has no TLS. Writes one JSON
object to the last line of standard output: what each client found, or the error it met.
"""

import asyncio
import json
import sys
import traceback

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions

from fakes_measuring import TOURS as MEASURING
from fakes_moving import TOURS as MOVING
from fakes_services import TOURS as SERVICES
from fakes_switching import TOURS as SWITCHING


def plain(value):
    if isinstance(value, Message):
        return MessageToDict(value, preserving_proto_field_name=True)
    return value.__dict__ if hasattr(value, "__dict__") else str(value)


async def main():
    options = RobotClient.Options(
        dial_options=DialOptions(insecure=True, disable_webrtc=True),
        refresh_interval=0,
        check_connection_interval=0,
    )
    robot = await RobotClient.at_address(sys.argv[1], options)
    found = {"resources": sorted(str(name.name) for name in robot.resource_names)}
    try:
        for tour in MOVING + MEASURING + SWITCHING + SERVICES:
            try:
                found[tour.__name__] = await asyncio.wait_for(tour(robot), 90)
            except Exception:
                found[tour.__name__] = {"error": traceback.format_exc()}
    finally:
        await robot.close()
    print("\n" + json.dumps(found, default=plain))


asyncio.run(main())
