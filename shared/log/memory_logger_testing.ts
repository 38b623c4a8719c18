import { type Caller, formatLine, type LogLine } from "./line.ts";
import { type Fields, type Level, LEVELS, type Logger } from "./logger.ts";

/** A logger that keeps its lines. For tests. */
export interface MemoryLogger extends Logger {
  /** All lines of this logger and its children, in order. */
  readonly entries: LogLine[];
  /** Only the messages, of one level if given. */
  messages(level?: Level): string[];
  /** The lines as text, for failure messages. */
  text(): string;
}

const NOWHERE: Caller | undefined = undefined;

/** Makes a {@link MemoryLogger}; all levels are enabled. */
export function memoryLogger(name = "test"): MemoryLogger {
  return makeLogger(name, []);
}

function makeLogger(name: string, entries: LogLine[]): MemoryLogger {
  const keep = (level: Level) => (message: string, fields: Fields = {}): void => {
    entries.push({ time: new Date(), level, logger: name, message, fields, caller: NOWHERE });
  };
  const [debug, info, warn, error] = LEVELS.map(keep) as [Keep, Keep, Keep, Keep];
  return {
    name,
    entries,
    debug,
    info,
    warn,
    error,
    child: (childName) => makeLogger(`${name}.${childName}`, entries),
    isEnabled: () => true,
    messages: (level) =>
      entries.filter((entry) => !level || entry.level === level).map((entry) => entry.message),
    text: () => entries.map(formatLine).join("\n"),
  };
}

type Keep = Logger["info"];
