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
import { aborted } from "../../resources/graph/aborted.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";

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
  #dirty = true;
  #liveUntilMs = -Infinity;
  #wake = Promise.withResolvers<void>();

  constructor(private readonly options: StatusReporterOptions) {}

  /** Something that the cloud should know has changed. */
  changed(): void {
    this.#dirty = true;
    this.#wake.resolve();
  }

  /** Reports readings each second for `ms` milliseconds. */
  live(ms: number): void {
    const until = this.options.clock.monotonicMs() + ms;
    this.#liveUntilMs = Math.max(this.#liveUntilMs, until);
    this.#wake.resolve();
  }

  /** Reports until the signal aborts, or the cloud reports that it wants no reports. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const backoff = this.options.backoff ?? new Backoff({ minMs: 500, maxMs: 30_000 });
    while (!signal.aborted) {
      try {
        if (!this.#dirty && !this.#isLive()) {
          await Promise.race([this.#wake.promise, aborted(signal)]);
        }
        if (signal.aborted) return;
        this.#wake = Promise.withResolvers();
        const waitMs = this.#isLive() ? LIVE_MS : SPACING_MS;
        await this.#report(signal);
        backoff.reset();
        await this.#pause(waitMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ConnectError && error.code === Code.Unimplemented) {
          log.debug("the cloud takes no status reports");
          return;
        }
        this.#dirty = true;
        log.debug(`the status could not be reported: ${reasonOf(error)}`);
        await clock.sleep(backoff.next(), signal).catch(() => {});
      }
    }
  }

  #isLive(): boolean {
    return this.options.clock.monotonicMs() < this.#liveUntilMs;
  }

  /** A change ends the wait for the next live report early, but never the spacing. */
  async #pause(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    await clock.sleep(SPACING_MS, signal);
    if (waitMs === SPACING_MS || this.#dirty) return;
    const rest = linkedController(signal);
    const sleep = clock.sleep(waitMs - SPACING_MS, rest.signal);
    await Promise.race([sleep.catch(() => {}), this.#wake.promise]);
    rest.abort();
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { client, partId, status, readings } = this.options;
    const live = this.#isLive();
    this.#dirty = false;
    const current = live ? await readings() : [];
    await client.reportStatus(
      { partId, ...status(), readings: current },
      { timeoutMs: SEND_TIMEOUT_MS, signal },
    );
  }
}
