import type { LogSink } from "./line.ts";
import { encodeLogEntry } from "./log_entry.ts";
import type { LogSpool } from "./spool.ts";

/** Puts every log line of this process into the queue for the cloud. */
export function spoolSink(spool: LogSpool, host: string): LogSink {
  return (line) => spool.appendEncoded(encodeLogEntry(line, host), line.level);
}
