import type { RestartWindow } from "./control.ts";
import type { Downloads } from "./downloads.ts";
import type { Orders } from "./orders.ts";
import type { RecordKeeper, RecordKeeperOptions } from "./record_keeper.ts";
import type { ShownProgress } from "./shown_progress.ts";
import type { ProgramName } from "./slot.ts";
import type { Target } from "./target.ts";
import type { Turns } from "./turns.ts";

/** What the owner of this machine lets be installed. ReleasePolicy implements it. */
export interface InstallPolicy {
  /**
   * Why a target must not be installed; undefined when it may.
   *
   * @param current the version in use; empty: none.
   */
  problemOf(program: ProgramName, target: Target, current: string): Promise<string | undefined>;
}

/** What the update of one program needs from outside. */
export interface UpdateOptions extends Omit<RecordKeeperOptions, "shown"> {
  readonly downloader: Downloads;
  /** Evaluated again before each step: what was recorded may be from before its rules. */
  readonly policy: InstallPolicy;
  readonly window: RestartWindow;
  /** Removes files that are not in use any more, in the background. */
  readonly cleaner: { cleanSoon(): void };
  readonly turns: Turns;
}

/** What the states of one program's update share. */
export interface UpdateParts extends UpdateOptions {
  readonly orders: Orders;
  readonly shown: ShownProgress;
  readonly keeper: RecordKeeper;
}
