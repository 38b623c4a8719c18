/** Programs of the configuration that run alongside the server. */
import { createHash } from "node:crypto";
import { sameJson } from "../../../shared/base/json/json.ts";
import type { ProcessConfig } from "../../../shared/config/remotes.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { runProcess } from "./managed_process.ts";
import { findSystemUser, type FindUser } from "./system_user.ts";

/** The server ends within a minute; its programs must be gone before. Milliseconds. */
const CLOSE_MS = 50_000;

export interface ProcessManagerOptions {
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** `rdk.process`; each program logs below it under its id. */
  readonly log: Logger;
  /** The server was started with `-untrusted-env`: nothing is run. */
  readonly untrusted: boolean;
  /** The environment that programs start from: the server's own. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The server's home folder. With it, what a killed server left running is stopped before the same
   * entry is started again.
   */
  readonly home?: string;
  /** Default: the users of this host. */
  readonly findUser?: FindUser;
  /** Default `Math.random`. */
  readonly random?: () => number;
}

interface Entry {
  readonly config: ProcessConfig;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Keeps the processes of the configuration running. */
export class ProcessManager {
  #entries = new Map<string, Entry>();
  /** Ends of all programs that have not ended, also of those that are wanted no more. */
  readonly #ends = new Map<string, Promise<void>>();
  #refused = "";
  #isClosed = false;
  /** Aborts when programs that do not end hold up the end of the server. */
  readonly #hurry = new AbortController();

  constructor(private readonly options: ProcessManagerOptions) {}

  /**
   * Makes these the programs that run. What is the same continues; what is gone or different is
   * ended with its children; what is new or different is started, all side by side. A `one_shot`
   * entry runs once for each configuration of it that this server gets. Never rejects.
   *
   * @returns resolves when the old ones have ended and the new ones were started, or could not be:
   * that may take as long as the longest `stop_timeout`.
   */
  async apply(configs: readonly ProcessConfig[]): Promise<void> {
    if (this.#isClosed || this.#isRefused(configs)) return;
    const before = this.#entries;
    this.#entries = new Map();
    const waits: Promise<void>[] = [];
    for (const [id, config] of new Map(configs.map((one) => [one.id, one]))) {
      const old = before.get(id);
      if (old && sameJson(old.config, config)) {
        this.#entries.set(id, old);
        before.delete(id);
      } else {
        waits.push(this.#start(id, config));
      }
    }
    for (const { controller, ended } of before.values()) {
      controller.abort();
      waits.push(ended);
    }
    await Promise.all(waits);
  }

  /** Ends all programs with everything they started; none gets longer than 50 seconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { controller } of this.#entries.values()) controller.abort();
    this.#entries.clear();
    const timer = this.options.clock.setTimer(CLOSE_MS, () => this.#hurry.abort());
    await Promise.all(this.#ends.values());
    timer.cancel();
  }

  /** Kills all programs with everything they started, for when nobody waits any longer. */
  kill(): void {
    void this.close();
    this.#hurry.abort();
  }

  /** @returns resolves when its first start was tried. */
  #start(id: string, config: ProcessConfig): Promise<void> {
    const { findUser = findSystemUser, random = Math.random } = this.options;
    const { promise, resolve: onStarted } = Promise.withResolvers<void>();
    const controller = new AbortController();
    const previous = this.#ends.get(id);
    const run = async () => {
      // The one before has the same ports and files.
      await previous;
      const { processes, clock, environment } = this.options;
      const log = this.options.log.child(id);
      const options = { processes, clock, environment, log, findUser, random, onStarted };
      const tree = this.#tree(id);
      await runProcess(config, { ...options, tree, hurry: this.#hurry.signal }, controller.signal);
    };
    const ended = run();
    this.#ends.set(id, ended);
    void ended.finally(() => {
      if (this.#ends.get(id) === ended) this.#ends.delete(id);
    });
    this.#entries.set(id, { config, controller, ended });
    return promise;
  }

  /** The same in each life of the server, and no other server's. */
  #tree(id: string): string | undefined {
    const { home } = this.options;
    if (home === undefined) return undefined;
    return createHash("sha256").update(`${home}\0process\0${id}`).digest("hex").slice(0, 24);
  }

  #isRefused(configs: readonly ProcessConfig[]): boolean {
    const { untrusted, log } = this.options;
    if (!untrusted) return false;
    const ids = configs.map(({ id }) => id).join(", ");
    if (ids !== "" && ids !== this.#refused) {
      log.error(`processes are not run with -untrusted-env: ${ids}`, { event: "process_refused" });
    }
    this.#refused = ids;
    return true;
  }
}
