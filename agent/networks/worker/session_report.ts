import type { Evidence } from "../connectivity/connectivity.ts";
import type { NetworkReport } from "../report/network_report.ts";
import { type NetworkRecord, STATE_NAMES } from "../state_machine/network_state.ts";
import { type Surroundings, waitingForInterface } from "./surroundings.ts";

/** What a session knows, as far as people are notified of it. */
export interface SessionFacts {
  readonly record: NetworkRecord;
  readonly since: Date;
  readonly evidence: Evidence | undefined;
  /** Of provisioning: one clause, empty while there is none. */
  readonly hostDetail: string;
  /** Of networks and hotspot, those that there are. */
  readonly problems: readonly (string | undefined)[];
  readonly around: Surroundings | undefined;
}

/** What a session reports people. */
export function sessionReport(facts: SessionFacts): NetworkReport {
  const { record: { state, reboots }, since, evidence, around } = facts;
  const detail = state.kind === "trying"
    ? `trying ${state.label}`
    : state.kind === "online"
    ? evidence === undefined ? "WiFi without internet" : `by ${evidence}`
    : facts.hostDetail;
  const problems = [
    ...facts.problems.filter((problem) => problem !== undefined),
    ...(around ? waitingForInterface(around) : []),
  ];
  return { state: STATE_NAMES[state.kind], since, detail, problems, reboots };
}

/** Why nobody can set the machine up by radio, and what to do. */
export function cannotBeSetUp(credentialsFile: string): string {
  return "the machine cannot be set up over WiFi or Bluetooth: there is no radio that may be " +
    `used; put its credentials into ${credentialsFile}`;
}
