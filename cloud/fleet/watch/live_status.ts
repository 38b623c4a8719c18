import type { GetMachineStatusResponse } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type {
  ReportStatusRequest,
  ResourceReadings,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Watchers } from "./watchers.ts";

/** What a part's server reported last. */
export interface LiveReport {
  readonly reportedAt: Date;
  readonly status: GetMachineStatusResponse | undefined;
  readonly configError: string;
  readonly readings: readonly ResourceReadings[];
}

interface Kept extends LiveReport {
  readonly readAtMs: number;
}

/** How long a server reports readings after somebody looked. */
export const LIVE_FOR_MS = 10_000;
const ASK_EVERY_MS = 4_000;
/** Readings older than this are not shown: nobody looked meanwhile. */
const READINGS_AGE_MS = 15_000;

/** Status and readings of parts; in memory only. */
export class LiveStatus {
  readonly #reports = new Map<string, Kept>();
  readonly #askedAtMs = new Map<string, number>();

  constructor(private readonly watchers: Watchers, private readonly clock: Clock) {}

  report(request: ReportStatusRequest): void {
    const nowMs = this.clock.monotonicMs();
    const before = this.#reports.get(request.partId);
    // A report of a change carries no readings; those of a moment ago still hold.
    const hasReadings = request.readings.length > 0;
    this.#reports.set(request.partId, {
      reportedAt: this.clock.now(),
      status: request.status ?? before?.status,
      configError: request.configError,
      readings: hasReadings ? request.readings : before?.readings ?? [],
      readAtMs: hasReadings ? nowMs : before?.readAtMs ?? nowMs,
    });
  }

  /** Somebody looks: what is known, and the part's server is requested more. */
  look(partId: string): LiveReport | undefined {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - (this.#askedAtMs.get(partId) ?? -Infinity) >= ASK_EVERY_MS) {
      this.#askedAtMs.set(partId, nowMs);
      this.watchers.tell(partId, "live");
    }
    const report = this.#reports.get(partId);
    if (!report) return undefined;
    return nowMs - report.readAtMs > READINGS_AGE_MS ? { ...report, readings: [] } : report;
  }

  /** What a part reported last, for a list: nothing is requested from its server. */
  reported(partId: string): Pick<LiveReport, "status" | "configError"> | undefined {
    return this.#reports.get(partId);
  }

  /** Whether somebody looked within the last moments: a stream that opens now shall know. */
  isLookedAt(partId: string): boolean {
    return this.clock.monotonicMs() - (this.#askedAtMs.get(partId) ?? -Infinity) < LIVE_FOR_MS;
  }
}
