import { dirname, join, posix } from "node:path";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { type Import, readImports, readSources, type Source } from "../../tests/habits/sources.ts";
import { testFiles } from "./bunches.ts";
import { testsThatReach } from "./since.ts";

/** Tests of the cloud that are about SQLite, or about what is the same with each engine. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "cloud/accounts/access/role_methods_test.ts": "puts rows back by a second SQLite connection",
  "cloud/main_test.ts": "looks at cloud.db",
  "cloud/operations/backup/backup_test.ts": "backs up SQLite; there is one of PostgreSQL",
  "cloud/operations/backup/leftovers_test.ts": "backs up SQLite",
  "cloud/operations/doctor/doctor_test.ts": "looks at cloud.db",
  "cloud/operations/move/move_cut_test.ts": "moves from SQLite",
  "cloud/operations/move/move_to_postgres_test.ts": "moves from SQLite",
  "cloud/operations/move/move_to_sqlite_test.ts": "moves to SQLite",
  "cloud/operations/move/noted_changes_test.ts": "moves from SQLite",
  "cloud/serve/operations_test.ts": "looks at the size of cloud.db",
  "cloud/serve/training_test.ts": "is about ends of scripts; the queue's tests are run",
  "cloud/storage/data_folder/data_folder_test.ts": "looks at cloud.db",
  "cloud/storage/database/moved_triggers_test.ts": "looks at cloud.db",
};

/** What starts a PostgreSQL of its own, in `make test` too: run again it would prove nothing new. */
const OWN_SERVER =
  /(?:postgres_server|pair_testing|nodes_testing|postgres_move_testing|two_openings_testing)\.ts"/;

/** What chooses the engine: a test that does not reach it is the same on each. */
const CHOICE = "cloud/storage/data_folder/database_choice.ts";

/** It writes less, and looks after no tables: hundreds of clouds have some 90 each for a second. */
const SETTINGS = ["full_page_writes = off", "synchronous_commit = off", "autovacuum = off"];

/** PostgreSQL for a run of tests. */
export interface TestDatabase extends AsyncDisposable {
  /** What the tests run with: each data folder has a schema of its own. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: string[];
  /** Files that are left out, each with the reason. */
  readonly skipped: string[];
}

/** @throws when PostgreSQL is not there, with what to install. */
export async function startTestDatabase(
  root: string,
  paths: readonly string[],
): Promise<TestDatabase> {
  const missing = missingTools("postgresql");
  if (missing !== undefined) throw new Error(missing);
  const all = await testFiles(root, paths);
  const others = all.filter((file) => LEFT_OUT[file] === undefined);
  const reaching = testsOfDatabase(others, await readSources());
  const texts = await Promise.all(reaching.map((file) => Deno.readTextFile(join(root, file))));
  const server = await PostgresServer.start(SETTINGS);
  return {
    env: { MACHINE_CLOUD_DATABASE: server.address("schema=test_{folder}", "pool=4") },
    files: reaching.filter((_, at) => !OWN_SERVER.test(texts[at] ?? "")),
    skipped: all.flatMap((file) => {
      const reason = LEFT_OUT[file];
      return reason === undefined ? [] : [`skipped: ${reason}: ${file}`];
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tests that may open the database of a cloud. */
export function testsOfDatabase(tests: readonly string[], sources: readonly Source[]): string[] {
  return testsThatReach([CHOICE], tests, sources.flatMap(uses));
}

/** Files whose code a file runs: it imports them, or starts them as a process of their own. */
function uses(source: Source): Pick<Import, "from" | "to">[] {
  const { path: from, text } = source;
  const started = [...text.matchAll(/(?:URL|resolve)\(\s*"(\.{1,2}\/[^"]+\.ts)"/g)];
  return [
    ...readImports(source).filter(({ typeOnly }) => !typeOnly),
    ...started.map(([, path = ""]) => ({ from, to: posix.join(dirname(from), path) })),
  ];
}
