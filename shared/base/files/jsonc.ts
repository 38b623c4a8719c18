/** A JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [key: string]: JsonValue };

/** Text that is not JSON; line and column (from 1) say where. */
export class JsoncError extends Error {
  override readonly name = "JsoncError";
  readonly line: number;
  readonly column: number;

  constructor(problem: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${problem}`);
    this.line = line;
    this.column = column;
  }
}

/**
 * Reads JSON in which comments (`//`, `/* *\/`) and trailing commas are allowed. A byte order
 * mark is skipped.
 *
 * @throws {JsoncError} that never quotes more than one character: the file may hold secrets.
 */
export function parseJsonc(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return new JsoncParser(text).parse();
  }
}

// Deeper nesting is an attack or an accident, and would overflow the stack.
const DEEPEST = 500;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// deno-lint-ignore no-control-regex
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS = new Map<string, JsonValue>([["true", true], ["false", false], ["null", null]]);
const WORD = /[A-Za-z_]+/y;
const SPACE = /[ \t\r\n]+|\/\/[^\n]*|\/\*[^]*?\*\//y;

class JsoncParser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#position = 1;
  }

  parse(): JsonValue {
    const value = this.#value(0);
    if (this.#peek() !== undefined) throw this.#error(`unexpected ${this.#here()} after the end`);
    return value;
  }

  #value(depth: number): JsonValue {
    if (depth > DEEPEST) throw this.#error(`nested deeper than ${DEEPEST} levels`);
    const next = this.#peek();
    if (next === "{") return this.#object(depth);
    if (next === "[") return this.#array(depth);
    if (next === '"') return this.#string();
    const start = this.#position;
    const number = this.#match(NUMBER);
    if (number !== undefined) return Number(number);
    const word = WORDS.get(this.#match(WORD) ?? "");
    if (word !== undefined) return word;
    this.#position = start;
    throw this.#error(`expected a value, found ${this.#here()}`);
  }

  #object(depth: number): JsonValue {
    const members: [string, JsonValue][] = [];
    this.#position++;
    while (this.#peek() !== "}") {
      if (this.#peek() !== '"') throw this.#error(`expected a name in ", found ${this.#here()}`);
      const name = this.#string();
      if (this.#peek() !== ":") throw this.#error(`expected : after the name, ${this.#found()}`);
      this.#position++;
      members.push([name, this.#value(depth + 1)]);
      this.#separator("}");
    }
    this.#position++;
    return Object.fromEntries(members);
  }

  #array(depth: number): JsonValue {
    const items: JsonValue[] = [];
    this.#position++;
    while (this.#peek() !== "]") {
      items.push(this.#value(depth + 1));
      this.#separator("]");
    }
    this.#position++;
    return items;
  }

  #separator(end: "}" | "]"): void {
    const next = this.#peek();
    if (next === ",") this.#position++;
    else if (next !== end) throw this.#error(`expected , or ${end}, ${this.#found()}`);
  }

  #string(): string {
    const literal = this.#match(STRING);
    if (literal === undefined) throw this.#error("an unterminated string or a bad escape");
    return JSON.parse(literal);
  }

  /** The next character that counts, past space and comments. */
  #peek(): string | undefined {
    while (this.#match(SPACE) !== undefined);
    if (this.#text.startsWith("/*", this.#position)) throw this.#error("an unterminated comment");
    return this.#text[this.#position];
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#position += found.length;
    return found;
  }

  #found(): string {
    return `found ${this.#here()}`;
  }

  #here(): string {
    const point = this.#text.codePointAt(this.#position);
    return point === undefined
      ? "the end of the file"
      : JSON.stringify(String.fromCodePoint(point));
  }

  #error(problem: string): JsoncError {
    const before = this.#text.slice(0, this.#position);
    const line = before.split("\n").length;
    return new JsoncError(problem, line, before.length - before.lastIndexOf("\n"));
  }
}
