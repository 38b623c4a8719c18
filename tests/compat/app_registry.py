"""Modules and other items of the registry, by the calls of AppClient."""

import gzip
import urllib.request

from viam.proto.app import Model, ModuleFileInfo
from viam.proto.app import RegistryItemStatus, Visibility
from viam.proto.app.packages import PackageType

from sdk_calls import equal, refused

SCRIPT = PackageType.PACKAGE_TYPE_ML_TRAINING


async def modules(world):
    app, organization = world.app, world.organization
    id, _ = await app.create_module(organization, "weather")
    equal(id, f"{organization}:weather")
    await refused(app.create_module(organization, ""), "INVALID_ARGUMENT", "name")
    await refused(app.create_module(organization, "weather"), "ALREADY_EXISTS", "weather")
    model = Model(api="rdk:component:sensor", model="acme:weather:sun")
    url = await app.update_module(id, "https://example.com/docs", "Sun and rain", [model], "run.sh")
    module = await app.get_module(id)
    equal([module.url, module.description, module.entrypoint], ["https://example.com/docs", "Sun and rain", "run.sh"])
    equal([module.visibility, url], [Visibility.VISIBILITY_PRIVATE, module.url])
    equal([[each.api, each.model] for each in module.models], [["rdk:component:sensor", "acme:weather:sun"]])
    await refused(app.update_module("none:x", "", "", [], "run.sh"), "NOT_FOUND", "none")
    await refused(app.get_module("none:x"), "NOT_FOUND", "none")

    file = gzip.compress(b"a module")
    about = ModuleFileInfo(module_id=id, version="1.0.0", platform="linux/amd64")
    uploaded = await app.upload_module_file(about, file)
    versions = (await app.get_module(id)).versions
    equal([[each.version, [file.platform for file in each.files]] for each in versions], [["1.0.0", ["linux/amd64"]]])
    equal(uploaded != "", True)
    equal([each.module_id for each in await app.list_modules(organization)], [id])

    about.version = "1.1.0"
    await app.upload_module_file(about, file)
    await app.deprecate_registry_item_version(id, "1.1.0", "too wet")

    async def outdated():
        item = await app.get_registry_item(id)
        return [each.version for each in item.module_metadata.versions if each.HasField("deprecated_status")]

    equal(await outdated(), ["1.1.0"])
    await app.undeprecate_registry_item_version(id, "1.1.0")
    equal(await outdated(), [])
    await app.delete_registry_item(id)
    equal(await app.list_modules(organization), [])


async def items(world):
    app, organization = world.app, world.organization
    id = f"{organization}:counter"
    await app.create_registry_item(organization, "counter", SCRIPT)
    again = app.create_registry_item(organization, "counter", SCRIPT)
    await refused(again, "ALREADY_EXISTS", "counter")
    await app.update_registry_item(id, SCRIPT, "Counts pictures", Visibility.VISIBILITY_PRIVATE)
    item = await app.get_registry_item(id)
    equal([item.name, item.description, item.type], ["counter", "Counts pictures", SCRIPT])
    equal((await app.get_registry_item(id, include_markdown_documentation=True)).item_id, id)
    await refused(app.get_registry_item("none:x"), "NOT_FOUND", "none")

    async def listed(**filters):
        wanted = {"types": [], "visibilities": [], "platforms": [], "statuses": [], **filters}
        return [each.item_id for each in await app.list_registry_items(organization, **wanted)]

    equal(await listed(), [id])
    equal(await listed(types=[SCRIPT], visibilities=[Visibility.VISIBILITY_PRIVATE]), [id])
    equal(await listed(types=[PackageType.PACKAGE_TYPE_MODULE]), [])
    equal(await listed(visibilities=[Visibility.VISIBILITY_PUBLIC]), [])
    equal(await listed(statuses=[RegistryItemStatus.REGISTRY_ITEM_STATUS_PUBLISHED]), [])
    equal([await listed(search_term="count"), await listed(search_term="other")], [[id], []])

    await app.deprecate_registry_item(id, "counts wrong")
    equal((await app.get_registry_item(id)).deprecated_status.message, "counts wrong")
    equal(await listed(), [])
    await app.undeprecate_registry_item(id)
    equal(await listed(), [id])
    await app.delete_registry_item(id)
    await refused(app.get_registry_item(id), "NOT_FOUND", "counter")
    await refused(app.delete_registry_item(id), "NOT_FOUND", "counter")


CASES = (modules, items)
