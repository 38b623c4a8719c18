import assert from "node:assert/strict";
import { descendants, watchEnds } from "./process_tree.ts";
import { Program, ProgramEndedError } from "./program.ts";

const ignore = Deno.build.os === "windows"; // The programs here are shell scripts.
const shell = (script: string) =>
  Program.start({ name: "script", command: "sh", args: ["-c", script] });

Deno.test({
  name: "Program.waitForLine() finds a line that was written before and one that comes",
  ignore,
  async fn() {
    const program = shell("echo one; read x; sleep 100");
    await program.waitForLine(/^one$/, 60_000);
    const [, word] = await program.waitForLine(/^(o)ne$/, 5000);
    assert.equal(word, "o");
    await program.stop(1000);
  },
});

Deno.test({
  name: "Program.waitForLine() rejects with the last lines when the program ends",
  ignore,
  async fn() {
    const program = shell("echo broken >&2; exit 3");
    await assert.rejects(program.waitForLine(/never/, 5000), (error) => {
      assert.ok(error instanceof ProgramEndedError);
      assert.match(error.message, /script ended \(exit code 3\)\. Its last lines:\n {2}broken/);
      return true;
    });
  },
});

Deno.test({
  name: "Program.stop() ends the process and what it started, when they do not listen",
  ignore,
  async fn() {
    const program = shell(
      `trap "" TERM; setsid sh -c 'trap "" TERM; sleep 100' & echo up; wait; wait`,
    );
    await program.waitForLine(/up/, 60_000);
    const started = watchEnds(
      await waitFor(async () => {
        const found = await descendants(program.pid);
        return found.length >= 2 ? found : undefined;
      }),
    );
    await program.stop(100);
    await waitFor(() => Promise.resolve(started.running().length === 0 || undefined));
  },
});

Deno.test({
  name: "watchEnds() takes a process for gone that nobody collects",
  ignore,
  async fn() {
    // What it starts ends when it is the program that collects nobody.
    const program = shell(
      `while [ "$(cat /proc/$$/comm)" != sleep ]; do sleep 0.01; done & echo up; exec sleep 100`,
    );
    await program.waitForLine(/up/, 60_000);
    const watched = watchEnds([program.pid]);
    const ended = await waitFor(async () => {
      const found = await descendants(program.pid);
      const states = found.map((pid) => Deno.readTextFileSync(`/proc/${pid}/stat`));
      return found.length > 0 && states.every((state) => state.includes(") Z "))
        ? found
        : undefined;
    });
    assert.deepEqual(watchEnds(ended).running(), []);
    assert.deepEqual(watched.running(), [program.pid]);
    await program.stop(100);
    assert.deepEqual(watched.running(), []);
  },
});

Deno.test({
  name: "Program.exited tells the exit code of a program that ends by itself after a signal",
  ignore,
  async fn() {
    const program = shell(`trap "exit 7" TERM; echo up; while :; do sleep 0.1; done`);
    await program.waitForLine(/up/, 60_000);
    program.signal("SIGTERM");
    assert.deepEqual(await program.waitForEnd(), { code: 7, reason: "exit code 7" });
  },
});

Deno.test("Program.exited tells the reason when the program does not exist", async () => {
  const program = Program.start({ name: "ghost", command: "/nowhere/ghost" });
  assert.match((await program.waitForEnd()).reason, /could not be started: .*ENOENT/);
});

async function waitFor<T>(probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const found = await probe();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error("the condition did not come true within 60 s");
}
