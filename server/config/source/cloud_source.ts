/**
 * The configuration as the cloud has it: fetched at once when it changed, and polled for while no
 * push stream reports the newest revision.
 */
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { checkMachineConfig } from "../../../shared/config/check.ts";
import { fromRobotConfig } from "../../../shared/config/from_robot_config.ts";
import type { AgentInfo, RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { TAKES_HASHES_HEADER } from "../../../shared/rights/hashed_access.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { type Candidate, candidateOf } from "./candidate.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";

/** Default of `cloud.refresh_interval`. Milliseconds. */
const DEFAULT_REFRESH_MS = 10_000;
/**
 * The interval while a stream reports revisions: for what one revision may come to mean, and for a
 * configuration that could not be applied. Milliseconds.
 */
const STREAMED_REFRESH_MS = 5 * 60_000;
/** The first wait after a failed request; it grows up to the refresh interval. Milliseconds. */
const FIRST_RETRY_MS = 1_000;
/** Limit of one request. Milliseconds. */
export const READ_TIMEOUT_MS = 15_000;

export interface CloudSourceOptions {
  client: Pick<Client<typeof RobotService>, "config">;
  partId: string;
  agentInfo: () => AgentInfo;
  clock: Clock;
  log: Logger;
  /** Polling interval without a push stream. Milliseconds. */
  refreshMs?: number;
  readTimeoutMs?: number;
  /** For the jitter of retries. Default `Math.random`. */
  random?: () => number;
  /** Takes what the cloud answers; resolves when it has been decided on. */
  offer: (candidate: Candidate) => Promise<void>;
  /** The cloud answered, but not with a configuration. */
  refuse: (reason: string) => void;
}

export class CloudSource {
  /** Somebody wants it fetched now, which {@link run} has not begun yet. */
  #isWanted = false;
  readonly #refreshes = new Watched(undefined);
  #online: boolean | undefined;
  /** A stream reports the newest revision. */
  #isStreamed = false;
  /** Of the last answer. */
  #revision: string | undefined;
  readonly #refreshMs: number;
  readonly #backoff: Backoff;

  constructor(private readonly options: CloudSourceOptions) {
    this.#refreshMs = options.refreshMs ?? DEFAULT_REFRESH_MS;
    this.#backoff = new Backoff({
      minMs: FIRST_RETRY_MS,
      maxMs: this.#refreshMs,
      ...(options.random && { random: options.random }),
    });
  }

  /**
   * Fetches it once.
   *
   * @throws {ConnectError} when the cloud cannot be reached or does not answer in time.
   */
  async fetch(
    timeoutMs = this.options.readTimeoutMs ?? READ_TIMEOUT_MS,
    signal?: AbortSignal,
  ): Promise<Candidate> {
    const { client, partId } = this.options;
    const request = { id: partId, agentInfo: this.options.agentInfo() };
    const { config } = await client.config(request, {
      timeoutMs,
      headers: { [TAKES_HASHES_HEADER]: "1" },
      ...(signal && { signal }),
    });
    if (!config) throw new ConnectError("the answer holds no configuration", Code.InvalidArgument);
    this.#revision = config.revision;
    return candidateOf(checkMachineConfig(fromRobotConfig(config), { source: "cloud" }), "cloud");
  }

  /** Fetches now instead of at the next turn. */
  refresh(): void {
    this.#isWanted = true;
    this.#refreshes.value = undefined;
  }

  /** The push stream works. @param revision the newest one; empty: the stream does not report it. */
  streamed(revision: string): void {
    this.#isStreamed = revision !== "";
    if (this.#isStreamed && revision !== this.#revision) this.refresh();
  }

  /** The push stream is silent or broken; from now on changes are polled for. */
  unstreamed(): void {
    if (!this.#isStreamed) return;
    this.#isStreamed = false;
    this.refresh();
  }

  /** Polls until the signal aborts; the first time after an interval or a {@link refresh}. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    let askedMs = clock.monotonicMs();
    const turn = async (): Promise<number> => {
      // The stream began to work while the interval without one ran.
      const leftMs = askedMs + STREAMED_REFRESH_MS - clock.monotonicMs();
      if (!this.#isWanted && this.#isStreamed && this.#online !== false && leftMs > 0) {
        return leftMs;
      }
      this.#isWanted = false;
      await this.#turn(signal);
      askedMs = clock.monotonicMs();
      return this.#waitMs();
    };
    // A push that comes while the answer is on its way leads to one more turn.
    const intervalMs = this.#refreshMs;
    const firstMs = this.#isWanted ? 0 : this.#waitMs();
    await pollLoop(turn, { clock, intervalMs, firstMs, changes: [this.#refreshes] }, signal);
  }

  #waitMs(): number {
    if (this.#online === false) return this.#backoff.next();
    return this.#isStreamed ? STREAMED_REFRESH_MS : this.#refreshMs;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    try {
      const candidate = await this.fetch(undefined, signal);
      this.reached();
      await this.options.offer(candidate);
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  /** Whether the cloud answered last time; undefined before the first question. */
  get online(): boolean | undefined {
    return this.#online;
  }

  /** Notes that the cloud answered; logs it when it had been away. */
  reached(): void {
    if (this.#online === false) {
      this.options.log.info("the cloud answers again", { event: "cloud_reached" });
    }
    this.#online = true;
    this.#backoff.reset();
  }

  /** Notes a failed request; the first of a row is logged. */
  failed(error: unknown): void {
    const { log, refuse } = this.options;
    const message = reasonOf(error);
    if (isMalformed(error)) {
      refuse(`the cloud's answer is not a configuration: ${message}`);
      return;
    }
    if (this.#online === false) {
      log.debug(`the configuration still cannot be fetched from the cloud: ${message}`);
      return;
    }
    this.#online = false;
    if (error instanceof ConnectError && error.code === Code.Unauthenticated) {
      log.error(
        `the cloud refuses the credentials of this machine: ${message}. ` +
          "Download the credentials file again; the machine runs on with what it has",
        { event: "cloud_credentials_refused" },
      );
    } else {
      log.warn(
        `the configuration cannot be fetched from the cloud: ${message}. ` +
          "The machine runs on with what it has and retries",
        { event: "cloud_unreachable" },
      );
    }
  }
}

/** Codes that mean that the configuration itself is broken, not the way to it. */
function isMalformed(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return true;
  return error.code === Code.Unknown || error.code === Code.InvalidArgument ||
    error.code === Code.FailedPrecondition;
}
