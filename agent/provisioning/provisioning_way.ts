import type { NetworkSettings } from "../../shared/config/agent_fields.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { SystemBus } from "../dbus/system_bus.ts";
import type { ProvisioningPort } from "./provisioning_port.ts";

/** What a way to provision a machine gets when it begins. */
export interface ProvisioningSite {
  readonly port: ProvisioningPort;
  /** IPv4 address of this machine on its hotspot (10.42.0.1); empty for a way over Bluetooth. */
  readonly address: string;
  /** `network_configuration` of this moment; a change of it ends the way and starts it again. */
  readonly settings: NetworkSettings;
  /** `<hotspot_prefix>-<hostname>`, cut to 32 bytes: the SSID, and the name over Bluetooth. */
  readonly name: string;
}

/**
 * A way in which a person sets a machine up: the portal, the provisioning API, Bluetooth. Each is
 * there while the machine is in provisioning, and only then; one that fails keeps no other from
 * its work.
 */
export interface ProvisioningWay {
  /** For logs: "portal". */
  readonly name: string;
  /** Ways over the hotspot begin when it is up, those over Bluetooth with provisioning itself. */
  readonly over: "hotspot" | "bluetooth";
  /**
   * Begins to serve. A rejection is logged, and start is tried again after some seconds.
   *
   * @returns ends it: nothing of it is left, and no connection open, when that resolves.
   */
  start(site: ProvisioningSite): Promise<AsyncDisposable>;
}

/** What ways are made of. */
export interface WayDeps {
  /** A connection to the system bus of the way's own; who opens it closes it. */
  readonly openBus: () => Promise<SystemBus>;
  /** Version of this agent. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes a way; it is loaded when the first provisioning begins. */
export type MakeWay = (deps: WayDeps) => ProvisioningWay | Promise<ProvisioningWay>;
