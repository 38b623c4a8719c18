/**
 * Reports to the cloud how the machine is: on each change, and each second while somebody looks.
 */
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type {
  MachineService,
  ResourceReadings,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { GetMachineStatusResponse } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";

/** Changes closer together than this share a report. Milliseconds. */
const SPACING_MS = 200;
/** Time between two reports while somebody looks. Milliseconds. */
const LIVE_MS = 1_000;
const SEND_TIMEOUT_MS = 10_000;

export interface StatusReporterOptions {
  client: Pick<Client<typeof MachineService>, "reportStatus">;
  partId: string;
  status: () => { status: GetMachineStatusResponse; configError: string };
  readings: () => Promise<ResourceReadings[]>;
  clock: Clock;
  log: Logger;
  backoff?: Backoff;
}

export class StatusReporter {
  /** Whether the cloud does not know everything yet. */
  readonly #unreported = new Watched(true);
  readonly #liveUntilMs = new Watched(-Infinity);

  constructor(private readonly options: StatusReporterOptions) {}

  /** Something that the cloud should know has changed. */
  changed(): void {
    this.#unreported.value = true;
  }

  /** Reports readings each second for `ms` milliseconds. */
  live(ms: number): void {
    const until = this.options.clock.monotonicMs() + ms;
    this.#liveUntilMs.value = Math.max(this.#liveUntilMs.value, until);
  }

  /** Reports until the signal aborts, or the cloud reports that it wants no reports. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const backoff = this.options.backoff ?? new Backoff({ minMs: 500, maxMs: 30_000 });
    const onFailure = (error: unknown) => {
      this.#unreported.value = true;
      log.debug(`the status could not be reported: ${reasonOf(error)}`);
    };
    await pollLoop(
      (signal) => this.#turn(signal),
      { clock, intervalMs: 0, backoff, onFailure },
      signal,
    );
  }

  /** Waits until there is something to report, reports it, and keeps the distance to the next. */
  async #turn(signal: AbortSignal): Promise<"done" | void> {
    const { clock, log } = this.options;
    while (!this.#unreported.value && !this.#isLive()) {
      await anyChange([this.#unreported, this.#liveUntilMs], signal);
    }
    const isLive = this.#isLive();
    try {
      await this.#report(isLive, signal);
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.Unimplemented) throw error;
      log.debug("the cloud takes no status reports");
      return "done";
    }
    await clock.sleep(SPACING_MS, signal);
    // A change ends the wait for the next live report early, but never the spacing.
    if (!isLive || this.#unreported.value) return;
    await anyChange([this.#unreported], signal, { clock, ms: LIVE_MS - SPACING_MS });
  }

  #isLive(): boolean {
    return this.options.clock.monotonicMs() < this.#liveUntilMs.value;
  }

  async #report(isLive: boolean, signal: AbortSignal): Promise<void> {
    const { client, partId, status, readings } = this.options;
    this.#unreported.value = false;
    const current = isLive ? await readings() : [];
    await client.reportStatus(
      { partId, ...status(), readings: current },
      { timeoutMs: SEND_TIMEOUT_MS, signal },
    );
  }
}
