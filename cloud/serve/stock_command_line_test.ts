/** The calls of the family's command line, in its order and with its fields, by a client of our own. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { compare } from "semver";
import { announcedVersion, FAMILY_VERSION } from "../../shared/base/build_info/family_version.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { uploadModule } from "../registry/packages/packages_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "./cloud_testing.ts";

const PLATFORM = "linux/amd64";

/** A machine whose server has said what it is. */
async function withMachine(cloud: TestCloud) {
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  const agentInfo = { version: announcedVersion("0.1.0-dev+abc"), platform: PLATFORM };
  const config = async () => (await robot.config({ id: made.part_id, agentInfo })).config!;
  await config();
  return { made, app: cloud.app(made), config };
}

Deno.test("module reload: the version, the shell service and the module of the machine", async () => {
  await using cloud = await TestCloud.open();
  const { made, app, config } = await withMachine(cloud);
  const id = `${made.org_id}:work`;
  await app.createModule({ organizationId: made.org_id, name: "work" });

  // 1. What the machine is: the command line requests 0.90.0 and for a platform.
  const { part } = await app.getRobotPart({ id: made.part_id });
  const info = part?.userSuppliedInfo ?? {};
  assert.ok(compare(String(info["version"]), FAMILY_VERSION) >= 0);
  assert.equal(FAMILY_VERSION, "0.90.0");
  assert.equal(info["platform"], PLATFORM);
  assert.equal(info["server_version"], "0.1.0-dev.abc");

  // 2. The shell service, without a model; the time of now as the last known update.
  const save = (robotConfig: JsonObject) =>
    app.updateRobotPart({
      id: made.part_id,
      name: part!.name,
      robotConfig,
      lastKnownUpdate: timestampFromDate(new Date()),
    });
  const services = [{ name: "shell", api: "rdk:service:shell" }];
  await save({ ...part!.robotConfig, services });
  const [shell] = (await config()).services;
  assert.deepEqual([shell?.name, shell?.api, shell?.model], [
    "shell",
    "rdk:service:shell",
    "rdk:builtin:builtin",
  ]);

  // 3. The module, which has no version in the registry yet.
  const module = {
    type: "registry",
    module_id: id,
    name: `${made.org_id}_work_from_reload`,
    reload_path: ".machine/packages-local/work-module.tar.gz",
    reload_enabled: true,
    version: "latest-with-prerelease",
    reload_user: "somebody",
    reload_time: "2026-01-02T03:04:05Z",
  };
  await save({ services, modules: [module] });
  const sent = await config();
  assert.equal(sent.packages.length, 0);
  assert.deepEqual(
    sent.modules.map((each) => [each.type, each.path, each.moduleId, each.status?.error]),
    [["local", `~/${module.reload_path}`, id, undefined]],
  );
  const saved = await app.getRobotPart({ id: made.part_id });
  assert.deepEqual((saved.part?.robotConfig as JsonObject)["modules"], [module]);

  // 4. Without reload_enabled it is the registry's again.
  await save({ modules: [{ ...module, reload_enabled: false }] });
  const [back] = (await config()).modules;
  assert.match(back?.status?.error ?? "", /has no versions yet/);
});

Deno.test("module reload without a path is refused with what is missing", async () => {
  await using cloud = await TestCloud.open();
  const { made, app } = await withMachine(cloud);
  const modules = [{ type: "registry", module_id: "a:b", name: "m", reload_enabled: true }];

  const { message } = await failure(
    app.updateRobotPart({ id: made.part_id, name: "x", robotConfig: { modules } }),
  );
  assert.match(message, /modules\[0\]\.reload_path.*reload_enabled needs/);
});

Deno.test("module restart: the first key of a machine is one to connect with, the same each time", async () => {
  await using cloud = await TestCloud.open();
  const { made, app } = await withMachine(cloud);
  const ask = async () => (await app.getRobotAPIKeys({ robotId: made.machine_id })).apiKeys;

  const [first] = await Promise.all([ask(), ask()]);
  const key = first[0]?.apiKey;
  assert.ok(key && key.key !== "" && key.id !== "");
  const [role] = first[0]!.authorizations;
  assert.deepEqual([role?.authorizationId, role?.resourceId], ["robot_owner", made.machine_id]);
  const machine = cloud.client(AppService, {
    type: "api-key",
    entity: key.id,
    payload: key.key,
  });
  assert.equal((await machine.getRobot({ id: made.machine_id })).robot?.id, made.machine_id);
  assert.equal((await ask())[0]?.apiKey?.key, key.key);
  assert.equal(first.filter((each) => each.apiKey?.key !== "").length, 1, "no other key is told");
  const all = (await app.listKeys({ orgId: made.org_id })).apiKeys;
  assert.equal(all.filter((each) => each.apiKey?.name === "machine").length, 1);

  // A deleted one never comes back.
  await app.deleteKey({ id: key.id });
  const next = (await ask())[0]?.apiKey;
  assert.ok(next && next.id !== key.id && next.key !== key.key);
  assert.match((await failure(machine.getRobot({ id: made.machine_id }))).message, /./);
  // The bootstrap command still finds its own key.
  assert.equal((await cloud.bootstrap()).api_key, made.api_key);
});

Deno.test("module download: a file is found by version and platform in one text", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const transport = cloud.transport(apiKey(made));
  const id = `${made.org_id}:weather`;
  for (const platform of [PLATFORM, "linux/arm64"]) {
    await uploadModule(transport, id, { version: "1.0.0", platform });
  }
  await uploadModule(transport, id, { version: "1.1.0-rc.1", platform: "any" });
  await uploadModule(transport, id, { version: "1.2.0-linux-amd64", platform: "linux/arm64" });
  const packages = cloud.client(PackageService, apiKey(made));
  const get = async (version: string) => {
    const { package: found } = await packages.getPackage({
      id: `${made.org_id}/weather`,
      version,
      type: PackageType.MODULE,
      includeUrl: true,
    });
    assert.ok(found?.url);
    return [found.info?.version, found.info?.platform];
  };

  assert.deepEqual(await get("1.0.0-linux-amd64"), ["1.0.0", PLATFORM]);
  assert.deepEqual(await get("1.0.0-linux-arm64"), ["1.0.0", "linux/arm64"]);
  assert.deepEqual(await get("1.1.0-rc.1-any"), ["1.1.0-rc.1", "any"]);
  assert.deepEqual(await get("1.2.0-linux-amd64"), ["1.2.0-linux-amd64", "linux/arm64"]);
  assert.match((await failure(get("1.0.0-windows-amd64"))).message, /windows\/amd64/);
});

Deno.test("the console shows the server's own version", async () => {
  await using cloud = await TestCloud.open();
  const { made } = await withMachine(cloud);
  const console = cloud.client(ConsoleService, apiKey(made));
  const { serverVersion } = await console.getPartLiveStatus({ partId: made.part_id });
  assert.equal(serverVersion, "0.1.0-dev.abc");
});
