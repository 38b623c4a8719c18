/** From a name in attributes or in a call to the dependency that it means. */
import { fullName } from "./name.ts";
import type { Resource } from "./resource.ts";

/**
 * The dependency of that API by its short or full name; undefined when there is none. One of a
 * remote is also found by its name without the remote, where no other has it.
 */
export function dependencyNamed(
  api: string,
  name: string,
  dependencies: ReadonlyMap<string, Resource>,
): Resource | undefined {
  const short = name.startsWith(`${api}/`) ? name.slice(api.length + 1) : name;
  const own = dependencies.get(fullName(api, short));
  if (own || short === "" || short.includes(":")) return own;
  const behind = [...dependencies].filter(([key]) =>
    key.startsWith(`${api}/`) && key.endsWith(`:${short}`)
  );
  return behind.length === 1 ? behind[0]?.[1] : undefined;
}
