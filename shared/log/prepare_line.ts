import { maskArgumentList } from "../base/redaction/arguments.ts";
import { Redactor } from "../base/redaction/redactor.ts";
import { isSecretKey, SECRET_MASK } from "../base/redaction/secret_keys.ts";
import { cutText, toPlain, type Veil } from "./fields_json.ts";
import type { LogLine } from "./line.ts";
import type { Fields, Level } from "./logger.ts";

/** What somebody wants to be logged, before anything was made of it. */
export interface Said {
  /** Dotted logger name. */
  logger: string;
  level: Level;
  message: string;
  fields: Fields;
}

/** All of a line but when and where it was said. */
export type Prepared = Omit<LogLine, "time" | "caller">;

// A longer one is an accident; the rest of it helps nobody.
const LONGEST_MESSAGE = 64 * 1024;
const LONGEST_STACK = 16 * 1024;
const LONGEST_NAME = 512;

/** Makes lines ready to be written and kept. */
export class LinePreparer {
  readonly #redactor = new Redactor();
  readonly #veil: Veil = {
    hide: (key, value) => isSecretKey(key, value) ? SECRET_MASK : undefined,
    text: (text) => this.#redactor.text(text),
    list: maskArgumentList,
  };

  /** Replaces the values that are hidden wherever they stand, for example the machine's keys. */
  setSecrets(values: Iterable<string>): void {
    this.#redactor.setKnown(values);
  }

  /**
   * The line that is written: cut to a bearable length, without secrets, and plain, so that it
   * can be kept for a while whatever becomes of the values. A line of level error has a stack
   * when one of its fields is an error, or is called `stack`.
   *
   * @param given a stack that came with the line.
   */
  prepare({ logger, level, message, fields }: Said, given?: string): Prepared {
    const stack = given || (level === "error" ? stackOf(fields) : undefined);
    return {
      logger: cutText(logger, LONGEST_NAME),
      level,
      message: this.#redactor.text(cutText(message, LONGEST_MESSAGE)),
      fields: this.#plain(fields),
      ...(stack && { stack: this.#redactor.text(cutText(stack, LONGEST_STACK)) }),
    };
  }

  #plain(fields: Fields): Fields {
    const plain: Record<string, unknown> = {};
    for (const key in fields) {
      const value = fields[key];
      if (value === undefined) continue;
      // Outputs write numbers that JSON does not know in ways of their own.
      plain[key] = typeof value === "number" ? value : toPlain(value, this.#veil, key);
    }
    return plain;
  }
}

function stackOf(fields: Fields): string | undefined {
  for (const key in fields) {
    const value = fields[key];
    if (value instanceof Error && value.stack) return value.stack;
    if (key === "stack" && typeof value === "string") return value;
  }
}
