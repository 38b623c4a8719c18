import assert from "node:assert/strict";
import { Code, createClient } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { userByEmail } from "../../accounts/people/users.ts";
import { addOwner } from "../../local/people/people_command.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { uploadModule } from "../packages/packages_testing.ts";

async function opened() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const itemId = `${made.org_id}:arms`;
  const transport = cloud.transport(apiKey(made));
  for (const version of ["1.0.0", "1.1.0"]) {
    await uploadModule(transport, itemId, { version, entrypoint: "run" });
  }
  const app = cloud.app(made);
  const use = (version: string, module_id = itemId) =>
    app.updateRobotPart({
      id: made.part_id,
      robotConfig: { modules: [{ type: "registry", name: "arms", module_id, version }] },
    });
  const chosen = async () => {
    const { config } = await cloud.client(RobotService, partSecret(made))
      .config({ id: made.part_id });
    return config?.packages[0]?.version;
  };
  return { cloud, made, app, itemId, use, chosen };
}

Deno.test("renameRegistryItem() renames what nobody uses, with its versions", async () => {
  const { cloud, made, app, itemId, use, chosen } = await opened();
  await using _ = cloud;
  await use("latest");
  const used = await failure(app.renameRegistryItem({ itemId, newName: "hands" }));
  assert.equal(used.code, Code.FailedPrecondition);
  assert.match(used.message, /machines use arms: demo; take it out/);
  await app.updateRobotPart({ id: made.part_id, robotConfig: {} });
  await app.createModule({ organizationId: made.org_id, name: "taken" });
  const taken = await failure(app.renameRegistryItem({ itemId, newName: "taken" }));
  assert.equal(taken.code, Code.AlreadyExists);
  const odd = await failure(app.renameRegistryItem({ itemId, newName: "a/b" }));
  assert.equal(odd.code, Code.InvalidArgument);

  const { item } = await app.renameRegistryItem({ itemId, newName: "hands" });
  assert.equal(item?.itemId, `${made.org_id}:hands`);
  assert.equal((await failure(app.getRegistryItem({ itemId }))).code, Code.NotFound);
  await use("latest", `${made.org_id}:hands`);
  assert.equal(await chosen(), "1.1.0");
});

Deno.test("transferRegistryItem() takes an owner of both organisations", async () => {
  const { cloud, made, app, itemId } = await opened();
  await using _ = cloud;
  const other = await cloud.bootstrap({ organization: "Other" });
  await cloud.app(other).updateOrganizationNamespace({
    ...{ organizationId: other.org_id, newPublicNamespace: "other" },
  });
  const request = { itemId, newPublicNamespace: "other" };
  assert.equal((await failure(app.transferRegistryItem(request))).code, Code.PermissionDenied);

  const { queries } = cloud.folder.database;
  const email = "both@example.com";
  for (const orgId of [made.org_id, other.org_id]) {
    await addOwner(queries, { email, orgId }, { clock: cloud.clock, random: systemRandom });
  }
  const user = await userByEmail(queries, email);
  const { accessToken } = await cloud.services.accounts.sessions
    .start(user!.id, "password", { address: "127.0.0.1", client: "test" });
  const both = createClient(AppService, cloud.transport());
  const headers = { authorization: `Bearer ${accessToken}` };
  await both.transferRegistryItem(request, { headers });
  const { item } = await cloud.app(other).getRegistryItem({ itemId: "other:arms" });
  assert.equal(item?.organizationId, other.org_id);
  assert.equal((await failure(app.getRegistryItem({ itemId }))).code, Code.NotFound);
});

Deno.test("a deprecated version is chosen by its own name only, or where there is no other", async () => {
  const { cloud, app, itemId, use, chosen } = await opened();
  await using _ = cloud;
  await app.deprecateRegistryItemVersion({ itemId, version: "1.1.0", message: "it shakes" });
  for (
    const [version, expected] of [["latest", "1.0.0"], ["^1.0.0", "1.0.0"], [
      "1.1.0",
      "1.1.0",
    ]] as const
  ) {
    await use(version);
    assert.equal(await chosen(), expected, version);
  }
  const { module } = await app.getModule({ moduleId: itemId });
  const told = module?.versions.find(({ version }) => version === "1.1.0");
  assert.equal(told?.deprecatedStatus?.message, "it shakes");
  await app.deprecateRegistryItemVersion({ itemId, version: "1.0.0", message: "" });
  await use("latest");
  assert.equal(await chosen(), "1.1.0", "machines go on");
  await app.undeprecateRegistryItemVersion({ itemId, version: "1.0.0" });
  assert.equal(await chosen(), "1.0.0");
  const none = app.deprecateRegistryItemVersion({ itemId, version: "9.9.9" });
  assert.equal((await failure(none)).code, Code.NotFound);
});

