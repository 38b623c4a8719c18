import { Code, ConnectError } from "@connectrpc/connect";
import {
  itemNameProblem,
  platformProblem,
  versionProblem,
} from "../../../shared/registry/item_rules.ts";
import type { PackageType } from "../../storage/database/registry_schema.ts";
import { PACKAGE_TYPES, typeOfNumber } from "./package_messages.ts";

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
