import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { EnrollmentService } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { CLIENT_HEADER } from "../../../shared/cloud/client/connection.ts";

const remote = (password: string, x: number) => ({
  name: "a",
  api: "rdk:component:sensor",
  model: "acme:demo:net",
  attributes: { password, x },
});

Deno.test("any two revisions are compared, with secrets masked, and any is restored", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const client = cloud.client(ConfigurationService, apiKey(made));
  const save = (robotConfig: Record<string, unknown>, headers = {}) =>
    app.updateRobotPart({ id: made.part_id, robotConfig: robotConfig as never }, { headers });
  await save({ components: [remote("one-secret", 1)] }, { [CLIENT_HEADER]: "console" });
  await save({ components: [remote("two-secret", 2)], debug: true }, { [CLIENT_HEADER]: "cli" });
  await save({ components: [remote("six-secret", 2)] }, { [CLIENT_HEADER]: "forged" });
  const partId = made.part_id;

  const all = await client.compareRevisions({ partId, from: 2n, to: 3n });
  assert.deepEqual(all.changes.map(({ entry, kind }) => [entry, kind]), [
    ["components.a", "changed"],
    ["debug", "added"],
  ]);
  assert.match(all.text, /attributes\.x: 1 → 2/);
  const secret = await client.compareRevisions({ partId, from: 3n });
  assert.match(secret.text, /a secret is another one/);
  assert.doesNotMatch(
    JSON.stringify([all, secret], (_, v) => typeof v === "bigint" ? 0 : v),
    /-secret/,
  );

  const { revision } = await client.restoreRevision({ partId, number: 2n });
  const { part } = await app.getRobotPart({ id: partId });
  assert.deepEqual(part?.robotConfig, { components: [remote("one-secret", 1)] });
  assert.equal(revision?.savedHow, "restore");
  const { revisions, nextPageToken } = await client.listRevisions({ partId, pageLimit: 3n });
  const rest = await client.listRevisions({ partId, pageToken: nextPageToken });
  assert.deepEqual(
    [...revisions, ...rest.revisions].map(({ number, savedHow }) => [number, savedHow]),
    [
      [5n, "restore"],
      [4n, "api"],
      [3n, "cli"],
      [2n, "console"],
      [1n, "api"],
    ],
  );
  assert.equal(revisions[0]?.savedByName, "bootstrap");
  assert.deepEqual(revisions[1]?.removed, ["debug"]);
});

Deno.test("the first revision says by what the machine or part was made", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const [app, headers] = [cloud.app(made), { [CLIENT_HEADER]: "cli" }];
  const client = cloud.client(ConfigurationService, apiKey(made));
  const how = async (partId: string) =>
    (await client.listRevisions({ partId })).revisions.map(({ savedHow }) => savedHow);

  const { id: robotId } = await app.newRobot({ name: "n", location: made.location_id }, {
    headers,
  });
  const { partId } = await app.newRobotPart({ robotId, partName: "left" }, { headers });
  const listed = await cloud.client(EnrollmentService, apiKey(made)).createMachines(
    { locationId: made.location_id, machines: [{ name: "listed" }] },
    { headers },
  );

  assert.deepEqual(await how((await app.getRobotParts({ robotId })).parts[0]?.id ?? ""), [
    "cli",
    "cli",
  ]);
  assert.deepEqual(await how(partId), ["cli"]);
  assert.deepEqual(await how(listed.machines[0]?.machine?.partId ?? ""), ["cli"]);
});

Deno.test("a restore on an old state is refused, and of what is not there", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(ConfigurationService, apiKey(made));
  const partId = made.part_id;
  const late = await failure(
    client.restoreRevision({ partId, number: 1n, lastKnownUpdate: timestampFromMs(1) }),
  );
  const missing = await failure(client.restoreRevision({ partId, number: 9n }));
  const bySelf = await failure(
    cloud.client(ConfigurationService, partSecret(made)).listRevisions({ partId }),
  );
  assert.equal(late.code, Code.FailedPrecondition);
  assert.equal(missing.code, Code.NotFound);
  assert.equal(bySelf.code, Code.PermissionDenied);
});

Deno.test("of saves at the same time with one lock, one is kept", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { part } = await app.getRobotPart({ id: made.part_id });
  const saves = await Promise.allSettled(
    Array.from({ length: 8 }, (_, i) =>
      app.updateRobotPart({
        id: made.part_id,
        robotConfig: { components: [remote("x", i)] },
        lastKnownUpdate: part!.lastUpdated!,
      })),
  );
  assert.equal(saves.filter(({ status }) => status === "fulfilled").length, 1);
});
