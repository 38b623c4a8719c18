import assert from "node:assert/strict";
import { pulseLoop } from "./pulse_loop.ts";
import { ThreadPulses } from "./thread_pulses.ts";

/** Runs the loop for `forUs`, as a server that counts up every `aliveUs`. */
function run(forUs: number, aliveUs: number, line: { periodUs: number; highUs: number }) {
  const memory = new Int32Array(8 + 4 * 2);
  memory.set([9, line.periodUs, line.highUs, -1], 8);
  let nowUs = 0;
  const changes: [number, boolean][] = [];
  pulseLoop(memory, {
    nowUs: () => nowUs,
    wait(us) {
      nowUs += Math.max(1, us);
      memory[3] = Math.floor(nowUs / aliveUs);
      if (nowUs >= forUs) memory[2] = 1;
    },
    set(fd, high) {
      assert.equal(fd, 9);
      changes.push([nowUs, high]);
      return true;
    },
  }, 10_000);
  return changes;
}

Deno.test("pulseLoop() switches a line on for its part of each period", () => {
  assert.deepEqual(run(2_000, 500, { periodUs: 1_000, highUs: 250 }), [
    [0, true],
    [250, false],
    [1_000, true],
    [1_250, false],
  ]);
});

Deno.test("pulseLoop() leaves lines low when the server is not alive", () => {
  const changes = run(100_000, 1_000_000, { periodUs: 1_000, highUs: 250 });
  const [lastUs, lastLevel] = changes.at(-1)!;
  assert.equal(lastLevel, false);
  assert.ok(lastUs <= 12_000, `${lastUs}`);
});

Deno.test({
  name: "ThreadPulses runs on a thread of its own and ends when it is closed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const pulses = new ThreadPulses();
    // No such file: what the thread does shows in what fails.
    pulses.pulse(9_999, 1_000, 500);
    const deadline = AbortSignal.timeout(60_000);
    while (pulses.failures === 0) {
      deadline.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await pulses.end(9_999);
    await pulses.close();
  },
});
