import type { QueryScope } from "./query_form.ts";

/** A column of `readings`: its name and where in the database it comes from. */
const COLUMNS: readonly (readonly [name: string, source: string])[] = [
  ["organization_id", "s.org_id"],
  ["location_id", "s.location_id"],
  ["robot_id", "s.machine_id"],
  ["robot_name", "coalesce(m.name, s.machine_name)"],
  ["part_id", "s.part_id"],
  ["part_name", "coalesce(p.name, s.part_name)"],
  ["component_type", "s.component_type"],
  ["component_name", "s.component_name"],
  ["method_name", "s.method_name"],
  ["tags", "u.tags"],
  ["additional_parameters", "u.parameters"],
  ["time_requested", isoText("r.requested_us / 1000000.0")],
  ["time_received", isoText("r.received_us / 1000000.0")],
  ["time_synced", isoText("u.synced_at / 1000.0")],
  // Not of the public form: the index is by this number.
  ["received_us", "r.received_us"],
  ["data", "r.data"],
];

/** Columns that hold JSON. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set(["data", "tags", "additional_parameters"]);
/** Columns that hold times as texts. */
export const TIME_COLUMNS: ReadonlySet<string> = new Set([
  "time_requested",
  "time_received",
  "time_synced",
]);
/** Columns by which a query is narrowed before readings are read, and those of a source. */
export const SOURCE_COLUMNS: ReadonlyMap<string, string> = new Map(
  COLUMNS.filter(([, source]) => /^s\.\w+$/.test(source)),
);
/** Columns that come with an upload. */
export const UPLOAD_COLUMNS: ReadonlySet<string> = new Set(
  COLUMNS.filter(([, source]) => source.includes("u.")).map(([name]) => name),
);

/**
 * The view that queries read: the readings that a scope sees and nothing else. The outer joins
 * cost nothing where a query does not use their columns; the order of the others lets a component
 * and a span of `received_us` be found by the index.
 */
export function readingsView({ orgId, grants, span }: QueryScope): string {
  const columns = COLUMNS.map(([name, source]) => `${source} AS ${name}`).join(", ");
  const allowed = grants.map(({ resource, id }) => `${GRANTED[resource]} = ${quoted(id)}`);
  const within = span
    ? ` AND r.received_us >= ${Number(span.fromUs)} AND r.received_us < ${Number(span.toUs)}`
    : "";
  return `CREATE TEMP VIEW readings AS SELECT ${columns}
    FROM main.data_sources s
    CROSS JOIN main.tabular_readings r ON r.source_id = s.id
    LEFT JOIN main.data_uploads u ON u.id = r.upload_id
    LEFT JOIN main.machines m ON m.id = s.machine_id
    LEFT JOIN main.parts p ON p.id = s.part_id
    WHERE s.org_id = ${quoted(orgId)} AND (${allowed.join(" OR ") || "false"})${within}`;
}

/** An empty table with the same columns, to find out what else a query requests. */
export const READINGS_STUB = `CREATE TEMP TABLE readings (
  ${COLUMNS.map(([name]) => name).join(", ")})`;

/** What a grant is for, as a column of `data_sources`. */
export const GRANTED: Readonly<Record<QueryScope["grants"][number]["resource"], string>> = {
  organization: "s.org_id",
  location: "s.location_id",
  robot: "s.machine_id",
  part: "s.part_id",
};

/** Seconds as `2026-01-02T03:04:05.678Z`. */
function isoText(seconds: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${seconds}, 'unixepoch')`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
