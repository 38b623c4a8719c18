import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CallContext, Readings, Sensor } from "../../resources/graph/resource.ts";
import { jsonReadings } from "../readings/json_readings.ts";
import { Polled } from "../readings/polled.ts";
import type { HttpSensorAttributes } from "./http_attributes.ts";
import { type Fetch, httpGet, readBody } from "./http_get.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_INTERVAL_MS = 1_000;
/** Readings are small; more is another address than was meant. */
const MAX_BYTES = 1024 * 1024;

/** What the sensor needs from outside. */
export interface HttpSensorEnvironment {
  readonly clock: Clock;
  /** Default: the runtime's. */
  readonly fetch?: Fetch;
}

interface Good {
  readonly readings: Readings;
  readonly atMs: number;
}

/**
 * Asks when it is read, never on its own. A failure is reported as it is; with `max_age` the last
 * good readings stand in for it, with their age, until they are too old.
 */
export class HttpSensor implements Sensor {
  readonly #polled: Polled<Good>;
  #good: Good | undefined;

  constructor(
    private readonly attributes: HttpSensorAttributes,
    private readonly environment: HttpSensorEnvironment,
    private readonly log: Logger,
  ) {
    this.#polled = new Polled({
      clock: environment.clock,
      intervalMs: attributes.interval ?? DEFAULT_INTERVAL_MS,
      ask: (signal) => this.#ask(signal),
    });
  }

  async getReadings(_extra: JsonObject | undefined, { signal }: CallContext): Promise<Readings> {
    const { max_age: maxAgeMs } = this.attributes;
    if (maxAgeMs === undefined) return (await this.#polled.read(signal)).readings;
    try {
      return this.#aged(await this.#polled.read(signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#good || this.#ageMs(this.#good) > maxAgeMs) throw error;
      this.log.debug(`the last readings stand in: ${toError(error).message}`);
      return this.#aged(this.#good);
    }
  }

  close(): Promise<void> {
    return this.#polled.close();
  }

  async #ask(signal: AbortSignal): Promise<Good> {
    const { url, headers = {}, timeout, path } = this.attributes;
    const { clock, fetch = globalThis.fetch } = this.environment;
    const body = await httpGet({
      address: url,
      headers,
      accept: "application/json",
      timeoutMs: timeout ?? DEFAULT_TIMEOUT_MS,
      clock,
      signal,
      fetch,
    }, (response) => readBody(response, MAX_BYTES));
    const text = new TextDecoder().decode(body);
    const readings = jsonReadings(text, path, `the answer of ${url.shown}`);
    return this.#good = { readings, atMs: clock.monotonicMs() };
  }

  #aged(good: Good): Readings {
    return { ...good.readings, reading_age_seconds: Math.round(this.#ageMs(good)) / 1000 };
  }

  #ageMs(good: Good): number {
    return this.environment.clock.monotonicMs() - good.atMs;
  }
}
