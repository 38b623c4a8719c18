import { Code, ConnectError } from "@connectrpc/connect";
import type { PackageType } from "../../storage/database/schema.ts";
import { PACKAGE_TYPES, typeOfNumber } from "./package_messages.ts";
import { platformProblem } from "./platforms.ts";
import { versionProblem } from "./versions.ts";

const LONGEST_NAME = 100;
const LONGEST_PATH = 1_000;

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

/** Throws INVALID_ARGUMENT with the field's name unless a check found nothing. */
export function requireValid(field: string, problem: string | undefined): void {
  if (problem) throw new ConnectError(`${field}: ${problem}`, Code.InvalidArgument);
}

/** The fields that every upload has; INVALID_ARGUMENT names the one that is wrong. */
export function checkedUpload(
  field: (name: string) => string,
  given: { name: string; version: string; type: PackageType; platform: string | undefined },
): { name: string; version: string; type: PackageType; platform: string } {
  const platform = given.platform || "any";
  requireValid(field("name"), itemNameProblem(given.name));
  requireValid(field("version"), versionProblem(given.version, given.type));
  requireValid(field("platform"), platformProblem(platform));
  return { ...given, platform };
}

/** The type that a number stands for. Throws INVALID_ARGUMENT. */
export function requireType(field: string, number: number): PackageType {
  const type = typeOfNumber(number);
  if (type) return type;
  throw new ConnectError(
    `${field}: ${number} is no type of a package; allowed are ${PACKAGE_TYPES.join(", ")}`,
    Code.InvalidArgument,
  );
}
