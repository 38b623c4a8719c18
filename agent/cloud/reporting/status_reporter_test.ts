import assert from "node:assert/strict";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  AgentService,
  type AgentStatusSchema,
  ProgramCommand_Action as Action,
  ProgramCommandSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AgentState } from "../../state/agent_state.ts";
import { FakeCloud, settle } from "../../testing.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { Commands } from "./commands.ts";
import { StatusReporter } from "./status_reporter.ts";

function rig() {
  const cloud = new FakeCloud();
  cloud.targets = {};
  const clock = new FakeClock();
  const log = memoryLogger();
  const state = AgentState.open(":memory:");
  const done: string[] = [];
  const program = (name: string) => ({
    force: () => void done.push(`force ${name}`),
    forgetBad: (version: string) => void done.push(`forget ${name} ${version}`),
    restart: () => void done.push(`restart ${name}`),
  });
  const newCommands = () =>
    new Commands({
      db: state.database,
      programs: {
        "machine-server": program("server"),
        "machine-agent": program("agent"),
      },
      clock,
      log,
    });
  const commands = newCommands();
  const changed = new Watched(0);
  let status: MessageInitShape<typeof AgentStatusSchema> = { waitingFor: "a" };
  const reporter = new StatusReporter({
    client: cloud.connection.client(AgentService),
    partId: "part-1",
    status: () => status,
    changes: [changed],
    commands,
    clock,
    log,
    random: () => 0.5,
  });
  const stop = new AbortController();
  const running = reporter.run(stop.signal).catch(() => {});
  return {
    cloud,
    clock,
    log,
    done,
    commands,
    newCommands,
    change(next: typeof status) {
      status = next;
      changed.value++;
    },
    async pass(ms: number) {
      await settle();
      await clock.advance(ms);
      await settle();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      state.close();
    },
  };
}

Deno.test("StatusReporter reports changes soon, and slowly without one", async () => {
  await using at = rig();
  await at.pass(0);
  assert.equal(at.cloud.reports.length, 1);
  await at.pass(10_000);
  assert.equal(at.cloud.reports.length, 1);
  at.change({ waitingFor: "b" });
  at.change({ waitingFor: "c" });
  await at.pass(1_000);
  assert.deepEqual(at.cloud.reports.map(({ waitingFor }) => waitingFor), ["a", "c"]);
  at.change({ waitingFor: "c" });
  at.change({ waitingFor: "c", server: { trialUntil: timestampFromDate(new Date(1)) } });
  await at.pass(5_000);
  assert.equal(at.cloud.reports.length, 3);
  at.change({ waitingFor: "c", server: { trialUntil: timestampFromDate(new Date(2)) } });
  await at.pass(14_000);
  assert.equal(at.cloud.reports.length, 3, "only what is new is news");
  await at.pass(20_000);
  assert.equal(at.cloud.reports.length, 4);
});

Deno.test("StatusReporter reports what changed while a report was under way", async () => {
  await using at = rig();
  const { promise, resolve } = Promise.withResolvers<void>();
  at.cloud.hold = promise;
  await at.pass(0);
  at.change({ waitingFor: "b" });
  resolve();
  await at.pass(1_000);
  assert.deepEqual(at.cloud.reports.map(({ waitingFor }) => waitingFor), ["a", "b"]);
});

Deno.test("StatusReporter tries again while the cloud is away, and seldom where it takes none", async () => {
  await using at = rig();
  at.cloud.failure = Code.Unavailable;
  await at.pass(120_000);
  at.cloud.failure = undefined;
  await at.pass(60_000);
  assert(at.cloud.reports.length > 0);
  at.cloud.targets = undefined;
  at.cloud.reports.length = 0;
  await at.pass(60_000);
  at.cloud.targets = {};
  await at.pass(5 * 60_000);
  assert.equal(at.cloud.reports.length, 0);
  await at.pass(10 * 60_000);
  assert(at.cloud.reports.length > 0, "the cloud was replaced");
});

Deno.test("StatusReporter carries out commands once and tells that it did", async () => {
  await using at = rig();
  at.cloud.reportAnswer = {
    commands: [
      { id: "1", program: "machine-server", action: Action.FORCE },
      { id: "2", program: "machine-server", action: Action.FORGET_BAD, version: "1.2.3" },
      { id: "3", program: "machine-agent", action: Action.RESTART },
    ],
  };
  await at.pass(0);
  assert.deepEqual(at.done, ["force server", "forget server 1.2.3", "restart agent"]);
  await at.pass(1_000);
  assert.deepEqual(at.cloud.reports.at(-1)?.finishedCommands, ["1", "2", "3"], "soon");
  await at.pass(60_000);
  assert.equal(at.done.length, 3, "although the cloud still names them");
  assert.deepEqual(at.cloud.reports.at(-1)?.finishedCommands, [], "told once");
});

Deno.test("StatusReporter tells what was done until the cloud has heard of it", async () => {
  await using at = rig();
  at.cloud.reportAnswer = { commands: [{ id: "1", program: "machine-server", action: 3 }] };
  await at.pass(0);
  at.cloud.failure = Code.Unavailable;
  await at.pass(60_000);
  at.cloud.failure = undefined;
  at.cloud.reports.length = 0;
  await at.pass(60_000);
  assert.deepEqual(at.cloud.reports[0]?.finishedCommands, ["1"]);
});

Deno.test("Commands are carried out once, also by the next agent", async () => {
  await using at = rig();
  const restart = create(ProgramCommandSchema, {
    id: "7",
    program: "machine-agent",
    action: Action.RESTART,
  });
  at.commands.carryOut([restart]);
  const next = at.newCommands();
  next.carryOut([restart]);
  assert.deepEqual(at.done, ["restart agent"], "else the agent would restart forever");
  assert.deepEqual(next.finished(), ["7"]);
});

Deno.test("Commands report what they do not know and go on", async () => {
  await using at = rig();
  const command = (id: string, program: string, action: number) =>
    create(ProgramCommandSchema, { id, program, action });
  at.commands.carryOut([
    command("1", "toString", Action.FORCE),
    command("2", "machine-server", 99),
    command("3", "machine-server", Action.UNSPECIFIED),
    command("4", "machine-server", Action.RESTART),
  ]);
  assert.deepEqual(at.done, ["restart server"]);
  assert.equal(at.log.messages("error").length, 3);
  assert.deepEqual(at.commands.finished(), ["1", "2", "3", "4"]);
});

Deno.test("Commands keep a bounded number", async () => {
  await using at = rig();
  for (let id = 0; id < 500; id++) {
    const command = { id: `${id}`, program: "machine-server", action: Action.FORCE };
    at.commands.carryOut([create(ProgramCommandSchema, command)]);
  }
  at.commands.reported(at.commands.finished());
  assert.deepEqual(at.commands.finished(), []);
  at.commands.carryOut([
    create(ProgramCommandSchema, { id: "499", program: "machine-server", action: Action.FORCE }),
  ]);
  assert.equal(at.done.length, 500, "the newest are remembered");
});
