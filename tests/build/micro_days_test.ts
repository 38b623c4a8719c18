// Days of machine-micro-server in the engine that devices have: readings, log lines, a cloud that is
// away, a clock that is wrong, calls. Compiling takes minutes, so `make smoke` runs it.
// MICRO_HOURS=72 MICRO_BOARD_HOURS=72 for the long run.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import type { Days, Hour } from "../../micro/hosts/testing/days.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { Program } from "../e2e/program.ts";
import { Board, firmware, noFirmwareBecause } from "./firmware_board.ts";

const HOURS = Number(process.env["MICRO_HOURS"] ?? 14);
/** On the emulated board, which takes a hundred times as long. */
const BOARD_HOURS = Number(process.env["MICRO_BOARD_HOURS"] ?? 3);
const ENTRY = "micro/hosts/testing/days.ts";
/** An hour on the board takes half a minute of a processor of its own. */
const DEADLINE_MS = Math.max(3600_000, BOARD_HOURS * 180_000);
/** Until then what is made once is there. */
const SETTLED_HOUR = 2;
/** What waited for the cloud leaves pieces of the heap that newer objects share. */
const MOST_GROWTH = 32 * 1024;
/** Of the end, one of whose hours has the heap as it was. */
const LAST_HOURS = 4;
/** Of what waits for the cloud: 32 KiB of readings as JSON and 150 lines, as objects. */
const MOST_WAITING = 192 * 1024;

const ignore = ignoreBecause(import.meta.url, await noSourcesBecause());
const ignoreBoard = ignoreBecause(import.meta.url, await noFirmwareBecause());

/** Reads the line of each hour as it comes. */
async function hoursOf(program: Program, { hours }: Days): Promise<Hour[]> {
  try {
    await program.waitForLine(new RegExp(`^\\{"hour":${hours},`), DEADLINE_MS);
  } finally {
    program.signal("SIGKILL");
    await program.exited;
  }
  return program.lines.filter((line) => line.startsWith('{"hour"'))
    .map((line) => JSON.parse(line) as Hour);
}

async function onLinux(days: Days): Promise<Hour[]> {
  const { file } = await buildMicro(ownTarget(), {
    ...{ root: ROOT, zig: await findZig(ROOT), version: "days", commit: "0000000", entry: ENTRY },
    output: join(ROOT, ".tools", "micro", "probes", "days"),
  });
  const folder = await Deno.makeTempDir({ prefix: "machine-micro-days-" });
  try {
    const config = join(folder, "machine.json");
    await Deno.writeTextFile(config, JSON.stringify(days));
    const args = ["-config", config, "-state", join(folder, "state"), "-listen", "127.0.0.1:0"];
    return await hoursOf(
      Program.start({ name: "days", command: file, args: [...args, "-heap-mb", "64"] }),
      days,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Bytes that the heap grew by from when it was settled to the least of the last hours, at a cloud. */
function growth(hours: readonly Hour[]): number {
  const later = hours.filter(({ hour, isAway }) => hour > SETTLED_HOUR && !isAway);
  const settled = hours[SETTLED_HOUR - 1]?.heap ?? NaN;
  return Math.min(...later.slice(-LAST_HOURS).map(({ heap }) => heap)) - settled;
}

function check(hours: readonly Hour[], { hours: wanted, everyMs }: Days): void {
  const last = hours.at(-1);
  assert.ok(last && hours.length === wanted, `${hours.length} hours`);
  const { received, localCalls, openEnds } = last;
  const heaps = hours.map(({ heap, isAway }) => `${Math.round(heap / 1024)}${isAway ? "*" : ""}`);
  process.stdout.write(`heap by hour, KiB (*: cloud away): ${heaps.join(" ")}\n`);
  process.stdout.write(`${JSON.stringify({ localCalls, ...received })}\n`);
  assert.ok(growth(hours) <= MOST_GROWTH, `the heap grew by ${growth(hours)} bytes`);
  const settled = hours[SETTLED_HOUR - 1]?.heap ?? NaN;
  for (const { heap, hour } of hours) {
    assert.ok(heap - settled < MOST_WAITING, `${heap} bytes in hour ${hour}`);
  }
  assert.equal(received.mistimed, 0);
  // All that was to happen did.
  const online = hours.filter(({ isAway }) => !isAway).length;
  assert.ok(received.readings > online * 3000_000 / everyMs, JSON.stringify(received));
  assert.ok(received.streams >= 2 * online, `${received.streams} streams`);
  assert.ok(received.logLines > 3 * online, `${received.logLines} lines`);
  assert.ok(received.answers >= 4 * online, `${received.answers} calls through the cloud`);
  assert.ok(localCalls >= 4 * online, `${localCalls} calls`);
  assert.ok(received.liveReadings > online && received.downloads > online);
  assert.ok(received.certificates > online / 2 && received.configs >= 2 * online);
  assert.ok(openEnds <= 4, `${openEnds} ends of connections`);
}

Deno.test({
  name: `micro days: ${HOURS} hours of readings, log and reconnects leave the heap as it was`,
  ignore,
  fn: async () => {
    const days = { hours: HOURS, everyMs: 1000, leaks: false };
    check(await onLinux(days), days);
  },
});

Deno.test({
  name: "micro days: a driver that keeps an object of each reading is found",
  ignore,
  fn: async () => {
    const hours = await onLinux({ hours: 4, everyMs: 1000, leaks: true });
    assert.ok(growth(hours) > 16 * 3600, `the heap grew by ${growth(hours)} bytes`);
  },
});

Deno.test({
  name: `micro days: likewise ${BOARD_HOURS} hours on the emulated board`,
  ignore: ignoreBoard,
  fn: async () => {
    const days = { hours: BOARD_HOURS, everyMs: 10_000, leaks: false };
    const folder = await Deno.makeTempDir({ prefix: "machine-micro-days-" });
    try {
      const credentials = JSON.stringify(days);
      const board = await Board.make(folder, await firmware("days", ENTRY), { credentials });
      check(await hoursOf(board.start(), days), days);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
