import { Code } from "@connectrpc/connect";
import type { FragmentRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** How many have a fragment, itself or through others. */
export interface Usage {
  readonly organizations: number;
  readonly parts: number;
  readonly machines: number;
  /** Of the organisation that asks. */
  readonly ownMachines: number;
}

const NO_USAGE: Usage = { organizations: 0, parts: 0, machines: 0, ownMachines: 0 };
const TOLD_USERS = 3;

/** How many have each of some fragments. */
export async function usageOf(
  queries: Queries,
  fragmentIds: readonly string[],
  orgId: string,
): Promise<(id: string) => Usage> {
  if (fragmentIds.length === 0) return () => NO_USAGE;
  const rows = await usageQuery(queries, orgId).select("part_fragments.fragment_id as id")
    .where("part_fragments.fragment_id", "in", fragmentIds)
    .groupBy("part_fragments.fragment_id").execute();
  const byId = new Map(rows.map((row) => [row.id, toUsage(row)]));
  return (id) => byId.get(id) ?? NO_USAGE;
}

/** How many have each revision of a fragment. */
export async function usageByRevision(
  queries: Queries,
  fragmentId: string,
  orgId: string,
): Promise<{ revision: string; usage: Usage }[]> {
  const rows = await usageQuery(queries, orgId).select("part_fragments.revision")
    .where("part_fragments.fragment_id", "=", fragmentId)
    .groupBy("part_fragments.revision").execute();
  return rows.map((row) => ({ revision: row.revision, usage: toUsage(row) }));
}

function usageQuery(queries: Queries, orgId: string) {
  return queries.selectFrom("part_fragments")
    .innerJoin("parts", "parts.id", "part_fragments.part_id")
    .select((eb) => [
      eb.fn.count<number>("parts.org_id").distinct().as("organizations"),
      eb.fn.count<number>("parts.id").distinct().as("parts"),
      eb.fn.count<number>("parts.machine_id").distinct().as("machines"),
      eb.fn.count<number>(
        eb.case().when("parts.org_id", "=", orgId).then(eb.ref("parts.machine_id")).end(),
      ).distinct().as("ownMachines"),
    ]);
}

function toUsage(row: Usage): Usage {
  return {
    organizations: Number(row.organizations),
    parts: Number(row.parts),
    machines: Number(row.machines),
    ownMachines: Number(row.ownMachines),
  };
}

/** Who includes a fragment, in words: machines and fragments of its organisation by name. */
export async function usersOf(queries: Queries, row: FragmentRow): Promise<string[]> {
  const usage = (await usageOf(queries, [row.id], row.org_id))(row.id);
  const machines = await queries.selectFrom("part_fragments")
    .innerJoin("parts", "parts.id", "part_fragments.part_id")
    .innerJoin("machines", "machines.id", "parts.machine_id")
    .select("machines.name").distinct()
    .where("part_fragments.fragment_id", "=", row.id).where("parts.org_id", "=", row.org_id)
    .orderBy("machines.name").limit(TOLD_USERS).execute();
  const parents = await queries.selectFrom("fragment_children")
    .innerJoin("fragments", "fragments.id", "fragment_children.fragment_id")
    .select(["fragments.name", "fragments.org_id"])
    .where("fragment_children.child_id", "=", row.id).orderBy("fragments.name").execute();
  const defaults = await queries.selectFrom("organizations").select("id")
    .where("default_fragments", "like", `%${row.id}%`).execute();
  const tokens = await queries.selectFrom("enrollment_tokens").select("name")
    .where("template", "like", `%${row.id}%`).where("org_id", "=", row.org_id)
    .orderBy("name").execute();
  const own = parents.filter(({ org_id }) => org_id === row.org_id);
  const others = usage.machines - usage.ownMachines;
  return [
    ...named("machine", machines.map(({ name }) => name), usage.ownMachines),
    ...named("fragment", own.map(({ name }) => name), own.length),
    ...(others > 0 ? [`${others} ${plural("machine", others)} of other organisations`] : []),
    ...(parents.length > own.length
      ? [
        `${parents.length - own.length} ${plural("fragment", parents.length - own.length)} of ` +
        "other organisations",
      ]
      : []),
    ...named("enrollment token", tokens.map(({ name }) => name), tokens.length),
    ...(defaults.length > 0 ? ["the default fragments of an organisation"] : []),
  ];
}

/** What others include does not become private. */
export async function requireNotUsedByOthers(queries: Queries, row: FragmentRow): Promise<void> {
  const users = (await usersOf(queries, row)).filter((user) => user.includes("other org"));
  const parent = await queries.selectFrom("fragment_children")
    .innerJoin("fragments", "fragments.id", "fragment_children.fragment_id")
    .select("fragments.name").where("fragment_children.child_id", "=", row.id)
    .where("fragments.visibility", "!=", "private").executeTakeFirst();
  const by = parent ? [...users, `the public fragment ${JSON.stringify(parent.name)}`] : users;
  if (by.length === 0) return;
  throw refusal(
    "IN_USE",
    { name: row.name, users: by.join(", ") },
    `visibility: the fragment cannot become private, it is in use by ${by.join(", ")}`,
    Code.FailedPrecondition,
  );
}

function named(what: string, names: readonly string[], count: number): string[] {
  if (count === 0) return [];
  const shown = names.slice(0, TOLD_USERS).join(", ");
  return [`${count} ${plural(what, count)} (${shown}${count > TOLD_USERS ? ", …" : ""})`];
}

function plural(what: string, count: number): string {
  return count === 1 ? what : `${what}s`;
}
