import { partArgument } from "../../shared/commands/choice/part.ts";
import { toJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { findPart } from "../../shared/commands/choice/part.ts";
import { paint } from "../../shared/commands/output/terminal.ts";
import {
  clientOf,
  command,
  type CommandContext,
  type CommandTree,
} from "../../shared/commands/run/command.ts";
import { TAIL_OPENED } from "../../shared/log/tail_opened.ts";
import { AppService, LogOrder } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { type LogEntry, LogEntrySchema } from "../../shared/gen/viam/common/v1/common_pb.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
/** From one attempt to follow again to the next, and how long the cloud may be away. Milliseconds. */
const AGAIN_MS = 1_000;
const LONGEST_ABSENCE_MS = 120_000;
/** A machine-cloud says at once that it follows; another cloud may say nothing until a line comes. */
const FOLLOWS_MS = 1_000;
const PAGE = 500;

/** Commands about what machines log. */
export const logCommands: CommandTree = {
  "logs": command({
    summary: "Show what a part logged; -f follows.",
    flags: {
      "follow": { type: "boolean", aliases: ["f"], doc: "Follow what it logs from now on." },
      "limit": {
        ...{ type: "integer", aliases: ["n"], default: 100, min: 0, max: 1_000_000 },
        doc: "How many lines, the newest.",
      },
      "level": {
        ...{ type: "string", choices: LEVELS, placeholder: "LEVEL" },
        doc: "Only lines of this level and above.",
      },
      "filter": { type: "string", placeholder: "TEXT", doc: "Only lines with this text." },
      "source": {
        ...{ type: "string", placeholder: "LOGGER" },
        doc: "Only this logger and those below it.",
      },
      "since": {
        ...{ type: "string", placeholder: "TIME" },
        doc: "Only since then: 2026-01-02T03:04:05Z, or 10m, 2h, 3d ago.",
      },
      "until": { type: "string", placeholder: "TIME", doc: "Only before then." },
    },
    arguments: [partArgument],
    async run(context, { values, arguments: [wanted = ""] }) {
      const now = context.clock.now();
      const start = readTime("--since", values.since, now);
      const end = readTime("--until", values.until, now);
      if (values.follow && end) throw new UsageError("--follow and --until do not go together");
      const { id } = await findPart(context, wanted);
      const app = await clientOf(context, AppService);
      const levels = values.level === undefined ? [] : LEVELS.slice(LEVELS.indexOf(values.level));
      const { filter, source } = values;
      const asked = {
        ...{ id, levels: [...levels] },
        ...(filter === undefined ? {} : { filter }),
        ...(source === undefined ? {} : { source }),
      };
      const seen = new RecentLines();
      const print = async (entry: LogEntry) => {
        const isWanted = (levels.length === 0 || levels.some((level) => level === entry.level)) &&
          (source === undefined || entry.loggerName === source ||
            entry.loggerName.startsWith(`${source}.`));
        if (!isWanted || !seen.isNew(entry)) return;
        await context.write(new TextEncoder().encode(lineOf(context, entry)));
      };
      /** The newest `most` since `start`, oldest first. */
      const read = async (most: number, start: Timestamp | undefined) => {
        const found: LogEntry[] = [];
        let pageToken = "";
        while (found.length < most) {
          const page = await app.getRobotPartLogs({
            ...asked,
            ...(start ? { start } : {}),
            ...(end ? { end } : {}),
            ...(pageToken === "" ? {} : { pageToken }),
            limit: BigInt(Math.min(PAGE, most - found.length)),
            order: LogOrder.DESCENDING,
          });
          found.push(...page.logs);
          pageToken = page.nextPageToken;
          if (pageToken === "") break;
        }
        for (const entry of found.reverse()) await print(entry);
      };
      if (!values.follow) {
        await read(values.limit, start);
        if (seen.newest === undefined && !context.quiet) {
          const isChosen = [values.level, values.filter, values.source, values.since, values.until]
            .some((each) => each !== undefined);
          context.warn(
            isChosen
              ? "no lines fit"
              : `no lines yet; ${context.program} machines status MACHINE ` +
                "tells whether it was ever online",
          );
        }
        return;
      }
      const beganAt = timestampFromDate(now);
      let answeredMs = context.clock.monotonicMs();
      for (let isFirst = true;; isFirst = false) {
        try {
          const tail = app.tailRobotPartLogs(
            { id, ...(filter === undefined ? {} : { filter }) },
            { headers: TAIL_OPENED },
          );
          const lines = tail[Symbol.asyncIterator]();
          let next = lines.next();
          next.catch(() => undefined); // it is awaited below
          await Promise.race([next, context.clock.sleep(FOLLOWS_MS)]);
          // What was logged while nobody listened, and what the tail shows too.
          await read(isFirst ? values.limit : PAGE, isFirst ? start : seen.newest ?? beganAt);
          for (;;) {
            const { done, value } = await next;
            answeredMs = context.clock.monotonicMs();
            if (done) break;
            for (const entry of value.logs) await print(entry);
            next = lines.next();
          }
        } catch (error) {
          const isAway = error instanceof ConnectError &&
            [Code.Unavailable, Code.Canceled, Code.Internal].includes(error.code);
          const awayMs = context.clock.monotonicMs() - answeredMs;
          if (isFirst || !isAway || awayMs > LONGEST_ABSENCE_MS) throw error;
        }
        await context.clock.sleep(AGAIN_MS);
      }
    },
  }),
};

/** Knows lines that were shown already, of the last ones. */
class RecentLines {
  readonly #keys = new Set<string>();
  /** Time of the newest line. */
  newest: Timestamp | undefined;

  isNew(entry: LogEntry): boolean {
    const { time, level, loggerName, message } = entry;
    const key = JSON.stringify([String(time?.seconds), time?.nanos, level, loggerName, message]);
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    if (this.#keys.size > 4 * PAGE) this.#keys.delete(this.#keys.values().next().value!);
    if (time && (!this.newest || timestampMs(time) > timestampMs(this.newest))) this.newest = time;
    return true;
  }
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function lineOf({ json, terminal }: CommandContext, entry: LogEntry): string {
  if (json) return `${JSON.stringify(toJson(LogEntrySchema, entry))}\n`;
  const { time, level, loggerName, message } = entry;
  const when = time ? new Date(timestampMs(time)).toISOString() : "-";
  const shown = level.toUpperCase().padEnd(5);
  const coloured = level === "error"
    ? paint(terminal, "red", shown)
    : level === "warn"
    ? paint(terminal, "yellow", shown)
    : shown;
  const fields = fieldsText(entry);
  // A machine's text must not move the cursor of who reads it.
  const text = `${message}${fields}`.replace(CONTROL, "?");
  return `${paint(terminal, "dim", when)} ${coloured} ${loggerName}  ${text}\n`;
}

function fieldsText({ fields }: LogEntry): string {
  const values = fields.map((field) => {
    const value = field["String"] || field["Interface"] || field["Integer"];
    return [String(field["Key"] ?? ""), value ?? ""] as const;
  }).filter(([key]) => key !== "");
  return values.length === 0 ? "" : `  ${JSON.stringify(Object.fromEntries(values))}`;
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time, or how long ago. @throws {UsageError} */
function readTime(
  option: string,
  text: string | undefined,
  now: Date,
): Timestamp | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const date = count === undefined
    ? new Date(text)
    : new Date(now.getTime() - Number(count) * UNITS[unit as keyof typeof UNITS]);
  if (!Number.isNaN(date.getTime())) return timestampFromDate(date);
  throw new UsageError(
    `${option}: ${JSON.stringify(text)} is no time; write 2026-01-02T03:04:05Z, or 10m, 2h, 3d ago`,
  );
}
