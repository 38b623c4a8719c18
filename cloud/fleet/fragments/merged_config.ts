import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { canonicalJson, isJsonObject } from "../../../shared/base/json/json.ts";
import { indexAmong, STEPS_A_KEY, withoutValue, withValue, type Work } from "./json_path.ts";

/** Where a value comes from; undefined: the part's own configuration. */
export type Origin = { readonly fragmentId: string; readonly revision: string } | undefined;

/** From a path on, down to where another begins, values come from `origin`. */
export interface ValueSource {
  readonly path: readonly (string | number)[];
  readonly origin: Origin;
}

interface Piece {
  readonly value: JsonValue;
  /** The value as canonical JSON, once somebody compared it. */
  text?: string;
  /** In order: later and deeper ones win. */
  sources: { readonly path: readonly string[]; readonly origin: Origin }[];
}

/** What a configuration includes is no value of the machine's. */
const NOT_MERGED = new Set(["fragments", "fragment_mods"]);

/**
 * A configuration put together of several: lists one behind the other without doubles, objects key by
 * key, and of other values the last. Knows of each where it comes from.
 */
export class MergedConfig {
  readonly #lists = new Map<string, Piece[]>();
  readonly #blocks = new Map<string, Piece>();
  /** Entries of lists by name; of lists that were changed there is none. */
  readonly #byName = new Map<string, Map<JsonValue | undefined, Piece[]>>();

  /** @param work bounds what is done. Default: anything. */
  constructor(private readonly work: Work = () => {}) {}

  static of(config: JsonObject, origin: Origin): MergedConfig {
    const merged = new MergedConfig();
    merged.addConfig(config, origin);
    return merged;
  }

