"""Uses a cloud and a machine with the published Python SDK, as a program of a user's would.

Arguments: cloud address, server address (host:port each), API key id, API key, and how to dial the
server: "plain" or "tls". The cloud is dialled without TLS. Writes what it found as one JSON object
to the last line of standard output.
"""

import asyncio
import json
import sys

from viam.app.viam_client import ViamClient
from viam.components.sensor import Sensor
from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions


def options(key_id, key, dial):
    made = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    # With disable_webrtc and without TLS this release of the SDK cannot send credentials: it names
    # a TLS host to asyncio, which refuses. Left on, it asks for WebRTC first and connects directly
    # when the server has none.
    made.insecure = dial == "plain"
    made.disable_webrtc = dial == "tls"
    return made


async def until(what, probe):
    for _ in range(900):
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.1)
    raise TimeoutError(what)


async def cloud_tour(address, key_id, key):
    client = await ViamClient.create_from_dial_options(options(key_id, key, "plain"), address)
    try:
        app = client.app_client
        organizations = await app.list_organizations()
        locations = await app.list_locations(organizations[0].id)
        machines = await app.list_robots(locations[0].id)
        parts = await app.get_robot_parts(machines[0].id)
        part = await app.get_robot_part(parts[0].id)
        logs = await until("log lines", lambda: app.get_robot_part_logs(part.id))

        config = part.robot_config
        config["components"][1]["attributes"] = {"readings": {"from_python": 42}}
        saved = await app.update_robot_part(part.id, part.name, config)
        history = await app.get_robot_part_history(part.id)
        return {
            "organizations": [organization.name for organization in organizations],
            "locations": [location.name for location in locations],
            "machines": [machine.name for machine in machines],
            "parts": [part.name for part in parts],
            "config": part.robot_config,
            "saved": saved.robot_config,
            "logs": [entry.message for entry in logs],
            "history": len(history),
        }
    finally:
        client.close()


async def machine_tour(address, key_id, key, dial):
    robot_options = RobotClient.Options(
        dial_options=options(key_id, key, dial), refresh_interval=0, check_connection_interval=0
    )
    robot = await RobotClient.at_address(address, robot_options)
    try:
        host = Sensor.from_robot(robot, "host")
        fake = Sensor.from_robot(robot, "fake")

        async def changed():
            readings = await fake.get_readings()
            return readings if "from_python" in readings else None

        return {
            "resources": [name.name for name in robot.resource_names],
            "host": await host.get_readings(),
            "fake": await until("the saved readings", changed),
            "version": (await robot.get_version()).version,
        }
    finally:
        await robot.close()


async def main():
    cloud, server, key_id, key, dial = sys.argv[1:]
    found = {
        "cloud": await cloud_tour(cloud, key_id, key),
        "machine": await machine_tour(server, key_id, key, dial),
    }
    print("\n" + json.dumps(found, default=str))


asyncio.run(main())
