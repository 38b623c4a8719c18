import type { ColumnType, Generated } from "kysely";
import type { ActorType } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** A program that is released and that agents keep up to date. */
export type Program = "machine-server" | "machine-agent";

/** What follows `dev` gets the releases of both channels. */
export type ReleaseChannel = "stable" | "dev";

/** `paused` by an operator, `stopped` automatically. */
export type RolloutState = "running" | "paused" | "stopped";

/** What came of a release on a machine. */
export type ReleaseOutcome = "updating" | "done" | "rolled back";

/** What an operator wants of an agent. */
export type AgentAction = "force" | "forget bad" | "restart";

/** One version of one program. */
export interface ReleasesTable {
  id: Fixed<string>;
  program: Fixed<Program>;
  version: Fixed<string>;
  channel: ReleaseChannel;
  notes: string;
  added_at: Fixed<TimeMs>;
  withdrawn_at: TimeMs | null;
  /** 1: machines that run it although it was withdrawn go back to the one before. */
  goes_back: number;
}

/** The public halves of the keys that sign releases, oldest first. */
export interface ReleaseKeysTable {
  seq: Generated<number>;
  id: Fixed<string>;
  /** Base64 of 32 bytes, Ed25519. */
  public_key: Fixed<string>;
  /** The key before, which vouches for this one; empty for the first. */
  signed_by: Fixed<string>;
  /** Base64. */
  signature: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

/** A release's file for one platform. */
export interface ReleaseFilesTable {
  /** Also the file's name in the folder of releases. */
  id: Fixed<string>;
  release_id: Fixed<string>;
  /** `os/architecture`. */
  platform: Fixed<string>;
  size: Fixed<number>;
  sha256: Fixed<string>;
  /** Base64. */
  signature: Fixed<string>;
  key_id: Fixed<string>;
  added_at: Fixed<TimeMs>;
  added_by_type: Fixed<ActorType>;
  added_by: Fixed<string>;
}

/** Who gets a release; one without a row goes to everybody on its channel. */
export interface RolloutsTable {
  release_id: Fixed<string>;
  /** 0 to 100. */
  percent: number;
  /** JSON: a list of texts. */
  tags: string;
  state: RolloutState;
  /** Why it was stopped. */
  reason: string;
  stop_percent: number;
  stop_minimum: number;
  changed_at: TimeMs;
  /** What came of it before does not stop it any more. */
  counted_since: TimeMs;
}

/** What came of a release on a part that follows a channel or a range. */
export interface ReleaseOutcomesTable {
  release_id: Fixed<string>;
  part_id: Fixed<string>;
  outcome: ReleaseOutcome;
  reason: string;
  /** Distinguishes one failure from the next. */
  mark: string;
  /** When the cloud learned of it. */
  at: TimeMs;
}

/** What a part's agent reported last; written at long intervals. */
export interface PartAgentsTable {
  part_id: Fixed<string>;
  /** JSON of machine.cloud.v1.AgentStatus. */
  status: string;
  reported_at: TimeMs;
  /** 1: the agent reports its status; 0: this was made out of what it asks with. */
  is_report: number;
}

/** Commands of operators that agents have not carried out yet. */
export interface AgentCommandsTable {
  id: Fixed<string>;
  part_id: Fixed<string>;
  program: Fixed<Program>;
  action: Fixed<AgentAction>;
  /** For `forget bad`; empty: all of them. */
  version: Fixed<string>;
  created_at: Fixed<TimeMs>;
  expires_at: Fixed<TimeMs>;
  created_by_type: Fixed<ActorType>;
  created_by: Fixed<string>;
}

export interface ReleaseTables {
  releases: ReleasesTable;
  release_keys: ReleaseKeysTable;
  release_files: ReleaseFilesTable;
  rollouts: RolloutsTable;
  release_outcomes: ReleaseOutcomesTable;
  part_agents: PartAgentsTable;
  agent_commands: AgentCommandsTable;
}
