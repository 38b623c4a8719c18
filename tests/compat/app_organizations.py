"""Organisations, people and locations, by the calls of AppClient."""

from viam.proto.app import Authorization, FragmentImport

from sdk_calls import equal, refused


def role(organization, kind, id, role):
    return Authorization(
        authorization_type="role",
        authorization_id=f"{kind}_{role}",
        resource_type=kind,
        resource_id=id,
        organization_id=organization,
    )


async def organizations(world):
    app, person = world.app, world.person
    equal([each.id for each in await app.list_organizations()], [world.organization])
    equal((await app.get_organization(world.organization)).name, "Test")
    await refused(app.get_organization("none"), "NOT_FOUND", "none")

    made = await person.create_organization("Second")
    equal(made.name, "Second")
    equal({each.name for each in await person.list_organizations()}, {"Test", "Second"})
    renamed = await person.update_organization(made.id, name="Renamed")
    equal([renamed.name, (await person.get_organization(made.id)).name], ["Renamed"] * 2)

    equal(await person.get_organization_namespace_availability("sdk-tour"), True)
    await refused(person.get_organization_namespace_availability(""), "INVALID_ARGUMENT", "namespace")
    named = await person.update_organization(made.id, public_namespace="sdk-tour")
    equal([named.public_namespace, named.name], ["sdk-tour", "Renamed"])
    equal(await person.get_organization_namespace_availability("sdk-tour"), False)
    again = person.update_organization(made.id, name="X", public_namespace="another")
    await refused(again, "FAILED_PRECONDITION", "namespace")
    equal((await person.get_organization(made.id)).name, "Renamed")
    taken = app.update_organization(world.organization, public_namespace="sdk-tour")
    await refused(taken, "ALREADY_EXISTS", "sdk-tour")
    await refused(person.update_organization(made.id, region="eu"), "INVALID_ARGUMENT", "region")
    await refused(person.update_organization(made.id, cid="7"), "INVALID_ARGUMENT", "cid")

    fragment = await person.create_fragment(made.id, "for all", {"components": []})
    await person.update_organization(made.id, default_fragments=[FragmentImport(fragment_id=fragment.id)])
    kept = (await person.get_organization(made.id)).default_fragments.fragments
    equal([each.fragment_id for each in kept], [fragment.id])
    await person.update_organization(made.id, default_fragments=[])
    equal(len((await person.get_organization(made.id)).default_fragments.fragments), 0)
    await person.delete_fragment(fragment.id)

    await person.delete_organization(made.id)
    await refused(person.get_organization(made.id), "NOT_FOUND", made.id)


async def members(world):
    app, person = world.app, world.person
    ann = await app.get_user_id_by_email("ann@example.com")
    await refused(app.get_user_id_by_email("nobody@example.com"), "NOT_FOUND", "nobody@example.com")
    everybody, invited = await app.list_organization_members(world.organization)
    equal({email for member in everybody for email in member.emails}, {"ann@example.com", "bob@example.com"})
    equal(ann in [member.user_id for member in everybody], True)
    equal(len(invited), 0)
    mine = await person.list_organizations_by_user(ann)
    equal([each.org_id for each in mine], [world.organization])

    bob = await app.get_user_id_by_email("bob@example.com")
    session = await world.session("bob@example.com")
    equal(len(await session.list_organizations()), 1)
    await app.delete_organization_member(world.organization, bob)
    equal(await session.list_organizations(), [])
    everybody, _ = await app.list_organization_members(world.organization)
    equal([member.user_id for member in everybody], [ann])


