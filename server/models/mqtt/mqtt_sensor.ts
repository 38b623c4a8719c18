import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import mqtt, { type MqttClient } from "mqtt";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Readings, Sensor } from "../../resources/graph/resource.ts";
import type { MqttAttributes } from "./mqtt_attributes.ts";

/** A larger message is no reading. Bytes. */
const LARGEST_MESSAGE = 64 * 1024;
/** Topics that are kept; a wildcard can match any number. */
const MOST_TOPICS = 1_000;
/** Bytes of their last messages together; JSON takes a multiple. */
const MOST_KEPT = 4 * 1024 * 1024;
/** Levels of JSON that a message may have. */
const MOST_LEVELS = 50;
/** The library keeps a message until it is whole; who sends more without its end is left. Bytes. */
const MOST_UNFINISHED = 16 * 1024 * 1024;
const RECONNECT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 10_000;
const NOT_YET = "not connected yet";
const CLOSED = "the connection was closed; see whether the broker runs";
const SILENT = "nothing answers there; check the address and the broker";

interface Message {
  readonly value: JsonValue;
  readonly bytes: number;
  readonly atMs: number;
}

/** See {@link mqttModel}. */
export function createMqttSensor(
  { clock }: { clock: Clock },
  attributes: MqttAttributes,
  log: Logger,
): Sensor {
  const client = mqtt.connect(attributes.url, {
    protocolVersion: 4,
    reconnectPeriod: RECONNECT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    resubscribe: false,
    ...(attributes.client_id !== undefined && { clientId: attributes.client_id }),
    ...(attributes.username !== undefined && { username: attributes.username }),
    ...(attributes.password !== undefined && { password: attributes.password }),
  });
  return new MqttSensor({ client, clock, attributes, log });
}

interface MqttSensorOptions {
  readonly client: MqttClient;
  readonly clock: Clock;
  readonly attributes: MqttAttributes;
  readonly log: Logger;
}

class MqttSensor implements Sensor {
  readonly #messages = new Map<string, Message>();
  #problem: string | undefined;
  #dropped = 0;
  #kept = 0;
  #unfinished = 0;

  constructor(private readonly options: MqttSensorOptions) {
    const { client, attributes } = options;
    this.#problem = `${attributes.url}: ${NOT_YET}`;
    this.#watch();
    // The library notifies of it, then makes the connection.
    client.on("reconnect", () => queueMicrotask(() => this.#watch()));
    client.on("packetreceive", () => void (this.#unfinished = 0));
    client.on("connect", () => this.#subscribe());
    client.on("error", (error) => this.#report(why(error)));
    client.on("close", () => this.#report(CLOSED));
    client.on("message", (topic, payload) => this.#take(topic, payload));
  }

  /** JSON as such, numbers as numbers, other text as text; each under its topic. */
  getReadings(): Readings {
    const { clock, attributes: { max_age: maxAge } } = this.options;
    const nowMs = clock.monotonicMs();
    const fresh = [...this.#messages].filter(([, { atMs }]) =>
      maxAge === undefined || nowMs - atMs <= maxAge
    );
    if (fresh.length === 0) {
      throw new ConnectError(
        this.#problem ?? "nothing was published to the topics so far, or nothing that is recent",
        Code.Unavailable,
      );
    }
    return Object.fromEntries(fresh.map(([topic, { value }]) => [topic, value]));
  }

  getStatus(): JsonObject {
    return {
      topics: this.#messages.size,
      ...(this.#dropped > 0 && { dropped_messages: this.#dropped }),
      ...(this.#problem !== undefined && { error: this.#problem }),
    };
  }

  problem(): string | undefined {
    return this.#isNew ? undefined : this.#problem;
  }

  async close(): Promise<void> {
    const { client } = this.options;
    await client.endAsync(true);
    client.removeAllListeners();
    // What the library still reports must not end the server.
    client.on("error", () => {});
  }

  #subscribe(): void {
    const { client, attributes, log } = this.options;
    const qos = attributes.qos === 1 ? 1 : 0;
    client.subscribe(attributes.topics, { qos }, (error, granted) => {
      const refused = granted?.filter(({ qos }) => qos >= 128).map(({ topic }) => topic) ?? [];
      if (error || refused.length > 0) {
        const what = refused.length > 0 ? refused.join(", ") : attributes.topics.join(", ");
        return this.#report(`the broker refuses ${what}; see what this user may read there`);
      }
      this.#problem = undefined;
      log.info(`subscribed to ${attributes.topics.join(", ")} of ${attributes.url}`);
    });
  }

  #take(topic: string, payload: Uint8Array): void {
    const before = this.#messages.get(topic);
    const kept = this.#kept - (before?.bytes ?? 0) + payload.length;
    if (
      payload.length > LARGEST_MESSAGE || kept > MOST_KEPT ||
      (!before && this.#messages.size >= MOST_TOPICS)
    ) {
      this.#dropped++;
      return;
    }
    this.#kept = kept;
    const value = valueOf(new TextDecoder().decode(payload));
    const atMs = this.options.clock.monotonicMs();
    this.#messages.set(topic, { value, bytes: payload.length, atMs });
  }

  /** Ends a connection that brings bytes without end and no message. */
  #watch(): void {
    const { stream } = this.options.client;
    this.#unfinished = 0;
    stream.on("data", ({ length }: Uint8Array) => {
      this.#unfinished += length;
      if (this.#unfinished <= MOST_UNFINISHED) return;
      this.#report(`a message has more than ${MOST_UNFINISHED} bytes`);
      stream.destroy();
    });
  }

  /** Nothing is known of the broker yet. */
  get #isNew(): boolean {
    return this.#problem?.endsWith(NOT_YET) ?? false;
  }

  #report(problem: string): void {
    const { attributes: { url }, log } = this.options;
    // The reason comes before the close that follows from it.
    if (problem === CLOSED && this.#problem !== undefined && !this.#isNew) return;
    const whole = `${url}: ${this.#isNew && problem === CLOSED ? SILENT : problem}`;
    if (whole !== this.#problem) log.warn(whole, { event: "device_failed" });
    this.#problem = whole;
  }
}

/** Text that is no JSON, or is nested too deeply for readings, stays text. */
function valueOf(text: string): JsonValue {
  try {
    const value = JSON.parse(text) as JsonValue;
    return levels(value, MOST_LEVELS) ? value : text;
  } catch {
    return text;
  }
}

/** Whether there are at most so many levels of objects and arrays. */
function levels(value: JsonValue, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return most > 0 && Object.values(value).every((each) => levels(each, most - 1));
}

function why(error: Error): string {
  const { code } = error as Error & { code?: number | string };
  if (code === 4 || code === 5) {
    return "the broker refuses the user; check username and password";
  }
  if (code === "ECONNREFUSED") return "nobody listens there; check the address and the broker";
  if (code === "ENOTFOUND") return "there is no such host";
  return error.message || String(code ?? "unknown error");
}
