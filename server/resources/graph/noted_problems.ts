/** What is wrong with a resource that was built: by its driver, or by others. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Resource } from "./resource.ts";

const noted = new WeakMap<Resource, string>();

/** Status shows the problem until it is noted that there is none any more, or it is built again. */
export function noteProblem(resource: Resource, problem: string | undefined): void {
  if (problem === undefined) noted.delete(resource);
  else noted.set(resource, problem);
}

/** What was noted last. */
export function notedProblem(resource: Resource): string | undefined {
  return noted.get(resource);
}

/** Why it cannot be used at the moment, and what to do; undefined while it can. */
export function problemOf(resource: Resource): string | undefined {
  try {
    return resource.problem?.() || notedProblem(resource);
  } catch (error) {
    return `its state cannot be had: ${toError(error).message}`;
  }
}
