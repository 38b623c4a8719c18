import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { RegistryService } from "../../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { uploadModule } from "../packages/packages_testing.ts";
import { apiKey, failure, TestCloud } from "../../serve/cloud_testing.ts";

const MODEL = { api: "rdk:component:sensor", model: "acme:weather:station" };
const SCHEMA = JSON.stringify({ type: "object", properties: { pin: { type: "integer" } } });

Deno.test("schemas of models are kept, replaced and listed to who sees the module", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap({ organization: "Acme" });
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const app = cloud.app(ours);
  const registry = cloud.client(RegistryService, apiKey(ours));
  const { moduleId } = await app.createModule({ organizationId: ours.org_id, name: "weather" });
  const bare = { ...MODEL, model: "acme:weather:bare" };
  await app.updateModule({ moduleId, models: [MODEL, bare], entrypoint: "run" });
  const set = (schemaJson: string, model = MODEL) =>
    registry.setModelSchemas({ moduleId, schemas: [{ ...model, schemaJson }] });
  await set(SCHEMA);
  const list = async (client = registry) =>
    (await client.listModels({ moduleIds: [moduleId, moduleId, "none:such"] })).models
      .map(({ model, schemaJson }) => [model, schemaJson]);
  assert.deepEqual(await list(), [[MODEL.model, SCHEMA], [bare.model, ""]]);
  assert.deepEqual(await list(cloud.client(RegistryService, apiKey(theirs))), []);

  for (
    const [call, problem] of [
      [() => set("{"), /schemas\[0\]\.schema_json: it is no JSON/],
      [() => set('{"type":"string"}'), /schema_json: type is "string"/],
      [
        () => set(SCHEMA, { ...MODEL, model: "a:b:c" }),
        /schemas\[0\]\.model: the module has no model "a:b:c"/,
      ],
    ] as const
  ) {
    const refused = await failure(call());
    assert.equal(refused.code, Code.InvalidArgument);
    assert.match(refused.message, problem);
  }
  assert.deepEqual(await list(), [[MODEL.model, SCHEMA], [bare.model, ""]]);
  // Models that the module has no more are not listed; a set without schemas takes them away.
  await app.updateModule({ moduleId, models: [MODEL], entrypoint: "run" });
  await registry.setModelSchemas({ moduleId, schemas: [] });
  assert.deepEqual(await list(), [[MODEL.model, ""]]);
});

Deno.test("schemas of a version are listed to who wants that version, and leave with it", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap({ organization: "Acme" });
  const app = cloud.app(ours);
  const registry = cloud.client(RegistryService, apiKey(ours));
  const { moduleId } = await app.createModule({ organizationId: ours.org_id, name: "weather" });
  await app.updateModule({ moduleId, models: [MODEL], entrypoint: "run" });
  const schemaOf = (title: string) => JSON.stringify({ title });
  const set = (version: string, ...titles: string[]) =>
    registry.setModelSchemas({
      ...{ moduleId, version },
      schemas: titles.map((title) => ({ ...MODEL, schemaJson: schemaOf(title) })),
    });
  const transport = cloud.transport(apiKey(ours));
  const upload = (version: string) => uploadModule(transport, moduleId, { version });
  const wanted = async (version?: string) => {
    const versions = version === undefined ? {} : { [moduleId]: version };
    const { models: [model] } = await registry.listModels({ moduleIds: [moduleId], versions });
    return model?.schemaJson;
  };
  await upload("0.9.0");
  await set("1.0.0", "one");
  await upload("1.0.0");
  await set("1.1.0");
  await upload("1.1.0");
  await set("2.0.0", "two");
  // Not uploaded yet: what machines run stays as it is.
  assert.deepEqual([await wanted(), await wanted("^1.0")], ["", ""]);
  await upload("2.0.0");
  assert.deepEqual(
    await Promise.all([undefined, "latest", "~1.0", "1.0.0", "^1", "2.0.0"].map(wanted)),
    [schemaOf("two"), schemaOf("two"), schemaOf("one"), schemaOf("one"), "", schemaOf("two")],
  );
  // Versions without their own have those that were set last, and so have ones that nobody made.
  assert.deepEqual([await wanted("0.9.0"), await wanted("^7")], [schemaOf("two"), schemaOf("two")]);
  await set("", "three");
  assert.deepEqual([await wanted("0.9.0"), await wanted("1.0.0")], [
    schemaOf("three"),
    schemaOf("one"),
  ]);
  await cloud.client(PackageService, apiKey(ours)).deletePackage({
    ...{ id: `${ours.org_id}/weather`, version: "1.0.0", type: PackageType.MODULE },
  });
  await upload("1.0.0");
  assert.equal(await wanted("1.0.0"), schemaOf("three"));
  const refused = await failure(set("latest", "x"));
  assert.equal(refused.code, Code.InvalidArgument);
  assert.match(refused.message, /^version: "latest" stands for the newest one/);
});

Deno.test("listItemUsers() names machines with the version that they want", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap({ organization: "Acme" });
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const app = cloud.app(ours);
  const { moduleId } = await app.createModule({ organizationId: ours.org_id, name: "weather" });
  const registry = cloud.client(RegistryService, apiKey(ours));
  const users = async () => await registry.listItemUsers({ itemId: moduleId });
  assert.deepEqual((await users()).users, []);
  const entry = { name: "w", type: "registry", module_id: moduleId, version: "^1.2" };
  await app.updateRobotPart({ id: ours.part_id, robotConfig: { modules: [entry] } });
  await cloud.app(theirs).updateRobotPart({
    id: theirs.part_id,
    robotConfig: { modules: [entry] },
  });
  const { users: [user], others } = await users();
  assert.deepEqual([user?.machineId, user?.partId, user?.version, others], [
    ...[ours.machine_id, ours.part_id, "^1.2"],
    1n,
  ]);
});
