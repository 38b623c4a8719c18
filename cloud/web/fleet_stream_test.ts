import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { Code } from "@connectrpc/connect";
import {
  ConsoleService,
  FleetMachineState,
  type WatchFleetResponse,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { apiKey, failure, partSecret, TestCloud } from "../serve/cloud_testing.ts";

/** Reads a stream message by message; ends it at the end of its scope. */
class Watching {
  readonly #abort = new AbortController();
  readonly #messages: AsyncIterator<WatchFleetResponse>;

  constructor(cloud: TestCloud, made: Awaited<ReturnType<TestCloud["bootstrap"]>>) {
    const console = cloud.client(ConsoleService, apiKey(made));
    const asked = { organizationId: made.org_id };
    this.#messages = console.watchFleet(asked, { signal: this.#abort.signal })[
      Symbol.asyncIterator
    ]();
  }

  async next(): Promise<WatchFleetResponse> {
    const { value } = await this.#messages.next();
    assert.ok(value);
    return value;
  }

  async [Symbol.asyncDispose]() {
    this.#abort.abort();
    await this.#messages.next().catch(() => undefined);
  }
}

Deno.test("WatchFleet() sends the machines, and then only what changes", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ machine: "rover" });
  const other = await cloud.bootstrap({ machine: "picker" });
  const app = cloud.app(made);
  await app.updateRobotMetadata({ id: made.machine_id, data: { tags: ["field", 7] } });
  await using watching = new Watching(cloud, made);

  const first = await watching.next();
  assert.equal(first.complete, true);
  assert.deepEqual(
    first.machines.map(({ name, state, tags, locationName, canManage }) => (
      { name, state, tags, locationName, canManage }
    )),
    [
      { name: "picker", tags: [] as string[] },
      { name: "rover", tags: ["field"] },
    ].map((machine) => ({
      ...machine,
      state: FleetMachineState.AWAITING_SETUP,
      locationName: "Lab",
      canManage: true,
    })),
  );

  cloud.services.presence.seen(made.part_id, { platform: "linux/amd64" });
  const [seen] = (await watching.next()).machines;
  assert.deepEqual([seen?.name, seen?.state], ["rover", FleetMachineState.ONLINE]);
  assert.equal(seen?.platform, "linux/amd64");

  await app.updateRobot({ id: made.machine_id, name: "rover-2" });
  assert.deepEqual((await watching.next()).machines.map(({ name }) => name), ["rover-2"]);

  await app.deleteRobot({ id: other.machine_id });
  const last = await watching.next();
  assert.deepEqual([last.machines, last.removedIds], [[], [other.machine_id]]);
});

function inTime<T>(message: Promise<T>): Promise<T> {
  return withDeadline(
    () => message,
    { clock: systemClock, deadlineMs: 60_000, what: "the next message" },
  );
}

/** Time stands still for who measures it, so neither the next look nor the next comparison is due. */
const STANDING: Clock = { ...systemClock, monotonicMs: () => 0 };

Deno.test("WatchFleet() sends what gets another name or tags, comes or goes, and looks at no others", async () => {
  await using cloud = await TestCloud.open({ clock: STANDING });
  const made = await cloud.bootstrap({ machine: "rover" });
  const other = await cloud.bootstrap({ machine: "picker" });
  const app = cloud.app(made);
  await using watching = new Watching(cloud, made);
  const next = async () => {
    const { machines, removedIds } = await inTime(watching.next());
    return { machines: machines.map(({ name, tags }) => [name, ...tags].join()), removedIds };
  };
  assert.equal((await next()).machines.length, 2);

  await cloud.folder.database.queries.updateTable("machines").set({ name: "unsaid" })
    .where("id", "=", other.machine_id).execute();
  await app.updateRobot({ id: made.machine_id, name: "rover-2" });
  assert.deepEqual(await next(), { machines: ["rover-2"], removedIds: [] });
  await app.updateRobotMetadata({ id: made.machine_id, data: { tags: ["field"] } });
  assert.deepEqual(await next(), { machines: ["rover-2,field"], removedIds: [] });
  const { id } = await app.newRobot({ name: "third", location: made.location_id });
  assert.deepEqual(await next(), { machines: ["third"], removedIds: [] });
  await app.deleteRobot({ id });
  assert.deepEqual(await next(), { machines: [], removedIds: [id] });
});

