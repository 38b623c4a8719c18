import { inspect } from "node:util";

const HIDDEN = "***";

/** A value that must not be shown: it prints as `***` in text, JSON and the console. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that needs it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return HIDDEN;
  }
}
