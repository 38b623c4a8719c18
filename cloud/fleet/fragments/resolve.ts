import type { JsonObject } from "@bufbuild/protobuf";
import { countValues } from "../../../shared/base/json/json.ts";
import { MOST_CONFIG_VALUES } from "../configuration/config_document.ts";
import { type FragmentImport, readImports, readMods } from "./fragment_import.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { MergedConfig, type Origin, type ValueSource } from "./merged_config.ts";
import { withPrefix } from "./prefix.ts";
import { fillVariables } from "./variables.ts";

/** One revision of a fragment. */
export interface FragmentSource {
  readonly id: string;
  readonly revision: string;
  readonly config: JsonObject;
  /** False: there are none in it, and it need not be copied to fill them in. Default true. */
  readonly hasVariables?: boolean;
}

/** Gives the revision that an import means, or throws {@link FragmentProblem}. */
export type FragmentLookup = (asked: { id: string; version: string }) => FragmentSource;

/** A configuration with everything that it includes. */
export interface Resolved {
  readonly config: JsonObject;
  /** In order: of two that cover a value, the deeper one counts, and of two as deep the later. */
  readonly sources: readonly ValueSource[];
  /** Every fragment in it, each once a revision. */
  readonly used: readonly FragmentSource[];
}

/** Fragments within fragments, the outermost counted. */
export const DEEPEST_NESTING = 5;
/** Fragments that one configuration may include, those within others counted each time. */
export const MOST_IMPORTS = 1_000;
/** Values of all of them; putting each in its place takes microseconds. */
const MOST_INCLUDED_VALUES = 2 * MOST_CONFIG_VALUES;
/** Steps of putting values in their places one by one, a fifth of a microsecond each. */
const MOST_STEPS = 500_000;
/** Entries that the lists of a resolved configuration may have. */
const MOST_ENTRIES = 50_000;

/** Whether a configuration includes anything. */
export function hasFragments(config: JsonObject): boolean {
  const list = config["fragments"];
  return Array.isArray(list) && list.length > 0;
}

/**
 * Puts what a configuration includes into it: variables filled in, names prefixed, `fragment_mods`
 * applied, the configuration's own values last. The same input gives the same result.
 *
 * @throws {FragmentProblem}
 */
export function resolveConfig(config: JsonObject, lookup: FragmentLookup): Resolved {
  const resolver = new Resolver(lookup);
  const merged = resolver.resolve(config, undefined, []);
  return {
    config: merged.toJson(),
    // For people who look; a rollout to thousands of machines has no use for it.
    get sources() {
      return merged.sources();
    },
    used: [...resolver.used.values()],
  };
}

class Resolver {
  readonly used = new Map<string, FragmentSource>();
  /** Of configurations that were counted before. */
  readonly #values = new WeakMap<JsonObject, number>();
  #imports = 0;
  #valuesLeft = MOST_INCLUDED_VALUES;
  #stepsLeft = MOST_STEPS;
  #entries = 0;

  constructor(private readonly lookup: FragmentLookup) {}

  resolve(config: JsonObject, origin: Origin, path: readonly string[]): MergedConfig {
    const merged = new MergedConfig(this.#work);
    const mods = readMods(config);
    const imports = readImports(config);
    const included = new Set(imports.map(({ id }) => id));
    const stray = mods.find((mod) => !included.has(mod.fragmentId));
    // Those of an import that is disabled wait for it.
    const disabled = stray && mentions(config, stray.fragmentId);
    if (stray && !disabled) {
      throw new FragmentProblem(
        "invalid",
        stray.fragmentId,
        `fragment_mods: ${JSON.stringify(stray.fragmentId)} is not among the fragments`,
      );
    }
    for (const one of imports) merged.add(this.#import(one, path));
    for (const { fragmentId, operator, path: at, value } of mods) {
      if (!included.has(fragmentId)) continue;
      const prefixes = imports.filter(({ id }) => id === fragmentId).map(({ prefix }) => prefix);
      const done = targets(at, prefixes).map((steps) =>
        operator === "$set" ? merged.set(steps, value, origin) : merged.unset(steps)
      );
      if (operator === "$set" && !done.includes(true)) {
        throw new FragmentProblem(
          "invalid",
          fragmentId,
          `fragment_mods: $set of ${JSON.stringify(at)}: the fragment has no such entry`,
        );
      }
    }
    merged.addConfig(config, origin);
    this.#entries = Math.max(this.#entries, merged.size);
    if (this.#entries > MOST_ENTRIES) {
      throw new FragmentProblem(
        "invalid",
        "",
        `the configuration has more than ${MOST_ENTRIES} entries with its fragments`,
      );
    }
    return merged;
  }

  #import({ id, version, prefix, variables }: FragmentImport, path: readonly string[]) {
    if (path.includes(id)) {
      const circle = [...path.slice(path.indexOf(id)), id].join(" → ");
      throw new FragmentProblem("cycle", id, `fragments include one another: ${circle}`);
    }
    if (path.length >= DEEPEST_NESTING) {
      throw new FragmentProblem(
        "nesting",
        id,
        `fragment ${id} is nested too deep: ${DEEPEST_NESTING} within one another are allowed`,
      );
    }
    if (++this.#imports > MOST_IMPORTS) {
      throw new FragmentProblem(
        "invalid",
        id,
        `more than ${MOST_IMPORTS} fragments are included, counting those within others`,
      );
    }
    const source = this.lookup({ id, version });
    this.used.set(`${id} ${source.revision}`, source);
    const origin = { fragmentId: id, revision: source.revision };
    const filled = source.hasVariables === false
      ? source.config
      : fillVariables(source.config, variables, id);
    this.#countValues(filled, id);
    const inner = this.resolve(filled, origin, [...path, id]);
    return prefix === "" ? inner : inner.mapped((config) => withPrefix(config, prefix));
  }

  #countValues(config: JsonObject, id: string): void {
    const values = this.#values.get(config) ?? countValues(config, MOST_INCLUDED_VALUES);
    this.#values.set(config, values);
    this.#valuesLeft -= values;
    if (this.#valuesLeft >= 0) return;
    throw new FragmentProblem(
      "invalid",
      id,
      `the fragments have more than ${MOST_INCLUDED_VALUES} values, counted each time that they ` +
        "are included",
    );
  }

  readonly #work = (steps: number): void => {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft >= 0) return;
    throw new FragmentProblem(
      "invalid",
      "",
      "fragment_mods: there are too many, or in too large lists and objects",
    );
  };
}

function mentions(config: JsonObject, fragmentId: string): boolean {
  const list = config["fragments"];
  return Array.isArray(list) && JSON.stringify(list).includes(JSON.stringify(fragmentId));
}

/** What a path of a mod means: the name as it stands, and the name with each prefix before it. */
function targets(path: string, prefixes: readonly string[]): string[][] {
  const [section = "", name, ...rest] = path.split(".");
  if (name === undefined) return [[section]];
  const names = new Set([
    name,
    ...prefixes.filter(Boolean).map((prefix) => `${prefix}-${name}`),
  ]);
  return [...names].map((one) => [section, one, ...rest]);
}
