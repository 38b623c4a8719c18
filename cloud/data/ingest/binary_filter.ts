import type { Filter } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Action } from "../../../shared/rights/roles.ts";

import type { Scope } from "../../accounts/access/scope.ts";
import { invalid } from "./capture.ts";
import { readInterval, readTags, sourceFilter, sourcesFor } from "./filters.ts";

/** A place in the order of files: time, then id. */
export interface FilePosition {
  readonly receivedUs: number;
  readonly id: string;
}

/** The files that a filter picks among those the caller may act on. */
export async function filteredFiles(
  scope: Scope,
  filter: Filter | undefined,
  action: Action = "see",
) {
  let query = scope.binaryData(action);
  if (!filter) return query;
  if (Object.values(sourceFilter(filter)).some((wanted) => wanted.length > 0)) {
    const sources = await sourcesFor(scope, sourceFilter(filter), action);
    query = query.where("binary_data.source_id", "in", sources.map(({ id }) => id));
  }
  const { fromUs, toUs } = readInterval(filter.interval, "filter.interval");
  query = query.where("binary_data.received_us", ">=", fromUs)
    .where("binary_data.received_us", "<", toUs);
  const { mimeType, bboxLabels, datasetId } = filter;
  if (mimeType.length > 0) query = query.where("binary_data.mime_type", "in", mimeType);
  if (bboxLabels.length > 0) {
    query = query.where((eb) =>
      eb.exists(
        eb.selectFrom("binary_annotations as a").select("a.id")
          .whereRef("a.binary_id", "=", "binary_data.id").where("a.label", "in", bboxLabels),
      )
    );
  }
  if (datasetId) {
    query = query.where((eb) =>
      eb.exists(
        eb.selectFrom("dataset_files as d").select("d.binary_id")
          .whereRef("d.binary_id", "=", "binary_data.id").where("d.dataset_id", "=", datasetId),
      )
    );
  }
  const tags = readTags(filter.tagsFilter);
  if (!tags) return query;
  return query.where((eb) => {
    let tagged = eb.selectFrom("binary_tags as t").select("t.tag")
      .whereRef("t.binary_id", "=", "binary_data.id");
    if (tags.kind === "one of") tagged = tagged.where("t.tag", "in", tags.tags);
    return tags.kind === "none" ? eb.not(eb.exists(tagged)) : eb.exists(tagged);
  });
}

export function filePositionToken({ receivedUs, id }: FilePosition): string {
  return btoa(`${receivedUs},${id}`).replaceAll("=", "");
}

/** @param path of the token, for messages */
export function readFilePosition(
  token: string | undefined,
  path = "data_request.last",
): FilePosition | undefined {
  if (!token) return undefined;
  const text = decoded(token);
  const match = /^(-?\d{1,16}),([0-9a-f-]{36})$/.exec(text);
  if (!match) throw invalid(path, "it is not one that this call gave");
  return { receivedUs: Number(match[1]), id: match[2] ?? "" };
}

function decoded(token: string): string {
  try {
    return atob(token);
  } catch {
    return "";
  }
}
