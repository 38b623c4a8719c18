/** How long callers wait, as frames state it. */
import type { Duration } from "@bufbuild/protobuf/wkt";
import type { RequestHeaders } from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";

/** Longest time that a timer takes: 24.8 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * Milliseconds that a caller allows; undefined without a limit. Clients that turn HTTP requests
 * into frames leave their limit in the metadata, as `grpc-timeout`.
 */
export function timeoutOf(
  headers: Pick<RequestHeaders, "timeout">,
  grpcTimeout: string | undefined,
): number | undefined {
  const { timeout } = headers;
  if (timeout) {
    const ms = Number(timeout.seconds) * 1_000 + timeout.nanos / 1e6;
    // Zero is what a client without a limit sends, where it doesn't leave the field out.
    return ms === 0 ? undefined : ms;
  }
  if (grpcTimeout === undefined) return undefined;
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(grpcTimeout) ?? [];
  return digits && unit ? Number(digits) * (UNIT_MS[unit] ?? 0) : undefined;
}

/** The reverse, for a frame. */
export function durationOf(timeoutMs: number): Pick<Duration, "seconds" | "nanos"> {
  const whole = Math.max(1, Math.ceil(timeoutMs));
  return { seconds: BigInt(Math.floor(whole / 1_000)), nanos: (whole % 1_000) * 1e6 };
}

/** Runs `run` after that time; not at all where there is none. Returns how to stop it. */
export function after(ms: number | undefined, run: () => void): () => void {
  if (ms === undefined || ms > LONGEST_TIMER_MS) return () => undefined;
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
