import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { ConfigReading } from "../../../shared/config/reading.ts";
import { type ConfigProblem, formatProblem } from "../../../shared/config/problem.ts";
import {
  MOST_PROBLEMS,
  validateReading,
  warningsForSave,
} from "../../../shared/config/validate.ts";
import { type ConfigDocument, documentOf, sizeProblem } from "./config_document.ts";
import { RecentDocuments } from "./recent_documents.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Problems reported in one answer; the rest are counted. */
const REPORTED_PROBLEMS = 20;

const NOT_SAVED = "the configuration was not saved: ";

/** The configuration cannot be saved; the message lists every problem with its JSON path. */
export class ConfigRefusedError extends Error {
  override readonly name = "ConfigRefusedError";
}

/**
 * A configuration that may be saved, from a JSON text or an object.
 *
 * @param recent keeps what was read, for others that need it. Default: nothing is kept.
 * @throws {ConfigRefusedError}
 */
export function readConfig(
  input: string | JsonObject,
  recent = new RecentDocuments(),
): ConfigDocument {
  const document = fittingDocument(input);
  refuse(validateReading(recent.keep(document, MOST_PROBLEMS)));
  return document;
}

function fittingDocument(input: string | JsonObject): ConfigDocument {
  const document = typeof input === "string" ? parseText(input) : documentOf(input);
  const problem = sizeProblem(document);
  if (problem) throw new ConfigRefusedError(`the configuration ${problem}`);
  return document;
}

function refuse(problems: readonly ConfigProblem[]): void {
  if (problems.length === 0) return;
  const list = listed(problems, formatProblem);
  throw new ConfigRefusedError(`${NOT_SAVED}${list}`);
}

/** The first problems, and how many more there are. */
export function listed(
  problems: readonly ConfigProblem[],
  format: (problem: ConfigProblem) => string,
): string {
  const shown = problems.slice(0, REPORTED_PROBLEMS).map(format);
  const left = problems.length - shown.length;
  if (left === 0) return shown.join("; ");
  const least = problems.length >= MOST_PROBLEMS ? "at least " : "";
  return [...shown, `and ${least}${left} more`].join("; ");
}

/** What is odd about a configuration that may be saved, one sentence each: keys nobody reads, and what has no effect. */
export function configWarnings(reading: ConfigReading): string[] {
  const warnings = warningsForSave(reading);
  const told = warnings.slice(0, REPORTED_PROBLEMS).map((one) =>
    `configuration: ${formatProblem(one)}`
  );
  const left = warnings.length - told.length;
  return left > 0 ? [...told, `configuration: ${left} more like these`] : told;
}

/** What was sent as a configuration, not checked any further. INVALID_ARGUMENT when it is no JSON object. */
export function parseConfig(input: string | JsonObject | undefined): ConfigDocument | undefined {
  if (input === undefined) return undefined;
  return typeof input === "string" ? asCall(() => parseText(input)) : documentOf(input);
}

/**
 * {@link readConfig} for calls: INVALID_ARGUMENT when it is refused, undefined when none was sent.
 * Other calls have their turn in between: with the largest configuration each part of it takes a
 * tenth of a second.
 *
 * @param recent keeps what was read, for others that need it. Default: nothing is kept.
 */
export async function checkedConfig(
  input: string | JsonObject | undefined,
  recent = new RecentDocuments(),
): Promise<ConfigDocument | undefined> {
  if (input === undefined) return undefined;
  await letOthersWork();
  const document = asCall(() => fittingDocument(input));
  const reading = recent.keep(document, MOST_PROBLEMS);
  await letOthersWork();
  asCall(() => refuse(validateReading(reading)));
  await letOthersWork();
  return document;
}

function asCall<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigRefusedError)) throw error;
    const problem = error.message.replace(NOT_SAVED, "");
    throw refusal("CONFIG_REFUSED", { problem }, error.message, Code.InvalidArgument);
  }
}

function parseText(text: string): ConfigDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = toError(error).message;
    throw new ConfigRefusedError(
      `${NOT_SAVED}its text is no JSON (${reason})`,
      { cause: error },
    );
  }
  if (!isJsonObject(value)) {
    throw new ConfigRefusedError(`${NOT_SAVED}it must be a JSON object`);
  }
  return { text, value };
}
