import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type DeviceCall,
  DeviceCalls,
  MOST_ANSWER_BYTES,
  MOST_AT_ONCE,
  MOST_OF_CALLER,
  MOST_REQUEST_BYTES,
  type OpenDevice,
} from "./device_calls.ts";

const { signal: never } = new AbortController();

function callOf(caller = "key", bytes = 0): DeviceCall {
  return { method: "/a.B/C", request: new Uint8Array(bytes), caller, isOwner: true, sessionId: "" };
}

function answer(id: number, { code = 0, bytes = 1, message = "" } = {}) {
  return { id, code, message, response: new Uint8Array(bytes).fill(id % 256) };
}

const failed = (code: Code) => (error: unknown) => ConnectError.from(error).code === code;

/** Whether a promise is settled already. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const open = {};
  return await Promise.race([promise.then(() => true, () => true), Promise.resolve(open)]) !== open;
}

function opened() {
  const calls = new DeviceCalls();
  let woken = 0;
  const device = calls.opened("part", () => woken++);
  const make = (call = callOf(), signal: AbortSignal = never) => {
    const promise = calls.call("part", call, signal);
    promise.catch(() => undefined);
    return promise;
  };
  return { calls, device, make, woken: () => woken };
}

Deno.test("DeviceCalls gives a device its calls, and callers its answers", async () => {
  const { calls, device, make, woken } = opened();
  const [first, second] = [make(), make()];
  assert.equal(woken(), 2);
  const [one, two] = device.take();
  assert.ok(one && two && one.id !== two.id);
  assert.deepEqual(device.take(), []);
  calls.answer("part", [answer(two.id, { code: Code.NotFound, message: "no such thing" })]);
  await assert.rejects(second, /not_found.*no such thing/);
  assert.equal(await isSettled(first), false);
  calls.answer("part", [answer(one.id, { bytes: 3 })]);
  assert.equal((await first).length, 3);
});

Deno.test("DeviceCalls takes answers of the device alone, once", async () => {
  const { calls, device, make } = opened();
  const other = calls.opened("other", () => {});
  const first = make();
  const [one] = device.take();
  assert.ok(one);
  calls.answer("other", [answer(one.id)]);
  calls.answer("nobody", [answer(one.id)]);
  calls.answer("part", [answer(one.id + 1), answer(0), answer(-1)]);
  assert.equal(await isSettled(first), false);
  calls.answer("part", [answer(one.id), answer(one.id, { code: 5 })]);
  assert.equal((await first).length, 1);
  other.close();
});

Deno.test("DeviceCalls gives no answer on that is too large or has no known code", async () => {
  const { calls, device, make } = opened();
  const all = [make(), make(), make()];
  const ids = device.take().map(({ id }) => id);
  calls.answer("part", [
    answer(ids[0] ?? 0, { bytes: MOST_ANSWER_BYTES + 1 }),
    answer(ids[1] ?? 0, { code: 4711 }),
    answer(ids[2] ?? 0, { code: -3, message: "x".repeat(100_000) }),
  ]);
  await assert.rejects(all[0]!, failed(Code.ResourceExhausted));
  await assert.rejects(all[1]!, failed(Code.Unknown));
  await assert.rejects(all[2]!, (error: ConnectError) => error.message.length < 2_000);
});

Deno.test("DeviceCalls fails what a device took when its stream ends, and goes on with another", async () => {
  const { calls, device, make } = opened();
  const lost = make();
  device.take();
  const next: OpenDevice = calls.opened("part", () => {});
  const kept = make();
  device.close();
  device.close();
  await assert.rejects(lost, failed(Code.Unavailable));
  assert.equal(await isSettled(kept), false);
  const [one] = next.take();
  calls.answer("part", [answer(one?.id ?? 0)]);
  await kept;
  next.close();
  assert.equal(calls.takes("part"), false);
  await assert.rejects(
    async () => await calls.call("part", callOf(), never),
    failed(Code.Unavailable),
  );
});

Deno.test("DeviceCalls lets a device have few calls at once, and callers take turns", async () => {
  const { calls, device, make } = opened();
  for (let n = 0; n < MOST_AT_ONCE + 10; n++) make(callOf("busy"));
  const taken = device.take();
  assert.equal(taken.length, MOST_AT_ONCE);
  const late = make(callOf("late"));
  assert.deepEqual(device.take(), []);
  calls.answer("part", [answer(taken[0]?.id ?? 0)]);
  const [next] = device.take();
  assert.equal(next?.caller, "late");
  calls.answer("part", [answer(next?.id ?? 0)]);
  await late;
});

Deno.test("DeviceCalls refuses a caller that lets too much wait, and no other", async () => {
  const { calls, make } = opened();
  for (let n = 0; n < MOST_AT_ONCE + MOST_OF_CALLER; n++) make(callOf("busy"));
  const refused = (call: DeviceCall) =>
    assert.rejects(
      async () => await calls.call("part", call, never),
      failed(Code.ResourceExhausted),
    );
  await refused(callOf("busy"));
  assert.equal(await isSettled(make(callOf("other"))), false);
  await refused(callOf("other", MOST_REQUEST_BYTES + 1));
  // A mebibyte waits at most, whoever lets it wait.
  for (let n = 0; n < 32; n++) make(callOf(`caller ${n}`, MOST_REQUEST_BYTES));
  await refused(callOf("one more", MOST_REQUEST_BYTES));
});

Deno.test("DeviceCalls forgets a call whose caller left", async () => {
  const { calls, device, make } = opened();
  const stop = new AbortController();
  const all = Array.from({ length: MOST_AT_ONCE }, () => make(callOf(), stop.signal));
  const waiting = make();
  stop.abort(new ConnectError("gone", Code.Canceled));
  for (const one of all) await assert.rejects(one, failed(Code.Canceled));
  const taken = device.take();
  assert.equal(taken.length, 1);
  calls.answer("part", [answer(taken[0]?.id ?? 0)]);
  await waiting;
});
