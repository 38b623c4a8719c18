import {
  type AdditionalNetwork,
  type AdvancedSettings,
  type AgentSettings,
  type NetworkSettings,
} from "../../../shared/config/agent_fields.ts";
import { mergeAgentSettings } from "../../../shared/config/agent_settings.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import type { SystemBus } from "../../dbus/system_bus.ts";
import type { ProvisioningSite } from "../../provisioning/provisioning_way.ts";
import { AgentState } from "../../state/agent_state.ts";
import { FakeNetworkManager } from "../manager/fake_network_manager.ts";
import { unknownNetworks } from "../report/network_report.ts";
import type { CredentialsAnswer, NetworkDeps } from "./network_deps.ts";
import { tendNetworks } from "./network_worker.ts";

export interface TestSettings {
  readonly network?: Partial<NetworkSettings>;
  readonly additional?: Record<string, Partial<AdditionalNetwork>>;
  readonly advanced?: Partial<AdvancedSettings>;
}

/** The networks' part of the agent with NetworkManager, cloud and time of a test. */
export class NetworkRig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = memoryLogger();
  nm = new FakeNetworkManager(this.clock);
  openBus: () => Promise<SystemBus> = () => Promise.resolve(this.nm);
  hasCredentials = true;
  answer: CredentialsAnswer = "accepted";
  written: unknown[] = [];
  /** Is called before the credentials are written. */
  onWrite: () => void | Promise<void> = () => {};
  reboots = 0;
  mayReboot = true;
  /** There is an internet whatever the radio does. */
  isWired = false;
  /** Names lead to the machine. */
  hasRedirects = false;
  /** A URL that is answered with 2xx. */
  answersAt = "";
  hasBluetooth = false;
  /** Names below `.setup` alone lead to the machine. */
  onlySetup = false;
  site: ProvisioningSite | undefined;
  /** Of Bluetooth. */
  bluetooth: ProvisioningSite | undefined;
  readonly told: string[] = [];
  readonly deps: NetworkDeps;
  readonly #current: Watched<{ settings: AgentSettings }>;
  #stop = new AbortController();
  #hadRedirects: boolean | undefined;
  #running: Promise<void> | undefined;

  private constructor(readonly state: AgentState, settings: TestSettings) {
    this.#current = new Watched({ settings: settingsOf(settings) });
    const isReached = () => Promise.resolve(this.isWired || this.nm.hasInternet);
    this.deps = {
      current: this.#current,
      report: new Watched(unknownNetworks(this.clock.now())),
      db: state.database,
      bootClock: { boot: "b", uptimeMs: () => this.clock.monotonicMs() },
      openBus: () => this.openBus(),
      cloudAnswered: new Watched(false),
      askCloud: isReached,
      askUrl: (url) => Promise.resolve(url === this.answersAt),
      credentials: {
        has: () => this.hasCredentials,
        file: "/etc/machine.json",
        check: () => Promise.resolve(this.answer),
        write: async (credentials) => {
          await this.onWrite();
          this.written.push(credentials);
          this.hasCredentials = true;
        },
      },
      mayReboot: () => this.mayReboot,
      reboot: () => Promise.resolve(void this.reboots++),
      hasBluetooth: () => this.hasBluetooth,
      ways: [() => ({
        name: "portal",
        over: "hotspot",
        start: (site) => {
          this.site = site;
          this.told.push(`portal at ${site.address}`);
          return Promise.resolve({
            [Symbol.asyncDispose]: () => {
              this.site = undefined;
              this.told.push("portal ends");
              return Promise.resolve();
            },
          });
        },
      }), () => ({
        name: "bluetooth",
        over: "bluetooth",
        start: (site) => {
          this.bluetooth = site;
          return Promise.resolve({
            [Symbol.asyncDispose]: () => Promise.resolve(void (this.bluetooth = undefined)),
          });
        },
      })],
      hostName: "Rover",
      version: "1.2.3",
      captiveDns: {
        write: (_, onlySetup) => {
          this.hasRedirects = true;
          this.onlySetup = onlySetup;
          return Promise.resolve();
        },
        remove: () => Promise.resolve(void (this.hasRedirects = false)),
      },
      clock: this.clock,
      log: this.log,
    };
  }

  static create(settings: TestSettings = {}): NetworkRig {
    return new NetworkRig(AgentState.open(":memory:"), settings);
  }

  start(): void {
    this.#running = tendNetworks(this.deps, this.#stop.signal);
    this.#running.catch(() => {});
  }

  /** A message of the agent's networks ended it; undefined while they run. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  set settings(settings: TestSettings) {
    this.#current.value = { settings: settingsOf(settings) };
  }

  get at(): string {
    return this.deps.report.value.state;
  }

  /** Lets time pass in small steps. */
  async pass(ms: number, stepMs = 250): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.clock.advance(Math.min(stepMs, left));
    }
  }

  /** Lets time pass until something holds; fails after `ms`. @returns how long it took. */
  async until(is: () => boolean, ms: number, stepMs = 250): Promise<number> {
    const startMs = this.clock.monotonicMs();
    while (!is()) {
      const passed = this.clock.monotonicMs() - startMs;
      if (passed >= ms) {
        const lines = this.log.text();
        throw new Error(`not within ${ms} ms; ${JSON.stringify(this.deps.report.value)}\n${lines}`);
      }
      await this.pass(stepMs, stepMs);
    }
    return this.clock.monotonicMs() - startMs;
  }

  /** The host loses power, with all that is not on disk. To be thrown. */
  cutPower(): Error {
    this.#hadRedirects = this.hasRedirects;
    this.takesWrites = false;
    this.#stop.abort();
    return this.nm.cutPower();
  }

  get isPowerCut(): boolean {
    return this.#hadRedirects !== undefined;
  }

  /** The host starts again after {@link cutPower}. */
  async powerUp(): Promise<void> {
    await this.stop();
    this.hasRedirects = this.#hadRedirects ?? false;
    this.#hadRedirects = undefined;
    this.takesWrites = true;
    this.nm = this.nm.restarted();
    this.deps.report.value = unknownNetworks(this.clock.now());
    this.#stop = new AbortController();
    this.start();
  }

  /** False: the agent's database can be written no more, as on a disk that is full. */
  set takesWrites(takes: boolean) {
    this.state.database.pragma(`query_only = ${takes ? 0 : 1}`);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const ended = this.#running?.catch(() => {});
    await this.pass(500);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.state.close();
  }
}

function settingsOf({ network = {}, additional = {}, advanced = {} }: TestSettings): AgentSettings {
  const layer = {
    network_configuration: network,
    additional_networks: additional,
    advanced_settings: advanced,
  };
  const { settings, problems } = mergeAgentSettings(
    [JSON.parse(JSON.stringify(layer))],
    ["test"],
  );
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return settings;
}
