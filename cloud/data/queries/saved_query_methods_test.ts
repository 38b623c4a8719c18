import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { deserialize, serialize } from "bson";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("queries are saved under a name, run with what follows them, changed and deleted", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const organizationId = made.org_id;
  const data = cloud.client(DataService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2, 3]);
  const stage = (document: object) => new Uint8Array(serialize(document));
  const warm = [stage({ $match: { "data.readings.temperature": { $gt: 1 } } })];
  const { id } = await data.createSavedQuery({ organizationId, name: " warm ", mqlBinary: warm });

  const counted = async (mqlBinary: Uint8Array<ArrayBuffer>[]) =>
    (await data.tabularDataByMQL({ organizationId, queryPrefixName: "warm", mqlBinary })).rawData
      .map((row) => deserialize(row));
  assert.equal((await counted([])).length, 2);
  assert.deepEqual(await counted([stage({ $count: "n" })]), [{ n: 2 }]);
  const { savedQuery } = await data.getSavedQuery({ id });
  assert.deepEqual([savedQuery?.name, savedQuery?.mqlBinary], ["warm", warm]);

  await data.updateSavedQuery({ id, name: "", mqlBinary: [stage({ $limit: 1 })] });
  assert.equal((await counted([])).length, 1);
  await data.createSavedQuery({ organizationId, name: "all", mqlBinary: [stage({ $match: {} })] });
  const { queries } = await data.listSavedQueries({ organizationId });
  assert.deepEqual(queries.map(({ name }) => name), ["all", "warm"]);

  const sql = (statement: unknown) => stage({ $sql: { statement } });
  const text = "SELECT data ->> '$.readings.temperature' AS t FROM readings ORDER BY t DESC";
  await data.updateSavedQuery({ id, name: "", mqlBinary: [sql(text)] });
  assert.deepEqual(await counted([]), [{ t: 3 }, { t: 2 }, { t: 1 }]);
  assert.deepEqual(await counted([stage({ $match: { t: { $lt: 3 } } }), stage({ $count: "n" })]), [
    { n: 2 },
  ]);
  // Of those that end before the rows do, nothing is left for the query after them.
  const failing = stage({ $project: { t: { $arrayElemAt: ["$t"] } } });
  for (let turn = 0; turn < 2; turn++) {
    assert.deepEqual(await counted([stage({ $limit: 1 })]), [{ t: 3 }]);
    const wrong = await failure(counted([failing]));
    assert.equal(wrong.code, Code.InvalidArgument, wrong.message);
  }
  const endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) " +
    "SELECT hex(zeroblob(500000)) AS x FROM n";
  const large = await failure(data.tabularDataByMQL({ organizationId, mqlBinary: [sql(endless)] }));
  assert.equal(large.code, Code.ResourceExhausted, large.message);
  const refusals: [Uint8Array<ArrayBuffer>[], RegExp][] = [
    [[sql("SELECT * FROM api_keys")], /no such table: api_keys/],
    [[sql("DELETE FROM readings")], /it begins with DELETE/],
    [[sql(5)], /\$sql takes one statement/],
    [[stage({ $sql: null })], /\$sql takes one statement/],
    [[stage({ $sql: { statement: "SELECT 1", more: 1 } })], /\$sql takes one statement/],
    [[stage({ $limit: 1 }), sql("SELECT 1")], /\$sql/],
  ];
  for (const [mqlBinary, message] of refusals) {
    const refused = await failure(data.tabularDataByMQL({ organizationId, mqlBinary }));
    assert.equal(refused.code, Code.InvalidArgument);
    assert.match(refused.message, message);
  }

  const stranger = cloud.client(DataService, apiKey(await cloud.bootstrap({ organization: "X" })));
  const asPart = cloud.client(DataService, partSecret(made));
  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [
      () => data.updateSavedQuery({ id, name: "all" }),
      Code.AlreadyExists,
      /saved query "all" already/,
    ],
    [
      () => data.createSavedQuery({ organizationId, name: "x" }),
      Code.InvalidArgument,
      /^mql_binary: /,
    ],
    [
      () => data.createSavedQuery({ organizationId, mqlBinary: warm }),
      Code.InvalidArgument,
      /^name: /,
    ],
    [() => stranger.getSavedQuery({ id }), Code.NotFound, /^no saved query with id/],
    [
      () => asPart.deleteSavedQuery({ id }),
      Code.PermissionDenied,
      /do not allow that on this saved/,
    ],
    [
      () => data.tabularDataByMQL({ organizationId, queryPrefixName: "none" }),
      Code.NotFound,
      /^query_prefix_name: there is no saved query "none"/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
  await data.deleteSavedQuery({ id });
  assert.equal((await failure(data.getSavedQuery({ id }))).code, Code.NotFound);
});
