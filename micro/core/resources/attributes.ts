import type { Json, JsonObject } from "../../../shared/gen/micro/messages.ts";

/** An attribute is wrong; the message names it. */
export class AttributeError extends Error {}

/** What may be said of a number. */
interface NumberOptions {
  readonly min?: number;
  readonly max?: number;
  /** Where there is none; without it the attribute is needed. */
  readonly default?: number;
}

/** Reads a resource's attributes one by one and remembers which were read. */
export class Attributes {
  readonly #read = new Set<string>();

  constructor(private readonly values: JsonObject, private readonly path = "attributes") {}

  /** @throws AttributeError */
  number(
    name: string,
    { min = -Infinity, max = Infinity, default: otherwise }: NumberOptions = {},
  ) {
    const value = this.#take(name, otherwise);
    if (typeof value !== "number") throw this.#wrong(name, "a number", value);
    if (value < min || value > max) {
      const range = max === Infinity ? `at least ${min}` : `from ${min} to ${max}`;
      throw this.#wrong(name, range, value);
    }
    return value;
  }

  text(name: string, otherwise?: string): string {
    const value = this.#take(name, otherwise);
    // Pins are often written as numbers.
    if (typeof value === "number") return String(value);
    if (typeof value !== "string") throw this.#wrong(name, "a text", value);
    return value;
  }

  boolean(name: string, otherwise?: boolean): boolean {
    const value = this.#take(name, otherwise);
    if (typeof value !== "boolean") throw this.#wrong(name, "true or false", value);
    return value;
  }

  object(name: string, otherwise?: JsonObject): JsonObject {
    const value = this.#take(name, otherwise);
    if (!isObject(value)) throw this.#wrong(name, "an object", value);
    return value;
  }

  /** A group of attributes. */
  group(name: string): Attributes {
    return new Attributes(this.object(name, {}), `${this.path}.${name}`);
  }

  list(name: string, otherwise: Json[] = []): Json[] {
    const value = this.#take(name, otherwise);
    if (!Array.isArray(value)) throw this.#wrong(name, "a list", value);
    return value;
  }

  texts(name: string): string[] {
    return this.list(name).map((one) => {
      if (typeof one !== "string") throw this.#wrong(name, "a list of texts", one);
      return one;
    });
  }

  /** A list of groups: `analogs.0`. */
  groups(name: string): Attributes[] {
    return this.list(name).map((one, i) => {
      if (!isObject(one)) throw this.#wrong(name, "a list of objects", one);
      return new Attributes(one, `${this.path}.${name}.${i}`);
    });
  }

  has(name: string): boolean {
    this.#read.add(name);
    return this.values[name] !== undefined && this.values[name] !== null;
  }

  /** Names that nothing read: they have no effect. */
  get unread(): string[] {
    return Object.keys(this.values).filter((name) => !this.#read.has(name));
  }

  #take(name: string, otherwise: Json): Json {
    return this.has(name) ? this.values[name] : otherwise;
  }

  #wrong(name: string, expected: string, value: Json): AttributeError {
    const at = `${this.path}.${name}`;
    if (value === undefined) return new AttributeError(`${at} is missing; it must be ${expected}`);
    return new AttributeError(
      `${at} is ${JSON.stringify(value).slice(0, 60)}; it must be ${expected}`,
    );
  }
}

/** Whether a value of JSON is an object. */
export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
