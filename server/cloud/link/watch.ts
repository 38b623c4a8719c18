/** The cloud's push channel: one stream that tells when something of the part changed. */
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

/** The cloud sends something each 10 s; a stream silent for this long is dead. Milliseconds. */
const SILENCE_MS = 30_000;

/** What the stream's events lead to. None may throw. */
export interface WatchHandlers {
  /** The stream is open (again); the cloud may have forgotten what it was told before. */
  connected(): void;
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

/** Keeps the stream open until the signal aborts, or the cloud says that it has none. */
export async function watchCloud(
  options: WatchOptions,
  signal: AbortSignal,
): Promise<void | "done"> {
  const { clock, log } = options;
  const backoff = options.backoff ?? new Backoff({ minMs: 500, maxMs: 30_000 });
  while (!signal.aborted) {
    try {
      await followOnce(options, signal, () => backoff.reset());
      log.debug("the cloud ended the push channel");
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ConnectError && error.code === Code.Unimplemented) {
        log.info("the cloud has no push channel; changes are asked for");
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
  let timer: Timer | undefined;
  const heard = () => {
    timer?.cancel();
    timer = clock.setTimer(SILENCE_MS, () => silence.abort(new Error("nothing heard for 30 s")));
  };
  try {
    heard();
    let first = true;
    const stream = client.watch({ partId }, { signal: silence.signal });
    for await (const { event } of stream) {
      heard();
      if (first) {
        first = false;
        onFirst();
        handlers.connected();
      }
      dispatch(event, handlers);
    }
  } finally {
    timer?.cancel();
    silence.abort();
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
    case undefined:
      return;
  }
}
