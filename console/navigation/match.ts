/** What a path may look like: `/machines/:machine/:tab?`; a place with `?` may be left out. */
export interface Routed {
  readonly path: string;
}

/** A page and what the places of its path hold, decoded. */
export interface Match<P extends Routed> {
  readonly page: P;
  readonly places: Readonly<Record<string, string>>;
}

/** The first page whose path fits an address; undefined where none does. */
export function pageFor<P extends Routed>(
  pages: readonly P[],
  pathname: string,
): Match<P> | undefined {
  const given = pathname.split("/").filter((piece) => piece !== "");
  for (const page of pages) {
    const places = placesOf(page.path.split("/").filter((piece) => piece !== ""), given);
    if (places) return { page, places };
  }
  return undefined;
}

function placesOf(
  pattern: readonly string[],
  given: readonly string[],
): Record<string, string> | undefined {
  if (given.length > pattern.length) return undefined;
  const places: Record<string, string> = {};
  for (const [at, piece] of pattern.entries()) {
    const value = given[at];
    if (!piece.startsWith(":")) {
      if (value !== piece) return undefined;
    } else if (value === undefined) {
      if (!piece.endsWith("?")) return undefined;
    } else {
      const decoded = decodedPiece(value);
      if (decoded === undefined) return undefined;
      places[piece.slice(1).replace("?", "")] = decoded;
    }
  }
  return places;
}

function decodedPiece(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // A % that stands for nothing: no page has such an address.
  }
}
