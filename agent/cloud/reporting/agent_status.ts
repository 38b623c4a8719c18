import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type AgentStatusSchema,
  ProgramStatus_State as State,
  type ProgramStatusSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { NetworkReport } from "../../networks/report/network_report.ts";
import type { WaitingRestart } from "../../server/restart/planned_restarts.ts";
import type { ServerState } from "../../server/supervision/state_machine.ts";
import type { ProgramSnapshot, SnapshotState } from "../../updates/updater/snapshot.ts";

/** Everything that the status is made of, at one moment. */
export interface StatusFacts {
  readonly agent: ProgramSnapshot;
  readonly server: ProgramSnapshot;
  /** Version of this process. */
  readonly agentRunning: string;
  /** Version of the server's process; empty when none runs. */
  readonly serverRunning: string;
  readonly process: ProcessFacts;
  readonly waitingRestart: WaitingRestart | undefined;
  readonly platform: string;
  readonly agentStarted: Date;
  readonly settingsProblems: readonly string[];
  readonly networks: NetworkReport;
  readonly finishedCommands: readonly string[];
}

/** How the server's process stands. */
export interface ProcessFacts {
  readonly state: ServerState["kind"];
  readonly since: Date;
  /** Failed starts and unexpected ends in a row. */
  readonly failures: number;
  readonly lastExit: string;
  readonly isHung: boolean;
  readonly isDisabled: boolean;
}

/** What is waited for, in one sentence, and since when. */
export interface WaitingFor {
  readonly text: string;
  readonly since: Date | undefined;
}

type StatusInit = MessageInitShape<typeof AgentStatusSchema>;
type ProgramInit = MessageInitShape<typeof ProgramStatusSchema>;

const STATES: Readonly<Record<SnapshotState, State>> = {
  "idle": State.IDLE,
  "downloading": State.DOWNLOADING,
  "waiting": State.WAITING,
  "installing": State.INSTALLING,
  "trial": State.TRIAL,
  "rolling-back": State.ROLLING_BACK,
  "failed": State.FAILED,
  "refused": State.REFUSED,
};

/** The status as the cloud takes it. */
export function agentStatus(facts: StatusFacts): StatusInit {
  const waiting = waitingFor(facts);
  const { process } = facts;
  return {
    agent: programStatus(facts.agent, facts.agentRunning),
    server: programStatus(facts.server, facts.serverRunning),
    waitingFor: waiting.text,
    ...at("waitingSince", waiting.since),
    platform: facts.platform,
    agentStarted: timestampFromDate(facts.agentStarted),
    serverProcess: {
      state: processState(process),
      since: timestampFromDate(process.since),
      failures: process.failures,
      lastExit: process.lastExit,
    },
    settingsProblems: [...facts.settingsProblems, ...facts.networks.problems],
    networks: {
      state: facts.networks.state,
      since: timestampFromDate(facts.networks.since),
      detail: facts.networks.detail,
      reboots: facts.networks.reboots,
    },
    finishedCommands: [...facts.finishedCommands],
  };
}

/** What the machine waits for; the oldest wait where there are several. */
export function waitingFor(
  { agent, server, waitingRestart }: Pick<StatusFacts, "agent" | "server" | "waitingRestart">,
): WaitingFor {
  const waits = [server, agent].filter(({ waitingFor }) => waitingFor !== "").map((program) => ({
    text: `${program.program} ${program.target} waits to be installed: ${program.waitingFor}`,
    since: program.waitingSince,
  }));
  if (waitingRestart) {
    const { reason, why, since } = waitingRestart;
    waits.push({ text: `machine-server waits to be restarted (${reason}): ${why}`, since });
  }
  const age = ({ since }: WaitingFor) => since?.getTime() ?? Infinity;
  return waits.sort((a, b) => age(a) - age(b))[0] ?? { text: "", since: undefined };
}

/** One word or two for people. */
export function processState({ state, isHung, isDisabled }: ProcessFacts): string {
  if (state === "stopped" && isDisabled) return "disabled";
  if (state === "running" && isHung) return "hung";
  return state === "backing-off" ? "backing off" : state;
}

function programStatus(program: ProgramSnapshot, running: string): ProgramInit {
  const { lastRollback } = program;
  return {
    installed: program.installed,
    running,
    target: program.target,
    previous: program.previous,
    state: STATES[program.state],
    bytesDownloaded: BigInt(program.bytesDownloaded),
    totalBytes: BigInt(program.totalBytes),
    error: program.error,
    ...at("lastChanged", program.lastChanged),
    waitingFor: program.waitingFor,
    ...at("waitingSince", program.waitingSince),
    bad: program.bad.map(({ at, ...bad }) => ({ ...bad, at: timestampFromDate(at) })),
    ...(lastRollback
      ? { lastRollback: { ...lastRollback, at: timestampFromDate(lastRollback.at) } }
      : {}),
    ...at("trialUntil", program.trialUntil),
  };
}

function at<Name extends string>(name: Name, date: Date | undefined) {
  return (date ? { [name]: timestampFromDate(date) } : {}) as {
    [N in Name]?: ReturnType<typeof timestampFromDate>;
  };
}
