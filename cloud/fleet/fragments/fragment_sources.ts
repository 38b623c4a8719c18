import type { JsonObject } from "@bufbuild/protobuf";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { parseDocument } from "../configuration/config_document.ts";
import { readImports } from "./fragment_import.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { DEEPEST_NESTING, type FragmentLookup, type FragmentSource } from "./resolve.ts";

/** A fragment as it is about to be saved: it stands for its newest revision. */
export interface DraftFragment extends FragmentSource {
  readonly orgId: string;
}

/** Reads every fragment that a configuration needs, so that it can be resolved in one go. */
export class FragmentSources {
  /** Revisions by fragment and version as requested. */
  readonly #found = new Map<string, FragmentSource | FragmentProblem>();

  /**
   * @param orgId whose configuration it is: fragments of others must be public
   */
  constructor(
    private readonly queries: Queries,
    private readonly orgId: string,
    private readonly draft?: DraftFragment,
  ) {}

  /** Throws {@link FragmentProblem} at entries of `fragments` that are none. */
  async load(config: JsonObject): Promise<FragmentLookup> {
    let level = [config];
    // One level more than allowed, so that the resolver can say which one is too deep.
    for (let depth = 0; depth <= DEEPEST_NESTING && level.length > 0; depth++) {
      const next: JsonObject[] = [];
      for (const one of level) {
        for (const { id, version } of readImports(one)) {
          const key = `${id} ${version}`;
          if (this.#found.has(key)) continue;
          const source = await this.#read(id, version);
          this.#found.set(key, source);
          if (!(source instanceof FragmentProblem)) next.push(source.config);
        }
      }
      level = next;
    }
    return ({ id, version }) => {
      const source = this.#found.get(`${id} ${version}`);
      if (source && !(source instanceof FragmentProblem)) return source;
      throw source ?? new FragmentProblem("not-found", id, `there is no fragment ${id}`);
    };
  }

  async #read(id: string, version: string): Promise<FragmentSource | FragmentProblem> {
    if (this.draft?.id === id && version === "") return this.draft;
    const fragment = await this.queries.selectFrom("fragments")
      .select(["org_id", "visibility", "revision_number"]).where("id", "=", id).executeTakeFirst();
    const named = JSON.stringify(id);
    // Whether a private fragment of others exists is not revealed.
    if (!fragment || (fragment.org_id !== this.orgId && fragment.visibility === "private")) {
      const kind = fragment ? "no-access" : "not-found";
      return new FragmentProblem(kind, id, `there is no fragment ${named} that may be used here`);
    }
    const number = version === ""
      ? fragment.revision_number
      : await revisionNumber(this.queries, id, version);
    const row = number === undefined
      ? undefined
      : await this.queries.selectFrom("fragment_revisions").select("config")
        .where("fragment_id", "=", id).where("number", "=", number).executeTakeFirst();
    if (!row) {
      const message = `fragment ${named} has no revision or tag ${JSON.stringify(version)}`;
      return new FragmentProblem("not-found", id, message);
    }
    const { text, value: config } = parseDocument(row.config);
    // A text may write a letter as \u0024; those are looked through.
    const hasVariables = text.includes("$variable") || text.includes("\\u");
    return { id, revision: String(number), config, hasVariables };
  }
}

/** The number of the revision that a version means: a number, or a tag. */
export async function revisionNumber(
  queries: Queries,
  fragmentId: string,
  version: string,
): Promise<number | undefined> {
  if (/^\d{1,9}$/.test(version)) return Number(version);
  const tag = await queries.selectFrom("fragment_tags").select("number")
    .where("fragment_id", "=", fragmentId).where("tag", "=", version).executeTakeFirst();
  return tag?.number;
}
