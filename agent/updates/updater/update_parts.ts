import type { Watched } from "../../../shared/workers/watched.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import type { MayRestart } from "./control.ts";
import type { Downloads } from "./downloads.ts";
import type { Orders } from "./orders.ts";
import type { RecordKeeper, RecordKeeperOptions } from "./record_keeper.ts";
import type { ShownProgress } from "./shown_progress.ts";
import type { Target } from "./target.ts";
import type { Turns } from "./turns.ts";

/** What the update of one program needs from outside. */
export interface UpdateOptions extends Omit<RecordKeeperOptions, "shown"> {
  readonly downloader: Downloads;
  /**
   * Why a target must not be installed; undefined when it may. Evaluated again before each step,
   * because what was written down may be from before the rules. Default: everything may.
   */
  readonly vet?: (
    target: Target,
    current: InstalledVersion | undefined,
  ) => Promise<string | undefined>;
  readonly mayRestart: MayRestart;
  /** Set when `mayRestart` may have another answer. Default: it is asked now and again. */
  readonly permissionChanged?: Watched<unknown>;
  readonly turns: Turns;
}

/** What the states of one program's update share. */
export interface UpdateParts extends UpdateOptions {
  readonly orders: Orders;
  readonly shown: ShownProgress;
  readonly keeper: RecordKeeper;
}
