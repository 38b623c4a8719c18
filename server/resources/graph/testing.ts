/** Short ways to write graphs in tests. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { ResourceSpec } from "./target.ts";

/** A component of API `t:component:x` and model `t:test:m`. */
export function spec(
  name: string,
  dependsOn: readonly string[] = [],
  attributes: JsonObject = {},
): ResourceSpec {
  return { name, api: "t:component:x", model: "t:test:m", attributes, dependsOn };
}

/** Full name of {@link spec}'s resource. */
export function key(name: string): string {
  return `t:component:x/${name}`;
}
