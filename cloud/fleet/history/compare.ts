import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { maskSecrets } from "../../../shared/config/secrets.ts";
import { isJsonObject, sameJson } from "../../../shared/base/json/json.ts";

/** One entry that two configurations do not have alike. */
export interface EntryChange {
  /** `components.arm`, or a section. */
  readonly entry: string;
  readonly kind: "added" | "changed" | "removed";
  /** With secrets masked; undefined where there is nothing. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  /** Only secrets differ, which nobody sees. */
  readonly onlySecrets: boolean;
  /** A fragment was saved with it; its values are not known. */
  readonly isByFragment?: boolean;
}

/** Compares two configurations entry by entry; entries of lists are distinguished by name or id. */
export function compareConfigs(before: JsonObject, after: JsonObject): EntryChange[] {
  const old = entriesOf(before);
  const now = entriesOf(after);
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].flatMap((entry): EntryChange[] => {
    const left = old.get(entry);
    const right = now.get(entry);
    if (sameJson(left?.value, right?.value)) return [];
    const masked = { before: left && mask(left), after: right && mask(right) };
    const kind = left === undefined ? "added" : right === undefined ? "removed" : "changed";
    const onlySecrets = sameJson(masked.before, masked.after);
    return [{ entry, kind, ...masked, onlySecrets }];
  });
}

const SIGNS = { added: "+", changed: "~", removed: "-" } as const;

/** The changes as text, one a line, and below what changed each value before and after. */
export function changesText(changes: readonly EntryChange[]): string {
  return changes.flatMap(({ entry, kind, before, after, onlySecrets, isByFragment }) => {
    if (isByFragment) return [`${SIGNS[kind]} ${entry} (by a fragment)`];
    if (kind !== "changed") {
      const value = JSON.stringify(kind === "added" ? after : before);
      return [`${SIGNS[kind]} ${entry} ${value}`];
    }
    if (onlySecrets) return [`~ ${entry}`, "    a secret is another one"];
    return [`~ ${entry}`, ...leaves(before, after, "")];
  }).join("\n");
}

interface Entry {
  readonly section: string;
  readonly value: JsonValue;
}

function entriesOf(config: JsonObject): Map<string, Entry> {
  const found = new Map<string, Entry>();
  for (const [section, value] of Object.entries(config)) {
    if (!Array.isArray(value)) found.set(section, { section, value });
    else {
      value.forEach((item, i) => {
        const name = isJsonObject(item) ? item["name"] ?? item["id"] : item;
        const key = `${section}.${typeof name === "string" ? name : i}`;
        // Two of one name cannot be distinguished but by their place.
        found.set(found.has(key) ? `${section}.${i}` : key, { section: "", value: item });
      });
    }
  }
  return found;
}

function mask({ section, value }: Entry): JsonValue {
  return maskSecrets(value, section) as JsonValue;
}

function leaves(before: JsonValue | undefined, after: JsonValue | undefined, at: string): string[] {
  if (sameJson(before, after)) return [];
  if (isJsonObject(before) && isJsonObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
      leaves(own(before, key), own(after, key), at === "" ? key : `${at}.${key}`)
    );
  }
  const show = (value: JsonValue | undefined) => value === undefined ? "–" : JSON.stringify(value);
  return [`    ${at}: ${show(before)} → ${show(after)}`];
}

function own(holder: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}
