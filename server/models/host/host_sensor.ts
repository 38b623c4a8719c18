/** The sensor of the host itself: processor, memory, disk, network, uptime. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { attributes, listOf, optional, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Readings, Sensor } from "../../resources/graph/resource.ts";
import type { HostFacts, HostSource, HostSourceOptions } from "./host_source.ts";
import { linuxHostSource } from "./host_source_linux.ts";
import { portableHostSource } from "./host_source_portable.ts";
import { percent, type Rates, ratesBetween, type Sample } from "./rates.ts";

/** Readings younger than this are given out again. Milliseconds. */
const FRESH_MS = 100;
/** The shortest span that rates are taken over; the processor's counters tick each 10 ms. */
const SHORTEST_SPAN_MS = 200;
/** How often the background sample is taken, so that rates are of the last seconds. Milliseconds. */
const BACKGROUND_MS = 5_000;

export interface HostAttributes {
  disk_path: string | undefined;
  interfaces: string[] | undefined;
}

/** What the model needs from outside. */
export interface HostEnvironment {
  clock: Clock;
  /** Default: the source of the platform. */
  source?: (options: HostSourceOptions) => HostSource;
}

/** Model `rdk:builtin:host` of `rdk:component:sensor`. */
export function hostSensorModel(environment: HostEnvironment): Model<HostAttributes> {
  return {
    api: "rdk:component:sensor",
    model: "rdk:builtin:host",
    triedWith: "this kernel's /proc and texts of other systems",
    attributes: attributes<HostAttributes>({
      disk_path: optional(text(
        "A path on the file system whose space is read. Default: / or the system drive.",
      )),
      interfaces: optional(listOf(
        text("Name of a network interface, for example eth0."),
        "Network interfaces whose bytes are counted. Default: all but loopback.",
      )),
    }),
    async construct({ attributes, log }) {
      const options = {
        diskPath: attributes.disk_path ?? defaultDiskPath(),
        interfaces: attributes.interfaces,
      };
      const source = (environment.source ?? platformSource)(options);
      await source.gauges(); // A wrong disk_path shows in the status instead of in each reading.
      return await HostSensor.start(source, environment.clock, log);
    },
  };
}

function defaultDiskPath(): string {
  return Deno.build.os === "windows" ? `${Deno.env.get("SystemDrive") ?? "C:"}\\` : "/";
}

function platformSource(options: HostSourceOptions): HostSource {
  return Deno.build.os === "linux" ? linuxHostSource(options) : portableHostSource(options);
}

/** Answers from the source; rates are over the time since the last background sample. */
export class HostSensor implements Sensor {
  readonly #facts: HostFacts;
  /** The two newest samples that are far enough apart to take rates from. */
  #baseline: Sample;
  #rates: Rates | undefined;
  #background: Timer | undefined;
  #reading: Promise<Readings> | undefined;
  #readAtMs = -Infinity;
  #closed = false;

  private constructor(
    private readonly source: HostSource,
    private readonly clock: Clock,
    private readonly log: Logger,
    first: Sample,
  ) {
    this.#facts = source.facts();
    this.#baseline = first;
  }

  static async start(source: HostSource, clock: Clock, log: Logger): Promise<HostSensor> {
    const counters = await source.counters();
    const first = { ...counters, atMs: clock.monotonicMs() };
    const sensor = new HostSensor(source, clock, log, first);
    sensor.#sampleLater();
    return sensor;
  }

  getReadings(): Promise<Readings> {
    const now = this.clock.monotonicMs();
    if (!this.#reading || now - this.#readAtMs > FRESH_MS) {
      this.#readAtMs = now;
      this.#reading = this.#read();
      this.#reading.catch(() => this.#reading = undefined);
    }
    return this.#reading;
  }

  close(): void {
    this.#closed = true;
    this.#background?.cancel();
  }

  async #read(): Promise<Readings> {
    if (!this.#rates) {
      const age = this.clock.monotonicMs() - this.#baseline.atMs;
      if (age < SHORTEST_SPAN_MS) await this.clock.sleep(SHORTEST_SPAN_MS - age);
    }
    const [sample, gauges] = await Promise.all([this.#sample(), this.source.gauges()]);
    const rates = this.#updateRates(sample, SHORTEST_SPAN_MS);
    const { memory, disk, load } = gauges;
    return {
      cpu_percent: rates.cpuPercent,
      load_1m: load[0],
      load_5m: load[1],
      load_15m: load[2],
      memory_total_bytes: memory.totalBytes,
      memory_used_bytes: memory.usedBytes,
      memory_used_percent: percent(memory.usedBytes, memory.totalBytes),
      disk_total_bytes: disk.totalBytes,
      disk_used_bytes: disk.usedBytes,
      disk_used_percent: percent(disk.usedBytes, disk.usedBytes + disk.availableBytes),
      network_rx_bytes_per_second: rates.rxBytesPerSecond,
      network_tx_bytes_per_second: rates.txBytesPerSecond,
      network_rx_bytes: sample.network.rxBytes,
      network_tx_bytes: sample.network.txBytes,
      uptime_seconds: gauges.uptimeSeconds,
      process_count: gauges.processCount,
      cpu_count: this.#facts.cpuCount,
      hostname: this.#facts.hostname,
      os: this.#facts.os,
    };
  }

  /** Rates up to `sample`; it becomes the new baseline when the span was long enough. */
  #updateRates(sample: Sample, shortestMs: number): Rates {
    if (sample.atMs - this.#baseline.atMs >= shortestMs) {
      this.#rates = ratesBetween(this.#baseline, sample);
      this.#baseline = sample;
    }
    return this.#rates ?? ratesBetween(this.#baseline, sample);
  }

  async #sample(): Promise<Sample> {
    return { ...await this.source.counters(), atMs: this.clock.monotonicMs() };
  }

  #sampleLater(): void {
    this.#background = this.clock.setTimer(BACKGROUND_MS, async () => {
      try {
        this.#updateRates(await this.#sample(), BACKGROUND_MS);
      } catch (error) {
        this.log.debug(`background sample failed: ${toError(error).message}`);
      }
      if (!this.#closed) this.#sampleLater();
    });
  }
}
