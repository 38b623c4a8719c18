import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { MachineTemplate } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { type ConfigDocument, documentOf, EMPTY_CONFIG } from "../configuration/config_document.ts";
import type { RecentDocuments } from "../configuration/recent_documents.ts";
import type { FragmentProblem } from "../fragments/fragment_problem.ts";
import { resolveForSave } from "../fragments/part_resolution.ts";

/** What a machine begins with beyond its organisation's default fragments. */
export interface Template {
  /** Ids, each optionally with `@` and a revision or tag. */
  readonly fragments: readonly string[];
  readonly tags: readonly string[];
}

const MOST_FRAGMENTS = 50;
const MOST_TAGS = 50;
/** As rollouts of releases take them. */
const TAG = /^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$/;

/** Reads a template that the caller may use. @throws {ConnectError} */
export async function readTemplate(
  scope: Scope,
  field: string,
  template: MachineTemplate | undefined,
): Promise<Template> {
  const { fragmentIds = [], tags = [] } = template ?? {};
  if (fragmentIds.length > MOST_FRAGMENTS || tags.length > MOST_TAGS) {
    throw invalid(`${field}: at most ${MOST_FRAGMENTS} fragments and ${MOST_TAGS} tags`);
  }
  const wrong = tags.find((tag) => !TAG.test(tag));
  if (wrong !== undefined) {
    throw invalid(
      `${field}.tags: ${JSON.stringify(wrong)} is no tag; allowed are 1 to 50 letters, digits, - ` +
        "and _, a letter or digit first",
    );
  }
  for (const id of new Set(fragmentIds)) await scope.fragment(importOf(id).id, "see");
  return { fragments: [...new Set(fragmentIds)], tags: [...new Set(tags)] };
}

/** The configuration of a new machine of an organisation. */
export async function templateConfig(
  queries: Queries,
  orgId: string,
  { fragments, tags }: Template,
): Promise<ConfigDocument> {
  const { default_fragments: list } = await queries.selectFrom("organizations")
    .select("default_fragments").where("id", "=", orgId).executeTakeFirstOrThrow();
  const defaults = JSON.parse(list) as JsonObject[];
  const more = fragments.map(importOf).filter(({ id }) =>
    !defaults.some((each) => each["id"] === id)
  );
  const imports: JsonObject[] = [...defaults, ...more];
  if (imports.length === 0 && tags.length === 0) return EMPTY_CONFIG;
  return documentOf({
    ...(imports.length === 0 ? {} : { fragments: imports }),
    ...(tags.length === 0 ? {} : { agent: { tags: [...tags] } }),
  });
}

/** Tries a template out. @throws {ConnectError} INVALID_ARGUMENT as a save of its configuration */
export async function requireUsable(
  queries: Queries,
  orgId: string,
  template: Template,
  documents?: RecentDocuments,
): Promise<void> {
  const config = await templateConfig(queries, orgId, template);
  await resolveForSave(queries, orgId, config, { advice: variablesAdvice, documents });
}

/** How a fragment gets its variables where only its id is given. */
function variablesAdvice({ kind, fragmentId: id }: FragmentProblem): string {
  if (kind !== "variable") return "";
  const included = JSON.stringify({ fragments: [{ id, variables: {} }] });
  return ` of a fragment that includes this one, ${included}, and name that one here`;
}

function importOf(text: string): { id: string; version?: string } {
  const [id = "", version] = text.split("@");
  return version === undefined ? { id } : { id, version };
}

function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
