/** A way to look at the fleet that somebody kept: the query of its address. */
export interface SavedView {
  readonly name: string;
  readonly query: string;
}

/** Most views that are kept of one organisation. */
export const MOST_VIEWS = 50;

/** The views in what the browser kept; what cannot be read is none. */
export function viewsIn(text: string | null): SavedView[] {
  let all: unknown;
  try {
    all = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(all)) return [];
  return all.filter((view: unknown): view is SavedView => {
    const { name, query } = (view ?? {}) as Partial<SavedView>;
    return typeof name === "string" && typeof query === "string";
  }).slice(0, MOST_VIEWS);
}

/** The views with another one, in the place of one with its name, in alphabetical order. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  return [view, ...views.filter(({ name }) => name !== view.name)].slice(0, MOST_VIEWS)
    .sort((a, b) => a.name.localeCompare(b.name));
}
