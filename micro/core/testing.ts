import type { Connection, ConnectionEvents, Host, OnConnection } from "./host/host.ts";
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
