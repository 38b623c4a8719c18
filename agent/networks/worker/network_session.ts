import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";
import { WayRunner } from "../../provisioning/run_ways.ts";
import { Connectivity, type Evidence } from "../connectivity/connectivity.ts";
import { MachineHotspot } from "../hotspot/hotspot.ts";
import type { NetworkManager } from "../manager/network_manager.ts";
import { DiskNotice } from "../store/disk_notice.ts";
import type { NetworkStore } from "../store/network_store.ts";
import { ProfileSync } from "../profiles/profile_sync.ts";
import type { Look, Moment, NetworkEffect, NetworkEvent } from "../state_machine/network_state.ts";
import { dueMs } from "../state_machine/table.ts";
import { applyStaged, tryNetwork } from "./connect_work.ts";
import { KeptRecord } from "./kept_record.ts";
import type { NetworkDeps } from "./network_deps.ts";
import { OneWork } from "./one_work.ts";
import { ProvisioningDesk } from "./provisioning_desk.ts";
import { ProvisioningHost } from "./provisioning_host.ts";
import { cannotBeSetUp, sessionReport } from "./session_report.ts";
import { candidatesOf } from "./surroundings.ts";
import { SurroundingsWatch } from "./surroundings_watch.ts";
import { SyncSchedule } from "./sync_schedule.ts";

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
/** An online machine has nothing to ask NetworkManager; one that hangs is to be noticed all the same. */
const LOOK_EVERY_MS = 30_000;

/** The networks of the machine as long as NetworkManager and the message bus are there. */
export class NetworkSession {
  readonly #deps: NetworkDeps;
  readonly #manager: NetworkManager;
  readonly #disk: DiskNotice;
  readonly #record: KeptRecord;
  readonly #watch: SurroundingsWatch;
  readonly #connectivity: Connectivity;
  readonly #sync: SyncSchedule;
  readonly #desk: ProvisioningDesk;
  readonly #host: ProvisioningHost;
  readonly #hotspot: MachineHotspot;
  readonly #work = new OneWork();
  readonly #woken = new Watched(0);
  readonly #events: NetworkEvent[] = [];
  #evidence: Evidence | undefined;
  #isStale = true;
  #lookedMs = -Infinity;
  #stuck: string | undefined;

