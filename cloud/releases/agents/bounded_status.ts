import { create } from "@bufbuild/protobuf";
import {
  type AgentStatus,
  AgentStatusSchema,
  type ProgramStatus,
  ProgramStatusSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { Redactor } from "../../../shared/base/redaction/redactor.ts";
import { withoutSecrets } from "../catalogue/selectors.ts";

const redactor = new Redactor();
const LONGEST_TEXT = 1_000;
const MOST_BAD = 20;
const MOST_PROBLEMS = 50;

/**
 * A status as the cloud keeps it: a machine may send anything, and everybody who sees the machine
 * sees its status. Texts and lists end at some length, and addresses have no secrets.
 */
export function bounded(status: AgentStatus): AgentStatus {
  const kept = create(AgentStatusSchema, {
    waitingFor: short(status.waitingFor),
    platform: short(status.platform),
    settingsProblems: status.settingsProblems.slice(0, MOST_PROBLEMS).map(short),
  });
  if (status.agent) kept.agent = boundedProgram(status.agent);
  if (status.server) kept.server = boundedProgram(status.server);
  if (status.waitingSince) kept.waitingSince = status.waitingSince;
  if (status.agentStarted) kept.agentStarted = status.agentStarted;
  if (status.serverProcess) {
    const { state, lastExit } = status.serverProcess;
    kept.serverProcess = {
      ...status.serverProcess,
      state: short(state),
      lastExit: short(lastExit),
    };
  }
  if (status.networks) {
    const { state, detail } = status.networks;
    kept.networks = { ...status.networks, state: short(state), detail: short(detail) };
  }
  return kept;
}

function boundedProgram(status: ProgramStatus): ProgramStatus {
  const kept = create(ProgramStatusSchema, {
    installed: version(status.installed),
    running: version(status.running),
    target: version(status.target),
    previous: version(status.previous),
    state: status.state,
    bytesDownloaded: status.bytesDownloaded,
    totalBytes: status.totalBytes,
    error: short(status.error),
    waitingFor: short(status.waitingFor),
    bad: status.bad.slice(-MOST_BAD).map((bad) => ({
      ...bad,
      version: version(bad.version),
      reason: short(bad.reason),
    })),
  });
  if (status.lastChanged) kept.lastChanged = status.lastChanged;
  if (status.waitingSince) kept.waitingSince = status.waitingSince;
  if (status.trialUntil) kept.trialUntil = status.trialUntil;
  if (status.lastRollback) {
    const { from, to, reason } = status.lastRollback;
    kept.lastRollback = {
      ...status.lastRollback,
      from: version(from),
      to: version(to),
      reason: short(reason),
    };
  }
  return kept;
}

function version(text: string): string {
  return short(withoutSecrets(text));
}

function short(given: string): string {
  const text = redactor.text(given);
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`;
}
