import {
  networkConfigurationFields,
  type NetworkSettings,
} from "../../../shared/config/agent_fields.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { NetworkDevice, NetworkManager } from "../manager/network_manager.ts";
import { HOTSPOT_LABEL, hotspotProfile } from "../manager/profile.ts";
import { connectFailure } from "../wifi/connect_failure.ts";
import type { CaptiveDns } from "./captive_dns.ts";

/** Address of the machine on its hotspot, as in the shared mode of NetworkManager. */
export const HOTSPOT_ADDRESS = "10.42.0.1";
const NETWORK_LENGTH = 24;
const LONGEST_SSID = 32;
/** A radio has so long to become an access point. */
const START_MS = 20_000;
const LOOK_EVERY_MS = 250;
const ACTIVATED = 2;
const GONE = 4;

/**
 * `<hotspot_prefix>-<hostname>`, cut to 32 bytes, never in the middle of a character.
 *
 * @param hostName in whatever case; the name is in lower case.
 */
export function hotspotName(prefix: string, hostName: string): string {
  const full = `${prefix}-${hostName.toLowerCase()}`;
  const { read } = new TextEncoder().encodeInto(full, new Uint8Array(LONGEST_SSID));
  return full.slice(0, read);
}

/** There is no hotspot, and why; one sentence. */
class HotspotError extends Error {
  override readonly name = "HotspotError";
}

export interface HotspotOptions {
  readonly manager: NetworkManager;
  readonly hostName: string;
  readonly captiveDns: CaptiveDns;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A hotspot that is up. */
export interface RunningHotspot {
  readonly ssid: string;
  readonly device: NetworkDevice;
  /** Path of the active connection. */
  readonly active: string;
}

/** The radio as an access point. Nothing of it outlives the host's run. */
export class MachineHotspot {
  readonly #options: HotspotOptions;

  constructor(options: HotspotOptions) {
    this.#options = options;
  }

  /** @throws {HotspotError}, and errors of NetworkManager. */
  async start(
    settings: NetworkSettings,
    device: NetworkDevice,
    signal: AbortSignal,
  ): Promise<RunningHotspot> {
    const { manager, hostName, captiveDns, log } = this.#options;
    await this.clear();
    const onlySetup = settings.disable_captive_portal_redirect;
    await captiveDns.write(HOTSPOT_ADDRESS, onlySetup).catch((error: unknown) => {
      log.warn("names do not resolve to the portal automatically", { error });
    });
    const { hotspot_password: password, hotspot_prefix: prefix } = settings;
    if (password === networkConfigurationFields.hotspot_password.default) {
      log.warn(
        "the hotspot has the default password, which everybody knows; set " +
          "agent.network_configuration.hotspot_password",
      );
    }
    const ssid = hotspotName(prefix, hostName);
    const path = await manager.addProfile(
      hotspotProfile({
        ssid: new TextEncoder().encode(ssid),
        interface: device.interface,
        password,
        address: `${HOTSPOT_ADDRESS}/${NETWORK_LENGTH}`,
      }),
      false,
    );
    const active = await manager.activate(path, device);
    await this.#untilUp(active, device, signal);
    log.info("the hotspot is up", { ssid, interface: device.interface });
    return { ssid, device, active };
  }

  /** Whether it is still up. */
  async isUp({ active }: RunningHotspot): Promise<boolean> {
    return await this.#options.manager.activeState(active) === ACTIVATED;
  }

  /** Takes it down, and what an earlier run left of one. Fine where there is none. */
  async clear(): Promise<void> {
    const { manager, captiveDns } = this.#options;
    const ours = (await manager.ownProfiles()).filter(({ label }) => label === HOTSPOT_LABEL);
    if (ours.length > 0) {
      const devices = await manager.devices();
      for (const { path } of ours) await this.#release(path, devices);
    }
    await captiveDns.remove();
  }

  async #release(path: string, devices: readonly NetworkDevice[]): Promise<void> {
    const { manager } = this.#options;
    for (const device of devices) {
      if (device.active === undefined) continue;
      if (await manager.activeProfile(device.active) !== path) continue;
      await manager.deactivate(device.active);
      await manager.allowAutoconnect(device);
    }
    await manager.deleteProfile(path);
  }

  async #untilUp(active: string, device: NetworkDevice, signal: AbortSignal): Promise<void> {
    const { manager, clock } = this.#options;
    const endMs = clock.monotonicMs() + START_MS;
    while (true) {
      const state = await manager.activeState(active);
      if (state === ACTIVATED) return;
      const isLate = clock.monotonicMs() >= endMs;
      if (state === GONE || isLate) {
        const now = (await manager.devices()).find(({ path }) => path === device.path);
        const why = isLate ? `it was not up within ${START_MS / 1_000} s` : undefined;
        throw new HotspotError(
          `${device.interface} gives no hotspot: ${why ?? connectFailure(now?.reason ?? 0).text}`,
        );
      }
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}
