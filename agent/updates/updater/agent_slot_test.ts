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
class SlotRig implements AsyncDisposable {
  readonly a: string;
  readonly b: string;
  readonly restarts: string[] = [];
  readonly #state: AgentState;

  private constructor(readonly dir: string) {
    this.a = join(dir, "cache", "machine-agent-1.0.0-aaaaaaaaaaaa");
    this.b = join(dir, "cache", "machine-agent-1.1.0-bbbbbbbbbbbb");
    this.#state = AgentState.open(join(dir, "agent.db"));
  }

  static async create(): Promise<SlotRig> {
    const dir = await Deno.makeTempDir({ prefix: "agent-slot-" });
    for (const name of ["bin", "cache", "etc"]) await Deno.mkdir(join(dir, name));
    const rig = new SlotRig(dir);
    for (const path of [rig.a, rig.b]) await Deno.writeTextFile(path, "", { mode: 0o755 });
    await rig.link.turn(rig.a);
    return rig;
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

function test(name: string, body: (rig: SlotRig) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using rig = await SlotRig.create();
      await body(rig);
    },
  });
}

const types = (events: readonly UpdateEvent[]) => events.map(({ type }) => type);

test("AgentSlot swap() leaves all that the guard needs, then asks for the restart", async (rig) => {
  const slot = rig.slot("a");
  const { candidate } = rig;
  await slot.swap(candidate, versionOf(rig.a));
  assert.equal(await rig.link.read(), rig.b);
  const trial = await readTrial(rig.dir);
  assert(typeof trial === "object");
  assert.deepEqual([trial.trial, trial.previous, trial.starts], [rig.b, rig.a, 0]);
  assert.equal(await Deno.readLink(join(rig.dir, "bin", "machine-agent-previous")), rig.a);
  assert.equal((await Deno.stat(join(rig.dir, "agent.db.before-1.1.0"))).isFile, true);
  assert.equal(slot.beginTrial(candidate), "elsewhere");
  assert.deepEqual(rig.restarts, ["machine-agent 1.1.0 is tried"]);
  assert.equal(rig.slot("b").beginTrial(candidate), "here");
});

test("AgentSlot swap() does nothing while it is not known what runs", async (rig) => {
  await assert.rejects(rig.slot(undefined).swap(rig.candidate, undefined), /not known/);
  assert.equal(await rig.link.read(), rig.a);
});

test("AgentSlot resume() goes back to before when the swap was cut short", async (rig) => {
  await beginTrial(rig.dir, { trial: rig.b, previous: rig.a });
  const swapping = { kind: "swapping", candidate: rig.candidate, cloudBefore: true } as const;
  assert.deepEqual(types(await rig.slot("a").resume(rig.record(swapping))), ["resumed"]);
  assert.equal(await readTrial(rig.dir), undefined);
  assert.equal(await rig.link.read(), rig.a);
});

test("AgentSlot resume() takes up the trial when the new agent was started", async (rig) => {
  await rig.slot("a").swap(rig.candidate, versionOf(rig.a));
  const swapping = { kind: "swapping", candidate: rig.candidate, cloudBefore: true } as const;
  assert.deepEqual(types(await rig.slot("b").resume(rig.record(swapping))), ["swapped"]);
  assert.deepEqual(types(await rig.slot("b").resume(rig.record(rig.trial))), []);
  assert(await readTrial(rig.dir), "the guard goes on watching");
});

test("AgentSlot resume() tells what the guard has written, whatever the record says", async (rig) => {
  const { candidate } = rig;
  const states: UpdateState[] = [
    { kind: "idle" },
    { kind: "swapping", candidate, cloudBefore: true },
    rig.trial,
    { kind: "committing", candidate },
    { kind: "rolling-back", candidate, reason: "x" },
  ];
  await writeRollback(rig.dir, { from: rig.b, to: rig.a, reason: "it crashed", at });
  for (const state of states) {
    const events = await rig.slot("a").resume(rig.record(state));
    assert.deepEqual(events, [{ type: "was-rolled-back", path: rig.b, reason: "it crashed" }]);
  }
  // Cut off between the note and the link: the new agent runs on, and continues with its way back.
  const rollingBack = { kind: "rolling-back", candidate, reason: "x" } as const;
  assert.deepEqual(await rig.slot("b").resume(rig.record(rollingBack)), []);
});

test("AgentSlot resume() marks a version bad that somebody replaced without a word", async (rig) => {
  const { candidate } = rig;
  for (const state of [rig.trial, { kind: "committing", candidate } as const]) {
    const events = await rig.slot("a").resume(rig.record(state));
    assert.deepEqual(types(events), ["was-rolled-back"]);
  }
});

test("AgentSlot resume() adopts an agent that was installed by hand", async (rig) => {
  const events = await rig.slot("b").resume(rig.record({ kind: "idle" }));
  assert.deepEqual(events, [{
    type: "adopted",
    installed: { ...versionOf(rig.b), version: "1.1.0" },
  }]);
  assert.deepEqual(await rig.slot("a").resume(rig.record({ kind: "idle" })), []);
});

test("AgentSlot resume() finds a trial of which the record was lost", async (rig) => {
  await rig.slot("a").swap(rig.candidate, versionOf(rig.a));
  const events = await rig.slot("b").resume(newRecord(versionOf(rig.b), at));
  assert.deepEqual(types(events), ["on-trial"]);
  assert(events[0]?.type === "on-trial");
  assert.equal(events[0].previous.path, rig.a);
});

test("AgentSlot resume() ends a trial that was never begun", async (rig) => {
  await beginTrial(rig.dir, { trial: rig.b, previous: rig.a });
  assert.deepEqual(await rig.slot("a").resume(rig.record({ kind: "idle" })), []);
  assert.equal(await readTrial(rig.dir), undefined);
});

test("AgentSlot commit() ends the guard's watch and drops the copy", async (rig) => {
  await rig.slot("a").swap(rig.candidate, versionOf(rig.a));
  await rig.slot("b").commit();
  await rig.slot("b").commit();
  assert.equal(await readTrial(rig.dir), undefined);
  await assert.rejects(Deno.stat(join(rig.dir, "agent.db.before-1.1.0")));
  assert.equal(await rig.link.read(), rig.b);
});

test("AgentSlot leaveTrial() takes back the start that the guard counted", async (rig) => {
  await rig.slot("a").swap(rig.candidate, versionOf(rig.a));
  const path = join(rig.dir, "etc", "agent-trial");
  const counted = (await Deno.readTextFile(path)).replace("starts=0", "starts=1");
  await Deno.writeTextFile(path, counted);
  await rig.slot("b").leaveTrial();
  const trial = await readTrial(rig.dir);
  assert(typeof trial === "object" && trial.starts === 0);
  await endTrial(rig.dir);
  await rig.slot("b").leaveTrial();
});
