import { create } from "@bufbuild/protobuf";
import { type LogEntry, LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { cutText } from "../../../shared/log/fields_json.ts";
import type { Level } from "../../../shared/log/logger.ts";

/** A line of the journal, as `journalctl --output=json` gives it. */
export interface JournalLine {
  /** Where it stands; journalctl continues after it. */
  readonly cursor: string;
  /** 32 hexadecimal digits. */
  readonly boot: string;
  /** Since the host's start. */
  readonly monotonicUs: number;
  /** Since 1970, by the host's clock when the line came. */
  readonly realtimeUs: number;
  /** Who wrote it: `sshd`, `kernel`. */
  readonly identifier: string;
  readonly level: Level;
  readonly message: string;
  /** Empty when it has none. */
  readonly unit: string;
  /** How it came into the journal: stdout, syslog, journal, kernel, … */
  readonly transport: string;
}

/** The fields that {@link parseJournalLine} reads, besides those that are always there. */
export const JOURNAL_FIELDS = [
  ...["MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER"],
  ...["_COMM", "_SYSTEMD_UNIT", "_TRANSPORT"],
] as const;

/** A longer message is cut. */
const LONGEST_MESSAGE = 16 * 1024;
const PROGRAMS = new Set(["machine-agent", "machine-server", "machine-agent-guard"]);

/** Reads a line; undefined for what is none, for example a piece of one that was too long. */
export function parseJournalLine(text: string): JournalLine | undefined {
  const json = readObject(text);
  const cursor = json?.["__CURSOR"];
  if (json === undefined || typeof cursor !== "string") return undefined;
  return {
    cursor,
    boot: textOf(json["_BOOT_ID"]),
    monotonicUs: Number(json["__MONOTONIC_TIMESTAMP"]) || 0,
    realtimeUs: Number(json["__REALTIME_TIMESTAMP"]) || 0,
    identifier: textOf(json["SYSLOG_IDENTIFIER"]) || textOf(json["_COMM"]),
    level: levelOf(textOf(json["PRIORITY"])),
    message: textOf(json["MESSAGE"]),
    unit: textOf(json["_SYSTEMD_UNIT"]),
    transport: textOf(json["_TRANSPORT"]),
  };
}

function readObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined; // A piece of a line that was too long.
  }
}

/** Text that is no UTF-8 comes as a list of bytes, and a field that was given twice as a list. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  if (typeof value[0] === "number") return new TextDecoder().decode(Uint8Array.from(value));
  return value.map(textOf).join("\n");
}

/** Priorities of syslog(3): 0 emergency to 3 error, 4 warning, 5 notice, 6 informational, 7 debug. */
function levelOf(priority: string): Level {
  if (!/^[0-7]$/.test(priority)) return "info";
  const number = Number(priority);
  if (number <= 3) return "error";
  if (number === 4) return "warn";
  return number === 7 ? "debug" : "info";
}

/**
 * Whether the line was written by this agent, its server or their modules: those lines are on their
 * way already, and each one forwarded could cause the next.
 *
 * @param unit the agent's own; undefined when it runs under none
 */
export function isOwn(line: JournalLine, unit: string | undefined): boolean {
  return PROGRAMS.has(line.identifier) ||
    (unit !== undefined && line.unit === unit && line.transport === "stdout");
}

/**
 * The line for the cloud. It has no fields: coding a single one, here and at the upload, takes longer
 * than all else that is done with a line.
 *
 * @param hide takes what is secret out of a text
 */
export function toJournalEntry(
  line: JournalLine,
  { host, hide }: { host: string; hide: (text: string) => string },
): LogEntry {
  const { identifier, level, message, realtimeUs } = line;
  const seconds = Math.floor(realtimeUs / 1e6);
  return create(LogEntrySchema, {
    host,
    level,
    // To the microsecond, by which the cloud distinguishes equal messages.
    time: { seconds: BigInt(seconds), nanos: (realtimeUs - seconds * 1e6) * 1_000 },
    loggerName: `journald.${identifier || "unknown"}`.toWellFormed(),
    message: hide(cutText(message, LONGEST_MESSAGE)).toWellFormed(),
  });
}
