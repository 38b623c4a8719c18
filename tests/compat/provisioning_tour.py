"""Sets a machine up with the published Python SDK's ProvisioningClient, as an app on a phone does.

Argument: the port of machine-agent's API for it. Writes what it found as one JSON object to the last
line of standard output.
"""

import asyncio
import json
import sys

from grpclib.client import Channel
from viam.app.provisioning_client import ProvisioningClient
from viam.proto.provisioning import CloudConfig

from sdk_calls import Recorded, refused


async def main(port):
    channel = Channel("127.0.0.1", int(port))
    try:
        client = Recorded(ProvisioningClient(channel, {}))
        networks = await client.get_network_list()
        status = await client.get_smart_machine_status()
        await client.set_network_credentials("wifi", networks[0].ssid, "a password")
        await refused(client.set_network_credentials("wired", "x", "y"), "INVALID_ARGUMENT", "wired")
        await client.set_smart_machine_credentials(
            CloudConfig(id="part", secret="s", app_address="https://cloud.example.com")
        )
        found = {
            "networks": [[each.ssid, each.security, each.signal] for each in networks],
            "model": status.provisioning_info.model,
            "agent": status.agent_version,
            "online": status.is_online,
            "uncalled": client.uncalled(),
        }
    finally:
        channel.close()
    print("\n" + json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
