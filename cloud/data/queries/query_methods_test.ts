import assert from "node:assert/strict";
import { type Client, Code } from "@connectrpc/connect";
import { deserialize, serialize } from "bson";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

interface Asking {
  readonly client: Client<typeof DataService>;
  readonly organizationId: string;
}

async function rows({ client, organizationId }: Asking, sqlQuery: string) {
  const { rawData } = await client.tabularDataBySQL({ organizationId, sqlQuery });
  return rawData.map((row) => deserialize(row));
}

async function piped({ client, organizationId }: Asking, ...stages: object[]) {
  const mqlBinary = stages.map((stage) => new Uint8Array(serialize(stage)));
  const { rawData } = await client.tabularDataByMQL({ organizationId, mqlBinary });
  return rawData.map((row) => deserialize(row));
}

async function opened(options: { queryLimitMs?: number } = {}) {
  const cloud = await TestCloud.open(options);
  const made = await cloud.bootstrap();
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  const sync = cloud.client(DataSyncService, partSecret(made));
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2, 3], { tags: ["red"] });
  await uploadTemperatures(sync, made.part_id, NOON, [10], { componentName: "oven" });
  const foreign = cloud.client(DataSyncService, partSecret(stranger));
  await uploadTemperatures(foreign, stranger.part_id, NOON, [99]);
  const client = cloud.client(DataService, apiKey(made));
  return { cloud, made, stranger, asking: { client, organizationId: made.org_id } };
}

Deno.test("TabularDataBySQL() gives rows as documents, of the organisation only", async () => {
  const { cloud, made, asking, stranger } = await opened();
  await using _ = cloud;
  const [first, ...others] = await rows(
    asking,
    "SELECT * FROM readings WHERE component_name = 'climate' ORDER BY time_received",
  );
  assert.deepEqual(first, {
    organization_id: made.org_id,
    location_id: made.location_id,
    robot_id: made.machine_id,
    robot_name: "demo",
    part_id: made.part_id,
    part_name: "demo-main",
    component_type: "rdk:component:sensor",
    component_name: "climate",
    method_name: "Readings",
    tags: ["red"],
    additional_parameters: {},
    time_requested: new Date(NOON),
    time_received: new Date(NOON + 5),
    time_synced: first?.["time_synced"],
    received_us: (NOON + 5) * 1_000,
    data: { readings: { temperature: 1 } },
  });
  assert.ok(first["time_synced"] instanceof Date);
  assert.equal(others.length, 2);

  const sums = "SELECT component_name AS name, sum(data ->> '$.readings.temperature') AS total " +
    "FROM readings WHERE time_received >= '2026-01-02' GROUP BY 1 ORDER BY 1";
  assert.deepEqual(await rows(asking, sums), [
    { name: "climate", total: 6 },
    { name: "oven", total: 10 },
  ]);
  const recursive =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) " +
    "SELECT count(*) AS c FROM n, readings";
  assert.deepEqual(await rows(asking, recursive), [{ c: 12 }]);
  const foreign = {
    client: cloud.client(DataService, apiKey(stranger)),
    organizationId: stranger.org_id,
  };
  assert.deepEqual(await rows(foreign, "SELECT count(*) AS c FROM readings"), [{ c: 1 }]);
  const asPart = {
    client: cloud.client(DataService, partSecret(made)),
    organizationId: made.org_id,
  };
  assert.deepEqual(await rows(asPart, "SELECT count(*) AS c FROM readings"), [{ c: 4 }]);
  const elsewhere = { ...asking, organizationId: stranger.org_id };
  assert.equal((await failure(rows(elsewhere, "SELECT 1 FROM readings"))).code, Code.NotFound);
});

Deno.test("TabularDataBySQL() refuses all but one SELECT from readings", async () => {
  const { cloud, asking } = await opened();
  await using _ = cloud;
  const cases: [string, RegExp][] = [
    ["", /there is no statement/],
    ["-- nothing", /there is no statement/],
    ["SELEC 1", /it begins with SELEC/],
    ["SELECT absent FROM readings", /no such column: absent/],
    ["SELECT * FROM api_keys", /no such table: api_keys/],
    ["SELECT * FROM 'api_keys'", /no such table: api_keys/],
    ["SELECT * FROM main.api_keys", /no such table: main\.api_keys/],
    ["SELECT * FROM tabular_readings", /no such table: tabular_readings/],
    ["SELECT * FROM readings, data_sources", /no such table: data_sources/],
    ["SELECT (SELECT hash FROM [api_keys]) FROM readings", /no such table: api_keys/],
    ["WITH x AS (SELECT * FROM settings) SELECT * FROM x", /no such table: settings/],
    ["SELECT * FROM main.readings", /no such table: main\.readings/],
    ["SELECT * FROM sqlite_master", /sqlite_master cannot be used/],
    ['SELECT * FROM "sqlite_schema"', /sqlite_schema cannot be used/],
    ["SELECT * FROM pragma_table_list", /pragma_table_list cannot be used/],
    ["SELECT * FROM dbstat", /dbstat cannot be used/],
    ["PRAGMA query_only = 0", /it begins with PRAGMA/],
    ["ATTACH 'x.db' AS x", /it begins with ATTACH/],
    ["EXPLAIN SELECT 1", /it begins with EXPLAIN/],
    ["DELETE FROM readings", /it begins with DELETE/],
    ["WITH x AS (SELECT 1) DELETE FROM readings", /must be one SELECT/],
    ["WITH x AS (SELECT 1) INSERT INTO readings (data) SELECT 1", /must be one SELECT/],
    ["SELECT 1; SELECT 2", /more than one statement/],
    ["SELECT load_extension('x')", /not authorized|no such function|may not be used/],
    ["SELECT writefile('x', 'y')", /no such function: writefile/],
    ["SELECT ? FROM readings", /parameter|bind/i],
  ];
  for (const [query, message] of cases) {
    const failed = await failure(rows(asking, query));
    assert.match(failed.message, message);
    assert.equal(failed.code, Code.InvalidArgument, query);
  }
  const long = await failure(rows(asking, `SELECT '${"x".repeat(70_000)}'`));
  assert.match(long.message, /^sql_query: it is longer than/);
  assert.deepEqual(await rows(asking, "SELECT count(*) AS c FROM readings"), [{ c: 4 }]);
});

