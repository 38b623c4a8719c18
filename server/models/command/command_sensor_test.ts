import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { join } from "node:path";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { UntrustedError } from "../environment.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { commandSensorModel } from "./command_model.ts";

const ignore = Deno.build.os === "windows";

function build(attributes: JsonObject, overrides = {}): Promise<Sensor> {
  return construct<Sensor, unknown>(commandSensorModel(testEnvironment(overrides)), attributes);
}

function shell(script: string, more: JsonObject = {}, overrides = {}): Promise<Sensor> {
  return build({ program: "/bin/sh", args: ["-c", script], ...more }, overrides);
}

async function read(sensor: Sensor, signal?: AbortSignal) {
  return await sensor.getReadings(undefined, testCall(signal));
}

async function problem(sensor: Sensor): Promise<string> {
  try {
    const readings = await read(sensor);
    throw new Error(`it read ${JSON.stringify(readings)}`);
  } catch (error) {
    return (error as Error).message;
  } finally {
    await sensor.close?.();
  }
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

test("commandSensorModel() reads the JSON object that the program prints", async () => {
  const sensor = await shell('echo "{\\"folder\\": \\"$PWD\\", \\"mine\\": \\"$MINE\\"}"', {
    cwd: "/",
    env: { MINE: "yes" },
  });
  assert.deepEqual(await read(sensor), { folder: "/", mine: "yes" });
  await sensor.close?.();
});

test("commandSensorModel() gives the program the server's variables beside its own", async () => {
  const script = 'echo "{\\"a\\": \\"$A\\", \\"b\\": \\"$B\\", \\"home\\": \\"$HOME\\"}"';
  const sensor = await shell(script, { env: { B: "own" } }, {
    variables: () => ({ A: "server", B: "server", PATH: "/usr/bin:/bin" }),
  });
  assert.deepEqual(await read(sensor), { a: "server", b: "own", home: "" });
});

test("commandSensorModel() follows the path into what is printed", async () => {
  const script = `echo '{"rooms": [{"temperature": 21.5, "ok": true}]}'`;
  assert.deepEqual(await read(await shell(script, { path: "rooms[0]" })), {
    temperature: 21.5,
    ok: true,
  });
  assert.deepEqual(await read(await shell(script, { path: "rooms[0].temperature" })), {
    temperature: 21.5,
  });
  assert.match(
    await problem(await shell(script, { path: "rooms[1]" })),
    /^the output of \/bin\/sh has nothing at rooms\[1\]: it is "\{/,
  );
});

test("commandSensorModel() reads named groups of a pattern, numbers as numbers", async () => {
  const sensor = await shell("echo 'up 3 days'; echo 'temp=+48.5C fan=low'", {
    pattern: "temp=(?P<celsius>[+-]?[0-9.]+)C fan=(?<fan>\\w+)( (?P<extra>x))?",
  });
  assert.deepEqual(await read(sensor), { celsius: 48.5, fan: "low" });
  assert.match(
    await problem(await shell("echo nothing", { pattern: "temp=(?P<celsius>.*)" })),
    /does not match the pattern: it is "nothing"/,
  );
});

test("commandSensorModel() takes linear time when the output is made to stall patterns", async () => {
  const sensor = await shell("head -c 100000 /dev/zero | tr '\\0' a", {
    pattern: "(?P<x>(a+)+)$b",
  });
  // A regular expression that goes back would not end.
  assert.match(await problem(sensor), /does not match the pattern/);
});

test("commandSensorModel() refuses patterns that give no readings", async () => {
  const refused = (attributes: JsonObject, expected: RegExp) =>
    assert.rejects(shell("true", attributes), (error) => {
      assert(error instanceof AttributeError);
      assert.match(error.message, expected);
      return true;
    });
  await refused({ pattern: "(" }, /^attributes\.pattern: found "\(" \(.*\), allowed: a regular/);
  await refused(
    { pattern: "(a)" },
    /^attributes\.pattern: found "\(a\)", allowed: .* named groups/,
  );
  await refused({ pattern: "(?P<a>b)", path: "a" }, /^attributes\.path: found "a" next to pattern/);
  await refused({ path: "a..b" }, /^attributes\.path: found "a\.\.b", allowed: a path into JSON/);
  await refused({ timeout: "1h" }, /^attributes\.timeout: found "1h", allowed: a duration from/);
});

test("commandSensorModel() tells code and last lines when the program fails", async () => {
  const script = "for i in 1 2 3 4 5 6; do echo line $i >&2; done; echo '{}'; exit 3";
  assert.equal(
    await problem(await shell(script)),
    "/bin/sh exited with code 3; its output: line 2 | line 3 | line 4 | line 5 | line 6",
  );
  assert.match(
    await problem(await build({ program: "/no/such" })),
    /start \/no\/such: .*not exist/,
  );
  assert.match(await problem(await shell("echo '[1]'")), /is no JSON object: it is "\[1\]"/);
  assert.match(await problem(await shell("echo hi")), /is no JSON: it is "hi"/);
  assert.match(await problem(await shell("true")), /is no JSON: it is empty/);
});

test("commandSensorModel() ends a program that prints without end", async () => {
  const message = await problem(await shell("yes"));
  assert.equal(message, "/bin/sh printed more than 131072 bytes");
});

test("commandSensorModel() takes one long line whole", async () => {
  const text = "€".repeat(40_000);
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(join(folder, "out"), JSON.stringify({ text }));
    const sensor = await build({ program: "cat", args: [join(folder, "out")] });
    assert.equal((await read(sensor))["text"], text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("commandSensorModel() ends program and children when it takes too long", async () => {
  const sensor = await shell("sleep 61.7 & sleep 61.7", { timeout: "300ms" });
  assert.equal(await problem(sensor), "/bin/sh did not exit within 300ms and was terminated");
  assert.equal(await running("61.7"), 0);
});

test("commandSensorModel() ends the program when its caller leaves", async () => {
  const sensor = await shell("exec sleep 62.3", { timeout: "10m" });
  const caller = new AbortController();
  const reading = read(sensor, caller.signal);
  await waitFor(async () => await running("62.3") === 1, { deadlineMs: 60_000 });
  caller.abort(new Error("left"));
  await assert.rejects(reading, /left/);
  await waitFor(async () => await running("62.3") === 0, { deadlineMs: 60_000 });
});

test("commandSensorModel() has ended the program when its close resolves", async () => {
  const sensor = await shell("trap '' TERM; sleep 63.9; true", { timeout: "10m" });
  const reading = read(sensor);
  reading.catch(() => {});
  await waitFor(async () => await running("63.9") === 1, { deadlineMs: 60_000 });
  await sensor.close?.();
  assert.equal(await running("63.9"), 0);
  await assert.rejects(reading, /the resource was closed/);
  await assert.rejects(read(sensor), /is closed/);
});

test("commandSensorModel() runs once for all who read at the same time, and again later", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const clock = new FakeClock();
    const sensor = await shell(
      `echo x >> ${folder}/runs; echo "{\\"runs\\": $(wc -l < ${folder}/runs)}"`,
      { min_interval: "5s" },
      { clock },
    );
    const [first, second] = await Promise.all([read(sensor), read(sensor)]);
    assert.deepEqual([first, second], [{ runs: 1 }, { runs: 1 }]);
    await clock.advance(4_999);
    assert.deepEqual(await read(sensor), { runs: 1 });
    await clock.advance(1);
    assert.deepEqual(await read(sensor), { runs: 2 });
    await sensor.close?.();
    assert.equal(clock.pendingTimers, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("commandSensorModel() refuses to be built when the environment is untrusted", async () => {
  await assert.rejects(build({ program: "true" }, { untrusted: true }), (error) => {
    assert(error instanceof UntrustedError);
    assert.match(error.message, /^the command sensor is switched off: .*-untrusted-env/);
    return true;
  });
});

/** How many `sleep`s of that length run. */
async function running(seconds: string): Promise<number> {
  let count = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (line === `sleep\0${seconds}\0`) count++;
  }
  return count;
}
