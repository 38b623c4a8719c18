/** The same queries of the same readings give the same on both engines. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { withSeed } from "../../../shared/test_tools/random_source.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { EVERYTHING } from "./narrowing.ts";
import type { QueryRequest, QueryTask, RemoteReadings } from "./query_form.ts";
import { Dice, randomPipeline, randomStatement } from "./random_query_testing.ts";
import { fillReadings, randomScope, stagesOf } from "./random_readings_testing.ts";
import { ArchiveFiles } from "../archive/archive_files.ts";
import { copyReadings } from "./remote_readings.ts";
import { prepare, prepareStub, type QueryOutcome, runQuery } from "./run_query.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const QUERIES = 150;
const START_US = 1_767_323_045_123_456;
const NO_FILES = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
const PLACES = { addon: addonFor(":memory:"), files: NO_FILES };

/** Runs the query that is its argument. */
const RUN = `
  import { addonFor, connect } from "../../../shared/base/store/connect.ts";
  import { ArchiveFiles } from "../archive/archive_files.ts";
  import { prepareStub, runQuery } from "./run_query.ts";
  const addon = addonFor(":memory:");
  const stub = connect(":memory:", addon, false);
  prepareStub(stub);
  const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
  const places = { database: undefined, stub, addon, files };
  console.log(JSON.stringify((await runQuery(places, JSON.parse(Deno.args[0]))).answer));`;

/** A query of 40 MB where the disk has less says so, and not that it is too large. */
async function findsFullDisk(asked: Pick<QueryTask, "scope" | "remote">): Promise<void> {
  const folder = await Deno.makeTempDir();
  await withSmallDisk(folder, 4_096, async () => {
    const query = { kind: "sql", text: "SELECT count(data) FROM readings" };
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", "--ext=ts", RUN, JSON.stringify({ ...asked, query })],
      cwd: import.meta.dirname!,
      env: { SQLITE_TMPDIR: folder },
    }).output();
    const answer = new TextDecoder().decode(stdout);
    assert.match(answer, /"failed".*the disk of the data folder is full/, answer);
  });
  await Deno.remove(folder);
}

/** Five readings of 4 MB, more than may be copied, are found to be that, also as the first batch. */
async function findsTooMuch(remote: RemoteReadings): Promise<void> {
  const scope = {
    orgId: "large",
    grants: [{ resource: "organization", id: "large" }],
  } as const;
  const needs = { looks: [EVERYTHING], data: true, uploads: false };
  const bounds = { rows: 100, bytes: 12 * 1024 ** 2 };
  await assert.rejects(
    copyReadings(remote, scope, needs, PLACES, bounds),
    /needs more than .* readings, or more than/,
  );
}

interface Engines extends AsyncDisposable {
  readonly remote: RemoteReadings;

  /** What each of the two answers. */
  ask(request: QueryRequest): Promise<readonly [sqlite: QueryOutcome, postgres: QueryOutcome]>;
}

