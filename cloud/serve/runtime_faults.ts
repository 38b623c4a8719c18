import type { Logger } from "../../shared/log/logger.ts";
import { hasReliableHttp2 } from "../../shared/rpc/client/fallback/reliable_http2.ts";

// What node:http of Deno 2.7.11 rejects nowhere in particular when an answer is cut, by us or by
// the receiver of a webhook. Nobody can catch it, and it would end the process.
const HARMLESS = /operation canceled|error reading a body from connection/;

/**
 * Keeps this process alive through faults of older runtimes, which binaries compiled in closed
 * networks have; does nothing on Deno 2.9 and later.
 */
export function bearRuntimeFaults(log: Logger): void {
  if (hasReliableHttp2()) return;
  globalThis.addEventListener("unhandledrejection", (event) => {
    if (!isHarmless(event.reason)) return;
    event.preventDefault();
    log.debug("an answer was cut", { error: String(event.reason) });
  });
}

/** Whether a rejection is one of those that say nothing but that an answer was cut. */
export function isHarmless(reason: unknown): boolean {
  return reason instanceof Error && HARMLESS.test(reason.message);
}
