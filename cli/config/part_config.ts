import type { JsonObject } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { parseJsonc } from "../../shared/base/files/jsonc.ts";
import { diffConfigs } from "../../shared/config/diff.ts";
import { sameJson } from "../../shared/base/json/json.ts";
import { parseMachineConfig } from "../../shared/config/parse.ts";
import { formatProblem } from "../../shared/config/problem.ts";
import { readConfigOnce } from "../../shared/config/reading.ts";
import { MOST_PROBLEMS, validateReading } from "../../shared/config/validate.ts";
import { renderDiff } from "../../shared/config/render_diff.ts";
import { type ChosenPart, findPart } from "../../shared/commands/choice/part.ts";
import { clientOf, type CommandContext } from "../../shared/commands/run/command.ts";
import {
  type ConfigRevision,
  ConfigurationService,
} from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { AppService, type RobotPart } from "../../shared/gen/viam/app/v1/app_pb.ts";

/** The configuration of a part as somebody saved it. */
export interface PartConfig {
  /** As it was written, comments included. */
  readonly text: string;
  readonly value: JsonObject;
  readonly savedAt: Timestamp | undefined;
}

/** A configuration, and how many saves ago it counted: 0 counts now. */
export interface Revision extends PartConfig {
  readonly number: number;
}

/**
 * The configuration of a part, as its cloud keeps it.
 *
 * @throws {Error} for who sees the part and not its configuration
 */
export async function readPartConfig(
  context: CommandContext,
  wanted: string,
): Promise<{ readonly part: ChosenPart; readonly config: PartConfig }> {
  const part = await findPart(context, wanted);
  const { part: found } = await (await clientOf(context, AppService)).getRobotPart({ id: part.id });
  if (found?.robotConfig === undefined && found?.robotConfigJson === undefined) {
    throw new Error(`you do not see the configuration of ${part.name}; it takes an owner of it`);
  }
  return { part, config: configOf(found) };
}

function configOf(part: RobotPart | undefined): PartConfig {
  const value = part?.robotConfig ?? {};
  return {
    text: part?.robotConfigJson || `${JSON.stringify(value, null, 2)}\n`,
    value,
    savedAt: part?.lastUpdated,
  };
}

const HISTORY_PAGE = 100n;

/** Newest first. @param most how many; fewer when there are no more */
export async function readHistory(
  context: CommandContext,
  partId: string,
  most: number,
): Promise<Revision[]> {
  const app = await clientOf(context, AppService);
  const { part } = await app.getRobotPart({ id: partId });
  const revisions: Revision[] = [];
  let next = configOf(part);
  let pageToken = "";
  do {
    const page = await app.getRobotPartHistory({
      ...{ id: partId, pageLimit: HISTORY_PAGE },
      ...(pageToken === "" ? {} : { pageToken }),
    });
    for (const { when, old } of page.history) {
      const number = revisions.length;
      revisions.push({ ...next, number, savedAt: when });
      next = configOf(old);
      if (revisions.length === most) return revisions;
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return [...revisions, { ...next, number: revisions.length, savedAt: undefined }];
}

/** Who saved a configuration, when and how: `api`, `console`, `cli`, `restore` or `fragment`. */
export type Author = Pick<
  ConfigRevision,
  "number" | "savedAt" | "savedBy" | "savedByName" | "savedHow" | "added" | "changed" | "removed"
>;

/** Of each save, newest first. @param most how many; fewer when there are no more */
export async function readAuthors(
  context: CommandContext,
  partId: string,
  most: number,
): Promise<Author[]> {
  const client = await clientOf(context, ConfigurationService);
  const authors: Author[] = [];
  let pageToken = "";
  do {
    const pageLimit = HISTORY_PAGE;
    const page = await client.listRevisions({ partId, pageLimit, pageToken });
    authors.push(...page.revisions);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && authors.length < most);
  return authors.slice(0, most);
}

/** What fragments changed between two revisions, which are counted from the newest, a line each. */
export async function readFragmentChanges(
  context: CommandContext,
  partId: string,
  [from, to]: readonly [number, number],
): Promise<string[]> {
  const authors = await readAuthors(context, partId, Math.max(from, to) + 1);
  const [one, other] = [authors[from]?.number, authors[to]?.number];
  if (one === undefined || other === undefined) return [];
  const client = await clientOf(context, ConfigurationService);
  const { changes } = await client.compareRevisions({ partId, from: one, to: other });
  return changes.filter(({ beforeJson, afterJson }) => beforeJson === "" && afterJson === "")
    .map(({ entry, kind }) => `${kind === "added" ? "+" : kind === "removed" ? "-" : "~"} ${entry}`)
    .map((line) => `${line} (by a fragment)`);
}

/** The JSON value of a text; comments are allowed. @throws {Error} that says where it is wrong */
export function parseConfig(text: string, source: string): JsonObject {
  let value: unknown;
  try {
    value = parseJsonc(text);
  } catch (error) {
    const reason = toError(error).message;
    throw new Error(`${source} is no JSON: ${reason}`, { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new Error(`${source}: a configuration is a JSON object: {"components": […]}`);
}

/** What differs, a change a line with secrets masked; empty when both say the same. */
export function diffText(before: JsonObject, after: JsonObject): string {
  if (sameJson(before, after)) return "";
  const [one, other] = [before, after].map((value) => parseMachineConfig(value).config);
  // What no machine reads is in neither of the two.
  return renderDiff(diffConfigs(one!, other!)) || "~ keys that machines do not read";
}

/** Why a cloud refuses to save a configuration, a sentence for each entry; secrets masked. */
export function configProblems(value: JsonObject): string[] {
  return validateReading(readConfigOnce(value, MOST_PROBLEMS)).map(formatProblem);
}

/** What came of a save. */
export type Saved =
  | { readonly kind: "saved"; readonly savedAt: Timestamp | undefined }
  /** Somebody else saved in the meantime; that is `config`. */
  | { readonly kind: "conflict"; readonly config: PartConfig };

/** Saves a text, or a revision of before, unless somebody else saved since `known`. */
export async function saveConfig(
  context: CommandContext,
  part: ChosenPart,
  what: { readonly text: string } | { readonly revision: bigint },
  known: PartConfig,
): Promise<Saved> {
  const lastKnown = known.savedAt ? { lastKnownUpdate: known.savedAt } : {};
  try {
    if ("revision" in what) {
      const configuration = await clientOf(context, ConfigurationService);
      const { revision: saved } = await configuration.restoreRevision({
        ...{ partId: part.id, number: what.revision, ...lastKnown },
      });
      return { kind: "saved", savedAt: saved?.savedAt };
    }
    const app = await clientOf(context, AppService);
    const { part: saved } = await app.updateRobotPart({
      ...{ id: part.id, robotConfigJson: what.text, ...lastKnown },
    });
    return { kind: "saved", savedAt: saved?.lastUpdated };
  } catch (error) {
    if (!(error instanceof ConnectError) || error.code !== Code.FailedPrecondition) throw error;
    const { config } = await readPartConfig(context, part.id);
    if (sameJson(config.value, known.value)) throw error;
    return { kind: "conflict", config };
  }
}
