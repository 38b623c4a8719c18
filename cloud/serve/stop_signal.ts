import { onStopEvent } from "../../shared/base/process/stop_event.ts";

/**
 * Aborts when the process is asked to stop (SIGINT, SIGTERM; Ctrl-C and Ctrl-Break on Windows).
 * A second signal ends the process at once.
 */
export function untilToldToStop(): AbortSignal {
  const controller = new AbortController();
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  const onSignal = () => {
    if (controller.signal.aborted) Deno.exit(1);
    controller.abort();
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  onStopEvent(onSignal);
  return controller.signal;
}
