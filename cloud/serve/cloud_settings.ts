import type { KeyCost } from "../../shared/cloud/auth/key_hash.ts";
import type { PasswordCost } from "../accounts/people/passwords.ts";
import type { AuthorityFiles } from "../accounts/certificates/authority.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import type { LogLimits } from "../fleet/logs/log_quota.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import type { MapTiles } from "../web/map_tiles.ts";
import type { NotificationSettings } from "./notifications.ts";
import type { TrainingSettings } from "./training_settings.ts";

/** What the owner of a cloud sets for its capabilities, whoever composes them. */
export interface CloudSettings {
  readonly dataDir: string;
  /** Domain of the machines' host names. */
  readonly domain: string;
  /** Largest package that may be uploaded, bytes. */
  readonly packageLimitBytes: number;
  /** Left out: large files are kept in the data folder. */
  readonly objectStorage?: S3Settings | undefined;
  /** Largest file of captured data that may be uploaded, bytes; left out: 5 GiB. */
  readonly fileLimitBytes?: number | undefined;
  /** Left out: no mail, and webhooks to the internet only. */
  readonly notifications?: NotificationSettings | undefined;
  /** Files of a certificate authority for machines; left out: one of the cloud's own. */
  readonly authority?: AuthorityFiles | undefined;
  /** Left out: one job at once, with what this host has. */
  readonly training?: TrainingSettings | undefined;
  /** What both sides of calls over WebRTC may use; left out: none. */
  readonly iceServers?: readonly IceServerSetting[] | undefined;
  /** A part that keeps no stream open is offline after this time without a call; default 60 s. */
  readonly offlineAfterMs?: number | undefined;
  /** How much one part may log; left out: {@link LOG_LIMITS}. */
  readonly logLimits?: LogLimits | undefined;
  /** Left out: no single sign-on. */
  readonly singleSignOn?: SingleSignOnSettings | undefined;
  /** Left out: the console's map has no tiles. */
  readonly mapTiles?: MapTiles | undefined;
  /** Days that the audit log is kept; 0: permanently; left out: 400. */
  readonly auditDays?: number | undefined;
  /** Of people's new passwords; left out: what is right for people. Tests have a lower one. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Likewise of new keys. */
  readonly keyCost?: KeyCost | undefined;
}
