// The C part of the firmware on an emulated board: its flash through kills, its memory, its watchdog.
// Compiling takes minutes, so `make smoke` runs it. FIRMWARE_KILLS=200 for the long run.
import assert from "node:assert/strict";
import process from "node:process";
import type { Ask } from "../../micro/hosts/testing/probe.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import type { Program } from "../e2e/program.ts";
import { Board, firmware, noFirmwareBecause } from "./firmware_board.ts";

const DEADLINE_MS = 120_000;
const KILLS = Number(process.env["FIRMWARE_KILLS"] ?? 20);
const VALUE_SIZE = 60_000;
const CONNECTIONS = 400;
/** The engine collects its garbage when 16 KiB of it are new; what lwIP keeps of each takes more. */
const MOST_GROWTH = 32 * 1024;

const ignore = ignoreBecause(import.meta.url, await noFirmwareBecause());
const built = ignore ? undefined : await firmware("1.0.0", "micro/hosts/testing/probe.ts");

function boardTest(name: string, body: (board: Board) => Promise<void>): void {
  Deno.test({
    name: `firmware: ${name}`,
    ignore,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "machine-firmware-" });
      try {
        assert.ok(built);
        await body(await Board.make(folder, built));
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** Starts it and waits until it takes questions. */
async function start(board: Board): Promise<Program> {
  const program = board.start();
  await runs(program);
  return program;
}

/** Waits until its script has started so many times and it is in the network. */
async function runs(program: Program, starts = 1): Promise<void> {
  const ends = AbortSignal.timeout(DEADLINE_MS);
  while (program.lines.filter((line) => line.startsWith("network: address")).length < starts) {
    if (program.hasExited || ends.aborted) throw program.endedError();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Asks for what has no answer. */
async function tell(board: Board, question: Ask, program: Program, line: RegExp): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: board.port });
  await connection.write(new TextEncoder().encode(`${JSON.stringify(question)}\n`));
  await program.waitForLine(line, DEADLINE_MS);
}

async function ask(board: Board, question: Ask): Promise<Record<string, unknown>> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: board.port });
  await connection.write(new TextEncoder().encode(`${JSON.stringify(question)}\n`));
  const text = await new Response(connection.readable).text().catch(() => "");
  return text === "" ? {} : JSON.parse(text) as Record<string, unknown>;
}

boardTest(
  `what was kept is the last or the new value after each of ${KILLS} kills`,
  async (board) => {
    let last = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const program = await start(board);
      try {
        const kept = await ask(board, { op: "read", key: "value" });
        if (kill > 0) {
          assert.equal(kept["whole"], true, `after kill ${kill}: ${JSON.stringify(kept)}`);
          assert.ok(Number(kept["count"]) >= last, `after kill ${kill}: ${JSON.stringify(kept)}`);
          last = Number(kept["count"]);
        }
        await ask(board, { op: "fill", key: "value", size: VALUE_SIZE, from: last + 1 });
        // Another moment each time, once a value was written.
        const before = last;
        const isWritten = async () => {
          last = Number((await ask(board, { op: "read", key: "value" }))["count"]);
          return last > before;
        };
        await waitFor(isWritten, { deadlineMs: DEADLINE_MS, what: "a value" });
        await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 61));
      } finally {
        program.signal("SIGKILL");
        await program.exited;
      }
    }
    process.stdout.write(`${last} values were written in ${KILLS} runs\n`);
    assert.ok(last > KILLS, `${last} values were written`);
  },
);

boardTest("a call that takes all memory fails alone", async (board) => {
  const program = await start(board);
  try {
    const before = (await ask(board, { op: "info" }))["memory"] as { used: number };
    await tell(board, { op: "exhaust" }, program, /a callback failed: .*out of memory/);
    const after = (await ask(board, { op: "info" }))["memory"] as { used: number };
    assert.ok(after.used < before.used + 100_000, `${before.used} and then ${after.used} bytes`);
  } finally {
    await program.stop(DEADLINE_MS);
  }
});

boardTest("connections that come and go leave no memory behind", async (board) => {
  const program = await start(board);
  try {
    const used = async () => {
      const { memory } = await ask(board, { op: "info" });
      return (memory as { used: number }).used;
    };
    for (let n = 0; n < 20; n++) await used();
    const before = await used();
    for (let n = 0; n < CONNECTIONS; n++) await used();
    const after = await used();
    process.stdout.write(`${CONNECTIONS} connections: ${before} bytes before, ${after} after\n`);
    assert.ok(after - before < MOST_GROWTH, `${before} and then ${after} bytes`);
  } finally {
    await program.stop(DEADLINE_MS);
  }
});

boardTest("no more garbage waits after an event that held much", async (board) => {
  const program = await start(board);
  try {
    const used = async () => {
      const { memory } = await ask(board, { op: "info" });
      return (memory as { used: number }).used;
    };
    for (let n = 0; n < 20; n++) await used();
    const before = await used();
    await ask(board, { op: "hold", bytes: 200_000 });
    let most = 0;
    for (let n = 0; n < 60; n++) {
      await ask(board, { op: "circle", bytes: 2000 });
      most = Math.max(most, await used());
    }
    assert.ok(most - before < MOST_GROWTH, `${before} and then ${most} bytes`);
  } finally {
    await program.stop(DEADLINE_MS);
  }
});

boardTest("a script that hangs is restarted by the watchdog", async (board) => {
  const program = await start(board);
  try {
    await ask(board, { op: "write", key: "kept", size: 100 });
    await tell(board, { op: "hang" }, program, /the watchdog restarts it/);
    await runs(program, 2);
    assert.equal((await ask(board, { op: "read", key: "kept" }))["length"], 100);
  } finally {
    await program.stop(DEADLINE_MS);
  }
});

boardTest("a value that is too large is refused and the one before stays", async (board) => {
  const program = await start(board);
  try {
    await ask(board, { op: "write", key: "kept", size: 100 });
    const { error } = await ask(board, { op: "write", key: "kept", size: 200_000 });
    assert.match(String(error), /128 KiB/);
    assert.equal((await ask(board, { op: "read", key: "kept" }))["length"], 100);
    assert.deepEqual(await ask(board, { op: "drop" }), {}, "there is no image to drop");
    const { random, address } = await ask(board, { op: "info" });
    assert.deepEqual([random, address], [600, "10.0.2.15"]);
  } finally {
    await program.stop(DEADLINE_MS);
  }
});
