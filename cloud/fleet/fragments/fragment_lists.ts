import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type ResolvedFragment,
  ResolvedFragmentSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { requireFew } from "../../api/lists/few.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { documentOf, parseDocument } from "../configuration/config_document.ts";
import {
  askingOrganization,
  fragmentMessage,
  type FragmentMethodsOptions,
} from "./fragment_methods.ts";
import { readImports } from "./fragment_import.ts";
import { ERROR_TYPES, FragmentProblem } from "./fragment_problem.ts";
import { FragmentSources } from "./fragment_sources.ts";
import { resolveConfig } from "./resolve.ts";
import { variableNames } from "./variables.ts";

interface Wanted {
  readonly id: string;
  readonly version: string;
}

/** The calls of AppService that say what fragments bring along, and what machines have of them. */
export function fragmentListMethods(
  { callers, queries }: Pick<FragmentMethodsOptions, "callers" | "queries">,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async listNestedFragments({ fragmentId, additionalFragments }, context) {
      const scope = await callers.scope(context);
      requireFew("additional_fragments", additionalFragments);
      const first = fragmentId ? [{ id: fragmentId, version: "" }] : [];
      const row = fragmentId ? await scope.fragment(fragmentId, "see") : undefined;
      const orgId = row ? askingOrganization(scope, row) : scope.caller.orgId;
      const more = additionalFragments.map((each) => ({
        id: each.fragmentId,
        version: each.version ?? "",
      }));
      return await describe(queries, scope, orgId, [...first, ...more]);
    },

    async listMachineFragments(request, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(request.machineId, "manage");
      requireFew("additional_fragment_ids", request.additionalFragmentIds);
      requireFew("additional_fragments", request.additionalFragments);
      const parts = await queries.selectFrom("parts")
        .innerJoin("part_revisions", (join) =>
          join.onRef("part_revisions.part_id", "=", "parts.id")
            .onRef("part_revisions.number", "=", "parts.revision_number"))
        .select("part_revisions.config").where("parts.machine_id", "=", machine.id).execute();
      const own = parts.flatMap(({ config }) => readImports(parseDocument(config).value));
      return await describe(queries, scope, machine.org_id, [
        ...own,
        ...request.additionalFragmentIds.map((id) => ({ id, version: "" })),
        ...request.additionalFragments.map((each) => ({
          id: each.fragmentId,
          version: each.version ?? "",
        })),
      ]);
    },
  };
}

/** Fragments with those within them, and each resolved on its own. */
async function describe(
  queries: Queries,
  scope: Scope,
  orgId: string,
  wanted: readonly Wanted[],
) {
  const found = new Set<string>();
  const resolvedFragments: ResolvedFragment[] = [];
  const asked = new Map(wanted.map((one) => [`${one.id} ${one.version}`, one]));
  for (const { id, version } of asked.values()) {
    const { message, used } = await resolveOne(queries, orgId, { id, version });
    resolvedFragments.push(message);
    for (const each of used) found.add(each);
  }
  const rows = found.size === 0 ? [] : await scope.fragments().selectAll("fragments")
    .where("fragments.id", "in", [...found]).orderBy("fragments.name").execute();
  const fragments = await Promise.all(rows.map((row) => fragmentMessage(queries, scope, row)));
  return { fragments, resolvedFragments };
}

async function resolveOne(
  queries: Queries,
  orgId: string,
  { id, version }: Wanted,
): Promise<{ message: ResolvedFragment; used: string[] }> {
  try {
    const sources = new FragmentSources(queries, orgId);
    const source = (await sources.load(documentOf({ fragments: [{ id, version }] }).value))({
      id,
      version,
    });
    // What a machine gives is not known here: a variable stands for itself.
    const variables = Object.fromEntries(
      [...variableNames(source.config)].map((name) => [name, { "$variable": { name } }]),
    );
    const part = documentOf({ fragments: [{ id, version, variables }] }).value;
    const { config, used } = resolveConfig(part, await sources.load(part));
    return {
      message: create(ResolvedFragmentSchema, {
        fragmentId: id,
        revision: source.revision,
        resolvedConfig: config,
      }),
      used: used.map((each) => each.id),
    };
  } catch (error) {
    if (!(error instanceof FragmentProblem)) throw error;
    return {
      message: create(ResolvedFragmentSchema, {
        fragmentId: id,
        error: {
          errorType: ERROR_TYPES[error.kind],
          fragmentId: error.fragmentId,
          detail: error.message,
        },
      }),
      used: [id],
    };
  }
}
