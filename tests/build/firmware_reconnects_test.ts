// Connections of the firmware on an emulated board that begin and end: callers by TLS, and those to its
// cloud, which are cut. Compiling takes minutes, so `make smoke` runs it. FIRMWARE_RECONNECTS=300 for the
// long run.
import assert from "node:assert/strict";
import process from "node:process";
import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { eventually, rigTest } from "../e2e/rig.ts";
import { boardOf, firmware, heapOf, noFirmwareBecause } from "./firmware_board.ts";

const DEADLINE_MS = 600_000;
/** Of one call; the board itself ends a handshake after 15 s. */
const CALL_MS = 120_000;
const RECONNECTS = Number(process.env["FIRMWARE_RECONNECTS"] ?? 12);
/** Of the heap, which the engine collects when it is 16 KiB above its least; a leak of TLS is three times this. */
const MOST_GROWTH = 48 * 1024;

const ignore = ignoreBecause(import.meta.url, await noFirmwareBecause());

rigTest(
  `${RECONNECTS} reconnects each way leave the heap of the firmware as it was`,
  async (rig) => {
    const { board, front } = await boardOf(rig, await firmware("1.2.3"), { portTls: true });
    await using _front = front;
    const host = { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" };
    await rig.saveConfig({ components: [host] });
    const program = board.start();
    rig.programs.push(program);
    await program.waitForLine(/port 8080 with TLS/, DEADLINE_MS);
    await program.waitForLine(/applied revision/, DEADLINE_MS);

    const { fqdn } = rig.bootstrapped;
    const ca = await (await fetch(`${rig.cloudUrl}/ca.pem`)).text();
    // The emulator accepts for the board, whether that answers or not.
    const call = () =>
      withDeadline(async (signal) => {
        const plain = await Deno.connect({ hostname: "127.0.0.1", port: board.port });
        using caller = await Deno.startTls(plain, { hostname: fqdn, caCerts: [ca] });
        signal.addEventListener("abort", () => caller.close());
        await caller.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
        assert.ok(await caller.read(new Uint8Array(1000)), "the board ends the connection");
        return true;
      }, { clock: systemClock, deadlineMs: CALL_MS, what: "the board's answer by TLS" });
    const reconnect = async () => {
      const before = front.opened;
      front.cut();
      await eventually(
        "the board is back",
        () => Promise.resolve(front.opened > before),
        DEADLINE_MS,
      );
    };
    const round = async () => {
      // The board takes few strangers at a time.
      await eventually("a call", call, DEADLINE_MS);
      await reconnect();
    };

    // What is made once.
    for (let n = 0; n < 3; n++) await round();
    const before = await heapOf(rig, DEADLINE_MS);
    for (let n = 0; n < RECONNECTS; n++) await round();
    const after = await heapOf(rig, DEADLINE_MS);
    process.stdout.write(
      `${RECONNECTS} reconnects each way: heap ${before} bytes before, ${after} after\n`,
    );
    assert.ok(after - before < MOST_GROWTH, `${before} bytes before, ${after} after`);
    const starts = program.lines.filter((line) => /machine-micro-server \d/.test(line));
    assert.equal(starts.length, 1, starts.join("\n"));
  },
  { ignore },
);
