import type { LogSink } from "./line.ts";
import { toLogEntry } from "./log_entry.ts";
import type { LogSpool } from "./spool.ts";

/** Puts every log line of this process into the queue for the cloud. */
export function spoolSink(spool: LogSpool, host: string): LogSink {
  return (line) => spool.append(toLogEntry(line, host));
}
