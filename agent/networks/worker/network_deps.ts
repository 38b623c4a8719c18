import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Watched } from "../../../shared/workers/watched.ts";
import type { SystemBus } from "../../dbus/system_bus.ts";
import type { ChosenCredentials } from "../../provisioning/provisioning_port.ts";
import type { MakeWay } from "../../provisioning/provisioning_way.ts";
import type { CurrentSettings } from "../../settings/settings_source.ts";
import type { CaptiveDns } from "../hotspot/captive_dns.ts";
import type { BootClock } from "../store/boot_clock.ts";
import type { NetworkReport } from "../report/network_report.ts";

/** What the cloud reports about credentials that a person gave. */
export type CredentialsAnswer = "accepted" | "refused" | "unreachable";

/** The machine's credentials, as far as provisioning is concerned. */
export interface CredentialsPort {
  /** There is a credentials file that can be used. */
  has(): boolean;
  /** The credentials file, for people. */
  readonly file: string;
  /** Asks the cloud that they name. */
  check(credentials: ChosenCredentials, signal: AbortSignal): Promise<CredentialsAnswer>;
  /**
   * Writes the file, whole or not at all, for its owner alone.
   *
   * @throws {FileError}
   */
  write(credentials: ChosenCredentials): Promise<void>;
}

/** Everything that the networks' part of the agent needs from outside. */
export interface NetworkDeps {
  readonly current: Watched<Pick<CurrentSettings, "settings">>;
  /** Set at each change. */
  readonly report: Watched<NetworkReport>;
  readonly db: Database;
  readonly bootClock: BootClock;
  /** A new connection to the system bus. */
  readonly openBus: () => Promise<SystemBus>;
  /** Whether the cloud answered the agent when it was queried last. */
  readonly cloudAnswered: Watched<boolean>;
  /** Queries the cloud now, whoever it thinks we are; false while there is none. */
  readonly askCloud: (signal: AbortSignal) => Promise<boolean>;
  /** Whether an HTTP server answers there with 2xx. */
  readonly askUrl: (url: string, signal: AbortSignal) => Promise<boolean>;
  readonly credentials: CredentialsPort;
  /** The maintenance window, or a person, lets the host reboot now. */
  readonly mayReboot: () => boolean;
  /** Reboots the host. @returns why it cannot; undefined when it is about to. */
  readonly reboot: () => Promise<string | undefined>;
  /** There is a Bluetooth adapter. */
  readonly hasBluetooth: () => boolean;
  readonly ways: readonly MakeWay[];
  readonly hostName: string;
  /** Of this agent. */
  readonly version: string;
  readonly captiveDns: CaptiveDns;
  readonly clock: Clock;
  readonly log: Logger;
}
