import { ENUMS, MESSAGES } from "../../../shared/gen/micro/messages.ts";

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

/** The fields of a message by number and by name. */
export interface Fields {
  readonly list: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

const LABELS: Readonly<Record<string, Field["label"]>> = {
  "?": "optional",
  "*": "list",
  "%": "map",
};

/** The tables of messages, each parsed when it is used first. */
const parsed = new Map<string, Fields>();

/** The fields of a message of {@link MESSAGES}. */
export function fieldsOf(message: string): Fields {
  const known = parsed.get(message);
  if (known) return known;
  const text = (MESSAGES as Readonly<Record<string, string>>)[message];
  if (text === undefined) throw new Error(`there is no message ${message}`);
  const list = text.split(";").filter(Boolean).map(parseField);
  const fields = { list, byNumber: new Map(list.map((field) => [field.number, field])) };
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
  return ((ENUMS as Readonly<Record<string, string>>)[name] ?? "").split(",");
}

/** The value of a field that is not in the message; undefined for optional ones. */
export function emptyValue({ label, kind }: Field): unknown {
  if (label === "list") return [];
  if (label === "map") return {};
  if (label === "optional") return undefined;
  return kind === "s" ? "" : kind === "b" ? false : kind === "y" ? new Uint8Array(0) : 0;
}
