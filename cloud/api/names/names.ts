import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Longest name of a machine or a part: it is part of host names. */
export const LONGEST_MACHINE_NAME = 60;
const LONGEST_TITLE = 100;

/** Throws INVALID_ARGUMENT for what cannot be the name of an organisation, a location or a key. */
export function requireTitle(field: string, name: string): void {
  const problem = titleProblem(name);
  if (problem === undefined) return;
  const values = { most: LONGEST_TITLE };
  throw refusal("TITLE_INVALID", values, `${field}: ${problem}`, Code.InvalidArgument);
}

/** Why a name cannot be given to an organisation or a location; undefined when it can. */
export function titleProblem(name: string): string | undefined {
  if (name.trim() === "") return "it is empty";
  if (name.length > LONGEST_TITLE) return `it is longer than ${LONGEST_TITLE} characters`;
  if (/\p{Cc}/u.test(name)) return "it has a control character";
  return undefined;
}

/** Why a name cannot be given to a machine or a part; undefined when it can. */
export function machineNameProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/.test(name)) return undefined;
  return "allowed are letters, digits, `-` and `_`, a letter or digit first, 60 characters at most";
}
