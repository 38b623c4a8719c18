/** What others than its driver find wrong with a resource that was built. */
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
