import type { ProcessMark } from "./child_process.ts";

/** The name of a signal without `SIG`: "TERM", "KILL", "INT". */
export type EndSignal = string;

/** The operating system's list of processes, as far as ending process trees needs it. */
export interface ProcessTable {
  /** When a process started; undefined when there is none or it has ended. */
  startOf(pid: number): string | undefined;
  /** The living processes of the leader's group, the leader included. */
  groupOf(mark: ProcessMark): number[];
  /** The living processes of the tree: the group, and all that carry the mark. */
  membersOf(mark: ProcessMark): number[];
  /**
   * Asks or forces processes of a tree to end. Those that are gone already are no error.
   *
   * @throws {TypeError} when the system has no such signal
   */
  signal(pids: readonly number[], signal: EndSignal, mark: ProcessMark): void;
  /**
   * Notified of each process right after its start, where the system needs that to find its tree.
   */
  adopt?(mark: ProcessMark): void;
  /** Notified when nothing of the tree is left. */
  release?(mark: ProcessMark): void;
}

/** Environment variable by which descendants are found, whatever group they moved to. */
export const TREE_VARIABLE = "MACHINE_PROCESS_TREE";
