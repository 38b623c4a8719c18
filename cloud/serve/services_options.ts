import type { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import type { Caller } from "../accounts/access/caller.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import type { Random } from "../storage/keys/random.ts";
import type { SteadyTime } from "../storage/steady_time/steady_time.ts";
import type { CloudSettings } from "./cloud_settings.ts";

/** What the capabilities of a cloud are put together of. */
export interface ServicesOptions extends CloudSettings {
  readonly folder: DataFolder;
  /** How long a query in SQL or MQL may take; left out: 10 s. */
  readonly queryLimitMs?: number | undefined;
  /** Makes connections in the place of devices without WebRTC; left out: werift. */
  readonly peers?: RtcPeers | undefined;
  /**
   * Who makes every call, in a process that works on the folder alone, next to the one that
   * serves it: that one sends notifications and trains. Left out: whoever the token of a call names.
   */
  readonly owner?: Caller | undefined;
  readonly logs: LogStore;
  /** Left out: this process serves alone. */
  readonly nodes?: Nodes | undefined;
  readonly clock: Clock;
  /** Left out: the time is what the clock shows. */
  readonly time?: SteadyTime | undefined;
  readonly random: Random;
  readonly log: Logger;
  /** Known when the cloud listens, which is before anybody calls. */
  readonly publicUrl: () => string;
  readonly limiter: AttemptLimiter;
}
