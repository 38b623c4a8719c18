/** What was moved to files gives the same as what was not, on both engines. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { withSeed } from "../../../shared/test_tools/random_source.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { type CloudDatabase, SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { ExportSource } from "../export/export_rows.ts";
import { parquet } from "../export/parquet.ts";
import { csv } from "../export/text_formats.ts";
import { ALL_TIME, type WantedTags } from "../ingest/filters.ts";
import { plot } from "../ingest/plot.ts";
import { insertReadings } from "../ingest/reading_rows.ts";
import type { ReadingPosition } from "../ingest/reading_order.ts";
import { Readings } from "../ingest/readings.ts";
import type { QueryRequest } from "../queries/query_form.ts";
import { Dice, randomPipeline, randomStatement } from "../queries/random_query_testing.ts";
import { fillReadings, randomScope, stagesOf } from "../queries/random_readings_testing.ts";
import { prepare, prepareStub, type QueryOutcome, runQuery } from "../queries/run_query.ts";
import { ArchivedReadings } from "./archived_readings.ts";
import { ArchiveFiles } from "./archive_files.ts";
import { Archiver } from "./archiver.ts";

/** Each run has others. */
const QUERIES = 20;
const RANGES = 6;
/** Half an hour before midnight: half of the readings are of an older day. */
const START_US = Date.UTC(2026, 0, 2, 23, 30, 5, 123) * 1_000 + 456;
const IDS = Array.from({ length: 12 }, (_, at) => at + 1);

type Where = "database" | "files" | "mixed";

/** When the older of the two days is old enough, and both are. */
const OLDER_DAY = "2026-01-04T05:00:00Z";
const ALL_DAYS = "2026-01-09T05:00:00Z";

/** A cloud's readings, some of them in files or not. */
class Side implements AsyncDisposable {
  readonly readings: Readings;

  private constructor(
    readonly database: CloudDatabase,
    private readonly dataDir: string,
    private readonly files: FolderBlobStore,
  ) {
    const { queries } = database;
    this.readings = new Readings(queries, new ArchivedReadings(queries, files));
  }

  static async open(
    seed: number,
    server: PostgresServer | undefined,
    where: Where,
  ): Promise<Side> {
    const dataDir = await Deno.makeTempDir({ prefix: "machine-archive-" });
    const files = await FolderBlobStore.open(join(dataDir, "data-archive"));
    const database = server
      ? await PostgresDatabase.open(
        parsePostgresAddress(`${server.address()}?schema=${where}`, dataDir),
      )
      : SqliteDatabase.open(dataDir);
    const side = new Side(database, dataDir, files);
    await database.queries.transaction().execute((queries) =>
      fillReadings(queries, new Dice(seed), START_US)
    );
    if (where === "mixed") await side.archive(OLDER_DAY);
    await side.#late(new Dice(seed + 7));
    if (where === "mixed" && seed % 2 === 0) await side.archive(OLDER_DAY);
    if (where === "files") await side.archive(ALL_DAYS);
    return side;
  }

  async archive(now: string): Promise<void> {
    const { database, files } = this;
    const { queries } = database;
    for (const org_id of ["org-0", "org-1", "org-2"]) {
      await queries.insertInto("organizations").values({ id: org_id, name: org_id, created_at: 0 })
        .onConflict((conflict) => conflict.doNothing()).execute();
      await queries.insertInto("data_settings").values({
        ...{ org_id, archive_after_days: 1, quota_bytes: null, retention_days: null },
      }).onConflict((conflict) => conflict.doNothing()).execute();
    }
    const archiver = new Archiver({
      ...{ queries, files, random: systemRandom, clock: new FakeClock(now) },
      transact: (work) => database.sharedTransaction(work),
    });
    const { readings } = await archiver.run();
    assert.ok(readings > 0);
  }

  /** What comes when some are in files already. */
  async #late(dice: Dice): Promise<void> {
    const { queries } = this.database;
    for (const id of [1, 2, 3]) {
      const uploadId = 1_000 + id;
      const readings = Array.from({ length: 20 }, () => {
        const receivedUs = START_US + dice.upTo(3_600) * 1_000_000;
        const data = JSON.stringify({ readings: { temperature: dice.upTo(40) / 4 } });
        return { receivedUs, requestedUs: receivedUs, data };
      });
      await queries.insertInto("data_uploads").values({
        ...{ id: uploadId, source_id: id, digest: `${uploadId}`, org_id: `org-${id % 3}` },
        ...{ file_id: "late", synced_at: 1_767_399_000_000, tags: '["red"]', parameters: "{}" },
        min_received_us: START_US,
        max_received_us: START_US + 3_600_000_000,
      }).execute();
      await insertReadings(queries, id, uploadId, readings);
    }
  }

  async ask(request: QueryRequest): Promise<QueryOutcome> {
    using stack = new DisposableStack();
    const path = join(this.dataDir, "cloud.db");
    const { reader } = this.database;
    const addon = addonFor(path);
    const stub = stack.adopt(connect(":memory:", addon, false), (one) => void one.close());
    prepareStub(stub);
    const database = reader === undefined
      ? stack.adopt(connect(path, addon, true), (one) => void one.close())
      : undefined;
    if (database) prepare(database);
    const remote = reader === undefined ? undefined : { reader, limitMs: 60_000 };
    const files = new ArchiveFiles(this.files);
    return await runQuery({ database, stub, addon, files }, { ...request, remote });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}

