/**
 * Names of SQLite that report the database itself, whoever's data that is. A query that holds one
 * of them anywhere, be it in a text or a comment, is refused: SQL has no other way to write a name.
 */
const FORBIDDEN = /sqlite_\w*|pragma\w*|dbstat|bytecode|tables_used|fts\d\w*|rtree\w*|geopoly\w*/i;

/**
 * Why a text cannot be a query of readings; undefined when it can. What else is wrong with it,
 * SQLite itself reports. That it only reads, and only what it may, does not rest on this alone.
 */
export function statementProblem(text: string): string | undefined {
  const first = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()*([A-Za-z]*)/.exec(text)?.[1] ?? "";
  if (first === "") return "there is no statement";
  if (!["select", "with", "values"].includes(first.toLowerCase())) {
    return `it begins with ${first}; a query begins with SELECT or WITH`;
  }
  const forbidden = FORBIDDEN.exec(text)?.[0];
  if (forbidden === undefined) return undefined;
  return `${forbidden} cannot be used; there is one table, readings`;
}
