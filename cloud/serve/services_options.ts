import type { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import type { Caller } from "../accounts/access/caller.ts";
import type { AuthorityFiles } from "../accounts/certificates/authority.ts";
import type { PasswordCost } from "../accounts/people/passwords.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import type { LogLimits } from "../fleet/logs/log_quota.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import type { Random } from "../storage/keys/random.ts";
import type { SteadyTime } from "../storage/steady_time/steady_time.ts";
import type { MapTiles } from "../web/map_tiles.ts";
import type { NotificationSettings } from "./notifications.ts";
import type { TrainingSettings } from "./training_settings.ts";

/** What the capabilities of a cloud are put together of. */
export interface ServicesOptions {
  readonly folder: DataFolder;
  readonly dataDir: string;
  /** Largest package that is taken, bytes. */
  readonly packageLimitBytes: number;
  /** Left out: large files are kept in the data folder. */
  readonly objectStorage?: S3Settings | undefined;
  /** Largest file of captured data that is taken, bytes; left out: 5 GiB. */
  readonly fileLimitBytes?: number | undefined;
  /** How long a query in SQL or MQL may take; left out: 10 s. */
  readonly queryLimitMs?: number | undefined;
  /** Left out: no mail, and webhooks to the internet only. */
  readonly notifications?: NotificationSettings | undefined;
  /** Files of a certificate authority; left out: one of the cloud's own. */
  readonly authority?: AuthorityFiles | undefined;
  /** Left out: one job at once, with what this host has. */
  readonly training?: TrainingSettings | undefined;
  /** What both sides of calls over WebRTC may use; left out: none. */
  readonly iceServers?: readonly IceServerSetting[] | undefined;
  /** Makes connections in the place of devices without WebRTC; left out: werift. */
  readonly peers?: RtcPeers | undefined;
  /** A part that keeps no stream open is offline after this time without a call; default 60 s. */
  readonly offlineAfterMs?: number | undefined;
  /** How much one part may log; left out: {@link LOG_LIMITS}. */
  readonly logLimits?: LogLimits | undefined;
  /** Left out: no single sign-on. */
  readonly singleSignOn?: SingleSignOnSettings | undefined;
  /** Of people's new passwords; left out: what is right for people. Tests have a lower one. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Left out: the console's map has no tiles. */
  readonly mapTiles?: MapTiles | undefined;
  /** Days that the audit log is kept; 0: forever; left out: 400. */
  readonly auditDays?: number | undefined;
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
  readonly domain: string;
  /** Known when the cloud listens, which is before anybody calls. */
  readonly publicUrl: () => string;
  readonly limiter: AttemptLimiter;
}
