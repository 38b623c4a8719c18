import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { beginTrial, endTrial, readTrial, writeRollback } from "../guard/trial_file.ts";
import { AgentState } from "../../state/agent_state.ts";
import { AgentSlot } from "./agent_slot.ts";
import { versionOf } from "./found_version.ts";
import { programLink } from "./program_link.ts";
import { type Candidate, newRecord, type ProgramRecord, type UpdateState } from "./record.ts";
import type { UpdateEvent } from "./update_machine.ts";

const at = new Date("2026-01-02T03:04:05Z");

/** The agent's folder, as the process of one of its versions sees it. */
class SlotBench implements AsyncDisposable {
  readonly a: string;
  readonly b: string;
  readonly restarts: string[] = [];
  readonly #state: AgentState;

  private constructor(readonly dir: string) {
    this.a = join(dir, "cache", "machine-agent-1.0.0-aaaaaaaaaaaa");
    this.b = join(dir, "cache", "machine-agent-1.1.0-bbbbbbbbbbbb");
    this.#state = AgentState.open(join(dir, "agent.db"));
  }

  static async create(): Promise<SlotBench> {
    const dir = await Deno.makeTempDir({ prefix: "agent-slot-" });
    for (const name of ["bin", "cache", "etc"]) await Deno.mkdir(join(dir, name));
    const bench = new SlotBench(dir);
    for (const path of [bench.a, bench.b]) await Deno.writeTextFile(path, "", { mode: 0o755 });
    await bench.link.turn(bench.a);
    return bench;
  }

  get link() {
    return programLink(join(this.dir, "bin"), "machine-agent");
  }

  slot(running: "a" | "b" | undefined): AgentSlot {
    return new AgentSlot({
      dir: this.dir,
      link: this.link,
      control: {
        runningPath: running && this[running],
        version: running === "b" ? "1.1.0" : "1.0.0",
        problem: undefined,
        healthy: () => ({ is: "yes", why: "" }),
        reachesCloud: () => true,
        restart: (reason) => this.restarts.push(reason),
      },
      databases: [join(this.dir, "agent.db")],
      log: memoryLogger(),
    });
  }

  get candidate(): Candidate {
    const installed = versionOf(this.b);
    return { target: { version: "1.1.0", url: "https://c/b", sha256: "b".repeat(64) }, installed };
  }

  record(state: UpdateState): ProgramRecord {
    const current = versionOf(state.kind === "committing" ? this.b : this.a);
    return { ...newRecord(current, at), previous: undefined, state };
  }

  get trial(): UpdateState {
    const numbers = { failures: 0, healthyMs: 0, interruptions: 0 };
    return { kind: "trial", candidate: this.candidate, cloudBefore: true, ...numbers };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state.close();
    await Deno.remove(this.dir, { recursive: true });
  }
}

function test(name: string, body: (bench: SlotBench) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using bench = await SlotBench.create();
      await body(bench);
    },
  });
}

const types = (events: readonly UpdateEvent[]) => events.map(({ type }) => type);

test("AgentSlot swap() leaves all that the guard needs, then asks for the restart", async (bench) => {
  const slot = bench.slot("a");
  const { candidate } = bench;
  await slot.swap(candidate, versionOf(bench.a));
  assert.equal(await bench.link.read(), bench.b);
  const trial = await readTrial(bench.dir);
  assert(typeof trial === "object");
  assert.deepEqual([trial.trial, trial.previous, trial.starts], [bench.b, bench.a, 0]);
  assert.equal(await Deno.readLink(join(bench.dir, "bin", "machine-agent-previous")), bench.a);
  assert.equal((await Deno.stat(join(bench.dir, "agent.db.before-1.1.0"))).isFile, true);
  assert.equal(slot.beginTrial(candidate), "elsewhere");
  assert.deepEqual(bench.restarts, ["machine-agent 1.1.0 is tried"]);
  assert.equal(bench.slot("b").beginTrial(candidate), "here");
});

test("AgentSlot swap() does nothing while it is not known what runs", async (bench) => {
  await assert.rejects(bench.slot(undefined).swap(bench.candidate, undefined), /not known/);
  assert.equal(await bench.link.read(), bench.a);
});

