import type { CompiledQuery, DialectAdapter, SelectQueryBuilder } from "kysely";
import type { Queries } from "./cloud_database.ts";
import type { CloudTables } from "./schema.ts";

/**
 * A query by one text, put into SQL once: for what machines ask again and again, to build it takes
 * as long as to execute it. Every parameter in it is that text.
 */
export function compiledQuery<R>(
  // deno-lint-ignore no-explicit-any -- which tables it selects from does not matter
  build: (queries: Queries, text: string) => SelectQueryBuilder<CloudTables, any, R>,
): (queries: Queries, text: string) => Promise<R[]> {
  // Transactions have the adapter of their database.
  const compiled = new WeakMap<DialectAdapter, CompiledQuery<R>>();
  return async (queries, text) => {
    const { adapter } = queries.getExecutor();
    let query = compiled.get(adapter);
    if (!query) compiled.set(adapter, query = build(queries, text).compile() as CompiledQuery<R>);
    const parameters = query.parameters.map(() => text);
    return (await queries.executeQuery<R>({ ...query, parameters })).rows;
  };
}
