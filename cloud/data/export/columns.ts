import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What the values of a column are; `json` where they differ, or are lists. */
export type ColumnType = "number" | "boolean" | "text" | "json";

/** A field of readings under its path, `readings.temperature`. */
export interface Column {
  readonly path: string;
  readonly type: ColumnType;
}

const MOST_COLUMNS = 2_000;

/** The fields of an object and of those in it, by path. Lists are values. */
export function flatten(data: JsonObject): Map<string, JsonValue> {
  const values = new Map<string, JsonValue>();
  const walk = (object: JsonObject, prefix: string) => {
    for (const [name, value] of Object.entries(object)) {
      const path = `${prefix}${name}`;
      if (isJsonObject(value) && Object.keys(value).length > 0) walk(value, `${path}.`);
      else values.set(path, value);
    }
  };
  walk(data, "");
  return values;
}

/** Learns of the columns that readings need, one reading after the other. */
export class ColumnFinder {
  readonly #types = new Map<string, ColumnType | undefined>();

  /** @throws {ConnectError} FAILED_PRECONDITION for too many columns. */
  add(data: JsonObject): void {
    for (const [path, value] of flatten(data)) {
      const before = this.#types.get(path);
      const type = typeOf(value);
      if (type === undefined && this.#types.has(path)) continue;
      if (before !== undefined && before === type) continue;
      this.#types.set(path, before === undefined || type === undefined ? type : "json");
    }
    if (this.#types.size > MOST_COLUMNS) {
      throw refusal(
        "COLUMNS_MANY",
        { most: MOST_COLUMNS },
        `the readings have more than ${MOST_COLUMNS} fields, too many for columns; ` +
          "export them as JSON lines",
        Code.FailedPrecondition,
      );
    }
  }

  /** The columns by path; one without any value is text. */
  columns(): Column[] {
    return [...this.#types].map(([path, type]) => ({ path, type: type ?? "text" }))
      .sort((one, other) => one.path < other.path ? -1 : 1);
  }
}

function typeOf(value: JsonValue): ColumnType | undefined {
  switch (typeof value) {
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "string":
      return "text";
    default:
      return value === null ? undefined : "json";
  }
}
