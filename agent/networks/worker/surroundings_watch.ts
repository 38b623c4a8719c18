import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { VisibleNetwork } from "../../provisioning/provisioning_port.ts";
import { hotspotName } from "../hotspot/hotspot.ts";
import type { AccessPoint, NetworkDevice, NetworkManager } from "../manager/network_manager.ts";
import type { DiskNotice } from "../store/disk_notice.ts";
import type { NetworkStore } from "../store/network_store.ts";
import type { NetworkState } from "../state_machine/network_state.ts";
import { ssidKey, visibleNetworks } from "../wifi/visible_networks.ts";
import { tryScan } from "./join_network.ts";
import { learnFrom } from "./learn.ts";
import { lookAround, radioOf, type Surroundings } from "./surroundings.ts";

export interface SurroundingsWatchOptions {
  readonly manager: NetworkManager;
  readonly store: NetworkStore;
  readonly disk: DiskNotice;
  readonly settings: () => AgentSettings;
  readonly hostName: string;
  /** The machine is in provisioning: a hotspot is up, or about to be. */
  readonly isProvisioning: () => boolean;
  readonly hasBluetooth: () => boolean;
  readonly clock: Clock;
}

const SCAN_EVERY_MS = 30_000;
/** LastScan of a radio that never scanned. */
const NEVER = -1;
const FIRST_SCAN_MS = 8_000;
const LOOK_EVERY_MS = 500;

/** What is around the machine: devices, profiles and access points, and when to scan for them. */
export class SurroundingsWatch {
  readonly #options: SurroundingsWatchOptions;
  #around: Surroundings | undefined;
  #visible: readonly VisibleNetwork[] = [];
  #scannedMs = -Infinity;

  constructor(options: SurroundingsWatchOptions) {
    this.#options = options;
  }

  /** As of the last look; undefined before the first. */
  get around(): Surroundings | undefined {
    return this.#around;
  }

  /** The networks that people can choose from. */
  get visible(): readonly VisibleNetwork[] {
    return this.#visible;
  }

  /** The next turn scans, whenever the last scan was. */
  scanSoon(): void {
    this.#scannedMs = -Infinity;
  }

  /** Queries NetworkManager what is there; nothing is concluded from it. */
  async refresh(): Promise<void> {
    this.#around = await lookAround(this.#options.manager);
  }

  /** Asks NetworkManager, learns from what the radios see, and scans when it is time. */
  async look({ kind }: NetworkState): Promise<void> {
    const { settings, isProvisioning, store, disk } = this.#options;
    await this.refresh();
    const { points = [] } = this.#around ?? {};
    this.#see(points);
    const isScanned = this.#scannedMs > -Infinity && !isProvisioning();
    // Without a disk it is learned again at the next look.
    disk.try(() => learnFrom(points, settings(), store, isScanned && kind === "offline"));
    await this.#scanIfDue(kind);
  }

  /** There is a radio, or Bluetooth, that the settings let people set the machine up with. */
  canProvision(): boolean {
    const { network_configuration: settings } = this.#options.settings();
    const radio = radioOf(this.#around?.devices ?? [], settings.hotspot_interface);
    return (!settings.disable_wifi_provisioning && radio !== undefined) ||
      (!settings.disable_bt_provisioning && this.#options.hasBluetooth());
  }

  /** A radio that never looked around does so before it is an access point, and sees nothing more. */
  async untilScanned(radio: NetworkDevice, signal: AbortSignal): Promise<void> {
    const { manager, clock } = this.#options;
    const endMs = clock.monotonicMs() + FIRST_SCAN_MS;
    if (await manager.lastScan(radio) !== NEVER) return;
    await tryScan(manager, radio);
    while (await manager.lastScan(radio) === NEVER && clock.monotonicMs() < endMs) {
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
    this.#see(await manager.accessPoints(radio));
  }

  #see(points: readonly AccessPoint[]): void {
    const { settings, hostName, isProvisioning } = this.#options;
    const own = hotspotName(settings().network_configuration.hotspot_prefix, hostName);
    const known = (this.#around?.profiles ?? [])
      .map((profile) => profile.settings["802-11-wireless"]?.ssid?.value)
      .filter((ssid) => ssid instanceof Uint8Array);
    const visible = visibleNetworks(points, {
      known: new Set(known.map((ssid) => ssidKey(new Uint8Array(ssid)))),
      without: new Set([ssidKey(new TextEncoder().encode(own))]),
    });
    // A radio that is an access point forgets what it saw; people still want to choose.
    if (visible.length > 0 || !isProvisioning()) this.#visible = visible;
  }

  async #scanIfDue(kind: NetworkState["kind"]): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (kind === "online" || kind === "connecting") return;
    if (nowMs - this.#scannedMs < SCAN_EVERY_MS) return;
    this.#scannedMs = nowMs;
    for (const device of this.#around?.devices ?? []) {
      if (device.type === "wifi") await tryScan(this.#options.manager, device);
    }
  }
}
