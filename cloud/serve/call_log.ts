import { Code } from "@connectrpc/connect";
import type { Logger } from "../../shared/log/logger.ts";
import type { Interceptor } from "../../shared/rpc/interceptor.ts";

/** Writes every call to the log at debug level. */
export function logCalls(log: Logger): Interceptor {
  return {
    after(call, { code, durationMs }) {
      if (!log.isEnabled("debug")) return;
      log.debug(call.path, {
        code: code === undefined ? "OK" : Code[code],
        ms: Math.round(durationMs * 10) / 10,
        from: call.peer.address,
      });
    },
  };
}
