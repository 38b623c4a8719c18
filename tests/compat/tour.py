"""What the tours of the published Python SDK share."""

from contextlib import asynccontextmanager

from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions

METERS_PER_DEGREE = 111195.08
DEADLINE_S = 90


async def error_of(call):
    """The text of the error that a call ends with."""
    try:
        await call
        return "no error"
    except Exception as error:
        return str(error)


@asynccontextmanager
async def open_machine(address: str):
    """A machine that lets everybody in and has no TLS, at host:port."""
    options = RobotClient.Options(dial_options=DialOptions(insecure=True, disable_webrtc=True))
    machine = await RobotClient.at_address(address, options)
    try:
        yield machine
    finally:
        await machine.close()
