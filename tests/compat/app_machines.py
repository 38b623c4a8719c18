"""Machines, their parts, configurations, logs and fragments, by the calls of AppClient."""

import asyncio
import json
import os
from datetime import datetime, timedelta, timezone

from viam.app.app_client import Fragment
from viam.gen.app.v1.robot_grpc import RobotServiceStub
from viam.gen.app.v1.robot_pb2 import LogRequest, NeedsRestartRequest
from viam.proto.app import LogOrder
from viam.proto.common import LogEntry
from viam.rpc.dial import Credentials, DialOptions, _get_access_token

from sdk_calls import equal, refused


async def until(probe):
    for _ in range(300):
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.1)
    raise TimeoutError("not within half a minute")


async def as_part(world, id):
    """Calls of the part itself, with its secret."""
    part = await world.app.get_robot_part(id)
    secret = DialOptions(credentials=Credentials("robot-secret", part.secret), insecure=True)
    channel = world.client._channel
    token = await _get_access_token(channel, id, secret)
    return RobotServiceStub(channel), {"authorization": f"Bearer {token}"}


async def machines(world):
    app = world.app
    other = await app.create_location(world.organization, "Yard")
    made = await app.new_robot("cart", other.id)
    await refused(app.new_robot("cart", "none"), "NOT_FOUND", "none")
    await refused(app.new_robot("", other.id), "INVALID_ARGUMENT", "name")
    found = await app.get_robot(made)
    equal([found.name, found.location], ["cart", other.id])
    await refused(app.get_robot("none"), "NOT_FOUND", "none")
    equal([each.id for each in await app.list_robots(other.id)], [made])
    await refused(app.list_robots("none"), "NOT_FOUND", "none")
    both = await app.list_robots_for_locations([other.id, world.location])
    equal({each.id for each in both}, {made, world.machine})
    await refused(app.list_robots_for_locations(["none"]), "NOT_FOUND", "none")

    moved = await app.update_robot(made, "wagon", world.location)
    equal([moved.name, moved.location], ["wagon", world.location])
    equal((await app.get_robot(made)).name, "wagon")
    await refused(app.update_robot("none", "x", other.id), "NOT_FOUND", "none")

    about = {"owner": {"name": "Ann"}, "wheels": 4.0}
    await app.update_robot_metadata(made, about)
    equal(await app.get_robot_metadata(made), about)
    keys = await app.get_robot_api_keys(made)
    client = await world.of_key(keys[0].api_key.key, keys[0].api_key.id)
    equal((await client.app_client.get_robot(made)).name, "wagon")
    client.close()

    await app.delete_robot(made)
    await refused(app.get_robot(made), "NOT_FOUND", made)
    await refused(app.delete_robot(made), "NOT_FOUND", made)
    await app.delete_location(other.id)


async def favorites(world):
    person = world.person
    await person.add_favorite_machine(world.machine)
    equal([each.machine.id for each in await person.list_favorite_machines()], [world.machine])
    await person.remove_favorite_machine(world.machine)
    equal(await person.list_favorite_machines(), [])


async def parts(world):
    app = world.app
    machine = await app.new_robot("arm", world.location)
    [main] = await app.get_robot_parts(machine)
    equal([main.main_part, main.robot], [True, machine])
    await refused(app.get_robot_parts("none"), "NOT_FOUND", "none")
    made = await app.new_robot_part(machine, "wrist")
    await refused(app.new_robot_part("none", "x"), "NOT_FOUND", "none")
    await refused(app.new_robot_part(machine, ""), "INVALID_ARGUMENT", "name")
    equal([each.name for each in await app.get_robot_parts(machine)], ["arm-main", "wrist"])
    await app.mark_part_as_main(made)
    equal([each.id for each in await app.get_robot_parts(machine) if each.main_part], [made])
    await refused(app.mark_part_as_main("none"), "NOT_FOUND", "none")

    robot, metadata = await as_part(world, made)

    async def must_restart():
        return (await robot.NeedsRestart(NeedsRestartRequest(id=made), metadata=metadata)).must_restart

    equal(await must_restart(), False)
    await app.mark_part_for_restart(made)
    equal(await must_restart(), True)
    await refused(app.mark_part_for_restart("none"), "NOT_FOUND", "none")

    await app.update_robot_part_metadata(made, {"side": "left"})
    equal(await app.get_robot_part_metadata(made), {"side": "left"})
    await app.delete_robot_part(main.id)
    equal([each.id for each in await app.get_robot_parts(machine)], [made])
    await refused(app.get_robot_part(main.id), "NOT_FOUND", main.id)
    await app.delete_robot(machine)


