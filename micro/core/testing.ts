import type { JsonObject } from "../../shared/gen/micro/messages.ts";
import type { Connection, ConnectionEvents, Host, OnConnection } from "./host/host.ts";
import { methodOf } from "./resources/apis.ts";
import { Attributes } from "./resources/attributes.ts";
import type { Model } from "./resources/models.ts";
import { createHash } from "node:crypto";

/** A host without network and files: time stands still until a test moves it. */
export class FakeHost implements Host {
  #now = 0;
  #lastTimer = 0;
  #timers = new Map<number, { at: number; callback: () => void }>();
  readonly lines: string[] = [];
  readonly flashed = new Map<string, Uint8Array>();
  wall = Date.UTC(2026, 0, 1);
  restarts = 0;
  accept: OnConnection | undefined;
  firmware: Host["firmware"];
  gpio: Host["gpio"];
  i2c: Host["i2c"];
  adc: Host["adc"];
  pwm: Host["pwm"];
  flash: Host["flash"] = {
    largestValue: 64 * 1024,
    read: (key) => this.flashed.get(key),
    write: (key, bytes) => void this.flashed.set(key, bytes.slice()),
    remove: (key) => void this.flashed.delete(key),
  };

  now = (): number => this.#now;
  wallClock = (): number => this.wall;
  setWallClock = (ms: number): void => void (this.wall = ms);
  random = (length: number): Uint8Array => new Uint8Array(length).fill(7);
  setTimer = (ms: number, callback: () => void): number => {
    this.#timers.set(++this.#lastTimer, { at: this.#now + ms, callback });
    return this.#lastTimer;
  };
  clearTimer = (id: number): void => void this.#timers.delete(id);
  connect: Host["connect"] = (_target, events) => {
    this.setTimer(0, () => events.onError("there is no network"));
    return { write: () => true, end: () => {}, destroy: () => {} };
  };
  listen = (_options: unknown, accept: OnConnection) => {
    this.accept = accept;
    return { port: 8080, close: () => {} };
  };
  localAddress = () => undefined;
  sha256 = (bytes: Uint8Array): Uint8Array =>
    new Uint8Array(createHash("sha256").update(bytes).digest());
  verifyEd25519: Host["verifyEd25519"] = () => false;
  memory = () => ({ used: 0, limit: 0 });
  watchdog = () => {};
  log = (line: string): void => void this.lines.push(line);
  restart = (): void => void this.restarts++;

  /** Moves time, and calls what is due, in order; promises get their turn after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turns();
    for (;;) {
      const [next] = [...this.#timers].filter(([, { at }]) => at <= end)
        .sort(([, a], [, b]) => a.at - b.at);
      if (!next) break;
      const [id, { at, callback }] = next;
      this.#timers.delete(id);
      this.wall += at - this.#now;
      this.#now = at;
      callback();
      await turns();
    }
    this.wall += end - this.#now;
    this.#now = end;
    await turns();
  }

  /** A caller's connection: what is written to it, and what it brings. */
  dial(): { events: ConnectionEvents | undefined; written: Uint8Array[]; over: () => boolean } {
    const written: Uint8Array[] = [];
    let over = false;
    const end = () => void (over = true);
    const connection: Connection = {
      write: (bytes) => (written.push(bytes.slice()), true),
      end,
      destroy: end,
    };
    const events = this.accept?.(connection, { address: "10.0.0.2" });
    return { events, written, over: () => over };
  }
}

/** Lets promises that are ready go through, some after the others. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

/** A resource that a test has made of a model. */
export interface Constructed {
  /** Calls a method by its name, `GetReadings`. @throws Error when the driver has none of it */
  call(method: string, request?: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): void;
}

/** Makes a resource `test` of a model without a configuration; it finds no others. */
export function construct(model: Model, attributes: JsonObject, host: Host): Constructed {
  const resource = model.construct({
    name: "test",
    attributes: new Attributes(attributes),
    host,
    resource: (_api, name) => {
      throw new Error(`there is no resource ${name} in a test`);
    },
    log: (level, text) => host.log(`${level} ${text}`),
  });
  return {
    async call(method, request = {}) {
      const own = methodOf(resource, method);
      if (!own) throw new Error(`the model has no ${method}`);
      return await own({ name: "test", ...request });
    },
    close: () => resource.close?.(),
  };
}
