import { Code, ConnectError } from "@connectrpc/connect";
import { type Reason, type ReasonValues, refusal } from "../../../shared/rpc/reasons.ts";
import {
  itemNameProblem,
  LONGEST_NAME,
  platformProblem,
  versionProblem,
} from "../../../shared/registry/item_rules.ts";
import type { PackageType } from "../../storage/database/registry_schema.ts";
import { PACKAGE_TYPES, typeOfNumber } from "./package_messages.ts";

/**
 * Throws INVALID_ARGUMENT with the field's name unless a check found nothing.
 *
 * @param why its reason and values, where a person can get it wrong
 */
export function requireValid<R extends Reason>(
  field: string,
  problem: string | undefined,
  ...why: [] | [reason: R, values: ReasonValues<R>]
): void {
  if (!problem) return;
  const message = `${field}: ${problem}`;
  if (why.length === 0) throw new ConnectError(message, Code.InvalidArgument);
  throw refusal(...why, message, Code.InvalidArgument);
}

/** Throws INVALID_ARGUMENT for a field that is empty. */
export function requireGiven(field: string, text: string): void {
  requireValid(field, text === "" ? "it is missing" : undefined, "MISSING", { field });
}

/** Throws INVALID_ARGUMENT for what cannot be the name of an item. */
export function requireItemName(field: string, name: string): void {
  requireValid(field, itemNameProblem(name), "NAME_INVALID", { name, most: LONGEST_NAME });
}

/** Throws INVALID_ARGUMENT for what cannot be a new version of an item. */
export function requireItemVersion(field: string, version: string, type: string): void {
  const reason = type === "module" ? "VERSION_INVALID" : "VERSION_FORM";
  requireValid(field, versionProblem(version, type), reason, { version });
}

/** The fields that every upload has; INVALID_ARGUMENT names the one that is wrong. */
export function checkedUpload(
  field: (name: string) => string,
  given: { name: string; version: string; type: PackageType; platform: string | undefined },
): { name: string; version: string; type: PackageType; platform: string } {
  const platform = given.platform || "any";
  requireItemName(field("name"), given.name);
  requireItemVersion(field("version"), given.version, given.type);
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
