import { onStopEvent } from "../../shared/base/process/stop_event.ts";

/** How the operator ends the agent, or has it restart the server. */
export interface StopSignals {
  /** Aborted by the first TERM or INT: an orderly end. */
  readonly orderly: AbortSignal;
  /** Aborted by the second: at once. */
  readonly atOnce: AbortSignal;
  /** Calls back when the server is to be restarted; returns how to be called no more. */
  readonly onRestart?: (restart: () => void) => () => void;
}

const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM"];

/**
 * Listens to the signals that are meant for this process, for the rest of its life. HUP requests a
 * restart of the server, except from a terminal, where it says that the terminal is gone.
 */
export function listenForStop(): StopSignals {
  const orderly = new AbortController();
  const atOnce = new AbortController();
  const restarts = new Set<() => void>();
  const onStop = () => (orderly.signal.aborted ? atOnce : orderly).abort();
  const onHangUp = () => {
    if (Deno.stdin.isTerminal()) return onStop();
    for (const restart of restarts) restart();
  };
  for (const signal of SIGNALS) Deno.addSignalListener(signal, onStop);
  onStopEvent(onStop);
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGHUP", onHangUp);
  return {
    orderly: orderly.signal,
    atOnce: atOnce.signal,
    onRestart: (restart) => {
      restarts.add(restart);
      return () => void restarts.delete(restart);
    },
  };
}
