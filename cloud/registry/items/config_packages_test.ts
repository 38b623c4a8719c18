import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { createPackage, uploadModule } from "../packages/packages_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

async function configOf(cloud: TestCloud, made: BootstrapResult, platform?: string) {
  const { config } = await cloud.client(RobotService, partSecret(made)).config({
    id: made.part_id,
    agentInfo: { ...(platform === undefined ? {} : { platform }) },
  });
  assert.ok(config);
  return {
    revision: config.revision,
    modules: config.modules.map(({ name, path, status }) => ({ name, path, error: status?.error })),
    packages: config.packages.map(({ name, package: id, version, type, status }) => ({
      name,
      id,
      version,
      type,
      error: status?.error,
    })),
  };
}

Deno.test("Config() says in which package a registry module comes, and where its program is", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const id = `${made.org_id}:weather`;
  const transport = cloud.transport(apiKey(made));
  const windows = { platform: "windows/amd64", entrypoint: "weather.exe" };
  await uploadModule(transport, id, { version: "1.2.0", ...windows });
  await uploadModule(transport, id, {
    version: "1.2.0",
    platform: "linux/amd64",
    entrypoint: "run",
  });
  await uploadModule(transport, id, {
    version: "1.3.0",
    platform: "linux/amd64",
    entrypoint: "bin/x",
  });
  const modules = [
    { type: "registry", name: "station", module_id: id, version: "^1.2", log_level: "debug" },
    { type: "local", name: "own", executable_path: "/opt/own" },
  ];
  await cloud.bootstrap({ config: { modules } });
  const station = (version: string) => ({
    name: "station",
    id: `${made.org_id}/weather`,
    version,
    type: "module",
    error: undefined,
  });

  const linux = await configOf(cloud, made, "linux/amd64");
  assert.deepEqual(linux.modules, [
    { name: "station", path: "${packages.module.station}/bin/x", error: undefined },
    { name: "own", path: "/opt/own", error: undefined },
  ]);
  assert.deepEqual(linux.packages, [station("1.3.0")]);
  const windowsConfig = await configOf(cloud, made, "windows/amd64");
  assert.equal(windowsConfig.modules[0]?.path, "${packages.module.station}/weather.exe");
  assert.deepEqual(windowsConfig.packages, [station("1.2.0")]);
  const remembered = await configOf(cloud, made);
  assert.deepEqual(remembered.packages, [station("1.2.0")]);
});

Deno.test("Config() says at the module or package what cannot be found", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { org_id: org } = made;
  await uploadModule(cloud.transport(apiKey(made)), `${org}:m`, { platform: "linux/arm64" });
  const client = cloud.client(PackageService, apiKey(made));
  await createPackage(client, org, "bare", { version: "1.0.0" });
  await createPackage(client, org, "cats", { version: "v1", type: PackageType.ML_MODEL });
  const registry = (name: string, module_id: string, version?: string) => ({
    type: "registry",
    name,
    module_id,
    ...(version === undefined ? {} : { version }),
  });
  await cloud.bootstrap({
    config: {
      modules: [
        registry("none", `${org}:nothing`),
        registry("other", `${org}:m`, "^2"),
        registry("bare", `${org}:bare`),
        registry("model", `${org}:cats`),
        registry("nonsense", "m"),
      ],
      packages: [
        { name: "cats", package: `${org}/cats`, type: "ml_model" },
        { name: "dogs", package: `${org}/dogs`, type: "ml_model", version: "latest" },
        { name: "cats2", package: `${org}/cats`, type: "slam_map" },
      ],
    },
  });

  const { modules, packages } = await configOf(cloud, made, "linux/amd64");
  const errors = [...modules, ...packages].map(({ error }) => error);
  const expected = [
    /^there is no module \S+:nothing that this organisation may use/,
    /:m has no version \^2 for linux\/amd64; there are 1\.0\.0 \(linux\/arm64\)/,
    /:bare 1\.0\.0 has no entrypoint: /,
    /:cats is of type ml_model, not module/,
    /^there is no module m that/,
    undefined,
    /^there is no ml_model \S+\/dogs/,
    /\/cats is of type ml_model, not slam_map/,
  ];
  assert.equal(errors.length, expected.length);
  expected.forEach((wanted, at) => {
    if (wanted) assert.match(errors[at] ?? "", wanted);
    else assert.equal(errors[at], undefined);
  });
  assert.equal(packages[0]?.version, "v1");
});

Deno.test("Config() gives a module's package another name when a package has the module's", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { org_id: org } = made;
  await uploadModule(cloud.transport(apiKey(made)), `${org}:m`);
  const client = cloud.client(PackageService, apiKey(made));
  await createPackage(client, org, "cats", { type: PackageType.ML_MODEL });
  await cloud.bootstrap({
    config: {
      modules: [{ type: "registry", name: "cats", module_id: `${org}:m` }],
      packages: [{ name: "cats", package: `${org}/cats`, type: "ml_model" }],
    },
  });
  const { modules, packages } = await configOf(cloud, made);
  assert.deepEqual(packages.map(({ name }) => name), ["cats", "cats-module"]);
  assert.equal(modules[0]?.path, "${packages.module.cats-module}/run.sh");
});

Deno.test("Watch() tells the parts that name a module of a new version, and no others", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const id = `${made.org_id}:m`;
  const transport = cloud.transport(apiKey(made));
  await uploadModule(transport, id);
  const modules = [{ type: "registry", name: "m", module_id: id, version: "latest" }];
  await cloud.bootstrap({ config: { modules } });
  const bystander = await cloud.bootstrap({
    machine: "bystander",
    config: { modules: [{ ...modules[0], module_id: `${made.org_id}:m2` }] },
  });
  const told: string[] = [];
  const stop = cloud.services.changes.listen(({ partId, kind }) => told.push(`${partId} ${kind}`));
  const stream = cloud.client(MachineService, partSecret(made)).watch({ partId: made.part_id });
  const events = stream[Symbol.asyncIterator]();
  await events.next();
  assert.equal((await configOf(cloud, made)).packages[0]?.version, "1.0.0");

  const packages = cloud.client(PackageService, apiKey(made));
  await createPackage(packages, made.org_id, "m", { version: "1.1.0" });

  // The keys of the machines that were just made are notified of first.
  let event = (await events.next()).value?.event.case;
  while (event === "accessChanged") event = (await events.next()).value?.event.case;
  assert.equal(event, "configChanged");
  assert.equal((await configOf(cloud, made)).packages[0]?.version, "1.1.0");
  assert.ok(told.includes(`${made.part_id} config`));
  assert.ok(!told.some((line) => line.startsWith(bystander.part_id)));
  stop();
  const used = await failure(cloud.app(made).deleteRegistryItem({ itemId: id }));
  assert.equal(used.code, Code.FailedPrecondition);
  assert.match(used.message, /^machines use m: demo; take it out/);
});
