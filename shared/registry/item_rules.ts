import { parse } from "semver";
import { PLATFORMS } from "./platforms.ts";

export const LONGEST_NAME = 100;
const LONGEST_PATH = 1_000;
/** What stands for a version that is chosen from those there are. */
export const VERSION_WORDS: readonly string[] = ["latest", "latest-with-prerelease"];

/** Why a text is no platform; undefined when it is one. */
export function platformProblem(platform: string): string | undefined {
  if (PLATFORMS.some((known) => known === platform)) return undefined;
  return `${JSON.stringify(platform)} is no platform; allowed are ${PLATFORMS.join(", ")}`;
}

/** Why an item cannot have a name; undefined when it can. */
export function itemNameProblem(name: string): string | undefined {
  const found = JSON.stringify(name);
  if (name.length > LONGEST_NAME) return `${found} is longer than ${LONGEST_NAME} characters`;
  if (/^[A-Za-z0-9][\w-]*$/.test(name)) return undefined;
  return `${found} is no name; allowed are letters, digits, - and _, a letter or digit first`;
}

/** Why a text is no path of a file inside an archive; undefined when it is one. */
export function innerPathProblem(path: string): string | undefined {
  const found = JSON.stringify(path);
  if (path === "" || path.length > LONGEST_PATH) {
    return `${found} is no path of a file in the archive`;
  }
  const leaves = path.startsWith("/") || /^[A-Za-z]:/.test(path) ||
    path.split(/[/\\]/).includes("..");
  if (leaves) return `${found} leaves the archive; give a path relative to its root`;
  return /\p{Cc}/u.test(path) ? `${found} has a control character` : undefined;
}

/**
 * Why a text cannot be a version that is uploaded; undefined when it can.
 *
 * @param type of the item: those of a `module` have three numbers
 */
export function versionProblem(version: string, type: string): string | undefined {
  const found = JSON.stringify(version);
  if (VERSION_WORDS.includes(version)) {
    return `${found} stands for the newest one; give the version itself`;
  }
  if (type === "module") {
    if (parse(version)?.version === version) return undefined;
    return `${found} is no version of a module; write three numbers as in 1.2.3, or 1.2.3-rc.1`;
  }
  if (/^[A-Za-z0-9][\w.+:-]{0,99}$/.test(version)) return undefined;
  return `${found} is no version; allowed are 1 to 100 letters, digits and . _ + : -, a letter or ` +
    "digit first";
}

/** Namespace and name of an id as `namespace:name`; a name alone has an empty namespace. */
export function splitItemId(id: string): [namespace: string, name: string] {
  const at = id.indexOf(":");
  return at < 0 ? ["", id] : [id.slice(0, at), id.slice(at + 1)];
}
