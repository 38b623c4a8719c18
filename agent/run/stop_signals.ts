/** How the operator ends the agent. */
export interface StopSignals {
  /** Aborted by the first TERM or INT: an orderly end. */
  readonly orderly: AbortSignal;
  /** Aborted by the second: at once. */
  readonly atOnce: AbortSignal;
}

const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM"];

/** Listens to the signals that end this process, for the rest of its life. */
export function listenForStop(): StopSignals {
  const orderly = new AbortController();
  const atOnce = new AbortController();
  const onSignal = () => (orderly.signal.aborted ? atOnce : orderly).abort();
  for (const signal of SIGNALS) Deno.addSignalListener(signal, onSignal);
  return { orderly: orderly.signal, atOnce: atOnce.signal };
}