  constructor(manager: NetworkManager, store: NetworkStore, deps: NetworkDeps) {
    this.#deps = deps;
    this.#manager = manager;
    const { clock, hostName, version, credentials, openBus, log } = deps;
    const disk = new DiskNotice(log);
    this.#disk = disk;
    this.#record = new KeptRecord({ store, disk, clock, log });
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
    const sync = new ProfileSync({
      manager,
      store,
      isOnline: () => this.#evidence !== undefined,
      confirmOnline: (ms, signal) => this.#connectivity.confirm(ms, signal),
      clock,
      log,
    });
    this.#sync = new SyncSchedule({ sync, store, clock, log });
    this.#desk = new ProvisioningDesk({
      settings: () => this.#settings.network_configuration,
      hostName,
      version,
      hasCredentials: () => credentials.has(),
      credentialsFile: credentials.file,
      isOnline: () => this.#evidence !== undefined,
      visible: () => this.#watch.visible,
      onEvent: (event) => {
        if (event === "scan") this.#watch.scanSoon();
        else this.#events.push({ type: event });
        this.#wake();
      },
      attempt: this.#record.attempt,
    });
    const { captiveDns } = deps;
    this.#hotspot = new MachineHotspot({ manager, hostName, captiveDns, clock, log });
    this.#host = new ProvisioningHost({
      manager,
      hotspot: this.#hotspot,
      ways: new WayRunner({ ways: deps.ways, deps: { openBus, version, clock, log }, clock, log }),
      port: this.#desk,
      hostName,
      beforeHotspot: (radio, stop) => this.#watch.untilScanned(radio, stop),
      onChange: () => this.#wake(),
      clock,
      log,
    });
    this.#watch = new SurroundingsWatch({
      manager,
      store,
      disk,
      settings: () => this.#settings,
      hostName,
      isProvisioning: () => this.#host.isServing,
      hasBluetooth: deps.hasBluetooth,
      clock,
    });
  }

  /** Ends with the signal, or when the settings have the agent leave networks alone. */
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
    const hasChanged = this.#isStale;
    const { state } = this.#record.now;
    const nowMs = this.#deps.clock.monotonicMs();
    const isLookDue = nowMs - this.#lookedMs >= LOOK_EVERY_MS;
    if (hasChanged || isLookDue || state.kind !== "online" || this.#evidence === undefined) {
      this.#isStale = false;
      this.#lookedMs = nowMs;
      await this.#watch.look(state);
    }
    const synced = await this.#sync.runIfDue(
      this.#settings,
      { state, hasChanged },
      signal,
    );
    if (synced === "later") this.#isStale = true;
    if (synced === "done") await this.#watch.refresh();
    await this.#feed({ type: "looked", look: this.#look() }, signal);
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      await this.#feed(event, signal);
    }
    this.#report();
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, current, cloudAnswered } = this.#deps;
    if (this.#events.length > 0) return;
    const { kind } = this.#record.now.state;
    const longest = kind === "online" || kind === "verifying"
      ? TURN_EVERY_MS[kind]
      : TURN_EVERY_MS.other;
    const moment = this.#moment();
    const dueInMs = dueMs(this.#record.now, moment) - moment.nowMs;
    const ms = this.#isStale ? 0 : Math.min(longest, dueInMs);
    await anyChange(this.#isStale ? [] : [this.#woken, current, cloudAnswered], signal, {
      clock,
      ms: Math.max(SHORTEST_PAUSE_MS, ms),
    });
  }

  #look(): Look {
    const { credentials, mayReboot } = this.#deps;
    const { network_configuration: settings } = this.#settings;
    const { state } = this.#record.now;
    const { around } = this.#watch;
    // Who sets the machine up wants more than a radio that is connected.
    const isPersons = state.kind === "provisioning" || state.kind === "user-active" ||
      (state.kind === "verifying" && state.of === "person");
    const isWifiEnough = !settings.turn_on_hotspot_if_wifi_has_no_internet && !isPersons;
    return {
      isOnline: this.#evidence !== undefined || (isWifiEnough && around?.isOnWifi === true),
      hasCredentials: credentials.has(),
      canProvision: this.#watch.canProvision(),
      candidates: around ? candidatesOf(around) : [],
      mayReboot: mayReboot(),
    };
  }

  async #feed(event: NetworkEvent, signal: AbortSignal): Promise<void> {
    const effects = this.#record.move(event, this.#moment());
    for (const effect of effects) await this.#perform(effect, signal);
    this.#record.save(this.#desk.attempt);
  }

  async #perform(effect: NetworkEffect, signal: AbortSignal): Promise<void> {
    const manager = this.#manager;
    const { log } = this.#deps;
    const onError = (failed: NetworkEvent) => (error: unknown) => {
      log.warn("a network could not be connected", { event: "network_without_connection", error });
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
        // Who went away before the end has not meant it.
        if (this.#record.now.state.kind !== "connecting") this.#desk.forget();
        await this.#host.stop();
        return this.#watch.scanSoon();
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
      (clock.monotonicMs() - (this.#record.now.offlineSinceMs ?? 0)) / MS_PER_MINUTE,
    );
    if (!this.#record.save(this.#desk.attempt)) {
      return log.error("the host is not rebooted: the reboot could not be counted on disk", {
        event: "host_not_rebooted",
      });
    }
    log.warn("the host is rebooted: it was offline too long", { event: "host_reboot", minutes });
    await this.#host.stop();
    const problem = await reboot();
    if (problem !== undefined) {
      log.error("the host is not rebooted", { event: "host_not_rebooted", reason: problem });
    }
  }

  #report(): void {
    const { report, credentials, log } = this.#deps;
    const { around } = this.#watch;
    const isStuck = around !== undefined && !credentials.has() && !this.#watch.canProvision();
    const stuck = isStuck ? cannotBeSetUp(credentials.file) : undefined;
    if (stuck !== undefined && stuck !== this.#stuck) log.warn(stuck);
    this.#stuck = stuck;
    const now = sessionReport({
      record: this.#record.now,
      since: this.#record.since,
      evidence: this.#evidence,
      hostDetail: this.#host.detail,
      problems: [...this.#sync.problems, this.#host.problem, this.#disk.problem, stuck],
      around,
    });
    if (JSON.stringify(now) !== JSON.stringify(report.value)) report.value = now;
  }
}
