import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct, testCall } from "../testing.ts";
import { type FakeBoard, fakeBoardModel } from "./board.ts";

async function setUp() {
  const clock = new FakeClock();
  const board = await construct<FakeBoard, unknown>(fakeBoardModel({ clock }), {
    analogs: [{ name: "battery", pin: "3" }],
    digital_interrupts: [{ name: "wheel", pin: "4" }],
  });
  return { clock, board };
}

const ticks = (pinNames: string[]) => ({
  $typeName: "viam.component.board.v1.StreamTicksRequest" as const,
  name: "b",
  pinNames,
});

Deno.test("pins keep what is written to them, each for itself", async () => {
  const { board } = await setUp();
  board.setGPIO({ pin: "1", high: true });
  board.setPWM({ pin: "2", dutyCyclePct: 0.5 });
  board.setPWMFrequency({ pin: "2", frequencyHz: 800n });
  assert.deepEqual(["1", "2"].map((pin) => board.getGPIO({ pin }).high), [true, false]);
  assert.deepEqual(["1", "2"].map((pin) => board.pWM({ pin }).dutyCyclePct), [0, 0.5]);
  assert.equal(board.pWMFrequency({ pin: "2" }).frequencyHz, 800n);
  assert.throws(() => board.setPWM({ pin: "2", dutyCyclePct: 1.5 }), /1\.5; it goes from 0 to 1/);
});

Deno.test("readAnalogReader() counts up to 1000 and begins again, until it is written to", async () => {
  const { board } = await setUp();
  const read = () => board.readAnalogReader({ analogReaderName: "battery" }).value;
  const values = Array.from({ length: 1_002 }, read);
  assert.deepEqual([values[0], values[1_000], values[1_001]], [0, 1_000, 0]);
  board.writeAnalog({ pin: "battery", value: 42 });
  assert.deepEqual([read(), read()], [42, 42]);
  assert.throws(
    () => board.readAnalogReader({ analogReaderName: "x" }),
    /no analogue reader x; the board has battery/,
  );
});

Deno.test("getDigitalInterruptValue() counts an edge in each interval", async () => {
  const { board, clock } = await setUp();
  const edges = () => board.getDigitalInterruptValue({ digitalInterruptName: "wheel" }).value;
  assert.equal(edges(), 0n);
  await clock.advance(1_050);
  assert.equal(edges(), 10n);
  assert.throws(
    () => board.getDigitalInterruptValue({ digitalInterruptName: "x" }),
    /no digital interrupt x; the board has wheel/,
  );
});

Deno.test("streamTicks() tells each edge when it happens, until the caller leaves", async () => {
  const { board, clock } = await setUp();
  await clock.advance(30);
  const caller = new AbortController();
  const found: { high: boolean; time: bigint }[] = [];
  const reading = (async () => {
    for await (const tick of board.streamTicks(ticks(["wheel"]), testCall(caller.signal))) {
      found.push(tick);
    }
  })();
  await clock.advance(270);
  assert.deepEqual(found.map(({ high }) => high), [true, false, true]);
  assert.equal(found[1]!.time - found[0]!.time, 100_000_000n);
  caller.abort(new Error("gone"));
  await assert.rejects(reading, /gone/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("streamTicks() tells every edge to a reader that comes late", async () => {
  const { board, clock } = await setUp();
  const edges = board.streamTicks(ticks(["wheel"]), testCall(new AbortController().signal));
  const first = edges.next();
  await clock.advance(650);
  const levels = [(await first).value?.high];
  while (levels.length < 6) levels.push((await edges.next()).value?.high);
  assert.deepEqual(levels, [true, false, true, false, true, false]);
  await edges.return(undefined);
});

Deno.test("the model names the entry when an attribute is wrong", async () => {
  const model = fakeBoardModel({ clock: new FakeClock() });
  await assert.rejects(
    construct(model, { analogs: [{ name: "a" }, { pin: "1" }] }),
    /attributes\.analogs\[1\]\.name: found nothing, allowed: a string that is not empty/,
  );
});
