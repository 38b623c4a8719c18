/** Keeps one remote connected, and knows its resources. */
import { toError } from "../../shared/base/errors/to_error.ts";
import { Backoff } from "../../shared/base/time/backoff.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { DialError, dialErrorText, isRefused, RefusedError } from "./dial_error.ts";
import { type KnownApis, learnApis } from "./remote_apis.ts";
import { RemoteCalls } from "./remote_calls.ts";
import type { RemoteLink } from "./remote_link.ts";
import { type RemoteList, RemoteLists } from "./remote_lists.ts";
import { RemoteSession } from "./remote_session.ts";
import type { RemoteSettings } from "./remote_settings.ts";

/** Longest wait between two attempts, unless the configuration asks for a longer one. */
const LONGEST_WAIT_MS = 10_000;
/** Between two attempts that are refused: servers count them. */
const REFUSED_WAIT_MS = { minMs: 10_000, maxMs: 60_000 };

export interface SupervisorOptions {
  readonly settings: RemoteSettings;
  readonly ownId: string;
  readonly apis: KnownApis;
  readonly dial: (settings: RemoteSettings, signal: AbortSignal) => Promise<RemoteLink>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  /** Called after each change of {@link RemoteSupervisor.state}. */
  readonly onChange: () => void;
}

export type RemoteState =
  /** Before the first attempt has ended. */
  | { readonly kind: "connecting" }
  | {
    readonly kind: "connected";
    readonly list: RemoteList;
    readonly link: RemoteLink;
    readonly calls: RemoteCalls;
    /** Changes with each connection. */
    readonly generation: number;
  }
  | {
    readonly kind: "lost";
    /** Why, and what to do. */
    readonly reason: string;
    /** What was there last; undefined for a remote that was never connected. */
    readonly list: RemoteList | undefined;
  };

export class RemoteSupervisor {
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  readonly #broughtApis = new Set<string>();
  #state: RemoteState = { kind: "connecting" };
  #since: Date;
  #generation = 0;
  #logged = "";

  constructor(private readonly options: SupervisorOptions) {
    this.#since = options.clock.now();
    this.#ended = this.#run();
  }

  get state(): RemoteState {
    return this.#state;
  }

  /** When the state last changed other than in its resources. */
  get since(): Date {
    return this.#since;
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the remote is no longer wanted"));
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { settings, dial, clock, random = Math.random } = this.options;
    const { signal } = this.#stop;
    const { reconnectAfterMs: minMs } = settings;
    const again = new Backoff({ minMs, maxMs: Math.max(minMs, LONGEST_WAIT_MS), random });
    const refused = new Backoff({ ...REFUSED_WAIT_MS, random });
    while (!signal.aborted) {
      let isHopeless = false;
      try {
        const link = await dial(settings, signal);
        try {
          await this.#hold(link, () => {
            again.reset();
            refused.reset();
          });
        } finally {
          link.close();
        }
      } catch (error) {
        if (signal.aborted) return;
        isHopeless = isRefused(error);
        this.#lose(dialErrorText(error, settings));
      }
      await clock.sleep((isHopeless ? refused : again).next(), signal).catch(() => undefined);
    }
  }

  /** Until the connection is lost. @throws why */
  async #hold(link: RemoteLink, onConnected: () => void): Promise<never> {
    const { settings, ownId, clock, apis, log } = this.options;
    const { signal } = this.#stop;
    const brought = this.#broughtApis;
    const { name: remote, prefix, checkEveryMs } = settings;
    const lists = new RemoteLists(link, { remote, prefix, ownId });
    const session = new RemoteSession(link.channel.transport, clock);
    const calls = new RemoteCalls(link.channel, session);
    const generation = ++this.#generation;
    const ended = link.ended.then((why) => {
      throw new DialError(`the connection ended: ${why}`);
    });
    ended.catch(() => undefined);
    let last: RemoteList | undefined;
    try {
      for (;;) {
        const list = await Promise.race([lists.next(signal), ended]);
        if (list.isSelf) {
          throw new RefusedError(
            "it is this machine itself; take it out of the configuration, or correct its address",
          );
        }
        if (list.text !== last?.text) {
          await Promise.race([learnApis(link, list, { apis, brought, log, signal }), ended]);
          this.#connected({ kind: "connected", list, link, calls, generation }, last);
          onConnected();
        }
        last = list;
        await Promise.race([clock.sleep(checkEveryMs, signal), ended]);
      }
    } finally {
      session.close();
    }
  }

  #connected(state: RemoteState & { kind: "connected" }, last: RemoteList | undefined): void {
    const { log, settings, clock, onChange } = this.options;
    if (last === undefined) {
      this.#since = clock.now();
      const fields = { over: state.link.way, resources: state.list.resources.length };
      log.info(`remote ${settings.name} is connected`, { event: "remote_connected", ...fields });
    }
    if (state.list.notes.join() !== (last?.notes ?? []).join()) {
      for (const note of state.list.notes) log.warn(`remote ${settings.name}: ${note}`);
    }
    this.#logged = "";
    this.#state = state;
    onChange();
  }

  #lose(reason: string): void {
    const { log, settings, clock, onChange } = this.options;
    const { kind } = this.#state;
    const list = this.#state.kind === "connecting" ? undefined : this.#state.list;
    if (kind !== "lost" || this.#state.reason !== reason) this.#since = clock.now();
    this.#state = { kind: "lost", reason, list };
    if (this.#logged !== reason) {
      const fields = { event: "remote_lost", remote: settings.name };
      log.warn(`remote ${settings.name} is not connected: ${toError(reason).message}`, fields);
    }
    this.#logged = reason;
    onChange();
  }
}
