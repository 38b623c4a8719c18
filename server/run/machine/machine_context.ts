/** What the parts of one machine share. */
import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import type { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import type { MachineCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import type { Logging } from "../../../shared/log/configure.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { RevisionStore } from "../../config/source/revision_store.ts";
import type { DataCloud } from "../../data/data_cloud.ts";
import type { MachineSeat } from "../../data/machine_seat.ts";
import type { Diagnostics } from "../../diagnostics/diagnostics.ts";
import type { ModelRegistry } from "../../resources/graph/registry.ts";
import type { ServerEnvironment } from "../options/environment.ts";

/** The part of the process's logging that a configuration changes. */
export type LogSettings = Pick<
  Logging,
  | "setDebugMode"
  | "setPatterns"
  | "setResourceLevels"
  | "setDeduplication"
  | "setSecrets"
  | "forward"
  | "addSink"
>;

/** Options of the command line that the machine heeds. */
export interface MachineSwitches {
  readonly debug: boolean;
  readonly noTls: boolean;
  readonly allowInsecure: boolean;
  readonly revealDiffs: boolean;
  /** `-untrusted-env` */
  readonly untrusted: boolean;
  readonly webrtc: boolean;
  /** Whether the machine is announced in its own network; false with `-disable-mdns`. */
  readonly mdns: boolean;
}

/** What the process gives to its machine; made in main.ts. */
export interface MachineHost {
  readonly environment: ServerEnvironment;
  readonly readVariable: (name: string) => string | undefined;
  /** What of this process's variables the programs that it starts get. */
  readonly variables: () => Record<string, string>;
  readonly processes: ProcessRunner;
  readonly registry: ModelRegistry;
  /** Where models of the registry find the machine; the same as theirs. */
  readonly seat: MachineSeat;
  readonly clock: Clock;
  /** The root logger, `rdk`. */
  readonly log: Logger;
  readonly logSettings: LogSettings;
  readonly build: { readonly version: string; readonly commit: string };
  readonly switches: MachineSwitches;
  /** What looks at the running server; undefined for nothing. The caller closes it. */
  readonly diagnostics?: Diagnostics | undefined;
}

/** The cloud that a machine belongs to. */
export interface MachineCloud {
  readonly credentials: MachineCredentials;
  /** To `credentials.appAddress`. */
  readonly connection: CloudConnection;
  readonly data: DataCloud;
  /** Another connection to it, with other credentials; the caller closes it. */
  readonly connect: (credentials: CloudCredentials) => CloudConnection;
}

export interface MachineContext extends MachineHost {
  readonly db: Database;
  readonly revisions: RevisionStore;
  /** Undefined for a machine whose configuration is a file. */
  readonly cloud: MachineCloud | undefined;
}
