/** Sends the server's log lines to the cloud, through a queue that outlives the time without it. */
import type { Client } from "@connectrpc/connect";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { LogSpool } from "../../../shared/log/spool.ts";
import { spoolSink } from "../../../shared/log/spool_sink.ts";
import { LogUploader } from "../../../shared/log/uploader.ts";
import type { LogSink } from "../../../shared/log/line.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

export interface LogUploadOptions {
  /** Path of the queue's database. */
  path: string;
  client: Pick<Client<typeof RobotService>, "log">;
  partId: string;
  host: string;
  clock: Clock;
  log: Logger;
  /** Gives every line to the sink from now on; returns how to take it away again. */
  addSink: (sink: LogSink) => () => void;
}

/** A running upload. */
export interface LogUpload {
  /** Sends what is left within the deadline; the rest waits for the next start. */
  close(deadlineMs: number): Promise<void>;
}

/** @throws {StoreError} when the queue cannot be opened. */
export function startLogUpload(options: LogUploadOptions): LogUpload {
  const { client, partId, host, clock, log } = options;
  const spool = LogSpool.open(options.path, {
    host,
    clock,
    loggerName: "rdk.log_queue",
    onProblem: (error) =>
      log.error("log lines cannot be queued for the cloud", { event: "log_queue_failed", error }),
  });
  const removeSink = options.addSink(spoolSink(spool, host));
  const uploader = new LogUploader({
    spool,
    clock,
    log,
    send: async (logs, signal) => void await client.log({ id: partId, logs }, { signal }),
  });
  uploader.start();
  return {
    async close(deadlineMs) {
      await uploader.close({ deadlineMs });
      removeSink();
      spool.close();
    },
  };
}