async function openEngines(seed: number): Promise<Engines> {
  const stack = new AsyncDisposableStack();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-engines-" });
  stack.defer(() => Deno.remove(dataDir, { recursive: true }));
  const sqlite = SqliteDatabase.open(dataDir);
  await fillReadings(sqlite.queries, new Dice(seed), START_US);
  await sqlite.close();
  const server = stack.use(await PostgresServer.start());
  const postgres = await PostgresDatabase.open(parsePostgresAddress(server.address(), dataDir));
  stack.defer(() => postgres.close());
  await postgres.queries.transaction().execute((queries) =>
    fillReadings(queries, new Dice(seed), START_US)
  );
  const path = join(dataDir, "cloud.db");
  const addon = addonFor(path);
  const database = connect(path, addon, true);
  stack.defer(() => void database.close());
  const stub = connect(":memory:", addon, false);
  stack.defer(() => void stub.close());
  prepare(database);
  prepareStub(stub);
  const remote = { reader: postgres.reader, limitMs: 60_000 };
  return {
    remote,
    ask: async (request) => [
      await runQuery({ database, stub, addon, files: NO_FILES }, request),
      await runQuery({ database: undefined, stub, addon, files: NO_FILES }, { ...request, remote }),
    ],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test({
  name: "random queries of random readings give the same on SQLite and PostgreSQL",
  ignore,
  fn: () =>
    withSeed(async (seed) => {
      await using engines = await openEngines(seed);
      const dice = new Dice(seed + 1);
      let rows = 0;
      for (let at = 0; at < QUERIES; at++) {
        const text = randomStatement(dice, START_US);
        const pipeline = dice.upTo(5) === 0
          ? [{ $sql: { statement: text } }, { $limit: 5 }]
          : randomPipeline(dice, START_US);
        const query = dice.upTo(2) > 0 ? { kind: "sql", text } as const : stagesOf(pipeline);
        const scope = randomScope(dice, START_US);
        const [sqlite, postgres] = await engines.ask({ scope, query });
        const shown = query.kind === "sql" ? text : JSON.stringify(pipeline);
        const which = `query ${at}: ${shown} of ${JSON.stringify(scope)}`;
        assert.equal(sqlite.answer.kind, "rows", `${which}: ${JSON.stringify(sqlite.answer)}`);
        assert.deepEqual(postgres, sqlite, which);
        rows += sqlite.documents.length;
      }
      assert.ok(rows > QUERIES, "most of them find something");
    }),
});

Deno.test({
  name: "a query of more readings than may be copied says how to narrow it",
  ignore,
  async fn() {
    await using engines = await openEngines(5);
    const grants = [{ resource: "organization", id: "org-1" }] as const;
    const needs = { looks: [EVERYTHING], data: true, uploads: true };
    const copy = async (rows: number, bytes: number) => {
      const scope = { orgId: "org-1", grants };
      const copied = await copyReadings(engines.remote, scope, needs, PLACES, {
        rows,
        bytes,
      });
      copied.close();
    };
    await copy(10_000, 1024 ** 2);
    const narrow = /needs more than .* readings, or more than .*component_name .* received_us/;
    await assert.rejects(copy(20, 1024 ** 2), narrow);
    await assert.rejects(copy(10_000, 128 * 1024), narrow);

    const { reader } = engines.remote;
    const gone = { limitMs: 1_000, reader: JSON.stringify({ ...JSON.parse(reader), port: 1 }) };
    const asked = { scope: { orgId: "org-1", grants }, remote: gone } as const;
    const stub = connect(":memory:", addonFor(":memory:"), false);
    prepareStub(stub);
    const places = { database: undefined, stub, ...PLACES };
    const answers = await Promise.all(["SELECT * FROM readings", "SELECT * FROM nothing"].map(
      async (text) => (await runQuery(places, { ...asked, query: { kind: "sql", text } })).answer,
    ));
    stub.close();
    assert.deepEqual(answers.map(({ kind }) => kind), ["failed", "refused"]);
  },
});

Deno.test({
  name: "readings are copied as they come, and the server sorts none on its disk",
  ignore,
  async fn() {
    await using server = await PostgresServer.start(["temp_file_limit = 0"]);
    const address = parsePostgresAddress(server.address(), ".");
    const postgres = await PostgresDatabase.open(address);
    try {
      const source = "'l', 'm', 'p', 'm', 'p', 'sensor', 'c' || id, 'Readings'";
      await server.query(`set search_path = ${address.schema}; set temp_file_limit = -1;
        insert into data_sources (id, org_id, location_id, machine_id, part_id, machine_name,
          part_name, component_type, component_name, method_name)
          select id, case id when 3 then 'large' else 'org' end, ${source}
          from generate_series(1, 3) as id;
        insert into tabular_readings (source_id, received_us, upload_id, position, requested_us, data)
          select 1 + at % 2, at, 1, at, at, '{"a":"' || repeat('x', 2000) || '"}'
          from generate_series(1, 20000) as at;
        insert into tabular_readings (source_id, received_us, upload_id, position, requested_us, data)
          select 3, at, 1, at, at, '{"a":"' || repeat('x', 4000000) || '"}'
          from generate_series(1, 5) as at;
        analyze`);
      const scope = {
        orgId: "org",
        grants: [{ resource: "organization", id: "org" }],
      } as const;
      const needs = { looks: [EVERYTHING], data: true, uploads: false };
      const remote = { reader: postgres.reader, limitMs: 60_000 };
      const copied = await copyReadings(remote, scope, needs, PLACES);
      const sums = "SELECT count(*) AS n, sum(received_us) AS us FROM tabular_readings";
      assert.deepEqual(copied.prepare(sums).get(), { n: 20_000, us: 200_010_000 });
      copied.close();
      if (!noSmallDisks(import.meta.url)) await findsFullDisk({ scope, remote });
      // What is read of a cursor at once, and is as large, the server keeps on its disk.
      await server.query("alter role machine set temp_file_limit = -1");
      await findsTooMuch(remote);
    } finally {
      await postgres.close();
    }
  },
});
