import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { ConsoleService, MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { OnlineState } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { verifyKey } from "../../../shared/cloud/auth/key_hash.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { Watching } from "./watch_testing.ts";

Deno.test("Watch() tells the revision at once and again at every save", async () => {
  // It stands still: nothing is looked at again with time.
  await using cloud = await TestCloud.open({ clock: new FakeClock() });
  const made = await cloud.bootstrap();
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");

  await cloud.app(made).updateRobotPart({ id: made.part_id, robotConfig: { debug: true } });
  await watching.has("configChanged", "configChanged");

  assert.match(watching.revisions[1] ?? "", /^2-/);
});

Deno.test("Watch() tells of a save by another process within about a second", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");

  await cloud.bootstrapElsewhere({ config: { debug: true } });
  await watching.has("configChanged", "configChanged");
});

Deno.test("Watch() tells of access, restarts and onlookers", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");

  await cloud.app(made).createKey({
    name: "another",
    authorizations: [{
      authorizationId: "owner",
      resourceType: "robot",
      resourceId: made.machine_id,
    }],
  });
  await watching.has("configChanged", "accessChanged");
  await cloud.app(made).markPartForRestart({ partId: made.part_id });
  await watching.has("configChanged", "accessChanged", "restartRequested");
  const looking = cloud.client(ConsoleService, apiKey(made));
  await looking.getPartLiveStatus({ partId: made.part_id });
  await looking.getPartLiveStatus({ partId: made.part_id });
  await watching.has("configChanged", "accessChanged", "restartRequested", "liveRequested");
});

Deno.test("Watch() sends a keepalive with the revision every 10 seconds and keeps the part online", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const { presence } = cloud.services;
  assert.equal(presence.of(made.part_id).state, "awaiting-setup");
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");
  await clock.advance(10_000);
  await watching.has("configChanged", "keepalive");
  assert.match(watching.revisions[0] ?? "", /^1-/);
  assert.equal(watching.revisions[1], watching.revisions[0]);
  for (let i = 0; i < 9; i++) await clock.advance(10_000);
  assert.equal(presence.of(made.part_id).state, "online");
  const { robot } = await cloud.app(made).getRobot({ id: made.machine_id });
  assert.equal(robot?.onlineState, OnlineState.ONLINE);
});

Deno.test("Watch() looks in the database at one keepalive of six: changes are events", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");

  // As nobody changes it: without an event.
  const { queries } = cloud.folder.database;
  const saved = await queries.selectFrom("part_revisions").selectAll().executeTakeFirstOrThrow();
  await queries.insertInto("part_revisions").values({ ...saved, number: 9, revision: "9-x" })
    .execute();
  await queries.updateTable("parts").set({ revision_number: 9 }).execute();
  const keepalives: string[] = [];
  for (let n = 1; n <= 6; n++) {
    await clock.advance(10_000);
    keepalives.push("keepalive");
    await watching.has("configChanged", ...keepalives);
  }

  const [first = "", ...later] = watching.revisions;
  assert.match(first, /^1-/);
  assert.deepEqual(later, [first, first, first, first, first, "9-x"]);
});

Deno.test("Watch() ends when its secret is disabled", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");

  await queries.updateTable("part_secrets").set({ state: "disabled" }).execute();
  await queries.insertInto("changes")
    .values({ org_id: made.org_id, part_id: null, kind: "access", created_at: 0 }).execute();
  await cloud.services.changes.drain();

  assert.equal((await watching.ended as { code: number }).code, Code.Unauthenticated);
});

Deno.test("Watch() says that the cloud goes when it does", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await using watching = new Watching(cloud, made);
  await watching.has("configChanged");
  cloud.services.watchers.close();
  assert.equal((await watching.ended as { code: number }).code, Code.Unavailable);
});

Deno.test("ListAccessKeys() lists the keys that may open the machine, as hashes", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const grant = (resourceId: string) => ({
    name: "for one machine",
    authorizations: [{ authorizationId: "owner", resourceType: "robot", resourceId }],
  });
  const mine = await cloud.app(made).createKey(grant(made.machine_id));
  await cloud.app(made).createKey(grant(other.machine_id));

  const machine = cloud.client(MachineService, partSecret(made));
  const { keys } = await machine.listAccessKeys({ partId: made.part_id });

  assert.deepEqual(
    keys.map(({ id }) => id).sort(),
    [made.api_key_id, mine.id].sort(),
  );
  const hash = keys.find(({ id }) => id === mine.id)?.hash ?? "";
  assert.match(hash, /^\$scrypt\$/);
  assert.ok(await verifyKey(mine.key, hash));
});

Deno.test("GetPartLiveStatus() shows what the machine reported, readings while they are new", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const machine = cloud.client(MachineService, partSecret(made));
  const looking = cloud.client(ConsoleService, apiKey(made));
  const partId = made.part_id;

  const before = await looking.getPartLiveStatus({ partId });
  await machine.reportStatus({
    partId,
    status: { config: { revision: "1-x" }, state: 2 },
    readings: [{ name: "host", readings: { cpu_percent: 12.5 } }],
  });
  await machine.reportStatus({ partId, status: { state: 2 }, configError: "broken" });
  const live = await looking.getPartLiveStatus({ partId });
  await clock.advance(16_000);
  const later = await looking.getPartLiveStatus({ partId });
  const denied = await failure(
    cloud.client(ConsoleService, apiKey(made)).getPartLiveStatus({ partId: "" }),
  );

  assert.equal(before.reportedAt, undefined);
  assert.equal(before.online, false);
  assert.equal(live.online, true);
  assert.equal(live.configError, "broken");
  assert.deepEqual(live.readings[0]?.readings, { cpu_percent: 12.5 });
  assert.deepEqual(later.readings, []);
  assert.equal(later.status?.state, 2);
  assert.equal(denied.code, Code.InvalidArgument);
});
