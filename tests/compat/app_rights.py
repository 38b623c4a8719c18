"""API keys, roles and permissions, by the calls of AppClient."""

from grpclib import GRPCError
from viam.app.app_client import APIKeyAuthorization
from viam.proto.app import AuthorizedPermissions

from sdk_calls import equal, refused


async def opens(world, key, key_id):
    """The machines that a key sees; None when it opens nothing."""
    try:
        client = await world.of_key(key, key_id)
    except GRPCError as error:
        equal(error.status.name, "UNAUTHENTICATED")
        return None
    try:
        return [each.name for each in await client.app_client.list_robots(world.location)]
    finally:
        client.close()


async def keys(world):
    app, organization = world.app, world.organization
    operator = APIKeyAuthorization("operator", "location", world.location)
    key, id = await app.create_key(organization, [operator], "for tours")
    equal(await opens(world, key, id), ["bench"])
    await refused(app.create_key(organization, []), "INVALID_ARGUMENT", "authorizations")
    named = {each.api_key.id: each for each in await app.list_keys(organization)}
    equal([named[id].api_key.name, named[id].api_key.key], ["for tours", ""])
    equal([each.authorization_id for each in named[id].authorizations], ["location_operator"])
    _, unnamed = await app.create_key(organization, [operator])
    names = {each.api_key.id: each.api_key.name for each in await app.list_keys(organization)}
    equal(names[unnamed] != "", True)

    copied, copy = await app.create_key_from_existing_key_authorizations(id)
    equal(await opens(world, copied, copy), ["bench"])
    rotated, new = await app.rotate_key(id)
    equal(await opens(world, rotated, new), ["bench"])
    equal(await opens(world, key, id), None)
    for each in (new, copy, unnamed):
        await app.delete_key(each)
    equal(await opens(world, rotated, new), None)
    left = {each.api_key.id for each in await app.list_keys(organization)}
    equal(left & {id, new, copy, unnamed}, set())
    await refused(app.delete_key(new), "NOT_FOUND", new)


async def roles(world):
    app, organization = world.app, world.organization
    bob = await app.get_user_id_by_email("bob@example.com")

    async def held(identity, *resources):
        found = await app.list_authorizations(organization, list(resources) or None)
        return sorted(each.authorization_id for each in found if each.identity_id == identity)

    equal(await held(bob), ["location_operator"])
    await app.add_role(organization, bob, "owner", "robot", world.machine)
    equal(await held(bob), ["location_operator", "robot_owner"])
    equal(await held(bob, world.machine), ["robot_owner"])
    await app.change_role(
        organization, bob, "owner", "robot", world.machine, bob, "operator", "robot", world.machine
    )
    equal(await held(bob, world.machine), ["robot_operator"])
    await app.remove_role(organization, bob, "operator", "robot", world.machine)
    equal(await held(bob), ["location_operator"])
    await refused(app.add_role(organization, "none", "owner", "robot", world.machine), "NOT_FOUND", "none")
    await refused(app.add_role(organization, bob, "owner", "robot", "none"), "NOT_FOUND", "none")
    await refused(app.add_role(organization, bob, "king", "robot", world.machine), "INVALID_ARGUMENT", "king")
    await refused(app.remove_role(organization, bob, "owner", "robot", world.machine), "NOT_FOUND", "role")

    # The SDK says nothing of whether it is a person or a key, and a role may go to somebody else.
    _, key = await app.create_key(organization, [APIKeyAuthorization("operator", "robot", world.machine)], "r")
    await app.add_role(organization, key, "operator", "location", world.location)
    equal(await held(key), ["location_operator", "robot_operator"])
    await app.change_role(
        organization, key, "operator", "location", world.location, bob, "owner", "robot", world.machine
    )
    equal([await held(key), await held(bob)], [["robot_operator"], ["location_operator", "robot_owner"]])
    await app.remove_role(organization, bob, "owner", "robot", world.machine)
    await app.delete_key(key)


async def permissions(world):
    app = world.app
    asked = [
        AuthorizedPermissions(
            resource_type="robot",
            resource_id=world.machine,
            permissions=["control_robot", "read_robot_logs"],
        )
    ]
    equal(list(await app.check_permissions(asked)), asked)
    operator = APIKeyAuthorization("operator", "robot", world.machine)
    key, id = await app.create_key(world.organization, [operator], "p")
    client = await world.of_key(key, id)
    [answer] = await client.app_client.check_permissions(asked)
    client.close()
    equal(list(answer.permissions), ["control_robot"])
    await app.delete_key(id)
    await refused(app.check_permissions([]), "INVALID_ARGUMENT", "permissions")


CASES = (keys, roles, permissions)
