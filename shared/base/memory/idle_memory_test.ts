import assert from "node:assert/strict";
import { FakeClock } from "../time/fake_clock.ts";
import { processMemory, releaseIdleMemory } from "./idle_memory.ts";

const MIB = 1024 * 1024;

/** A clock on which a collection may take time. */
class CollectingClock extends FakeClock {
  spentMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.spentMs;
  }
}

class Rig implements AsyncDisposable {
  readonly clock = new CollectingClock();
  readonly #stop = new AbortController();
  collections = 0;
  /** How long a collection takes. Milliseconds. */
  tookMs = 0;
  bytes = 80 * MIB;
  /** Processor time used in a second. Milliseconds. */
  busyMs = 0;
  readonly #running: Promise<void>;

  constructor() {
    const memory = {
      collect: () => {
        this.collections++;
        this.clock.spentMs += this.tookMs;
      },
      ownBytes: () => this.bytes,
      processorMs: () => this.busyMs * this.clock.monotonicMs() / 1000,
    };
    this.#running = releaseIdleMemory({ memory, clock: this.clock }, this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}

Deno.test("releaseIdleMemory() collects once after the start, and not again without need", async () => {
  await using rig = new Rig();
  await rig.clock.advance(9_000);
  assert.equal(rig.collections, 0);
  await rig.clock.advance(3_000);
  assert.equal(rig.collections, 1);
  rig.bytes += MIB / 2;
  await rig.clock.advance(24 * 60 * 60_000);
  assert.equal(rig.collections, 1);
});

Deno.test("releaseIdleMemory() waits for the end of a burst and collects within 6 s of it", async () => {
  await using rig = new Rig();
  await rig.clock.advance(12_000);
  rig.bytes += 30 * MIB;
  rig.busyMs = 900;
  await rig.clock.advance(60_000);
  assert.equal(rig.collections, 1);
  rig.busyMs = 10;
  await rig.clock.advance(6_000);
  assert.equal(rig.collections, 2);
});

Deno.test("releaseIdleMemory() collects much, and not little, of a program that always has a little to do", async () => {
  await using rig = new Rig();
  await rig.clock.advance(12_000);
  assert.equal(rig.collections, 1);
  rig.busyMs = 80;
  rig.bytes += 20 * MIB;
  await rig.clock.advance(60 * 60_000);
  assert.equal(rig.collections, 1);
  rig.bytes += 20 * MIB;
  await rig.clock.advance(6_000);
  assert.equal(rig.collections, 2);
});

Deno.test("releaseIdleMemory() waits with the first collection until the program is idle", async () => {
  await using rig = new Rig();
  rig.busyMs = 80;
  await rig.clock.advance(60 * 60_000);
  assert.equal(rig.collections, 0);
  rig.busyMs = 10;
  await rig.clock.advance(6_000);
  assert.equal(rig.collections, 1);
});

Deno.test("releaseIdleMemory() collects what a program grew by that was never idle", async () => {
  await using rig = new Rig();
  rig.busyMs = 80;
  await rig.clock.advance(60_000);
  rig.bytes += 39 * MIB;
  await rig.clock.advance(60_000);
  assert.equal(rig.collections, 0);
  rig.bytes += MIB;
  await rig.clock.advance(10_000);
  assert.equal(rig.collections, 1);
});

Deno.test("releaseIdleMemory() takes 1 % of the time at most, and 0.01 % for little", async () => {
  await using rig = new Rig();
  rig.tookMs = 300;
  await rig.clock.advance(12_000);
  assert.equal(rig.collections, 1);
  rig.bytes += 30 * MIB;
  await rig.clock.advance(29_000);
  assert.equal(rig.collections, 1);
  await rig.clock.advance(3_000);
  assert.equal(rig.collections, 2);
  rig.bytes += 2 * MIB;
  await rig.clock.advance(49 * 60_000);
  assert.equal(rig.collections, 2);
  await rig.clock.advance(2 * 60_000);
  assert.equal(rig.collections, 3);
});

Deno.test("processMemory measures this process", () => {
  assert.ok(processMemory.ownBytes() > MIB);
  assert.ok(processMemory.processorMs() > 0);
});
