import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { systemClock } from "../../shared/base/time/clock.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { currentTerm, runInTerm } from "../storage/database/leader_term.ts";
import { readSetting, writeSetting } from "../storage/database/settings.ts";
import { LARGEST_PAYLOAD } from "./node_bus.ts";
import { LocalNodes } from "./nodes.ts";
import { NodesRig, type TestNode } from "./nodes_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const DEADLINE = { deadlineMs: 60_000 };

function messagesOf({ nodes }: TestNode, topic: string): string[] {
  const got: string[] = [];
  nodes.bus.subscribe(topic, ({ from, payload }) => got.push(`${from} ${payload}`));
  return got;
}

Deno.test("a node that is alone leads, and its messages reach itself", async () => {
  const nodes = new LocalNodes(memoryLogger());
  const got: string[] = [];
  const subscription = nodes.bus.subscribe("a", ({ payload }) => got.push(payload));
  await nodes.bus.publish("a", "1");
  await nodes.bus.publish("a", "2", nodes.id);
  await nodes.bus.publish("a", "3", "another");
  await nodes.bus.publish("b", "4");
  subscription[Symbol.dispose]();
  await nodes.bus.publish("a", "5");
  assert.deepEqual(got, ["1", "2"]);
  assert.equal(nodes.leadership.isLeader, true);
  await assert.rejects(
    async () => await nodes.bus.publish("a", "x".repeat(LARGEST_PAYLOAD + 1)),
    RangeError,
  );
});

Deno.test({
  name: "messages reach each node once and in order, also when notifications or the server fail",
  ignore,
  async fn() {
    await using rig = await NodesRig.start();
    const [first, second, third] = [await rig.join(), await rig.join(), await rig.join()];
    const got = [first, second, third].map((node) => messagesOf(node, "numbers"));
    const expected: string[] = [];
    const send = async (from: TestNode, count: number) => {
      const numbers = Array.from({ length: count }, (_, at) => `${expected.length + at}`);
      expected.push(...numbers.map((number) => `${from.nodes.id} ${number}`));
      await Promise.all(numbers.map((number) => from.nodes.bus.publish("numbers", number)));
    };
    const arrived = () => got.every((one) => one.length >= expected.length);
    await send(first, 700);
    assert.equal(got[0]?.length, 700, "its own at once");
    await waitFor(arrived, DEADLINE);
    await send(second, 1);
    await waitFor(arrived, DEADLINE);
    await rig.server.query(
      "alter table machine_cloud.node_messages disable trigger node_messages_notify",
    );
    await send(first, 2);
    await waitFor(arrived, DEADLINE);
    await rig.server.halt("immediate");
    await rig.server.resume();
    await waitFor(
      async () => await send(third, 1).then(() => true, () => !expected.pop()),
      DEADLINE,
    );
    await waitFor(arrived, DEADLINE);
    for (const one of got) assert.deepEqual(one, expected);
    await first.nodes.bus.publish("numbers", "for one", third.nodes.id);
    await send(first, 1);
    await waitFor(() => got[2]?.at(-1) === expected.at(-1), DEADLINE);
    await waitFor(() => got[1]?.at(-1) === expected.at(-1), DEADLINE);
    assert.equal(got[2]?.at(-2), `${first.nodes.id} for one`);
    assert.equal(got[1]?.length, expected.length);
  },
});

Deno.test({
  name: "one node leads; when it leaves another one does",
  ignore,
  async fn() {
    await using rig = await NodesRig.start();
    const [first, second] = [await rig.join(), await rig.join()];
    const all = [first, second];
    const leaders = () => all.filter(({ nodes }) => nodes.leadership.isLeader);
    await waitFor(() => leaders().length === 1, DEADLINE);
    const working: string[] = [];
    const stop = new AbortController();
    const runs = all.map(({ nodes }) =>
      nodes.leadership.run(async (signal) => {
        working.push(nodes.id);
        await systemClock.sleep(1e9, signal).catch(() => undefined);
        working.splice(working.indexOf(nodes.id), 1);
      }, stop.signal)
    );
    const [leader] = leaders();
    const follower = all.find((node) => node !== leader);
    assert.ok(leader && follower);
    await waitFor(() => working.length === 1 && working[0] === leader.nodes.id, DEADLINE);
    await waitFor(() => leader.nodes.members().length === 2, DEADLINE);
    await leader.nodes.close();
    await waitFor(() => follower.nodes.leadership.isLeader, DEADLINE);
    await waitFor(() => working.length === 1 && working[0] === follower.nodes.id, DEADLINE);
    await waitFor(() => follower.changes.some(({ kind }) => kind === "left"), DEADLINE);
    assert.deepEqual(follower.nodes.members().map(({ id }) => id), [follower.nodes.id]);
    stop.abort();
    await Promise.all(runs);
    assert.deepEqual(working, []);
  },
});

Deno.test({
  name: "a leader that stood still writes nothing more, and learns that it is not the leader",
  ignore,
  async fn() {
    await using rig = await NodesRig.start();
    const clock = new FakeClock();
    const first = await rig.join(clock);
    await waitFor(() => first.nodes.leadership.isLeader, DEADLINE);
    const written: string[] = [];
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const wake = Promise.withResolvers<void>();
    const work = first.nodes.leadership.run(async () => {
      const write = (text: string) =>
        writeSetting(first.database.queries, "domain", text).then(
          () => written.push(text),
          (error: Error) => written.push(error.name),
        );
      if (written.length > 0) return;
      await write("before");
      begun.resolve();
      // Its process stands still here, and does not know for how long.
      await wake.promise;
      // Connections of the time before are gone; those that are made again do not help it.
      for (let tries = 0; tries < 6; tries++) await write("after");
    }, stop.signal);
    await begun.promise;

    const second = await rig.join();
    await waitFor(() => second.changes.some(({ kind }) => kind === "died"), DEADLINE);
    await waitFor(() => second.nodes.leadership.isLeader, DEADLINE);
    await writeSetting(second.database.queries, "domain", "of the next");
    assert.equal(second.nodes.isMember(first.nodes.id), false);

    wake.resolve();
    await waitFor(() => written.length === 7, DEADLINE);
    assert.equal(written.filter((text) => text === "after").length, 0);
    assert.equal(written.at(-1), "LeadershipLostError");
    assert.equal(await readSetting(second.database.queries, "domain"), "of the next");
    await waitFor(async () => {
      await clock.advance(1_500);
      return first.changes.some(({ kind }) => kind === "back");
    }, DEADLINE);
    assert.equal(first.nodes.leadership.isLeader, false);
    await waitFor(() => second.changes.some(({ kind }) => kind === "joined"), DEADLINE);
    stop.abort();
    await work;
  },
});

Deno.test("what goes on after the work of a leader has ended is not counted as its work", async () => {
  const inside = await runInTerm(3, () => {
    assert.equal(currentTerm(), 3);
    return Promise.resolve(AsyncLocalStorage.snapshot());
  });
  assert.equal(inside(() => currentTerm()), undefined);
});