async def part_secrets(world):
    app = world.app
    before = await app.get_robot_part(world.part)
    after = await app.create_robot_part_secret(world.part)
    equal([len(before.secrets), len(after.secrets), after.id], [1, 2, world.part])
    new = [each.id for each in after.secrets if each.id != before.secrets[0].id]
    await app.delete_robot_part_secret(world.part, new[0])
    left = await app.get_robot_part(world.part)
    equal([each.id for each in left.secrets], [before.secrets[0].id])
    await refused(app.delete_robot_part_secret(world.part, "none"), "NOT_FOUND", "none")
    await refused(app.create_robot_part_secret("none"), "NOT_FOUND", "none")


async def configuration(world):
    app = world.app
    part = await app.get_robot_part(world.part)
    config = part.robot_config
    start = datetime.now(timezone.utc) - timedelta(seconds=1)
    sensor = {"name": "lab", "api": "rdk:component:sensor", "model": "rdk:builtin:fake"}
    changed = {**config, "components": [*config["components"], sensor]}
    saved = await app.update_robot_part(world.part, "main", changed, part.last_updated)
    equal([saved.name, saved.robot_config], ["main", changed])
    stale = app.update_robot_part(world.part, "x", config, part.last_updated - timedelta(days=1))
    await refused(stale, "FAILED_PRECONDITION", "changed")
    kept = await app.update_robot_part(world.part, "bench-main")
    equal([kept.name, kept.robot_config], ["bench-main", changed])
    text = json.dumps({"services": [], **changed})
    as_text = await app.update_robot_part(world.part, "bench-main", robot_config_json=text)
    equal(as_text.robot_config_json, text)
    await refused(app.update_robot_part("none", "x", config), "NOT_FOUND", "none")
    wrong = app.update_robot_part(world.part, "x", {"components": "none"})
    await refused(wrong, "INVALID_ARGUMENT", "components")

    path = os.path.join(world.folder, "config.json")
    await app.get_robot_part(world.part, dest=path, indent=2)
    with open(path) as file:
        equal(json.load(file)["components"], changed["components"])
    await refused(app.get_robot_part("none"), "NOT_FOUND", "none")

    results = await app.set_config_property(world.part, {"components.lab.attributes.readings.t": 3})
    equal([[each.path, each.success, each.error] for each in results], [
        ["components.lab.attributes.readings.t", True, ""]
    ])
    now = (await app.get_robot_part(world.part)).robot_config
    equal(now["components"][-1]["attributes"], {"readings": {"t": 3}})

    history = await app.get_robot_part_history(world.part)
    equal(len(history) >= 3, True)
    equal([each.when for each in history], sorted((each.when for each in history), reverse=True))
    equal(history[0].part, world.part)
    equal(len(await app.get_robot_part_history(world.part, page_limit=1)), 1)
    equal(await app.get_robot_part_history(world.part, end=start - timedelta(days=1)), [])
    later = await app.get_robot_part_history(world.part, start=start)
    equal(later, history[: len(later)])
    await refused(app.get_robot_part_history("none"), "NOT_FOUND", "none")


