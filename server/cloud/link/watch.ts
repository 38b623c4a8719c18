/** The cloud's push channel: one stream that reports when something of the part changed. */
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type {
  MachineService,
  WatchResponse,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";

/**
 * The cloud sends something each 10 s. A stream that is silent for longer cannot be relied on:
 * changes must be applied within 15 s. Milliseconds.
 */
const QUIET_MS = 13_000;
/** It is dead then. Not earlier: a cloud that is busy for seconds must not lose all its streams. */
const SILENCE_MS = 30_000;

/** What the stream's events lead to. None may throw. */
export interface WatchHandlers {
  /** The stream is open (again); the cloud may have forgotten what was reported to it before. */
  connected(): void;
  /** The stream works. `revision`: of the newest configuration; empty from clouds that do not say. */
  alive(revision: string): void;
  /** The stream is silent or broken: changes may be missed until it is {@link alive} again. */
  unreliable(): void;
  configChanged(revision: string): void;
  accessChanged(): void;
  /** Somebody looks at the machine: report readings for so many milliseconds. */
  liveRequested(ms: number): void;
  restartRequested(): void;
}

export interface WatchOptions {
  client: Pick<Client<typeof MachineService>, "watch">;
  partId: string;
  handlers: WatchHandlers;
  clock: Clock;
  log: Logger;
  backoff?: Backoff;
}

/** Keeps the stream open until the signal aborts, or the cloud has none. */
export async function watchCloud(
  options: WatchOptions,
  signal: AbortSignal,
): Promise<void | "done"> {
  const { clock, log } = options;
  const backoff = options.backoff ?? new Backoff({ minMs: 500, maxMs: 30_000 });
  while (!signal.aborted) {
    try {
      await followOnce(options, signal, () => backoff.reset());
      log.debug("the cloud closed the push channel");
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ConnectError && error.code === Code.Unimplemented) {
        log.info("the cloud has no push channel; changes are polled for");
        return "done";
      }
      log.debug(`the push channel is down: ${reasonOf(error)}`);
    }
    try {
      await clock.sleep(backoff.next(), signal);
    } catch {
      return;
    }
  }
}

async function followOnce(
  options: WatchOptions,
  signal: AbortSignal,
  onFirst: () => void,
): Promise<void> {
  const { client, clock, partId, handlers } = options;
  const silence = linkedController(signal);
  let timers: Timer[] = [];
  const cancel = () => timers.forEach((timer) => timer.cancel());
  const received = () => {
    cancel();
    timers = [
      clock.setTimer(QUIET_MS, () => handlers.unreliable()),
      clock.setTimer(SILENCE_MS, () => silence.abort(new Error("no message for 30 s"))),
    ];
  };
  try {
    received();
    let first = true;
    const stream = client.watch({ partId }, { signal: silence.signal });
    for await (const { event } of stream) {
      received();
      if (first) {
        first = false;
        onFirst();
        handlers.connected();
      }
      dispatch(event, handlers);
    }
  } finally {
    cancel();
    silence.abort();
    if (!signal.aborted) handlers.unreliable();
  }
}

function dispatch(event: WatchResponse["event"], handlers: WatchHandlers): void {
  switch (event.case) {
    case "configChanged":
      return handlers.configChanged(event.value.revision);
    case "accessChanged":
      return handlers.accessChanged();
    case "liveRequested":
      return handlers.liveRequested(event.value.duration ? durationMs(event.value.duration) : 0);
    case "restartRequested":
      return handlers.restartRequested();
    case "keepalive":
      return handlers.alive(event.value.revision);
    case undefined:
      return;
  }
}