Deno.test("a deprecated item leaves the lists, not the machines", async () => {
  const { cloud, made, app, itemId, use, chosen } = await opened();
  await using _ = cloud;
  await use("latest");
  await app.deprecateRegistryItem({ itemId, message: "use hands" });
  const list = async (showOwnedDeprecated: boolean) => {
    const { items } = await app.listRegistryItems({
      ...{ organizationId: made.org_id, showOwnedDeprecated },
    });
    return items.map(({ name }) => name);
  };
  assert.deepEqual([await list(false), await list(true)], [[], ["arms"]]);
  const { item } = await app.getRegistryItem({ itemId });
  assert.equal(item?.deprecatedStatus?.message, "use hands");
  assert.equal(await chosen(), "1.1.0");
  await app.undeprecateRegistryItem({ itemId });
  assert.deepEqual(await list(false), ["arms"]);
});

Deno.test("deletePackage() keeps a version that machines name exactly", async () => {
  const { cloud, made, app, itemId, use, chosen } = await opened();
  await using _ = cloud;
  const packages = cloud.client(PackageService, apiKey(made));
  const remove = (version: string) =>
    packages.deletePackage({ id: `${made.org_id}/arms`, version, type: PackageType.MODULE });
  await use("1.0.0");
  const other = await cloud.bootstrap({ organization: "Other", machine: "secret-machine" });
  const theirs = { type: "registry", name: "arms", module_id: itemId, version: "1.0.0" };
  await cloud.app(other).updateRobotPart({
    ...{ id: other.part_id, robotConfig: { modules: [theirs] } },
  });
  const { code, message } = await failure(remove("1.0.0"));
  assert.equal(code, Code.FailedPrecondition);
  assert.match(message, /machines use arms 1\.0\.0: demo, and 1 of other organisations; give/);
  assert.equal(await chosen(), "1.0.0");

  await remove("1.1.0");
  await app.updateRobotPart({ id: made.part_id, robotConfig: {} });
  await cloud.app(other).updateRobotPart({ id: other.part_id, robotConfig: {} });
  await remove("1.0.0");
  const { module } = await app.getModule({ moduleId: itemId });
  assert.deepEqual(module?.versions, []);
  await use("1.0.0");
  assert.equal((await failure(remove("1.0.0"))).code, Code.NotFound, "it was never there");
});

Deno.test("an item that only a fragment names is in use", async () => {
  const { cloud, made, app, itemId } = await opened();
  await using _ = cloud;
  const packages = cloud.client(PackageService, apiKey(made));
  const remove = (version: string) =>
    packages.deletePackage({ id: `${made.org_id}/arms`, version, type: PackageType.MODULE });
  const modules = [{ type: "registry", name: "arms", module_id: itemId, version: "1.0.0" }];
  const { fragment } = await app.createFragment({
    ...{ organizationId: made.org_id, name: "base", config: { modules } },
  });
  const calls = [
    () => app.deleteRegistryItem({ itemId }),
    () => app.renameRegistryItem({ itemId, newName: "hands" }),
    () => remove("1.0.0"),
  ];
  for (const call of calls) {
    const { code, message } = await failure(call());
    assert.equal(code, Code.FailedPrecondition);
    assert.match(message, /fragments name arms( 1\.0\.0)?: fragment base; /);
  }
  await remove("1.1.0");
  await app.updateFragment({ id: fragment!.id, config: {} });
  await app.deleteRegistryItem({ itemId });
});

Deno.test("deleteRegistryItem() names no machines of others that use a public item", async () => {
  const { cloud, made, app, itemId } = await opened();
  await using _ = cloud;
  const other = await cloud.bootstrap({ organization: "Other", machine: "secret-machine" });
  const theirs = { type: "registry", name: "arms", module_id: itemId, version: "latest" };
  await cloud.app(other).updateRobotPart({
    ...{ id: other.part_id, robotConfig: { modules: [theirs] } },
  });
  const { code, message } = await failure(app.deleteRegistryItem({ itemId }));
  assert.equal(code, Code.FailedPrecondition);
  assert.match(message, /machines use arms: 1 of other organisations; take it out/);
  assert.ok(!message.includes("secret-machine"), made.org_id);
});
