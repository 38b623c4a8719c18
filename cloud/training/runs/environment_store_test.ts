import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { type EnvironmentLimits, EnvironmentStore } from "./environment_store.ts";

const never = new AbortController().signal;

/** A store in a folder of its own, and how to fill an environment. */
async function rig(limits: EnvironmentLimits = { most: 10, bytes: 2 ** 30 }) {
  const folder = await Deno.makeTempDir();
  const root = join(folder, "environments");
  const clock = new FakeClock();
  const made: string[] = [];
  const open = () => new EnvironmentStore({ root, limits, clock, log: memoryLogger("cloud") });
  return {
    ...{ root, clock, made, open },
    store: open(),
    /** Holds an environment that has so many bytes. */
    hold: (store: EnvironmentStore, key: string, bytes = 10) =>
      store.hold(key, async (path) => {
        made.push(key);
        await Deno.writeFile(join(path, "python"), new Uint8Array(bytes).fill(1));
      }, never),
    names: () => [...Deno.readDirSync(root)].map(({ name }) => name),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("hold() makes an environment once, also for two that ask at once and after a restart", async () => {
  await using it = await rig();
  const both = await Promise.all([it.hold(it.store, "a"), it.hold(it.store, "a")]);
  assert.equal(both[0].path, both[1].path);
  for (const held of both) await held.release();
  await (await it.hold(it.open(), "a")).release();
  assert.deepEqual(it.made, ["a"]);
  await (await it.hold(it.store, "b")).release();
  assert.deepEqual(it.made, ["a", "b"]);
});

Deno.test("hold() makes what is only half there anew, and recover() removes it", async () => {
  await using it = await rig();
  const held = await it.hold(it.store, "a");
  await held.release();
  await Deno.remove(join(held.path, "ready.json"));
  await Deno.remove(join(held.path, "python"));
  await (await it.hold(it.open(), "a")).release();
  assert.deepEqual(it.made, ["a", "a"]);
  assert.ok((await Deno.stat(join(held.path, "python"))).isFile);

  await Deno.writeTextFile(join(held.path, "ready.json"), "{");
  await Deno.mkdir(join(it.root, "half", "venv"), { recursive: true });
  await it.open().recover();
  assert.deepEqual(it.names(), []);
});

Deno.test("hold() leaves nothing when making fails, and lets the next in line try", async () => {
  await using it = await rig();
  const failing = Promise.withResolvers<void>();
  const fail = async () => {
    await failing.promise;
    throw new Error("no network");
  };
  const first = it.store.hold("a", fail, never);
  const second = it.hold(it.store, "a");
  const stopping = new AbortController();
  const third = it.store.hold("a", () => Promise.reject(new Error("too late")), stopping.signal);
  stopping.abort(new Error("canceled"));
  failing.resolve();
  await Promise.all([
    assert.rejects(first, /no network/),
    assert.rejects(third, /canceled/),
  ]);
  await (await second).release();
  assert.deepEqual(it.made, ["a"]);
  await assert.rejects(
    it.store.hold("b", () => Promise.reject(new Error("no")), never),
    /^Error: no$/,
  );
  assert.equal(it.names().length, 1);
});

Deno.test("release() removes what was not used for longest, but nothing that is held", async () => {
  await using it = await rig({ most: 2, bytes: 2 ** 30 });
  const use = async (key: string) => {
    const held = await it.hold(it.store, key);
    await it.clock.advance(1_000);
    return held;
  };
  const a = await use("a");
  for (const key of ["b", "c", "d"]) await (await use(key)).release();
  assert.equal(it.names().length, 3, "a is held, c and d are the newest");
  await a.release();
  assert.equal(it.names().length, 2);
  for (const key of ["c", "d", "a"]) await (await use(key)).release();
  assert.deepEqual(it.made, ["a", "b", "c", "d", "a"]);
});

Deno.test("release() keeps to the bytes of all together, and to one that is larger", async () => {
  await using it = await rig({ most: 10, bytes: 100_000 });
  for (const [key, bytes] of [["a", 60_000], ["b", 60_000]] as const) {
    await (await it.hold(it.store, key, bytes)).release();
    await it.clock.advance(1_000);
  }
  assert.equal(it.names().length, 1);
  const large = await it.hold(it.store, "large", 300_000);
  await large.release();
  assert.deepEqual(it.names().map((name) => join(it.root, name)), [large.path]);
});

Deno.test("hold() waits for a removal that is under way, and makes the environment anew", async () => {
  await using it = await rig({ most: 1, bytes: 2 ** 30 });
  const a = await it.store.hold("a", async (path) => {
    for (let n = 0; n < 2_000; n++) await Deno.writeTextFile(join(path, String(n)), "");
  }, never);
  await a.release();
  await it.clock.advance(1_000);
  const b = await it.hold(it.store, "b");
  const releasing = b.release();
  const isGoing = () => Deno.stat(join(a.path, "ready.json")).then(() => false, () => true);
  await waitFor(isGoing, { deadlineMs: 60_000, everyMs: 1 });
  const [, again] = await Promise.all([releasing, it.hold(it.store, "a")]);
  assert.ok((await Deno.stat(join(again.path, "python"))).isFile);
  assert.ok((await Deno.stat(join(again.path, "ready.json"))).isFile);
  await again.release();
});
