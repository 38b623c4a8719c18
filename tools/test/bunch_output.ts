import { stripVTControlCharacters } from "node:util";
import { ENTRY, MARK } from "./bunches.ts";

const OUTPUT_END = "----- output end -----";
const IGNORED = / \| (\d+) ignored\b/;

/**
 * What `deno test` prints of bunches, as if it ran their files: the file of a test stands
 * in place of its bunch's entry, and marks are neither shown nor counted.
 */
export class BunchOutput {
  /** The file whose tests run, by entry. */
  readonly #current = new Map<string, string>();
  /** The file in which an error outside of a test ended the bunch, by entry. */
  readonly #ended = new Map<string, string>();
  /** The entry that runs, where one runs after the other. */
  #running = "";
  #begun = "";
  #marks = 0;

  /** @returns the lines that are complete now, with their ends. */
  add(text: string): string {
    const lines = (this.#begun + text).split("\n");
    this.#begun = lines.pop() ?? "";
    return lines.map((line) => this.#line(line)).join("");
  }

  /** @returns the last line, if it has no end. */
  end(): string {
    return this.#begun === "" ? "" : this.#line(this.#begun).slice(0, -1);
  }

  #line(line: string): string {
    const plain = stripVTControlCharacters(line);
    const [entry] = ENTRY.exec(plain) ?? [];
    const [, of = this.#running, marked] = MARK.exec(plain) ?? [];
    if (marked !== undefined) {
      this.#current.set(of, marked);
      if (/ \.\.\. ignored /.test(plain)) {
        this.#marks += 1;
        return entry === undefined ? `running tests from ./${marked}\n` : "";
      }
      // What another bunch printed came between.
      if (plain.endsWith(` ...${OUTPUT_END}`)) return `${OUTPUT_END}\n`;
    }
    if (entry === undefined) return `${this.#withoutMarks(line, plain)}\n`;
    if (/^running \d+ tests? from /.test(plain)) {
      this.#running = entry;
      return "";
    }
    const current = this.#current.get(entry);
    if (current !== undefined && plain.startsWith("Uncaught error from ")) {
      this.#ended.set(entry, current);
    }
    const file = plain.includes("(uncaught error)") ? this.#ended.get(entry) : current;
    return `${file === undefined ? line : line.replaceAll(entry, `./${file}`)}\n`;
  }

  /** The summary counts what is ignored. */
  #withoutMarks(line: string, plain: string): string {
    const [, count] = /^(?:ok|FAILED) \|/.test(plain) && IGNORED.exec(plain) || [];
    if (count === undefined || Number(count) < this.#marks) return line;
    const others = Number(count) - this.#marks;
    return plain.replace(IGNORED, others === 0 ? "" : ` | ${others} ignored`);
  }
}
