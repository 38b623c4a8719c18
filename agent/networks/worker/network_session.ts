import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";
import type { VisibleNetwork } from "../../provisioning/provisioning_port.ts";
import { WayRunner } from "../../provisioning/run_ways.ts";
import { Connectivity, type Evidence } from "../connectivity/connectivity.ts";
import { hotspotName, MachineHotspot } from "../hotspot/hotspot.ts";
import type { NetworkManager } from "../manager/network_manager.ts";
import type { NetworkMemory } from "../memory/network_memory.ts";
import { ProfileSync } from "../profiles/profile_sync.ts";
import { networkDigest, wantedNetworks } from "../profiles/wanted_networks.ts";
import {
  initialRecord,
  type Look,
  type Moment,
  type NetworkEffect,
  type NetworkEvent,
  type NetworkRecord,
  STATE_NAMES,
} from "../state/network_state.ts";
import { dueMs, next } from "../state/table.ts";
import { ssidKey, visibleNetworks } from "../wifi/visible_networks.ts";
import { applyStaged, tryNetwork } from "./connect_work.ts";
import { tryScan } from "./join_network.ts";
import { learnFrom } from "./learn.ts";
import type { NetworkDeps } from "./network_deps.ts";
import { OneWork } from "./one_work.ts";
import { ProvisioningDesk } from "./provisioning_desk.ts";
import { ProvisioningHost } from "./provisioning_host.ts";
import { cannotBeSetUp, sessionReport } from "./session_report.ts";
import { candidatesOf, lookAround, radioOf, type Surroundings } from "./surroundings.ts";

const MS_PER_MINUTE = 60_000;
/** Signals of NetworkManager that may mean something; scans alone send hundreds of others. */
const MATTERS = new Set([
  "StateChanged",
  "DeviceAdded",
  "DeviceRemoved",
  "NewConnection",
  "ConnectionRemoved",
  "Updated",
  "Removed",
]);
const TURN_EVERY_MS = { online: 10_000, verifying: 1_000, other: 5_000 } as const;
const SHORTEST_PAUSE_MS = 250;
const SCAN_EVERY_MS = 30_000;
const SYNC_RETRY_MS = 60_000;
/** States in which profiles are not changed below somebody's feet. */
const BUSY = new Set(["trying", "connecting", "verifying", "user-active"]);

/** The networks of the machine as long as NetworkManager and the message bus are there. */
export class NetworkSession {
  readonly #deps: NetworkDeps;
  readonly #manager: NetworkManager;
  readonly #memory: NetworkMemory;
  readonly #connectivity: Connectivity;
  readonly #sync: ProfileSync;
  readonly #desk: ProvisioningDesk;
  readonly #host: ProvisioningHost;
  readonly #hotspot: MachineHotspot;
  readonly #work = new OneWork();
  readonly #woken = new Watched(0);
  readonly #events: NetworkEvent[] = [];
  #record: NetworkRecord;
  #since: Date;
  #saved = "";
  #around: Surroundings | undefined;
  #visible: readonly VisibleNetwork[] = [];
  #evidence: Evidence | undefined;
  #isStale = true;
  #scannedMs = -Infinity;
  #synced = { key: "", atMs: -Infinity };
  #syncProblem: string | undefined;
  #stuck: string | undefined;

