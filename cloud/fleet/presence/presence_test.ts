import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { OnlineState } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { Presence } from "./presence.ts";

Deno.test("Presence.of() follows calls and open streams", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const presence = new Presence(cloud.folder.database.queries, clock, memoryLogger());
  const state = () => presence.of("p").state;

  assert.equal(state(), "awaiting-setup");
  presence.learned("p", { agentVersion: "1.0.0" });
  assert.equal(state(), "awaiting-setup");
  presence.seen("p", { serverVersion: "2.0.0" });
  assert.equal(state(), "online");
  await clock.advance(59_999);
  assert.equal(state(), "online");
  await clock.advance(1);
  assert.equal(state(), "offline");
  const closeOne = presence.opened("p");
  const closeOther = presence.opened("p");
  await clock.advance(600_000);
  closeOne();
  closeOne();
  assert.equal(state(), "online");
  assert.deepEqual(presence.of("p").lastAccess, clock.now());
  closeOther();
  await clock.advance(60_000);
  assert.equal(state(), "offline");
  assert.deepEqual(presence.of("p").facts, { agentVersion: "1.0.0", serverVersion: "2.0.0" });
});

Deno.test("Presence is not fooled by a clock that is set", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const { presence } = cloud.services;
  const year = 365 * 24 * 60 * 60_000;
  for (const jump of [-year, year]) {
    presence.seen(made.part_id);
    clock.setNow(new Date(clock.now().getTime() + jump));
    assert.equal(presence.of(made.part_id).state, "online", `${jump}`);
    await clock.advance(61_000);
    const { state, lastAccess } = presence.of(made.part_id);
    assert.equal(state, "offline", `${jump}`);
    assert.equal(clock.now().getTime() - (lastAccess?.getTime() ?? 0), 61_000);
  }
  // What an earlier run wrote is of another time than that of the clock.
  presence.seen(made.part_id);
  await presence.write();
  await presence.load();
  for (const [jump, state] of [[-year, "offline"], [year - 1_000, "online"]] as const) {
    clock.setNow(new Date(clock.now().getTime() + jump));
    assert.equal(presence.of(made.part_id).state, state, `${jump}`);
  }
});

Deno.test("Presence.load() finds what the last run wrote", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const first = new Presence(queries, clock, memoryLogger());
  first.seen(made.part_id, { serverVersion: "2.0.0" });
  first.seen("a part that was deleted meanwhile");
  const seenAt = clock.now();
  await first.write();

  await clock.advance(90_000);
  const second = new Presence(queries, clock, memoryLogger());
  await second.load();

  assert.equal(second.of(made.part_id).state, "offline");
  assert.deepEqual(second.of(made.part_id).lastAccess, seenAt);
  assert.equal(second.of(made.part_id).facts.serverVersion, "2.0.0");
});

Deno.test("GetRobot() says how long a machine has been away", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  cloud.services.presence.seen(made.part_id);
  await clock.advance(75_000);
  const { robot } = await cloud.app(made).getRobot({ id: made.machine_id });
  assert.equal(robot?.onlineState, OnlineState.OFFLINE);
  assert.equal(robot?.secondsSinceOnline, 75n);
});
