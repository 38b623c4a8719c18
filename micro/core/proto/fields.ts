import { tableEntry } from "./tables.ts";

/**
 * - `s` string, `b` bool, `y` bytes, `d` double, `f` float, `e` enum
 * - `i` int32, `u` uint32, `l` int64, `U` uint64
 * - `m` message, `S` Struct, `V` Value, `T` Timestamp, `D` Duration
 */
export type Kind =
  | "s"
  | "b"
  | "y"
  | "d"
  | "f"
  | "e"
  | "i"
  | "u"
  | "l"
  | "U"
  | "m"
  | "S"
  | "V"
  | "T"
  | "D";

/** A field of a message. */
export interface Field {
  readonly number: number;
  /** As in JSON: `lastUpdated`. */
  readonly name: string;
  /** Plain fields are left out when they have their type's zero value. */
  readonly label: "plain" | "optional" | "list" | "map";
  readonly kind: Kind;
  /** Of a message or an enum: its name. */
  readonly of: string;
}

const LABELS: Readonly<Record<string, Field["label"]>> = {
  "?": "optional",
  "*": "list",
  "%": "map",
};

/** Messages whose fields stay parsed: each takes some hundred bytes, and most are rarely used. */
const MOST_PARSED = 10;

const parsed = new Map<string, readonly Field[]>();

/** The fields of a message. @throws Error where there is no such message */
export function fieldsOf(message: string): readonly Field[] {
  const known = parsed.get(message);
  if (known) return known;
  const text = tableEntry(message);
  if (text === undefined) throw new Error(`there is no message ${message}`);
  const fields = text.split(";").filter(Boolean).map(parseField);
  if (parsed.size >= MOST_PARSED) {
    for (const oldest of parsed.keys()) {
      parsed.delete(oldest);
      break;
    }
  }
  parsed.set(message, fields);
  return fields;
}

/** `3 time ?T`, `4 position %m viam.common.v1.Pose`. */
function parseField(text: string): Field {
  const [number = "", name = "", type = "", of = ""] = text.split(" ");
  const label = LABELS[type[0] ?? ""] ?? "plain";
  return { number: Number(number), name, label, kind: type.slice(-1) as Kind, of };
}

/** The names of an enum's values, by number. */
export function enumNames(name: string): readonly string[] {
  return (tableEntry(name) ?? "").split(",");
}

/** What a method takes and gives, and whether it moves something. */
export interface MethodTypes {
  readonly input: string;
  readonly output: string;
  readonly moves: boolean;
}

/** The types of a method, by its path `/SERVICE/METHOD`; undefined: there is no such method. */
export function methodTypes(path: string): MethodTypes | undefined {
  const text = path.startsWith("/") ? tableEntry(path) : undefined;
  if (text === undefined) return undefined;
  const [input = "", output = "", moves] = text.split(" ");
  return { input, output, moves: moves === "moves" };
}

/** The value of a field that is not in the message; undefined for optional ones. */
export function emptyValue({ label, kind }: Field): unknown {
  if (label === "list") return [];
  if (label === "map") return {};
  if (label === "optional") return undefined;
  return kind === "s" ? "" : kind === "b" ? false : kind === "y" ? new Uint8Array(0) : 0;
}