Deno.test("WatchFleet() takes away at once what moves to where its caller may not look", async () => {
  await using cloud = await TestCloud.open({ clock: STANDING });
  const made = await cloud.bootstrap({ machine: "rover" });
  const app = cloud.app(made);
  const { location } = await app.createLocation({ organizationId: made.org_id, name: "Barn" });
  const { key, id } = await app.createKey({
    name: "viewer",
    authorizations: [{
      authorizationType: "role",
      authorizationId: "location_operator",
      resourceType: "location",
      resourceId: made.location_id,
      organizationId: made.org_id,
      identityId: "",
      identityType: "api-key",
    }],
  });
  const viewer = cloud.client(ConsoleService, { type: "api-key", entity: id, payload: key });
  const messages = viewer.watchFleet({ organizationId: made.org_id })[Symbol.asyncIterator]();
  const next = async () => (await inTime(messages.next())).value as WatchFleetResponse;
  assert.deepEqual((await next()).machines.map(({ name }) => name), ["rover"]);
  const barn = location?.id ?? "";
  await app.newRobot({ name: "unseen", location: barn });
  await app.updateRobot({ id: made.machine_id, location: barn });
  const { machines, removedIds } = await next();
  assert.deepEqual([machines, removedIds], [[], [made.machine_id]]);
  await messages.return?.();
});

Deno.test("WatchFleet() sends who comes before it looks at all machines again", async () => {
  let nowMs = 0;
  await using cloud = await TestCloud.open({ clock: { ...STANDING, monotonicMs: () => nowMs } });
  const made = await cloud.bootstrap({ machine: "rover" });
  const other = await cloud.bootstrap({ machine: "picker" });
  await using watching = new Watching(cloud, made);
  const next = async () =>
    (await inTime(watching.next())).machines.map(({ name, state }) => [name, state]);
  await next();
  await cloud.folder.database.queries.updateTable("machines").set({ name: "picker-2" })
    .where("id", "=", other.machine_id).execute();
  cloud.services.presence.seen(made.part_id);
  nowMs = 500;
  assert.deepEqual(await next(), [["rover", FleetMachineState.ONLINE]]);
  nowMs = 1_000;
  assert.deepEqual(await next(), [["picker-2", FleetMachineState.AWAITING_SETUP]]);
});

Deno.test("WatchFleet() sends a change soon after others that took long to read", async () => {
  let nowMs = 0;
  const slow = { ...STANDING, monotonicMs: () => nowMs += 30_000 };
  await using cloud = await TestCloud.open({ clock: slow });
  const made = await cloud.bootstrap({ machine: "rover" });
  const app = cloud.app(made);
  await using watching = new Watching(cloud, made);
  await watching.next();
  for (const name of ["rover-2", "rover-3", "rover-4"]) {
    await app.updateRobot({ id: made.machine_id, name });
    const named = async (): Promise<void> => {
      const { machines } = await inTime(watching.next());
      // Between them come messages that say only that the stream is alive.
      if (machines.length === 0) await named();
      else assert.deepEqual(machines.map((machine) => machine.name), [name]);
    };
    await named();
  }
});

Deno.test("WatchFleet() sends the position of a machine's metadata where it is on the globe", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ machine: "rover" });
  const app = cloud.app(made);
  const id = made.machine_id;
  await app.updateRobotMetadata({
    id,
    data: { position: { latitude: -33.9, longitude: 151.2 } },
  });
  await using watching = new Watching(cloud, made);
  const position = async () => (await watching.next()).machines[0]?.position;
  const first = await position();
  assert.deepEqual([first?.latitude, first?.longitude], [-33.9, 151.2]);
  await app.updateRobotMetadata({ id, data: { position: { latitude: 91, longitude: 0 } } });
  assert.equal(await position(), undefined);
});

Deno.test("WatchFleet() sends a part its own machine only, and strangers nothing", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ machine: "rover" });
  await cloud.bootstrap({ machine: "picker" });
  const part = cloud.client(ConsoleService, partSecret(made));
  for await (const { machines } of part.watchFleet({ organizationId: made.org_id })) {
    assert.deepEqual(machines.map(({ name, canManage }) => [name, canManage]), [["rover", false]]);
    break;
  }
  const foreign = await cloud.bootstrap({ organization: "Other", location: "There" });
  const asked = cloud.client(ConsoleService, apiKey(foreign))
    .watchFleet({ organizationId: made.org_id })[Symbol.asyncIterator]();
  assert.equal((await failure(asked.next())).code, Code.NotFound);
});

Deno.test("WatchFleet() ends when the key that it was opened with is deleted, and not at its next look", async () => {
  await using cloud = await TestCloud.open({ clock: new FakeClock() });
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { key, id } = await app.createKey({
    name: "viewer",
    authorizations: [{
      authorizationType: "role",
      authorizationId: "organization_owner",
      resourceType: "organization",
      resourceId: made.org_id,
      organizationId: made.org_id,
      identityId: "",
      identityType: "api-key",
    }],
  });
  const viewer = cloud.client(ConsoleService, { type: "api-key", entity: id, payload: key });
  const messages = viewer.watchFleet({ organizationId: made.org_id })[Symbol.asyncIterator]();
  await messages.next();
  await app.deleteKey({ id });
  assert.equal((await failure(messages.next())).code, Code.Unauthenticated);
});