async def invitations(world):
    app, organization = world.app, world.organization
    cleo = "cleo@example.com"
    await refused(app.create_organization_invite(organization, "no address"), "INVALID_ARGUMENT", "email")
    member = app.create_organization_invite(organization, "ann@example.com")
    await refused(member, "ALREADY_EXISTS", "ann@example.com")
    invite = await app.create_organization_invite(organization, cleo)
    equal([each.authorization_id for each in invite.authorizations], ["organization_owner"])
    _, invited = await app.list_organization_members(organization)
    equal([each.email for each in invited], [cleo])

    operator = role(organization, "location", world.location, "operator")
    changed = await app.update_organization_invite_authorizations(
        organization,
        cleo,
        add_authorizations=[operator],
        remove_authorizations=[role(organization, "organization", organization, "owner")],
    )
    equal([each.authorization_id for each in changed.authorizations], ["location_operator"])
    nothing = app.update_organization_invite_authorizations(organization, cleo)
    await refused(nothing, "INVALID_ARGUMENT", "authorizations")
    last = app.update_organization_invite_authorizations(organization, cleo, remove_authorizations=[operator])
    await refused(last, "INVALID_ARGUMENT", "nothing would be left")
    equal((await app.resend_organization_invite(organization, cleo)).email, cleo)
    await app.delete_organization_invite(organization, cleo)
    equal(len((await app.list_organization_members(organization))[1]), 0)
    await refused(app.delete_organization_invite(organization, cleo), "NOT_FOUND", cleo)
    await refused(app.resend_organization_invite(organization, cleo), "NOT_FOUND", cleo)

    # Without a mail it is accepted at the next sign-in.
    bob = "bob@example.com"
    await app.create_organization_invite(organization, bob, [operator], send_email_invite=False)
    session = await world.session(bob)
    equal([each.id for each in await session.list_organizations()], [organization])
    held = [each for each in await app.list_authorizations(organization) if each.identity_type == "user"]
    equal(sorted(each.authorization_id for each in held), ["location_operator", "organization_owner"])
    equal(len((await app.list_organization_members(organization))[1]), 0)


async def locations(world):
    app, organization = world.app, world.organization
    outer = await app.create_location(organization, "Hall")
    inner = await app.create_location(organization, "Shelf", outer.id)
    equal([outer.name, inner.parent_location_id], ["Hall", outer.id])
    await refused(app.create_location(organization, ""), "INVALID_ARGUMENT", "name")
    await refused(app.create_location(organization, "x", "none"), "NOT_FOUND", "none")
    equal((await app.get_location(inner.id)).name, "Shelf")
    await refused(app.get_location("none"), "NOT_FOUND", "none")
    await refused(app.get_location(), "INVALID_ARGUMENT", "location id is missing")
    equal({each.name for each in await app.list_locations(organization)}, {"Lab", "Hall", "Shelf"})

    equal((await app.update_location(inner.id, name="Rack")).name, "Rack")
    moved = await app.update_location(inner.id, parent_location_id=world.location)
    equal([moved.name, moved.parent_location_id], ["Rack", world.location])
    equal((await app.get_location(inner.id)).parent_location_id, world.location)
    await refused(app.update_location(inner.id, parent_location_id="none"), "NOT_FOUND", "none")

    before = await app.location_auth(inner.id)
    after = await app.create_location_secret(inner.id)
    equal([len(before.secrets), len(after.secrets)], [1, 2])
    await app.delete_location_secret(before.secrets[0].id, inner.id)
    left = await app.location_auth(inner.id)
    equal([each.id for each in left.secrets], [each.id for each in after.secrets if each.id != before.secrets[0].id])
    await refused(app.delete_location_secret("none", inner.id), "NOT_FOUND", "none")
    await refused(app.location_auth("none"), "NOT_FOUND", "none")

    about = {"floor": 2, "rooms": ["a", "b"]}
    await app.update_location_metadata(outer.id, about)
    equal(await app.get_location_metadata(outer.id), about)
    await app.update_organization_metadata(organization, about)
    equal(await app.get_organization_metadata(organization), about)

    for location in (inner.id, outer.id):
        await app.delete_location(location)
    equal([each.name for each in await app.list_locations(organization)], ["Lab"])
    await refused(app.delete_location("none"), "NOT_FOUND", "none")


async def sharing(world):
    app, person = world.app, world.person
    guest = await person.create_organization("Guest")

    async def having():
        found = await app.get_organizations_with_access_to_location(world.location)
        return {each.id for each in found}

    equal(await having(), {world.organization})
    await app.share_location(guest.id, world.location)
    equal(await having(), {world.organization, guest.id})
    equal([each.id for each in await person.list_locations(guest.id)], [world.location])
    await app.unshare_location(guest.id, world.location)
    equal(await having(), {world.organization})
    equal(await person.list_locations(guest.id), [])
    await person.delete_organization(guest.id)


CASES = (organizations, members, invitations, locations, sharing)
