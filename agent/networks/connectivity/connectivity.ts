import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";

export interface ConnectivityOptions {
  /** Whether the cloud answered the agent when it was queried last. */
  readonly cloudAnswered: () => boolean;
  /** Queries the cloud now; false also when there is no cloud yet. */
  readonly askCloud: (signal: AbortSignal) => Promise<boolean>;
  /** Asks the operator's URL now; false when none is named. */
  readonly askProbe: (signal: AbortSignal) => Promise<boolean>;
  /** NMConnectivityState; 0 when NetworkManager does not check. */
  readonly managerSays: () => Promise<number>;
  readonly clock: Clock;
}

/** Who says that there is an internet. */
export type Evidence = "cloud" | "NetworkManager" | "probe";

const FULL = 4;
/** While nobody says that it is online, cloud and probe are queried so often. */
const ASK_EVERY_MS = 10_000;
/** So long an answer counts. */
const ANSWER_COUNTS_MS = 30_000;
const QUESTION_MS = 5_000;
const CONFIRM_EVERY_MS = 2_000;

/**
 * Whether the machine reaches anything: the cloud answers, or NetworkManager's check says full, or
 * the operator's probe answers.
 */
export class Connectivity {
  readonly #options: ConnectivityOptions;
  #answered: { readonly by: Evidence; readonly atMs: number } | undefined;
  #askedMs = -Infinity;
  #asking = false;

  constructor(options: ConnectivityOptions) {
    this.#options = options;
  }

  /** Who says that the machine is online; undefined: nobody. Never waits for the network. */
  async look(signal: AbortSignal): Promise<Evidence | undefined> {
    const { cloudAnswered, managerSays, clock } = this.#options;
    if (cloudAnswered()) return "cloud";
    if (await managerSays() === FULL) return "NetworkManager";
    const nowMs = clock.monotonicMs();
    if (!this.#asking && nowMs - this.#askedMs >= ASK_EVERY_MS) void this.#ask(signal);
    const answered = this.#answered;
    return answered && nowMs - answered.atMs < ANSWER_COUNTS_MS ? answered.by : undefined;
  }

  /** What was received before a change of the networks counts no more. */
  forget(): void {
    this.#answered = undefined;
    this.#askedMs = -Infinity;
  }

  /**
   * Asks afresh until somebody answers.
   *
   * @returns why nobody did within `ms`; undefined when somebody did.
   */
  async confirm(ms: number, signal: AbortSignal): Promise<string | undefined> {
    const { clock, managerSays } = this.#options;
    const endMs = clock.monotonicMs() + ms;
    this.forget();
    do {
      await clock.sleep(CONFIRM_EVERY_MS, signal);
      await this.#ask(signal);
      if (this.#answered !== undefined || await managerSays() === FULL) return undefined;
    } while (clock.monotonicMs() < endMs);
    return `neither the cloud nor the internet was reached within ${ms / 1_000} s`;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { askCloud, askProbe, clock } = this.#options;
    this.#asking = true;
    this.#askedMs = clock.monotonicMs();
    const limit = linkedController(signal);
    const timer = clock.setTimer(QUESTION_MS, () => limit.abort());
    try {
      const [cloud, probe] = await Promise.all([
        askCloud(limit.signal).catch(() => false),
        askProbe(limit.signal).catch(() => false),
      ]);
      if (cloud || probe) {
        this.#answered = { by: cloud ? "cloud" : "probe", atMs: clock.monotonicMs() };
      } else this.#answered = undefined;
    } finally {
      timer.cancel();
      limit.abort();
      this.#asking = false;
    }
  }
}

/**
 * Whether an HTTP server answers at `url`, over a connection of its own.
 *
 * @param isGood which answers count. Default: every one, so that it is the server and no portal
 *   only where `url` is https.
 */
export async function answersOverHttp(
  url: string,
  signal: AbortSignal,
  isGood: (status: number) => boolean = () => true,
): Promise<boolean> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const answer = await fetch(url, { client, signal, redirect: "manual", method: "GET" });
    await answer.body?.cancel();
    return isGood(answer.status);
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return false;
    throw error;
  }
}
