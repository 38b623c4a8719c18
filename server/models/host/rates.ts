/** Readings that are a difference of two samples. Pure. */
import type { Counters } from "./host_source.ts";

/** Counters and when they were taken, in milliseconds of a clock that never goes back. */
export interface Sample extends Counters {
  readonly atMs: number;
}

export interface Rates {
  /** Share of all processors' time, 0 to 100. */
  readonly cpuPercent: number;
  readonly rxBytesPerSecond: number;
  readonly txBytesPerSecond: number;
}

/**
 * Rates between two samples; a counter that went back (an interface came again) counts as still.
 */
export function ratesBetween(earlier: Sample, later: Sample): Rates {
  const seconds = (later.atMs - earlier.atMs) / 1000;
  const cpuTotal = later.cpu.total - earlier.cpu.total;
  const cpuBusy = later.cpu.busy - earlier.cpu.busy;
  const perSecond = (delta: number) => seconds > 0 ? Math.max(0, delta) / seconds : 0;
  return {
    cpuPercent: cpuTotal > 0 ? percent(Math.max(0, cpuBusy), cpuTotal) : 0,
    rxBytesPerSecond: round(perSecond(later.network.rxBytes - earlier.network.rxBytes)),
    txBytesPerSecond: round(perSecond(later.network.txBytes - earlier.network.txBytes)),
  };
}

/** `part` of `whole` from 0 to 100, with two decimals. */
export function percent(part: number, whole: number): number {
  return whole > 0 ? round(Math.min(100, part / whole * 100)) : 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
