import { letOthersWork } from "../../../shared/base/time/other_work.ts";

/** Rows that are read and made into messages in one go: a few milliseconds. */
const SLICE = 250;

/** Parts of a long list one after the other; others are served in between. */
export async function* inSlices<T>(
  list: readonly T[],
  size = SLICE,
): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < list.length; at += size) {
    if (at > 0) await letOthersWork();
    yield list.slice(at, at + size);
  }
}

/** Rows in the order of their ids; those that are gone meanwhile are left out. */
export function inOrder<Row extends { readonly id: string }>(
  ids: readonly string[],
  rows: readonly Row[],
): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
