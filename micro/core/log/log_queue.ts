import type { Host } from "../host/host.ts";

export type Level = "debug" | "info" | "warn" | "error";

/** A line for the cloud. */
export interface LogLine {
  readonly level: Level;
  readonly logger: string;
  readonly message: string;
  /** Of the device, from its start: the wall clock may not be set yet. Milliseconds. */
  readonly at: number;
}

/** Lines that wait for the cloud, and characters of all of them. */
export const MOST_LINES = 150;
const MOST_CHARACTERS = 24 * 1024;
const MOST_OF_ONE = 1024;

/** Keeps lines until the cloud has them. The oldest that only inform go first when there is no room. */
export class LogQueue {
  #lines: LogLine[] = [];
  #characters = 0;
  #dropped = 0;

  constructor(private readonly host: Pick<Host, "now" | "log">) {}

  /** Lines that wait. */
  get waiting(): number {
    return this.#lines.length;
  }

  write(level: Level, logger: string, text: string): void {
    const message = text.length > MOST_OF_ONE ? `${text.slice(0, MOST_OF_ONE)}…` : text;
    this.host.log(`${level} ${logger}: ${message}`);
    if (level === "debug") return;
    this.#add({ level, logger, message, at: this.host.now() });
  }

  #add(line: LogLine): void {
    this.#lines.push(line);
    this.#characters += line.message.length;
    while (this.#lines.length > MOST_LINES || this.#characters > MOST_CHARACTERS) {
      const oldest = this.#lines.findIndex(({ level }) => level === "info");
      const [gone] = this.#lines.splice(Math.max(0, oldest), 1);
      this.#characters -= gone?.message.length ?? 0;
      this.#dropped++;
    }
  }

  /** The oldest lines, which are kept until {@link sent}. */
  peek(most: number): readonly LogLine[] {
    const lines = this.#lines.slice(0, most);
    if (this.#dropped === 0) return lines;
    const message = `${this.#dropped} log lines were dropped: the cloud could not be reached`;
    return [{ level: "warn", logger: "log", message, at: this.host.now() }, ...lines];
  }

  /** The cloud has what {@link peek} gave. */
  sent(lines: readonly LogLine[]): void {
    const gone = new Set(lines);
    this.#lines = this.#lines.filter((line) => !gone.has(line));
    this.#characters = this.#lines.reduce((sum, { message }) => sum + message.length, 0);
    this.#dropped = 0;
  }
}
