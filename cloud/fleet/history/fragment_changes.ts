import type { EntryChange } from "./compare.ts";

type Kind = EntryChange["kind"];
/** Entries that a save changed, as `components.arm`. */
export type SavedDiff = { readonly [K in Kind]?: readonly string[] };

/** What two changes of one entry are together; undefined: nothing. */
const TOGETHER: Readonly<Record<Kind, Readonly<Record<Kind, Kind | undefined>>>> = {
  added: { added: "added", changed: "added", removed: undefined },
  changed: { added: "changed", changed: "changed", removed: "removed" },
  removed: { added: "changed", changed: "changed", removed: "removed" },
};
const BACKWARDS = { added: "removed", changed: "changed", removed: "added" } as const;

/**
 * What fragments changed between two revisions. A part's own text does not have it, so that only
 * names are known.
 *
 * @param diffs of the revisions that fragments made, the oldest first
 * @param isBackwards compares the newer revision with the older one
 */
export function fragmentChanges(diffs: readonly SavedDiff[], isBackwards: boolean): EntryChange[] {
  const kinds = new Map<string, Kind>();
  for (const diff of diffs) {
    for (const kind of ["removed", "changed", "added"] as const) {
      for (const entry of diff[kind] ?? []) {
        const before = kinds.get(entry);
        const now = before === undefined ? kind : TOGETHER[before][kind];
        if (now === undefined) kinds.delete(entry);
        else kinds.set(entry, now);
      }
    }
  }
  return [...kinds].map(([entry, kind]) => ({
    entry,
    kind: isBackwards ? BACKWARDS[kind] : kind,
    ...{ before: undefined, after: undefined, onlySecrets: false, isByFragment: true },
  }));
}
