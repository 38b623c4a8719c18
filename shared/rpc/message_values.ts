/**
 * How many values a message may have. Decoded, a value of two bytes takes hundreds, and all of them
 * are made in one go, so that the length of a message alone bounds neither memory nor time. Pure.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { refusal } from "./reasons.ts";

/** Most values of a message: fields with what is in them, elements of lists, entries of maps. */
export const MOST_VALUES = 262_144;
/** Bytes of a packed list that count as one value: a number takes less than a message. */
const PACKED_BYTES = 16;
/** The same for numbers of fixed length, as in tensors. */
const PACKED_FIXED_BYTES = 192;
const FIXED: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.FLOAT,
  ScalarType.DOUBLE,
  ScalarType.FIXED32,
  ScalarType.FIXED64,
  ScalarType.SFIXED32,
  ScalarType.SFIXED64,
]);
/** Shortest value: a tag, and a number or a length. */
export const VALUE_BYTES = 2;
/** Levels that are counted; the decoder takes no more. */
const MOST_LEVELS = 100;

/**
 * What fields hold that are written with a length; of packed lists, the bytes that count as a value.
 * Strings and bytes are not in it.
 */
type Inside = ReadonlyMap<number, DescMessage | DescField | number>;

const known = new WeakMap<DescMessage | DescField, Inside>();

/**
 * Refuses an encoded message of too many values. What is no such message is for its decoder to say.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED
 */
export function checkValues(schema: DescMessage, bytes: Uint8Array): void {
  if (bytes.length <= MOST_VALUES * VALUE_BYTES) return;
  if (countedValues(schema, bytes) > MOST_VALUES) throw tooMany();
}

/** How many values an encoded message has; where they are more than {@link MOST_VALUES}, more. */
export function countedValues(schema: DescMessage, bytes: Uint8Array): number {
  const counter = new Counter(bytes);
  counter.count(schema, bytes.length, 0);
  return counter.values;
}

/**
 * Refuses a JSON text in UTF-8 of too many values, whatever is in its strings.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED
 */
export function checkJsonValues(text: Uint8Array): void {
  if (text.length <= MOST_VALUES) return;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === 0x22) {
      do at = text.indexOf(0x22, at + 1); while (at > 0 && isEscaped(text, at));
      if (at < 0) return;
    } else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) {
      if (++values > MOST_VALUES) throw tooMany();
    }
  }
}

/** Whether an odd number of backslashes stands before a place. */
function isEscaped(text: Uint8Array, at: number): boolean {
  let before = at;
  while (text[before - 1] === 0x5c) before--;
  return (at - before) % 2 === 1;
}

class Counter {
  values = 0;
  #at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** Counts up to `end`, or until there are too many. @returns false when counting must end. */
  count(of: DescMessage | DescField, end: number, level: number): boolean {
    if (level > MOST_LEVELS) return false;
    const inside = insideOf(of);
    while (this.#at < end) {
      const tag = this.#varint();
      if (++this.values > MOST_VALUES) return false;
      switch (tag & 7) {
        case 0:
          this.#varint();
          break;
        case 1:
          this.#at += 8;
          break;
        case 5:
          this.#at += 4;
          break;
        case 2: {
          const length = this.#varint();
          const to = this.#at + length;
          if (to > end) return false;
          const what = inside.get(tag >>> 3);
          if (typeof what === "number") this.values += length / what;
          else if (what && !this.count(what, to, level + 1)) return false;
          this.#at = to;
          break;
        }
        // Groups: what is in them is counted as if it stood here.
        case 3:
        case 4:
          break;
        default:
          return false;
      }
    }
    return this.values <= MOST_VALUES;
  }

  /** The lowest 32 bits of a number. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.#at++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value >>> 0;
  }
}

function insideOf(of: DescMessage | DescField): Inside {
  const found = known.get(of);
  if (found) return found;
  const inside = new Map<number, DescMessage | DescField | number>();
  if (of.kind === "field") {
    // The entry of a map: 1 is its key, 2 its value.
    if (of.message) inside.set(2, of.message);
  } else {
    for (const field of of.fields) {
      if (field.fieldKind === "map") inside.set(field.number, field);
      else if (field.message) inside.set(field.number, field.message);
      else if (field.fieldKind === "list" && isPackable(field.scalar)) {
        inside.set(field.number, FIXED.has(field.scalar) ? PACKED_FIXED_BYTES : PACKED_BYTES);
      }
    }
  }
  known.set(of, inside);
  return inside;
}

/** Numbers, and enumerations, which have no scalar. */
function isPackable(scalar: ScalarType | undefined): boolean {
  return scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES;
}

function tooMany(): ConnectError {
  return refusal(
    "TOO_MANY",
    { most: MOST_VALUES },
    `the message has more than ${MOST_VALUES} values; send it in parts`,
    Code.ResourceExhausted,
  );
}
