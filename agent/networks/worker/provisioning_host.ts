import { toError } from "../../../shared/base/errors/to_error.ts";
import type { NetworkSettings } from "../../../shared/config/agent_fields.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { ProvisioningPort } from "../../provisioning/provisioning_port.ts";
import type { WayRunner } from "../../provisioning/run_ways.ts";
import { HOTSPOT_ADDRESS, hotspotName, type MachineHotspot } from "../hotspot/hotspot.ts";
import type { NetworkDevice, NetworkManager } from "../manager/network_manager.ts";
import { radioOf } from "./surroundings.ts";

export interface ProvisioningHostOptions {
  readonly manager: NetworkManager;
  readonly hotspot: MachineHotspot;
  readonly ways: WayRunner;
  readonly port: ProvisioningPort;
  readonly hostName: string;
  /** Before the radio becomes an access point. */
  readonly beforeHotspot: (radio: NetworkDevice, signal: AbortSignal) => Promise<void>;
  /** Something of it changed. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const RETRY_MS = 5_000;
const LOOK_EVERY_MS = 2_000;

/** The hotspot and the ways to provision, from the beginning of provisioning to its end. */
export class ProvisioningHost {
  readonly #options: ProvisioningHostOptions;
  #serving: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  #detail = "";
  #problem: string | undefined;

  constructor(options: ProvisioningHostOptions) {
    this.#options = options;
  }

  /** It was begun, and not ended; a hotspot may be there or not. */
  get isServing(): boolean {
    return this.#serving !== undefined;
  }

  /** What is there for people to use: a clause. */
  get detail(): string {
    return this.#serving ? this.#detail : "";
  }

  /** Why there is no hotspot; undefined: there is one, or none is requested. */
  get problem(): string | undefined {
    return this.#serving ? this.#problem : undefined;
  }

  /** Begins; a second call begins again with these settings. */
  async start(settings: NetworkSettings, signal: AbortSignal): Promise<void> {
    await this.stop();
    const stop = linkedController(signal);
    this.#detail = "";
    this.#problem = undefined;
    const ended = this.#serve(settings, stop.signal);
    this.#serving = { stop, ended };
  }

  /** Nothing of it is left, and no connection open, when that resolves. */
  async stop(): Promise<void> {
    const serving = this.#serving;
    this.#serving = undefined;
    serving?.stop.abort();
    await serving?.ended;
  }

  async #serve(settings: NetworkSettings, signal: AbortSignal): Promise<void> {
    const { ways, port, hostName, log } = this.#options;
    const name = hotspotName(settings.hotspot_prefix, hostName);
    const site = { port, settings, name };
    const bluetooth = settings.disable_bt_provisioning
      ? Promise.resolve()
      : ways.run("bluetooth", { ...site, address: "" }, signal);
    const wifi = settings.disable_wifi_provisioning
      ? Promise.resolve()
      : this.#keepHotspot(settings, name, signal);
    const ended = await Promise.allSettled([bluetooth, wifi]);
    for (const each of ended) {
      if (each.status === "rejected" && !signal.aborted) {
        log.error("provisioning failed", { event: "provisioning_failed", error: each.reason });
      }
    }
  }

  async #keepHotspot(settings: NetworkSettings, name: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const turn = async () => {
      await this.#whileUp(settings, name, signal);
      if (!signal.aborted) this.#tell("", "the hotspot went away and is started again");
    };
    const onFailure = (error: unknown) => {
      const problem = toError(error).message;
      if (problem !== this.#problem) {
        log.warn("there is no hotspot", { event: "provisioning_failed", reason: problem });
      }
      this.#tell("", problem);
    };
    await pollLoop(turn, { clock, intervalMs: RETRY_MS, onFailure }, signal);
  }

  async #whileUp(settings: NetworkSettings, name: string, signal: AbortSignal): Promise<void> {
    const { manager, hotspot, ways, port, beforeHotspot, clock } = this.#options;
    const radio = radioOf(await manager.devices(), settings.hotspot_interface);
    if (!radio) throw new Error(noRadio(settings.hotspot_interface));
    const switchedOff = await switchedOffBecause(manager, radio);
    if (switchedOff !== undefined) throw new Error(switchedOff);
    await beforeHotspot(radio, signal);
    const down = linkedController(signal);
    let serving: Promise<void> | undefined;
    try {
      const running = await hotspot.start(settings, radio, signal);
      this.#tell(`the hotspot ${running.ssid} is up on ${radio.interface}`, undefined);
      serving = ways.run(
        "hotspot",
        { port, settings, name, address: HOTSPOT_ADDRESS },
        down.signal,
      );
      while (await hotspot.isUp(running)) await clock.sleep(LOOK_EVERY_MS, signal);
    } finally {
      down.abort();
      await serving;
      await hotspot.clear();
    }
  }

  #tell(detail: string, problem: string | undefined): void {
    this.#detail = detail;
    this.#problem = problem;
    this.#options.onChange();
  }
}

function noRadio(wanted: string): string {
  return wanted === ""
    ? "there is no hotspot: this machine has no WiFi radio"
    : `there is no hotspot: hotspot_interface is ${wanted}, which is no WiFi radio of this machine`;
}

/** NMDeviceState: not NetworkManager's, and not usable. */
const UNMANAGED = 10;
const UNAVAILABLE = 20;

async function switchedOffBecause(
  manager: NetworkManager,
  { state, interface: name }: NetworkDevice,
): Promise<string | undefined> {
  if (state === UNMANAGED) return `there is no hotspot: NetworkManager does not manage ${name}`;
  if (state !== UNAVAILABLE) return undefined;
  await manager.enableWifi();
  return `there is no hotspot: ${name} is switched off (rfkill or a hardware switch)`;
}
