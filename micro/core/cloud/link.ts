import type { Messages } from "../../../shared/gen/micro/messages.ts";
import type { Host } from "../host/host.ts";
import { Backoff, Waiter } from "../host/waiting.ts";
import type { LogQueue } from "../log/log_queue.ts";
import type { Input } from "../proto/codec.ts";
import { WireError } from "../proto/wire.ts";
import { RpcError, textOf } from "../rpc/errors.ts";
import { wallNow, wallTime } from "../status.ts";
import type { CloudClient } from "./cloud_client.ts";

/** Time between two requests for the configuration without a stream that works. Milliseconds. */
const POLL_MS = 10_000;
/** The same with one. */
const QUIET_POLL_MS = 10 * 60_000;
const RESTART_CHECK_MS = 10_000;
/** Changes closer together share a report. Milliseconds. */
const SPACING_MS = 200;
const LIVE_MS = 1_000;
const LOG_PAUSE_MS = 1_000;
const MOST_LINES_A_CALL = 50;

type RobotConfig = Messages["viam.app.v1.RobotConfig"];
type AccessKeys = Messages["machine.cloud.v1.ListAccessKeysResponse"];
type Report = Input<Messages["machine.cloud.v1.ReportStatusRequest"]>;

/** What the cloud's answers lead to, and what is reported to it. None may throw, but `config`. */
export interface LinkHandlers {
  /** The configuration, each time it is fetched. @throws Error where it cannot be used */
  config(config: RobotConfig): void;
  /** Who may open the machine. */
  access(keys: AccessKeys): void;
  /** How the machine is; readings only when requested. */
  report(live: boolean): Promise<Report>;
  restart(): void;
  /** Somebody calls through the cloud. */
  call(call: Messages["machine.cloud.v1.RelayedCall"]): void;
  /** The cloud was reached, or was not. */
  reached(online: boolean): void;
}

export interface LinkOptions {
  readonly host: Host;
  readonly client: CloudClient;
  readonly log: LogQueue;
  readonly version: string;
  readonly handlers: LinkHandlers;
}

/** The exchange with the cloud: each part in a loop of its own, until it is closed. */
export class CloudLink {
  #closed = false;
  #watching = false;
  #revision: string | undefined;
  #configError = "";
  #accessStale = true;
  #dirty = true;
  #liveUntil = -Infinity;
  readonly #waiters: Record<"config" | "watch" | "status" | "restart" | "log", Waiter>;

