/** Who is served when: with a clock of its own, in which frames cost what a test says. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { TURN_MS, Turns } from "./turns.ts";

class FakeSocket extends EventEmitter {
  paused = false;
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
}

class Rig {
  now = 0;
  readonly #later: (() => void)[] = [];
  /** Frames that were taken, by the name of the connection. */
  readonly #taken = new Map<string, number>();
  readonly turns = new Turns({
    monotonicMs: () => this.now,
    nextTurn: (run) => this.#later.push(run),
    afterSockets: (run) => this.#later.push(run),
  });

  /** A connection of which each byte is a frame that takes so long. */
  connect(name: string, frameMs: number): FakeSocket {
    const socket = new FakeSocket();
    this.turns.read(socket, (bytes, goOn) => {
      for (let n = 1; n <= bytes.length; n++) {
        this.now += frameMs;
        this.#taken.set(name, this.frames(name) + 1);
        if (!goOn()) return n;
      }
      return bytes.length;
    });
    return socket;
  }

  /** The event loop goes round. */
  turn(): void {
    for (const run of this.#later.splice(0)) run();
  }

  frames(name: string): number {
    return this.#taken.get(name) ?? 0;
  }
}

const FLOOD = new Uint8Array(65_536);

Deno.test("Turns takes what arrives at once as long as there is time in the turn", () => {
  const rig = new Rig();
  const [a, b] = [rig.connect("a", 0.1), rig.connect("b", 0.1)];
  a.emit("data", new Uint8Array(3));
  b.emit("data", new Uint8Array(3));
  assert.deepEqual([rig.frames("a"), rig.frames("b"), rig.turns.waiting], [3, 3, 0]);
});

Deno.test("Turns interrupts a flood, reads no more of it, and takes all of it in the end", () => {
  const rig = new Rig();
  const flooding = rig.connect("flood", 0.01);
  flooding.emit("data", FLOOD);
  assert.ok(rig.frames("flood") <= TURN_MS / 0.01 + 8, String(rig.frames("flood")));
  flooding.emit("data", FLOOD);
  assert.equal(flooding.paused, true);
  for (let n = 0; rig.turns.waiting > 0; n++) {
    const before = rig.frames("flood");
    rig.turn();
    assert.ok(rig.frames("flood") - before <= 1.25 * TURN_MS / 0.01);
    assert.ok(n < 1_000);
  }
  assert.deepEqual([rig.frames("flood"), flooding.paused], [2 * FLOOD.length, false]);
});

for (const floods of [1, 4, 1_000]) {
  Deno.test(`Turns serves a newcomer in the next turn while ${floods} connections flood`, () => {
    const rig = new Rig();
    const sockets = Array.from({ length: floods }, () => rig.connect("flood", 0.01));
    const flood = () => {
      for (const socket of sockets) if (!socket.paused) socket.emit("data", FLOOD);
    };
    // Each of them is new itself once, and not behind then.
    for (let n = 0; n < 200; n++, rig.turn()) flood();
    const quiet = rig.connect("quiet", 0.01);
    for (let round = 1; round <= 10; round++) {
      flood();
      quiet.emit("data", new Uint8Array(2));
      rig.turn();
      assert.equal(rig.frames("quiet"), 2 * round, `round ${round}`);
    }
  });
}

Deno.test("Turns gives connections that flood with cheap and dear frames the same time", () => {
  const rig = new Rig();
  const [cheap, dear] = [rig.connect("cheap", 0.001), rig.connect("dear", 0.1)];
  for (let round = 0; round < 400; round++) {
    for (const socket of [cheap, dear]) if (!socket.paused) socket.emit("data", FLOOD);
    rig.turn();
  }
  const [cheapMs, dearMs] = [rig.frames("cheap") * 0.001, rig.frames("dear") * 0.1];
  assert.ok(Math.abs(cheapMs - dearMs) < 0.1 * (cheapMs + dearMs), `${cheapMs} and ${dearMs} ms`);
});

Deno.test("Turns lets one that had the host to itself not pay for it later", () => {
  const rig = new Rig();
  const busy = rig.connect("busy", 0.01);
  for (let n = 0; n < 2_000; n++) {
    busy.emit("data", new Uint8Array(100));
    rig.turn();
  }
  const flood = rig.connect("flood", 0.01);
  flood.emit("data", FLOOD);
  const before = rig.frames("busy");
  busy.emit("data", new Uint8Array(10));
  for (let n = 0; n < 3; n++) rig.turn();
  assert.equal(rig.frames("busy") - before, 10);
});

Deno.test("Turns forgets a connection that is closed", () => {
  const rig = new Rig();
  const socket = rig.connect("a", 1);
  socket.emit("data", FLOOD);
  assert.equal(rig.turns.waiting, 1);
  socket.emit("close");
  assert.equal(rig.turns.waiting, 0);
  const before = rig.frames("a");
  rig.turn();
  assert.equal(rig.frames("a"), before);
});
