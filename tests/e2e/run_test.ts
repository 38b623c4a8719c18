import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensurePythonSdk } from "./python_sdk.ts";
import { descendants, watchEnds } from "./process_tree.ts";
import { Program } from "./program.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { eventually } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const MAIN = fileURLToPath(new URL("../../tools/run/main.ts", import.meta.url));
/** Longer than make run itself waits, so that a failure comes with its reason. */
const START_MS = 400_000;

Deno.test("make run prints lines that work: Python changes a reading, curl shows it, Ctrl-C ends all", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-run-" });
  const port = freePort(2);
  const run = start([], port, dir);
  try {
    await run.waitForLine(/^Ctrl-C stops everything/, START_MS);
    const guide = run.lines.join("\n");
    const { pythonLines, curlLines } = readGuide(guide);
    assert.equal(pythonLines.length, 3, guide);
    assert.equal(curlLines.length, 2, guide);

    const link = /http:\S+\/account\/link#(\w+)$/m.exec(guide);
    const signedIn = await fetch(`http://127.0.0.1:${port}/account/session`, {
      signal: AbortSignal.timeout(60_000),
      method: "POST",
      headers: { "content-type": "application/json", origin: `http://127.0.0.1:${port}` },
      body: JSON.stringify({ link: link?.[1] }),
    });
    assert.equal(signedIn.status, 200, `${guide}: ${await signedIn.text()}`);

    const host = await runLines("sh", ["-s"], curlLines);
    assert.match(host, /cpu/i);
    await runLines(await ensurePythonSdk(), ["-m", "asyncio"], pythonLines);
    const read = curlLines.map((line) => line.replace('"host"', '"greenhouse"'));
    await eventually("curl shows the reading that Python set", async () => {
      return (await runLines("sh", ["-s"], read)).includes("24.5");
    });

    const check = start(["--check"], freePort(2), join(dir, "second"));
    const { code } = await check.waitForEnd(START_MS);
    assert.equal(code, 0, check.tail());
    const reading: unknown = JSON.parse(check.lines.at(-1) ?? "");
    assert.ok(typeof reading === "object" && reading !== null && Object.keys(reading).length >= 5);

    const started = watchEnds(await descendants(run.pid));
    assert.ok(started.running().length >= 3, "cloud, agent and server run below make run");
    run.signal("SIGINT");
    assert.equal((await run.waitForEnd()).code, 0, run.tail());
    await gone(started);

    const again = start(["--check"], port, dir);
    assert.equal((await again.waitForEnd(START_MS)).code, 0, again.tail());
  } finally {
    await run.stop(5_000);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("make run starts cleanly after one that was killed, on the same ports", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-run-" });
  const port = freePort(2);
  const killed = start([], port, dir);
  try {
    await killed.waitForLine(/^Ctrl-C stops everything/, START_MS);
    const left = watchEnds(await descendants(killed.pid));
    killed.signal("SIGKILL");
    await killed.waitForEnd();
    assert.ok(left.running().length > 0, "nothing was left behind, so this test shows nothing");

    const again = start(["--check"], port, dir);
    assert.equal((await again.waitForEnd(START_MS)).code, 0, again.tail());
    await gone(left);
  } finally {
    await killed.stop(0);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("make run refuses a folder that another one uses", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-run-" });
  const first = start([], freePort(2), dir);
  try {
    await first.waitForLine(/^Ctrl-C stops everything/, START_MS);
    const second = start([], freePort(2), dir);
    assert.equal((await second.waitForEnd()).code, 1);
    assert.match(second.lines.join("\n"), /Another make run uses .*MACHINE_DEV_DIR=/);
  } finally {
    await first.stop(10_000);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("make run ends with one line that names the port when it is taken", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-run-" });
  const port = freePort(2);
  const holder = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  holder.listen({ host: "127.0.0.1", port: port + 1 }, () => resolve());
  await promise;
  try {
    const run = start([], port, dir);
    assert.equal((await run.waitForEnd()).code, 1);
    assert.equal(run.lines.length, 1, run.tail());
    assert.match(run.lines[0] ?? "", new RegExp(`Port ${port + 1}.*in use.*PORT=`));
  } finally {
    holder.close();
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("make run says what ended, with its last lines, when the cloud dies", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-run-" });
  const run = start([], freePort(2), dir);
  try {
    await run.waitForLine(/^Ctrl-C stops everything/, START_MS);
    for (const pid of await descendants(run.pid)) {
      const command = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
      if (/machine-cloud|cloud\/main\.ts/.test(command)) Deno.kill(pid, "SIGKILL");
    }
    assert.equal((await run.waitForEnd()).code, 1);
    assert.match(run.lines.join("\n"), /machine-cloud was terminated by SIGKILL/);
  } finally {
    await run.stop(5_000);
    await Deno.remove(dir, { recursive: true });
  }
});

function start(args: string[], port: number, dir: string): Program {
  return Program.start({
    name: "make run",
    command: Deno.execPath(),
    args: ["run", "-A", "--no-check", MAIN, ...args],
    env: { PORT: String(port), MACHINE_DEV_DIR: dir },
  });
}

/** The lines that the guide offers to copy: indented by six spaces, below points 2 and 3. */
function readGuide(guide: string): { pythonLines: string[]; curlLines: string[] } {
  const [, python = "", curl = ""] = guide.split(/^[23]\. /m);
  const offered = (text: string) =>
    text.split("\n").filter((line) => line.startsWith("      ")).map((line) => line.trim());
  return { pythonLines: offered(python), curlLines: offered(curl) };
}

/** Gives lines to an interpreter as if somebody pasted them. */
async function runLines(command: string, args: string[], lines: string[]): Promise<string> {
  const { code, stdout, stderr } = await runToEnd(command, {
    args,
    input: lines.join("\n") + "\n",
  });
  const errors = new TextDecoder().decode(stderr);
  assert.equal(code, 0, errors);
  assert.doesNotMatch(errors, /Traceback/);
  return new TextDecoder().decode(stdout);
}

/** Processes that a program has for its work end once they notice that it has gone. */
async function gone(processes: ReturnType<typeof watchEnds>): Promise<void> {
  await eventually("the processes end", () => Promise.resolve(processes.running().length === 0));
}