  /** Puts a configuration behind what is there. */
  addConfig(config: JsonObject, origin: Origin): void {
    for (const [section, value] of Object.entries(config)) {
      if (NOT_MERGED.has(section)) continue;
      if (Array.isArray(value)) {
        this.#addItems(
          section,
          value.map((item) => ({ value: item, sources: [{ path: [], origin }] })),
        );
      } else this.#addBlock(section, { value, sources: [{ path: [], origin }] });
    }
  }

  /** Puts another one behind what is there. */
  add(other: MergedConfig): void {
    for (const [section, pieces] of other.#lists) this.#addItems(section, pieces);
    for (const [section, piece] of other.#blocks) this.#addBlock(section, piece);
  }

  /** Sets what is at a path of names. False: there is no such entry. */
  set(path: readonly string[], value: JsonValue, origin: Origin): boolean {
    const [section = "", name = "", ...rest] = path;
    const list = this.#lists.get(section);
    if (list && path.length === 1) return false;
    const index = list ? this.#indexIn(list, name) : -1;
    const piece = list ? list[index] : this.#blocks.get(section);
    const inside = list ? rest : path.slice(1);
    if (list && !piece) return false;
    const changed = withValue(piece?.value, inside, value, this.work);
    if (changed === undefined) return false;
    const source = { path: inside, origin };
    this.work(piece?.sources.length ?? 0);
    this.#byName.delete(section);
    if (list) list[index] = { value: changed, sources: [...piece?.sources ?? [], source] };
    else this.#blocks.set(section, { value: changed, sources: [...piece?.sources ?? [], source] });
    return true;
  }

  /** Takes away what is at a path of names. False: there is nothing. */
  unset(path: readonly string[]): boolean {
    const [section = "", name = "", ...rest] = path;
    const list = this.#lists.get(section);
    if (!list) {
      const block = this.#blocks.get(section);
      if (!block) return false;
      if (path.length === 1) return this.#blocks.delete(section);
      const value = withoutValue(block.value, path.slice(1), this.work);
      this.#blocks.set(section, { ...block, value });
      return value !== block.value;
    }
    this.#byName.delete(section);
    if (path.length === 1) return this.#lists.delete(section);
    const index = this.#indexIn(list, name);
    const piece = list[index];
    if (!piece) return false;
    if (rest.length === 0) return list.splice(index, 1).length > 0;
    const value = withoutValue(piece.value, rest, this.work);
    list[index] = { value, sources: piece.sources };
    return value !== piece.value;
  }

  /** With its values changed by `change`, which must leave the places of list entries as they are. */
  mapped(change: (config: JsonObject) => JsonObject): MergedConfig {
    const changed = change(this.toJson());
    const copy = new MergedConfig(this.work);
    for (const [section, piece] of this.#blocks) {
      copy.#blocks.set(section, { ...piece, value: changed[section] ?? null });
    }
    for (const [section, pieces] of this.#lists) {
      const list = changed[section];
      copy.#lists.set(
        section,
        pieces.map((piece, i) => ({
          sources: piece.sources,
          value: (Array.isArray(list) ? list[i] : undefined) ?? null,
        })),
      );
    }
    return copy;
  }

  /** How many entries its lists have. */
  get size(): number {
    return [...this.#lists.values()].reduce((sum, list) => sum + list.length, 0);
  }

  toJson(): JsonObject {
    const lists = [...this.#lists].map(([section, pieces]): [string, JsonValue] => [
      section,
      pieces.map((piece) => piece.value),
    ]);
    const blocks = [...this.#blocks].map(([section, { value }]): [string, JsonValue] => [
      section,
      value,
    ]);
    return Object.fromEntries([...blocks, ...lists]);
  }

  sources(): ValueSource[] {
    const all: ValueSource[] = [];
    const add = (start: readonly (string | number)[], piece: Piece) => {
      for (const { path, origin } of piece.sources) all.push({ path: [...start, ...path], origin });
    };
    for (const [section, piece] of this.#blocks) add([section], piece);
    for (const [section, pieces] of this.#lists) {
      pieces.forEach((piece, i) => add([section, i], piece));
    }
    return all;
  }

  /**
   * Two fragments that bring the same module are no two modules; other doubles are reported at
   * save.
   */
  #addItems(section: string, pieces: readonly Piece[]): void {
    this.#blocks.delete(section);
    const list = this.#lists.get(section) ?? [];
    const byName = this.#byName.get(section) ?? Map.groupBy(list, ({ value }) => nameIn(value));
    // What comes at once is compared with what was there before.
    const added = pieces.filter((piece) => {
      const others = byName.get(nameIn(piece.value)) ?? [];
      if (others.length > 0) this.work(others.length);
      return !others.some((other) => textOf(other) === textOf(piece));
    });
    for (const piece of added) {
      list.push(piece);
      const name = nameIn(piece.value);
      const others = byName.get(name);
      if (others) others.push(piece);
      else byName.set(name, [piece]);
    }
    this.#lists.set(section, list);
    this.#byName.set(section, byName);
  }

  #indexIn(list: readonly Piece[], step: string): number {
    return indexAmong(list, ({ value }) => value, step, this.work);
  }

  #addBlock(section: string, piece: Piece): void {
    this.#lists.delete(section);
    this.#byName.delete(section);
    const before = this.#blocks.get(section);
    if (!before) return void this.#blocks.set(section, piece);
    this.work(before.sources.length);
    this.#blocks.set(section, {
      value: mergeValues(before.value, piece.value, this.work),
      sources: [...before.sources, ...leafSources(before.value, piece)],
    });
  }
}

function textOf(piece: Piece): string {
  return piece.text ??= canonicalJson(piece.value);
}

function nameIn(value: JsonValue): JsonValue | undefined {
  return isJsonObject(value) ? value["name"] ?? value["id"] : undefined;
}

function mergeValues(before: JsonValue, after: JsonValue, work: Work): JsonValue {
  if (!isJsonObject(before) || !isJsonObject(after)) return after;
  const old = Object.entries(before);
  work(STEPS_A_KEY * old.length);
  return Object.fromEntries([
    ...old,
    ...Object.entries(after).map(([key, value]): [string, JsonValue] => [
      key,
      Object.hasOwn(before, key) ? mergeValues(before[key] ?? null, value, work) : value,
    ]),
  ]);
}

/** Where the values of a piece come from that take the place of others, as deep as they do. */
function leafSources(before: JsonValue, piece: Piece): Piece["sources"] {
  const whole = piece.sources[0];
  const found: Piece["sources"] = [];
  const look = (old: JsonValue | undefined, value: JsonValue, path: readonly string[]): void => {
    if (isJsonObject(old) && isJsonObject(value)) {
      for (const [key, inner] of Object.entries(value)) {
        look(Object.hasOwn(old, key) ? old[key] : undefined, inner, [...path, key]);
      }
    } else found.push({ path, origin: whole?.origin });
  };
  look(before, piece.value, []);
  return [...found, ...piece.sources.slice(1)];
}
