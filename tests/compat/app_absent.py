"""Calls that a cloud of one's own has no use for: each says why."""

import os

from viam.errors import NotSupportedError

from sdk_calls import equal, refused


async def absent(world):
    app, billing, organization = world.app, world.billing, world.organization
    billed = "this cloud bills nobody"
    path = os.path.join(world.folder, "invoice.pdf")
    for call in (
        billing.get_current_month_usage(organization),
        billing.get_invoice_pdf("invoice", organization, path),
        billing.get_invoices_summary(organization),
        billing.get_org_billing_information(organization),
        billing.charge_organization(organization, 9.99, 0.7),
    ):
        await refused(call, "UNIMPLEMENTED", billed)
    try:
        await billing.create_invoice_and_charge_immediately(organization, 1.0)
    except NotSupportedError as error:
        assert "Use charge_organization" in str(error), error
    equal(os.path.exists(path) and os.path.getsize(path) > 0, False)

    for call in (
        app.upload_device_push_token("app", "token", "device"),
        app.delete_device_push_token("app", "device"),
        app.get_device_push_tokens("app"),
        app.set_firebase_config(organization, "app", "{}"),
        app.get_firebase_config(organization),
        app.delete_firebase_config(organization, "app"),
    ):
        await refused(call, "UNIMPLEMENTED", "sends no notifications to phones")
    await refused(app.get_rover_rental_robots(organization), "UNIMPLEMENTED", "rents out no rovers")
    user = app.create_oauth_app_user(organization, "app", "x@example.com", "X", "Y", "password")
    await refused(user, "UNIMPLEMENTED", "no OAuth issuer")


CASES = (absent,)