  constructor(manager: NetworkManager, memory: NetworkMemory, deps: NetworkDeps) {
    this.#deps = deps;
    this.#manager = manager;
    this.#memory = memory;
    const { clock, hostName, version, credentials, openBus } = deps;
    const log = deps.log;
    const kept = memory.record();
    this.#record = initialRecord(clock.monotonicMs(), kept);
    this.#since = clock.now();
    this.#connectivity = new Connectivity({
      cloudAnswered: () => deps.cloudAnswered.value,
      askCloud: deps.askCloud,
      askProbe: async (signal) => {
        const url = this.#settings.network_configuration.connectivity_probe_url;
        return url !== "" && await deps.askUrl(url, signal);
      },
      managerSays: () => manager.connectivity(),
      clock,
    });
    this.#sync = new ProfileSync({
      manager,
      memory,
      isOnline: () => this.#evidence !== undefined,
      confirmOnline: (ms, signal) => this.#connectivity.confirm(ms, signal),
      clock,
      log,
    });
    this.#desk = new ProvisioningDesk({
      settings: () => this.#settings.network_configuration,
      hostName,
      version,
      hasCredentials: () => credentials.has(),
      credentialsFile: credentials.file,
      isOnline: () => this.#evidence !== undefined,
      visible: () => this.#visible,
      onEvent: (event) => {
        if (event === "scan") this.#scannedMs = -Infinity;
        else this.#events.push({ type: event });
        this.#wake();
      },
      attempt: kept.attempt,
    });
    const dnsmasqFolder = deps.dnsmasqFolder;
    this.#hotspot = new MachineHotspot({ manager, hostName, dnsmasqFolder, clock, log });
    this.#host = new ProvisioningHost({
      manager,
      hotspot: this.#hotspot,
      ways: new WayRunner({ ways: deps.ways, deps: { openBus, version, clock, log }, clock, log }),
      port: this.#desk,
      hostName,
      onChange: () => this.#wake(),
      clock,
      log,
    });
  }

  /** Ends with the signal, or when the settings tell the agent to leave networks alone. */
  async run(signal: AbortSignal): Promise<void> {
    const ending = linkedController(signal);
    const unsubscribe = await this.#manager.onChange(({ member }) => {
      if (!MATTERS.has(member)) return;
      this.#isStale = true;
      this.#wake();
    });
    try {
      await this.#hotspot.clear();
      while (!this.#settings.advanced_settings.disable_network_configuration) {
        await this.#turn(ending.signal);
        await this.#pause(ending.signal);
      }
    } finally {
      ending.abort();
      await Promise.allSettled([this.#host.stop(), this.#work.stop()]);
      await Promise.allSettled([unsubscribe()]);
    }
  }

  get #settings(): AgentSettings {
    return this.#deps.current.value.settings;
  }

  #wake(): void {
    this.#woken.value++;
  }

  #moment(): Moment {
    const { network_configuration: settings } = this.#settings;
    return {
      nowMs: this.#deps.clock.monotonicMs(),
      rules: {
        offlineBeforeProvisioningMs: settings.offline_before_starting_hotspot_minutes *
          MS_PER_MINUTE,
        retryMs: settings.retry_connection_timeout_minutes * MS_PER_MINUTE,
        userIdleMs: settings.user_idle_minutes * MS_PER_MINUTE,
        rebootAfterOfflineMs: settings.device_reboot_after_offline_minutes * MS_PER_MINUTE,
      },
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    this.#evidence = await this.#connectivity.look(signal);
    const wasStale = this.#isStale;
    if (wasStale || this.#record.state.kind !== "online" || this.#evidence === undefined) {
      this.#isStale = false;
      await this.#lookAround();
      await this.#scanIfDue();
    }
    await this.#syncIfDue(wasStale, signal);
    await this.#feed({ type: "looked", look: this.#look() }, signal);
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      await this.#feed(event, signal);
    }
    this.#report();
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, current, cloudAnswered } = this.#deps;
    if (this.#events.length > 0) return;
    const { kind } = this.#record.state;
    const longest = kind === "online" || kind === "verifying"
      ? TURN_EVERY_MS[kind]
      : TURN_EVERY_MS.other;
    const moment = this.#moment();
    const dueInMs = dueMs(this.#record, moment) - moment.nowMs;
    const ms = this.#isStale ? 0 : Math.min(longest, dueInMs);
    await anyChange(this.#isStale ? [] : [this.#woken, current, cloudAnswered], signal, {
      clock,
      ms: Math.max(SHORTEST_PAUSE_MS, ms),
    });
  }

  async #lookAround(): Promise<void> {
    const around = await lookAround(this.#manager);
    this.#around = around;
    const { hotspot_prefix } = this.#settings.network_configuration;
    const own = hotspotName(hotspot_prefix, this.#deps.hostName);
    const known = around.profiles.map(({ settings }) => settings["802-11-wireless"]?.ssid?.value)
      .filter((ssid) => ssid instanceof Uint8Array);
    const visible = visibleNetworks(around.points, {
      known: new Set(known.map((ssid) => ssidKey(new Uint8Array(ssid)))),
      without: new Set([ssidKey(new TextEncoder().encode(own))]),
    });
    // A radio that is an access point forgets what it saw; people still want to choose.
    if (visible.length > 0 || this.#host.detail === "") this.#visible = visible;
    const isScanned = this.#scannedMs > -Infinity && this.#host.detail === "";
    const isOffline = this.#record.state.kind === "offline";
    learnFrom(around.points, this.#settings, this.#memory, isScanned && isOffline);
  }

  async #scanIfDue(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const { state } = this.#record;
    if (state.kind === "online" || state.kind === "connecting") return;
    if (nowMs - this.#scannedMs < SCAN_EVERY_MS) return;
    this.#scannedMs = nowMs;
    for (const device of this.#around?.devices ?? []) {
      if (device.type === "wifi") await tryScan(this.#manager, device);
    }
  }

  async #syncIfDue(wasStale: boolean, signal: AbortSignal): Promise<void> {
    const learned = this.#memory.profiles();
    const wanted = wantedNetworks(this.#settings, (label) => learned.get(label)?.learned);
    const key = wanted.map(networkDigest).join();
    const nowMs = this.#deps.clock.monotonicMs();
    const isRetry = this.#syncProblem !== undefined && nowMs - this.#synced.atMs >= SYNC_RETRY_MS;
    if (!wasStale && key === this.#synced.key && !isRetry) return;
    if (BUSY.has(this.#record.state.kind)) {
      this.#isStale = true;
      return;
    }
    try {
      await this.#sync.run(wanted, signal);
      this.#syncProblem = undefined;
    } catch (error) {
      if (signal.aborted || (error instanceof Error && error.name === "DBusClosed")) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const problem = `NetworkManager does not take additional_networks: ${reason}`;
      if (problem !== this.#syncProblem) this.#deps.log.error(problem);
      this.#syncProblem = problem;
    }
    this.#synced = { key, atMs: this.#deps.clock.monotonicMs() };
    this.#around = await lookAround(this.#manager);
  }

  #look(): Look {
    const { credentials, mayReboot } = this.#deps;
    const { network_configuration: settings } = this.#settings;
    const { state } = this.#record;
    const around = this.#around;
    // Who sets the machine up wants more than a radio that is connected.
    const isPersons = state.kind === "provisioning" || state.kind === "user-active" ||
      (state.kind === "verifying" && state.of === "person");
    const isWifiEnough = !settings.turn_on_hotspot_if_wifi_has_no_internet && !isPersons;
    return {
      isOnline: this.#evidence !== undefined || (isWifiEnough && around?.isOnWifi === true),
      hasCredentials: credentials.has(),
      canProvision: this.#canProvision(),
      candidates: around ? candidatesOf(around) : [],
      mayReboot: mayReboot(),
    };
  }

  async #feed(event: NetworkEvent, signal: AbortSignal): Promise<void> {
    const before = this.#record.state.kind;
    const { record, effects } = next(this.#record, event, this.#moment());
    this.#record = record;
    const after = record.state.kind;
    if (before !== after) {
      this.#since = this.#deps.clock.now();
      this.#deps.log.info(`networks: ${STATE_NAMES[before]} -> ${STATE_NAMES[after]}`);
    }
    for (const effect of effects) await this.#perform(effect, signal);
    this.#save();
  }

  async #perform(effect: NetworkEffect, signal: AbortSignal): Promise<void> {
    const manager = this.#manager;
    const { log } = this.#deps;
    const onError = (failed: NetworkEvent) => (error: unknown) => {
      log.warn("a network could not be connected", { error });
      this.#events.push(failed);
      this.#wake();
    };
    const tell = (event: NetworkEvent) => {
      this.#connectivity.forget();
      this.#events.push(event);
      this.#wake();
    };
    switch (effect.type) {
      case "start-provisioning":
        await this.#work.stop();
        return await this.#host.start(this.#settings.network_configuration, signal);
      case "stop-provisioning":
        return await this.#host.stop();
      case "give-up":
        return await this.#work.stop();
      case "try": {
        const { label } = effect;
        const work = async (stop: AbortSignal) =>
          tell(await tryNetwork(label, { manager, deps: this.#deps }, stop));
        return await this.#work.start(
          work,
          signal,
          onError({ type: "tried", label, isConnected: false }),
        );
      }
      case "apply": {
        const work = async (stop: AbortSignal) =>
          tell(await applyStaged(this.#desk, { manager, deps: this.#deps }, stop));
        const failed = onError({ type: "applied", isConnected: false });
        return await this.#work.start(work, signal, (error) => {
          this.#desk.fail({ kind: "other", text: "the machine could not try it" });
          failed(error);
        });
      }
      case "verdict":
        return this.#desk.judge(effect.result);
      case "reboot":
        return await this.#reboot();
    }
  }

  async #reboot(): Promise<void> {
    const { log, reboot, clock } = this.#deps;
    const minutes = Math.floor(
      (clock.monotonicMs() - (this.#record.offlineSinceMs ?? 0)) / MS_PER_MINUTE,
    );
    if (!this.#save()) {
      return log.error("the computer is not restarted: the restart could not be counted on disk");
    }
    log.warn("the computer is restarted: it was offline too long", { minutes });
    await this.#host.stop();
    const problem = await reboot();
    if (problem !== undefined) log.error("the computer is not restarted", { reason: problem });
  }

  /** @returns whether it is on disk. */
  #save(): boolean {
    const { offlineSinceMs, reboots } = this.#record;
    const { attempt } = this.#desk;
    const text = JSON.stringify([offlineSinceMs, reboots, attempt]);
    if (text === this.#saved) return true;
    const nowMs = this.#deps.clock.monotonicMs();
    const offlineForMs = offlineSinceMs === undefined ? undefined : nowMs - offlineSinceMs;
    try {
      this.#memory.saveRecord({ offlineForMs, reboots, attempt });
      this.#saved = text;
      return true;
    } catch (error) {
      this.#deps.log.error("the networks' state cannot be kept on disk", { error });
      return false;
    }
  }

  #report(): void {
    const { report, credentials, log } = this.#deps;
    const isStuck = this.#around !== undefined && !credentials.has() && !this.#canProvision();
    const stuck = isStuck ? cannotBeSetUp(credentials.file) : undefined;
    if (stuck !== undefined && stuck !== this.#stuck) log.warn(stuck);
    this.#stuck = stuck;
    const now = sessionReport({
      record: this.#record,
      since: this.#since,
      evidence: this.#evidence,
      hostDetail: this.#host.detail,
      problems: [...this.#sync.problems, this.#syncProblem, this.#host.problem, stuck],
      around: this.#around,
    });
    if (JSON.stringify(now) !== JSON.stringify(report.value)) report.value = now;
  }

  /** There is a radio, or Bluetooth, that the settings let people set the machine up with. */
  #canProvision(): boolean {
    const { network_configuration: settings } = this.#settings;
    const radio = radioOf(this.#around?.devices ?? [], settings.hotspot_interface);
    return (!settings.disable_wifi_provisioning && radio !== undefined) ||
      (!settings.disable_bt_provisioning && this.#deps.hasBluetooth());
  }
}