  constructor(private readonly options: LinkOptions) {
    const { host } = options;
    this.#waiters = {
      config: new Waiter(host),
      watch: new Waiter(host),
      status: new Waiter(host),
      restart: new Waiter(host),
      log: new Waiter(host),
    };
  }

  start(): void {
    this.#run("configuration", () => this.#configLoop());
    this.#run("stream", () => this.#watchLoop());
    this.#run("status", () => this.#statusLoop());
    this.#run("restarts", () => this.#restartLoop());
    this.#run("log", () => this.#logLoop());
  }

  /** Something that the cloud should know has changed. */
  changed(): void {
    this.#dirty = true;
    this.#waiters.status.wake();
  }

  close(): void {
    this.#closed = true;
    this.options.client.close();
    for (const waiter of Object.values(this.#waiters)) waiter.wake();
  }

  #run(name: string, loop: () => Promise<void>): void {
    const again = () => {
      loop().catch((error) => {
        this.options.log.write("error", "cloud", `${name}: ${textOf(error)}`);
        // What failed here is a fault of ours, or of the memory: the device continues.
        if (!this.#closed) this.options.host.setTimer(POLL_MS, again);
      });
    };
    again();
  }

  async #configLoop(): Promise<void> {
    const { host } = this.options;
    const backoff = new Backoff(host, 1_000, POLL_MS);
    while (!this.#closed) {
      const reached = await this.#fetchConfig();
      if (this.#closed) return;
      const pause = this.#watching ? QUIET_POLL_MS : POLL_MS;
      if (reached) backoff.reset();
      await this.#waiters.config.wait(reached ? pause : backoff.next());
    }
  }

  /** @returns whether the cloud answered */
  async #fetchConfig(): Promise<boolean> {
    const { client, host, log, handlers, version } = this.options;
    const partId = client.credentials.partId;
    const address = host.localAddress();
    try {
      const { config } = await client.call("/viam.app.v1.RobotService/Config", {
        id: partId,
        agentInfo: {
          host: "micro",
          os: "micro",
          version,
          ips: address === undefined ? [] : [address],
          platform: "micro/any",
        },
      });
      handlers.reached(true);
      if (this.#accessStale) {
        handlers.access(
          await client.call("/machine.cloud.v1.MachineService/ListAccessKeys", { partId }),
        );
        this.#accessStale = false;
      }
      if (!config) throw new WireError("the cloud sent no configuration");
      if (config.revision !== this.#revision || this.#configError !== "") {
        handlers.config(config);
        this.#revision = config.revision;
      }
      this.#setConfigError("");
      return true;
    } catch (error) {
      const text = textOf(error);
      if (error instanceof RpcError && error.code === "unavailable" && !/larger/.test(text)) {
        handlers.reached(false);
        log.write("debug", "cloud", `cannot be reached: ${text}`);
        return false;
      }
      this.#setConfigError(text);
      return error instanceof RpcError && error.code !== "unauthenticated";
    }
  }

  #setConfigError(text: string): void {
    if (text === this.#configError) return;
    this.#configError = text;
    if (text !== "") {
      const what = "the newest configuration is not used, the one before stays";
      this.options.log.write("error", "config", `${what}: ${text}`);
    }
    this.changed();
  }

  async #watchLoop(): Promise<void> {
    const { host, client, log } = this.options;
    const backoff = new Backoff(host, 500, 30_000);
    while (!this.#closed) {
      try {
        await client.watch((event) => {
          backoff.reset();
          if (!this.#watching) {
            this.#watching = true;
            this.changed();
          }
          this.#take(event);
        });
      } catch (error) {
        log.write("debug", "cloud", `no stream of changes: ${textOf(error)}`);
        if (error instanceof RpcError && error.code === "unimplemented") return;
      }
      this.#watching = false;
      this.#waiters.config.wake();
      if (this.#closed) return;
      await this.#waiters.watch.wait(backoff.next());
    }
  }

  #take(event: Messages["machine.cloud.v1.WatchResponse"]): void {
    const { host } = this.options;
    const revision = event.configChanged?.revision ?? event.keepalive?.revision ?? "";
    if (revision !== "" && revision !== this.#revision) this.#waiters.config.wake();
    if (event.accessChanged) {
      this.#accessStale = true;
      this.#waiters.config.wake();
    }
    if (event.liveRequested) {
      this.#liveUntil = host.now() + (event.liveRequested.duration ?? 0);
      this.#waiters.status.wake();
    }
    if (event.restartRequested) this.#waiters.restart.wake();
    if (event.relayedCall) this.options.handlers.call(event.relayedCall);
  }

  async #statusLoop(): Promise<void> {
    const { host, client, handlers, log } = this.options;
    const backoff = new Backoff(host, 500, 30_000);
    while (!this.#closed) {
      const live = host.now() < this.#liveUntil;
      if (!this.#dirty && !live) {
        await this.#waiters.status.wait(QUIET_POLL_MS);
        continue;
      }
      this.#dirty = false;
      try {
        const report = await handlers.report(live);
        await client.call("/machine.cloud.v1.MachineService/ReportStatus", {
          partId: client.credentials.partId,
          configError: this.#configError,
          ...report,
        });
        backoff.reset();
        await this.#waiters.status.wait(live ? LIVE_MS : SPACING_MS);
      } catch (error) {
        if (this.#closed) return;
        if (error instanceof RpcError && error.code === "unimplemented") return;
        this.#dirty = true;
        log.write("debug", "cloud", `the status was not reported: ${textOf(error)}`);
        await this.#waiters.status.wait(backoff.next());
      }
    }
  }

  async #restartLoop(): Promise<void> {
    const { client, handlers, log } = this.options;
    const id = client.credentials.partId;
    while (!this.#closed) {
      try {
        const { mustRestart } = await client.call("/viam.app.v1.RobotService/NeedsRestart", { id });
        if (mustRestart) {
          log.write("info", "cloud", "restarts, as somebody asked for");
          return handlers.restart();
        }
      } catch (error) {
        log.write("debug", "cloud", `cannot ask whether to restart: ${textOf(error)}`);
      }
      if (this.#closed) return;
      await this.#waiters.restart.wait(RESTART_CHECK_MS);
    }
  }

  async #logLoop(): Promise<void> {
    const { client, host, log } = this.options;
    const backoff = new Backoff(host, LOG_PAUSE_MS, 30_000);
    while (!this.#closed) {
      const lines = log.peek(MOST_LINES_A_CALL);
      // Before the clock is set no line has a time.
      if (lines.length === 0 || wallNow(host) === 0) {
        await this.#waiters.log.wait(LOG_PAUSE_MS);
        continue;
      }
      try {
        await client.call("/viam.app.v1.RobotService/Log", {
          id: client.credentials.partId,
          logs: lines.map(({ level, logger, message, at }) => ({
            host: "micro",
            level,
            loggerName: logger,
            message,
            time: wallTime(host, at),
          })),
        });
        log.sent(lines);
        backoff.reset();
        await this.#waiters.log.wait(LOG_PAUSE_MS);
      } catch (error) {
        // Not a line of the log: it would wait behind those that cannot be sent.
        if (!this.#closed) host.log(`debug cloud: log lines wait: ${textOf(error)}`);
        await this.#waiters.log.wait(backoff.next());
      }
    }
  }
}