test("AgentSlot resume() goes back to before when the swap was cut short", async (bench) => {
  await beginTrial(bench.dir, { trial: bench.b, previous: bench.a });
  const swapping = { kind: "swapping", candidate: bench.candidate, cloudBefore: true } as const;
  assert.deepEqual(types(await bench.slot("a").resume(bench.record(swapping))), ["resumed"]);
  assert.equal(await readTrial(bench.dir), undefined);
  assert.equal(await bench.link.read(), bench.a);
});

test("AgentSlot resume() takes up the trial when the new agent was started", async (bench) => {
  await bench.slot("a").swap(bench.candidate, versionOf(bench.a));
  const swapping = { kind: "swapping", candidate: bench.candidate, cloudBefore: true } as const;
  assert.deepEqual(types(await bench.slot("b").resume(bench.record(swapping))), ["swapped"]);
  assert.deepEqual(types(await bench.slot("b").resume(bench.record(bench.trial))), []);
  assert(await readTrial(bench.dir), "the guard goes on watching");
});

test("AgentSlot resume() tells what the guard has written, whatever the record says", async (bench) => {
  const { candidate } = bench;
  const states: UpdateState[] = [
    { kind: "idle" },
    { kind: "swapping", candidate, cloudBefore: true },
    bench.trial,
    { kind: "committing", candidate },
    { kind: "rolling-back", candidate, reason: "x" },
  ];
  await writeRollback(bench.dir, { from: bench.b, to: bench.a, reason: "it crashed", at });
  for (const state of states) {
    const events = await bench.slot("a").resume(bench.record(state));
    assert.deepEqual(events, [{ type: "was-rolled-back", path: bench.b, reason: "it crashed" }]);
  }
  // Cut off between the note and the link: the new agent runs on, and continues with its way back.
  const rollingBack = { kind: "rolling-back", candidate, reason: "x" } as const;
  assert.deepEqual(await bench.slot("b").resume(bench.record(rollingBack)), []);
});

test("AgentSlot resume() marks a version bad that somebody replaced without a word", async (bench) => {
  const { candidate } = bench;
  for (const state of [bench.trial, { kind: "committing", candidate } as const]) {
    const events = await bench.slot("a").resume(bench.record(state));
    assert.deepEqual(types(events), ["was-rolled-back"]);
  }
});

test("AgentSlot resume() adopts an agent that was installed by hand", async (bench) => {
  const events = await bench.slot("b").resume(bench.record({ kind: "idle" }));
  assert.deepEqual(events, [{
    type: "adopted",
    installed: { ...versionOf(bench.b), version: "1.1.0" },
  }]);
  assert.deepEqual(await bench.slot("a").resume(bench.record({ kind: "idle" })), []);
});

test("AgentSlot resume() finds a trial of which the record was lost", async (bench) => {
  await bench.slot("a").swap(bench.candidate, versionOf(bench.a));
  const events = await bench.slot("b").resume(newRecord(versionOf(bench.b), at));
  assert.deepEqual(types(events), ["on-trial"]);
  assert(events[0]?.type === "on-trial");
  assert.equal(events[0].previous.path, bench.a);
});

test("AgentSlot resume() ends a trial that was never begun", async (bench) => {
  await beginTrial(bench.dir, { trial: bench.b, previous: bench.a });
  assert.deepEqual(await bench.slot("a").resume(bench.record({ kind: "idle" })), []);
  assert.equal(await readTrial(bench.dir), undefined);
});

test("AgentSlot commit() ends the guard's watch and drops the copy", async (bench) => {
  await bench.slot("a").swap(bench.candidate, versionOf(bench.a));
  await bench.slot("b").commit();
  await bench.slot("b").commit();
  assert.equal(await readTrial(bench.dir), undefined);
  await assert.rejects(Deno.stat(join(bench.dir, "agent.db.before-1.1.0")));
  assert.equal(await bench.link.read(), bench.b);
});

test("AgentSlot leaveTrial() takes back the start that the guard counted", async (bench) => {
  await bench.slot("a").swap(bench.candidate, versionOf(bench.a));
  const path = join(bench.dir, "etc", "agent-trial");
  const counted = (await Deno.readTextFile(path)).replace("starts=0", "starts=1");
  await Deno.writeTextFile(path, counted);
  await bench.slot("b").leaveTrial();
  const trial = await readTrial(bench.dir);
  assert(typeof trial === "object" && trial.starts === 0);
  await endTrial(bench.dir);
  await bench.slot("b").leaveTrial();
});
