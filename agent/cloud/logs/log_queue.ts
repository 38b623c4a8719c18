import type { Client } from "@connectrpc/connect";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { LogSink } from "../../../shared/log/line.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { LogSpool } from "../../../shared/log/spool.ts";
import { spoolSink } from "../../../shared/log/spool_sink.ts";
import { LogUploader } from "../../../shared/log/uploader.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

export interface LogQueueOptions {
  /** Path of the queue's database. */
  readonly path: string;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Gives every line to the sink from now on; returns how to take it away again. */
  readonly addSink: (sink: LogSink) => () => void;
  /** Most lines kept. Default 20,000, and 16 MiB. */
  readonly maxEntries?: number;
}

/** Above this the lines of others wait, so that there is room for the agent's own. */
const SHARE_OF_OTHERS = 0.5;

/** A line is in the cloud within a blink, and a flood of them goes there in few requests. */
const SEND_GAP_MS = 250;

/** Keeps the agent's log lines on disk until the cloud has them. */
export class LogQueue {
  readonly #options: LogQueueOptions;
  readonly #spool: LogSpool;
  readonly #removeSink: () => void;
  #uploader: LogUploader | undefined;

  /** @throws {StoreError} when the queue cannot be opened. */
  constructor(options: LogQueueOptions) {
    const { path, host, clock, log, maxEntries } = options;
    this.#options = options;
    this.#spool = LogSpool.open(path, {
      host,
      clock,
      ...(maxEntries === undefined ? {} : { maxEntries }),
      loggerName: "machine-agent.log_queue",
      onProblem: (error) =>
        log.error("log lines cannot be queued for the cloud", { event: "log_queue_failed", error }),
    });
    this.#removeSink = options.addSink(spoolSink(this.#spool, host));
  }

  /** The queue for one who puts the lines of another log into it, and must not do that twice. */
  reader(name: string) {
    const spool = this.#spool;
    return {
      mark: () => spool.mark(name),
      setMark: (value: string | undefined) => spool.setMark(name, value),
      append: (entries: readonly LogEntry[]) => spool.appendAll(entries),
      hasRoom: () => !spool.isFailing && spool.fill < SHARE_OF_OTHERS,
    };
  }

  /** Starts sending in the background. */
  sendTo(client: Pick<Client<typeof RobotService>, "log">, partId: string): void {
    const { clock, log } = this.#options;
    this.#uploader = new LogUploader({
      spool: this.#spool,
      clock,
      log,
      gapMs: SEND_GAP_MS,
      send: async (logs, signal) => void await client.log({ id: partId, logs }, { signal }),
    });
    this.#uploader.start();
  }

  /** Sends what is left, within the deadline; the rest waits for the next start. */
  async close(deadlineMs: number): Promise<void> {
    await this.#uploader?.close({ deadlineMs });
    this.#removeSink();
    this.#spool.close();
  }
}
