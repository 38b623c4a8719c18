"""Drives every call of the published Python SDK's AppClient and BillingClient, and reads back what
each did, as the SDK's documentation of it says.

Arguments: cloud address (host:port), API key id, API key, organisation id, part id of a machine that
runs, password of the people ann@example.com (owner) and bob@example.com (has an account). Writes what
it found as one JSON object to the last line of standard output.
"""

import asyncio
import json
import sys
import tempfile
import traceback
import urllib.request
from dataclasses import dataclass

from viam.app.app_client import AppClient
from viam.app.viam_client import ViamClient
from viam.rpc.dial import DialOptions

import app_absent
import app_machines
import app_organizations
import app_registry
import app_rights
from sdk_calls import Recorded


@dataclass
class World:
    """What the cases share: clients of the owner's key and of a person, and what is there."""

    address: str
    password: str
    client: ViamClient
    app: Recorded
    person: Recorded
    billing: Recorded
    organization: str
    location: str
    machine: str
    part: str
    folder: str

    async def session(self, email):
        """A client of somebody who has just signed in with a password."""
        token = await asyncio.to_thread(sign_in, self.address, email, self.password)
        return Recorded(AppClient(self.client._channel, {"authorization": f"Bearer {token}"}))

    async def of_key(self, key, key_id):
        """A client of another API key."""
        return await ViamClient.create_from_dial_options(options(key_id, key), self.address)


async def failure_of(case, world):
    try:
        await case(world)
    except Exception:
        return [f"{case.__name__}: {traceback.format_exc()}"]
    return []


def sign_in(address, email, password):
    request = urllib.request.Request(
        f"http://{address}/machine.cloud.v1.AccountService/SignIn",
        data=json.dumps({"email": email, "password": password}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)["signedIn"]["accessToken"]


def options(key_id, key):
    made = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    made.insecure = True
    return made


async def main(address, key_id, key, organization, part, password):
    client = await ViamClient.create_from_dial_options(options(key_id, key), address)
    with tempfile.TemporaryDirectory() as folder:
        try:
            about = await client.app_client.get_robot_part(part)
            world = World(
                address=address,
                password=password,
                client=client,
                app=Recorded(client.app_client),
                person=None,
                billing=Recorded(client.billing_client),
                organization=organization,
                location=about.location_id,
                machine=about.robot,
                part=part,
                folder=folder,
            )
            world.person = await world.session("ann@example.com")
            failures = []
            for module in (app_organizations, app_machines, app_rights, app_registry, app_absent):
                for case in module.CASES:
                    failures += await failure_of(case, world)
            found = {
                "failures": failures,
                "app": world.app.uncalled(world.person),
                "billing": world.billing.uncalled(),
                "made": len(set(world.app.made() + world.person.made())),
            }
        finally:
            client.close()
    print("\n" + json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