/** Random spans of time, of tags and sources, in pages, counted, plotted and exported. */
async function look({ database, readings }: Side, dice: Dice): Promise<unknown[]> {
  const { queries } = database;
  const time = () => START_US + dice.upTo(3_600) * 1_000_000 + dice.upTo(3) * 499_999;
  const [one, other] = [time(), time()];
  const span = dice.upTo(4) === 0
    ? ALL_TIME
    : { fromUs: Math.min(one, other), toUs: Math.max(one, other) };
  const sourceIds = dice.upTo(3) === 0 ? IDS : [1 + dice.upTo(11), 1];
  const ids = [...new Set(sourceIds)].sort((a, b) => a - b);
  const tags = dice.of<WantedTags | undefined>(
    [
      ...[undefined, undefined, { kind: "any" }, { kind: "none" }],
      { kind: "one of", tags: ["red"] },
    ] as const,
  );
  const filter = { ...span, tags, newestFirst: dice.upTo(1) === 0 };
  const limit = 1 + dice.upTo(30);
  const pages = [];
  let after: ReadingPosition | undefined;
  for (let page = 0; page < 4; page++) {
    const rows = await readings.page(ids, filter, { limit, after });
    pages.push(rows);
    after = rows.at(-1) ?? after;
  }
  const all = await Array.fromAsync(readings.all(ids, filter));
  const ends = await Promise.all(ids.map((id) => readings.firstAndLast(id, span)));
  const wanted = { sourceIds: ids, path: '$."readings"."temperature"', span, buckets: 7 };
  const { mean, ...plotted } = await plot(queries, readings, wanted);
  const source = await ExportSource.open(queries, readings, { sourceIds: ids, ...span });
  const exported = await Promise.all([csv, parquet].map(async (form) => {
    const pieces = await Array.fromAsync(form(source) as AsyncIterable<Uint8Array<ArrayBuffer>>);
    return new Uint8Array(await new Blob(pieces).arrayBuffer()).toBase64();
  }));
  const rounded = mean.map((value) => value.toPrecision(12));
  return [pages, all, await readings.count(ids, filter), ends, plotted, rounded, exported];
}

async function compare(seed: number, server: PostgresServer | undefined): Promise<void> {
  await using kept = await Side.open(seed, server, "database");
  await using mixed = await Side.open(seed, server, "mixed");
  await using moved = await Side.open(seed, server, "files");
  const count = async ({ database }: Side) =>
    (await database.queries.selectFrom("tabular_readings").select("position").execute()).length;
  assert.ok(await count(mixed) < await count(kept) && await count(mixed) > 0);
  assert.equal(await count(moved), 0);
  const dice = new Dice(seed + 1);
  let rows = 0;
  for (let at = 0; at < QUERIES; at++) {
    const text = randomStatement(dice, START_US);
    const pipeline = dice.upTo(5) === 0
      ? [{ $sql: { statement: text } }, { $limit: 5 }]
      : randomPipeline(dice, START_US);
    const query = dice.upTo(2) > 0 ? { kind: "sql", text } as const : stagesOf(pipeline);
    const scope = randomScope(dice, START_US);
    const shown = query.kind === "sql" ? text : JSON.stringify(pipeline);
    const which = `query ${at}: ${shown} of ${JSON.stringify(scope)}`;
    const expected = await kept.ask({ scope, query });
    assert.equal(expected.answer.kind, "rows", `${which}: ${JSON.stringify(expected.answer)}`);
    assert.deepEqual(await mixed.ask({ scope, query }), expected, which);
    assert.deepEqual(await moved.ask({ scope, query }), expected, which);
    rows += expected.documents.length;
  }
  assert.ok(rows > 0, "some of them find something");
  for (let at = 0; at < RANGES; at++) {
    const expected = await look(kept, new Dice(seed + 100 + at));
    for (const side of [mixed, moved]) {
      const found = await look(side, new Dice(seed + 100 + at));
      assert.deepEqual(found, expected, `range ${at}`);
    }
  }
}

Deno.test("random queries and ranges give the same with some or all readings in files on SQLite", () =>
  withSeed((seed) => compare(seed, undefined)));

Deno.test({
  name: "random queries and ranges give the same with some or all readings in files on PostgreSQL",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  fn: () =>
    withSeed(async (seed) => {
      await using server = await PostgresServer.start();
      await compare(seed, server);
    }),
});
