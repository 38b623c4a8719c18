import type { Scope } from "../../accounts/access/scope.ts";
import { type NamedSource, sourcesFor, type TimeSpan } from "../ingest/filters.ts";
import { resourcesOf, type SequenceRow } from "./sequence_form.ts";

/** What a sequence holds just now, among what a caller may see. */
export interface SequenceSpan {
  readonly sources: readonly NamedSource[];
  readonly span: TimeSpan;
}

/** Where the data of a sequence comes from, and when it was captured. */
export async function spanOf(scope: Scope, row: SequenceRow): Promise<SequenceSpan> {
  const wanted = resourcesOf(row);
  const sources = (await sourcesFor(scope, { partId: row.part_id })).filter((source) =>
    wanted.some(({ resource, method }) =>
      source.component_name === resource && (method === "" || source.method_name === method)
    )
  );
  return { sources, span: { fromUs: row.start_us, toUs: row.end_us } };
}