Deno.test("TabularDataBySQL() ends a query that goes on forever, and others go on", async () => {
  const { cloud, asking } = await opened({ queryLimitMs: 1_500 });
  await using _ = cloud;
  const endless =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const hostile = failure(rows(asking, endless));
  // On a busy host it may take longer than its limit, too.
  const answered = () =>
    waitFor(() => rows(asking, "SELECT count(*) AS c FROM readings"), { deadlineMs: 90_000 });
  assert.deepEqual(await answered(), [{ c: 4 }]);
  const failed = await hostile;
  assert.equal(failed.code, Code.DeadlineExceeded);
  assert.match(failed.message, /longer than 1\.5 s and was terminated/);

  const leaving = new AbortController();
  const { client, organizationId } = asking;
  const left = failure(
    client.tabularDataBySQL({ organizationId, sqlQuery: endless }, { signal: leaving.signal }),
  );
  leaving.abort();
  assert.equal((await left).code, Code.Canceled);
  assert.deepEqual(await answered(), [{ c: 4 }]);
});

Deno.test("TabularDataBySQL() bounds rows, bytes and memory of a query", async () => {
  const { cloud, asking } = await opened({ queryLimitMs: 60_000 });
  await using _ = cloud;
  const numbers = (count: number) =>
    `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const cases = [
    `${numbers(100_001)} SELECT i FROM n`,
    `${numbers(100)} SELECT hex(zeroblob(500000)) AS x FROM n`,
  ];
  if (Deno.build.os === "linux") {
    cases.push(`${numbers(100)} SELECT i, hex(zeroblob(50000000)) || i AS x FROM n ORDER BY x`);
  }
  for (const query of cases) {
    const failed = await failure(rows(asking, query));
    assert.equal(failed.code, Code.ResourceExhausted, failed.message);
  }
  assert.equal((await rows(asking, `${numbers(100_000)} SELECT i FROM n`)).length, 100_000);
});

Deno.test("TabularDataByMQL() runs a pipeline over the readings of the organisation", async () => {
  const { cloud, made, asking } = await opened();
  await using _ = cloud;
  const [first] = await piped(
    asking,
    { $match: { component_name: "climate", time_received: { $gte: new Date(NOON + 1_000) } } },
    { $sort: { time_received: -1 } },
    { $limit: 1 },
  );
  assert.deepEqual([first?.["part_id"], first?.["time_received"], first?.["data"]], [
    made.part_id,
    new Date(NOON + 2_005),
    { readings: { temperature: 3 } },
  ]);
  const totals = await piped(
    asking,
    { $group: { _id: "$component_name", mean: { $avg: "$data.readings.temperature" } } },
    { $sort: { _id: 1 } },
  );
  assert.deepEqual(totals, [{ _id: "climate", mean: 2 }, { _id: "oven", mean: 10 }]);
  const counted = await piped(
    asking,
    { $match: { time_received: { $gt: new Date(NOON + 5), $lte: new Date(NOON + 2_005) } } },
    { $count: "n" },
  );
  assert.deepEqual(counted, [{ n: 2 }]);

  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [() => piped(asking), Code.InvalidArgument, /^mql_binary: there is no stage/],
    [() => piped(asking, { $nonsense: 1 }), Code.InvalidArgument, /the query is wrong: .*nonsense/],
    [
      () => piped(asking, { $match: { $where: "Deno.exit(3)" } }),
      Code.InvalidArgument,
      /script/i,
    ],
    [
      () =>
        piped(asking, {
          $project: { x: { $function: { body: "() => 1", args: [], lang: "js" } } },
        }),
      Code.InvalidArgument,
      /script/i,
    ],
    [
      () =>
        asking.client.tabularDataByMQL({
          organizationId: made.org_id,
          mqlBinary: [new Uint8Array([1, 2, 3])],
        }),
      Code.InvalidArgument,
      /mql_binary\[0\] is no BSON document/,
    ],
    [
      () =>
        asking.client.tabularDataByMQL({
          organizationId: made.org_id,
          mqlBinary: [new Uint8Array(serialize({ $match: {} }))],
          dataSource: { type: 3, pipelineId: "x" },
        }),
      Code.NotFound,
      /no data pipeline with id "x"/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
});
