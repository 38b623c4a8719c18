import { Code } from "@connectrpc/connect";
import type { Logger } from "../../log/logger.ts";
import type { CallOutcome, Interceptor } from "./interceptor.ts";

/** Codes that say something is wrong on our side rather than with the request. */
const SERVER_FAULTS = new Set<Code>([Code.Internal, Code.Unknown, Code.DataLoss]);

/** Logs every call at debug level, and calls that failed through our own fault at warn level. */
export function logRequests(log: Logger): Interceptor {
  return {
    after(call, outcome) {
      const fault = outcome.code !== undefined && SERVER_FAULTS.has(outcome.code);
      if (!fault && !log.isEnabled("debug")) return;
      const fields = {
        method: call.path,
        peer: call.peer.address,
        status: statusName(outcome),
        duration_ms: Math.round(outcome.durationMs * 10) / 10,
      };
      if (fault) log.warn("call failed", { event: "call_failed", ...fields });
      else log.debug("call", fields);
    },
  };
}

function statusName({ code }: CallOutcome): string {
  return code === undefined ? "OK" : Code[code] ?? String(code);
}
