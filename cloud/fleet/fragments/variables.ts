import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { FragmentProblem } from "./fragment_problem.ts";

const KEY = "$variable";

/**
 * A copy of a fragment with every `{"$variable": {"name": …}}` replaced by what the import gives.
 *
 * @throws {FragmentProblem} when it gives none
 */
export function fillVariables(
  config: JsonObject,
  variables: JsonObject,
  fragmentId: string,
): JsonObject {
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, fill(value, variables, fragmentId)]),
  );
}

function fill(value: JsonValue, variables: JsonObject, fragmentId: string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => fill(item, variables, fragmentId));
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === KEY) return given(value[KEY], variables, fragmentId);
  return fillVariables(value, variables, fragmentId);
}

function given(
  variable: JsonValue | undefined,
  variables: JsonObject,
  fragmentId: string,
): JsonValue {
  const name = isJsonObject(variable) ? variable["name"] : undefined;
  if (typeof name !== "string" || name === "") {
    throw new FragmentProblem(
      "invalid",
      fragmentId,
      `fragment ${fragmentId}: ${KEY} must be {"name": …}`,
    );
  }
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value !== undefined) return value;
  throw new FragmentProblem(
    "variable",
    fragmentId,
    `fragment ${fragmentId} needs the variable ${JSON.stringify(name)}; give it in "variables"`,
  );
}

/** Names of all variables that a fragment needs. */
export function variableNames(value: JsonValue): Set<string> {
  const names = new Set<string>();
  const look = (item: JsonValue): void => {
    if (Array.isArray(item)) return item.forEach(look);
    if (!isJsonObject(item)) return;
    const variable = item[KEY];
    if (isJsonObject(variable) && typeof variable["name"] === "string") names.add(variable["name"]);
    Object.values(item).forEach(look);
  };
  look(value);
  return names;
}
