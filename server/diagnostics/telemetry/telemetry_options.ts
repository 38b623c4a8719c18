import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";

export interface TelemetryOptions {
  /** `-output-telemetry`: print metrics every 10 s, and spans. */
  print: boolean;
  /** Where `tracing.disk` writes. */
  folder: () => string;
  /** Version of this server. */
  version: string;
  /** Resources by state. */
  resourceStates: () => Readonly<Record<string, number>>;
  clock: Clock;
  /** `rdk.telemetry` */
  log: Logger;
  /** Takes lines, each with its newline. */
  write: (text: string) => void;
  /** Milliseconds between two prints of the metrics. Default 10 s. */
  metricsIntervalMs?: number;
}

/** W3C trace context of a call that is being traced; goes along where the call is passed on. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}