async def logs(world):
    app, part = world.app, world.part

    async def some():
        found = await app.get_robot_part_logs(part, num_log_entries=0)
        return found if len(found) >= 3 else None

    newest = await until(some)
    equal([each.time for each in newest], sorted((each.time for each in newest), reverse=True))
    equal(len(await app.get_robot_part_logs(part, num_log_entries=2)), 2)
    word = newest[0].message.split()[0]
    found = await app.get_robot_part_logs(part, filter=word)
    equal([each for each in found if word.lower() not in each.message.lower()], [])
    equal(await app.get_robot_part_logs(part, log_levels=["fatal"]), [])
    infos = await app.get_robot_part_logs(part, log_levels=["info"])
    equal({each.level for each in infos}, {"info"})
    oldest = await app.get_robot_part_logs(part, num_log_entries=2, order=LogOrder.LOG_ORDER_ASCENDING)
    equal([each.time for each in oldest], sorted(each.time for each in oldest))
    equal(await app.get_robot_part_logs(part, end=oldest[0].time - timedelta(days=1)), [])
    equal(len(await app.get_robot_part_logs(part, range="1h")) >= 3, True)
    await refused(app.get_robot_part_logs("none"), "NOT_FOUND", "none")

    path = os.path.join(world.folder, "logs.txt")
    written = await app.get_robot_part_logs(part, dest=path, num_log_entries=3)
    with open(path) as file:
        lines = file.read()
    equal([each for each in written if each.message not in lines], [])

    robot, metadata = await as_part(world, part)

    async def say(level, message):
        entry = LogEntry(level=level, message=message, logger_name="tour", host="here")
        entry.time.FromDatetime(datetime.now(timezone.utc))
        await robot.Log(LogRequest(id=part, logs=[entry]), metadata=metadata)

    async def first(tail):
        async for entries in tail:
            return [each.message for each in entries]

    for wish, heard in (
        ({}, "smoke"),
        ({"errors_only": False, "filter": "walk"}, "walking"),
    ):
        waiting = asyncio.create_task(first(await app.tail_robot_part_logs(part, **wish)))
        while not waiting.done():
            await say("info", "sitting")
            await say("info", "walking")
            await say("error", "smoke")
            await asyncio.wait([waiting], timeout=0.2)
        equal(set(waiting.result()), {heard})
    await refused(first(await app.tail_robot_part_logs("none")), "NOT_FOUND", "none")


async def fragments(world):
    app, organization = world.app, world.organization
    config = {"components": [{"name": "s", "api": "rdk:component:sensor", "model": "rdk:builtin:fake"}]}
    made = await app.create_fragment(organization, "base", config)
    equal([made.visibility, made.organization_owner], [Fragment.Visibility.PRIVATE, organization])
    await refused(app.create_fragment(organization, ""), "INVALID_ARGUMENT", "name")

    async def listed(*visibilities, **kwargs):
        found = await app.list_fragments(organization, visibilities=list(visibilities), **kwargs)
        return [each.id for each in found]

    # Without visibilities: public ones by default, private ones without show_public.
    equal([await listed(), await listed(show_public=False)], [[], [made.id]])
    equal(await listed(Fragment.Visibility.PRIVATE), [made.id])
    public = await app.update_fragment(made.id, "base 2", visibility=Fragment.Visibility.PUBLIC)
    equal([public.name, public.visibility, public.public], ["base 2", Fragment.Visibility.PUBLIC, True])
    equal(public.fragment["components"], config["components"])
    equal([await listed(), await listed(show_public=False)], [[made.id], []])
    equal(await listed(Fragment.Visibility.PRIVATE), [])
    unlisted = await app.update_fragment(made.id, "base 2", visibility=Fragment.Visibility.PUBLIC_UNLISTED)
    equal(unlisted.visibility, Fragment.Visibility.PUBLIC_UNLISTED)
    equal([await listed(), await listed(Fragment.Visibility.PUBLIC_UNLISTED)], [[], [made.id]])
    private = await app.update_fragment(made.id, "base 2", public=False)
    equal(private.visibility, Fragment.Visibility.PRIVATE)

    known = (await app.get_fragment(made.id)).last_updated
    changed = await app.update_fragment(made.id, "base 2", {"components": []}, last_known_update=known)
    equal(changed.fragment["components"], [])
    stale = app.update_fragment(made.id, "x", config, last_known_update=known - timedelta(days=1))
    await refused(stale, "FAILED_PRECONDITION", "changed")
    equal((await app.get_fragment(made.id)).fragment["components"], [])
    equal((await app.get_fragment(made.id, "1")).fragment["components"], config["components"])
    await refused(app.get_fragment(made.id, "no-tag"), "NOT_FOUND", "no-tag")
    history = await app.get_fragment_history(made.id)
    equal({each.fragment for each in history}, {made.id})
    equal([each.edited_on for each in history], sorted((each.edited_on for each in history), reverse=True))
    equal(history[0].old.fragment["components"], config["components"])
    equal(len(await app.get_fragment_history(made.id, page_limit=1)), 1)
    await app.delete_fragment(made.id)
    await refused(app.get_fragment(made.id), "NOT_FOUND", made.id)
    await refused(app.delete_fragment(made.id), "NOT_FOUND", made.id)


CASES = (machines, favorites, parts, part_secrets, configuration, logs, fragments)
