import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentStatus,
  type ProgramStatus,
  ProgramStatus_State,
  type Target,
} from "../../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { duration } from "../../../design/times.ts";
import { bytes } from "../../../design/values.ts";
import { common } from "../../../texts/common.ts";
import { machine as words } from "../../../texts/machine.ts";
import type { Text, Values } from "../../../texts/text.ts";
import { versionText } from "../version_text.ts";

/** A text and what fills it. */
export type Said = readonly [text: Text, values?: Values];

/** A sentence about a program, and how it is meant. */
export interface Note {
  readonly said: Said;
  readonly kind: "problem" | "soft" | "plain";
}

/** One program of a machine: what is installed, runs and should run, and how far its update is. */
export interface ProgramView {
  readonly installed: Said;
  readonly running: Said;
  readonly wanted: Said;
  /** Undefined: there is nothing to say. */
  readonly step: Said | undefined;
  readonly notes: readonly Note[];
}

const verbatim = (text: string): Said => [words.verbatim, { text }];

/**
 * @param status what the agent reported; undefined: nothing
 * @param target what the cloud wants
 */
export function programView(
  status: ProgramStatus | undefined,
  target: Target | undefined,
  nowMs: number,
): ProgramView {
  const installed = status?.installed ?? "";
  const running = status?.running ?? "";
  return {
    installed: installed === "" ? [common.unknown] : verbatim(versionText(installed)),
    running: running !== ""
      ? verbatim(versionText(running))
      : [installed === "" ? common.unknown : words.notRunning],
    wanted: wantedText(target),
    step: stepText(status, target),
    notes: notesOf(status, target, nowMs),
  };
}

/** What the whole machine waits for, and what is wrong with its agent's settings. */
export function machineNotes(agent: AgentStatus | undefined, nowMs: number): Note[] {
  if (!agent) return [];
  const notes: Note[] = [];
  if (agent.waitingFor !== "") notes.push(waiting(agent.waitingFor, agent.waitingSince, nowMs));
  const server = agent.serverProcess;
  if (server && server.state !== "" && server.state !== "running") {
    const { state } = server;
    const since = spanSince(server.since, nowMs);
    notes.push({
      said: since === undefined
        ? [words.serverIs, { state }]
        : [words.serverIsSince, { state, time: since }],
      kind: "problem",
    });
    if (server.failures > 0) {
      notes.push({ said: [words.serverFailures, { n: server.failures }], kind: "problem" });
    }
    if (server.lastExit !== "") {
      notes.push({ said: [words.lastExit, { how: server.lastExit }], kind: "problem" });
    }
  }
  for (const what of agent.settingsProblems) {
    notes.push({ said: [words.settings, { what }], kind: "problem" });
  }
  return notes;
}

function wantedText(target: Target | undefined): Said {
  const { version = "", asked = "", pinned = false } = target ?? {};
  if (version === "") return asked === "" ? [words.nothing] : [words.askedNothing, { asked }];
  if (version === "customURL") return verbatim(versionText(`customURL+${asked}`));
  return pinned || asked === "" ? verbatim(version) : [words.wantedAs, { version, asked }];
}

const STEPS: Readonly<Partial<Record<ProgramStatus_State, Text>>> = {
  [ProgramStatus_State.IDLE]: words.upToDate,
  [ProgramStatus_State.WAITING]: words.ready2,
  [ProgramStatus_State.INSTALLING]: words.installing,
  [ProgramStatus_State.TRIAL]: words.trial,
  [ProgramStatus_State.ROLLING_BACK]: words.rollingBack,
  [ProgramStatus_State.FAILED]: words.failed,
  [ProgramStatus_State.REFUSED]: words.refused,
};

function stepText(status: ProgramStatus | undefined, target: Target | undefined): Said | undefined {
  const state = status?.state ?? ProgramStatus_State.UNSPECIFIED;
  if (state === ProgramStatus_State.UNSPECIFIED) {
    const wanted = target?.version ?? "";
    return wanted === "" || wanted === status?.installed ? undefined : [common.unknown];
  }
  if (state === ProgramStatus_State.DOWNLOADING) {
    const done = bytes(Number(status?.bytesDownloaded ?? 0n));
    const all = Number(status?.totalBytes ?? 0n);
    return all > 0
      ? [words.downloadingOf, { done, all: bytes(all) }]
      : [words.downloading, { done }];
  }
  return [STEPS[state] ?? common.unknown];
}

function notesOf(
  status: ProgramStatus | undefined,
  target: Target | undefined,
  nowMs: number,
): Note[] {
  const notes: Note[] = [];
  if (target?.problem) notes.push({ said: verbatim(sentence(target.problem)), kind: "problem" });
  if (target?.heldBack) notes.push({ said: verbatim(sentence(target.heldBack)), kind: "soft" });
  if (!status) return notes;
  if (status.error) notes.push({ said: verbatim(sentence(status.error)), kind: "problem" });
  if (status.waitingFor) notes.push(waiting(status.waitingFor, status.waitingSince, nowMs));
  if (status.state === ProgramStatus_State.TRIAL && status.trialUntil) {
    const left = (timestampMs(status.trialUntil) - nowMs) / 1000;
    if (left > 0) notes.push({ said: [words.trusted, { time: duration(left) }], kind: "soft" });
  }
  const { lastRollback } = status;
  if (lastRollback) {
    const { from, to, reason, at } = lastRollback;
    const time = spanSince(at, nowMs) ?? "?";
    notes.push({ said: [words.rolledBack, { from, to, reason, time }], kind: "problem" });
  }
  for (const { version, reason, at } of status.bad) {
    const time = spanSince(at, nowMs) ?? "?";
    notes.push({ said: [words.blocked, { version, reason, time }], kind: "problem" });
  }
  return notes;
}

function waiting(what: string, since: Timestamp | undefined, nowMs: number): Note {
  const time = spanSince(since, nowMs);
  const said: Said = time === undefined
    ? [words.waits, { what }]
    : [words.waitsSince, { what, time }];
  return { said, kind: "plain" };
}

function spanSince(at: Timestamp | undefined, nowMs: number): string | undefined {
  return at && duration((nowMs - timestampMs(at)) / 1000);
}

function sentence(text: string): string {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}
