import { isSecretKey, maskUserInfo, SECRET_MASK } from "../base/redaction/secret_keys.ts";

/** One thing that is wrong (or, as a warning, unusual) in a configuration. */
export interface ConfigProblem {
  /** Where, in JSON-path form: `components[0].name`. Empty for the document itself. */
  path: string;
  /** What is wrong, in words: `the name has a character that is not allowed`. */
  message: string;
  /** What stands there, shortened; `******` where a secret stands; `nothing` when it is missing. */
  found: string;
  /** What may stand there. Empty when the message says it all. */
  allowed: string;
  /** True when nothing of the configuration can be used (problems in cloud, network, auth). */
  fatal: boolean;
}

/** Keys and indexes that lead from the document to a value. */
export type Path = readonly (string | number)[];

/** Takes problems as they are found. */
export type Report = (problem: ConfigProblem) => void;

/** Takes problems up to a number, at which a check may end: what has so many is refused anyway. */
export class ProblemList {
  readonly found: ConfigProblem[] = [];
  readonly report: Report = (problem) => {
    this.found.push(problem);
    if (this.found.length >= this.most) throw this.#enough;
  };
  readonly #enough = new Error("there are enough problems");

  constructor(private readonly most: number) {}

  /** Runs a check to its end, or until there are enough problems. */
  until(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (error !== this.#enough) throw error;
    }
  }
}

const LONGEST_FOUND = 80;

/**
 * A problem with the value at `path`.
 *
 * `value` is described in `found`, or masked where the path leads to a secret.
 */
export function problemAt(
  path: Path,
  value: unknown,
  message: string,
  allowed = "",
  fatal = false,
): ConfigProblem {
  return {
    path: formatPath(path),
    message,
    found: isSecretPath(path, value) && value !== undefined ? SECRET_MASK : describe(value),
    allowed,
    fatal,
  };
}

/** `components[0].attributes["a key"]` */
export function formatPath(path: Path): string {
  return path.map((step, index) => {
    if (typeof step === "number") return `[${step}]`;
    if (!/^[\w-]+$/.test(step)) return `[${JSON.stringify(step)}]`;
    return index === 0 ? step : `.${step}`;
  }).join("");
}

/** The problem in one sentence: where, what is wrong, what was found and what is allowed. */
export function formatProblem(problem: ConfigProblem): string {
  const where = problem.path === "" ? "configuration" : problem.path;
  const allowed = problem.allowed === "" ? "" : `, allowed: ${problem.allowed}`;
  return `${where}: ${problem.message} (found: ${problem.found}${allowed})`;
}

/** True when what stands at the path must not be shown. */
function isSecretPath(path: Path, value: unknown): boolean {
  return path.some((step, index) => {
    if (typeof step !== "string") return false;
    const isLast = path.slice(index + 1).every((later) => typeof later === "number");
    return isSecretKey(step, value) ? isLast : isSecretMap(path, index);
  });
}

/** Objects whose values are all secret whatever their keys: environments, API keys by id. */
function isSecretMap(path: Path, index: number): boolean {
  const step = path[index];
  if (index >= path.length - 1) return false;
  return step === "env" || step === "machine_server_env" || step === "viam_server_env" ||
    (step === "config" && path[0] === "auth" && path[index + 1] !== "keys");
}

function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return JSON.stringify(shorten(maskUserInfo(value)));
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

function shorten(text: string): string {
  return text.length <= LONGEST_FOUND ? text : `${text.slice(0, LONGEST_FOUND - 1)}…`;
}
