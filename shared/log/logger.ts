/** Levels in rising order. */
export const LEVELS = ["debug", "info", "warn", "error"] as const;

/** How serious a log line is. */
export type Level = (typeof LEVELS)[number];

/** Additional values of a log line. A key's order is kept. */
export type Fields = Readonly<Record<string, unknown>>;

/** For lines without fields. */
export const NO_FIELDS: Fields = Object.freeze({});

/** What everything that logs takes in its constructor. */
export interface Logger {
  /** The full dotted name: "rdk.config". */
  readonly name: string;
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** The logger `<this name>.<name>`. */
  child(name: string): Logger;
  /** Whether a line of this level would be written; to save work that only logging needs. */
  isEnabled(level: Level): boolean;
}
