import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../../local/bootstrap/bootstrap_testing.ts";
import {
  NOON,
  sensorData,
  sensorMetadata,
  uploadImage,
  uploadTemperatures,
} from "../ingest/data_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

interface Rig {
  readonly made: BootstrapResult;
  readonly other: BootstrapResult;
  readonly sync: ReturnType<typeof createClient<typeof DataSyncService>>;
  readonly data: ReturnType<typeof createClient<typeof DataService>>;
  /** Asks below `/data/` with the API key of `made`. */
  readonly get: (
    path: string,
    query?: Record<string, string>,
    by?: BootstrapResult | null,
  ) => Promise<Response>;
}

/** A cloud on a real port. */
async function withCloud(work: (rig: Rig) => Promise<void>) {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-data-" });
  const made = await bootstrapFolder(dir);
  const other = await bootstrapFolder(dir, { organization: "Other" });
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
  }, deps);
  const plain = createGrpcTransport({ baseUrl: cloud.url });
  const { accessToken } = await createClient(AuthService, plain).authenticate({
    entity: made.api_key_id,
    credentials: { type: "api-key", payload: made.api_key },
  });
  const transport = createGrpcTransport({
    baseUrl: cloud.url,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${accessToken}`);
      return next(request);
    }],
  });
  try {
    await work({
      made,
      other,
      sync: createClient(DataSyncService, transport),
      data: createClient(DataService, transport),
      get: (path, query = {}, by = made) =>
        fetch(`${cloud.url}/data/${path}?${new URLSearchParams(query)}`, {
          headers: by ? { key_id: by.api_key_id, key: by.api_key } : {},
        }),
    });
  } finally {
    transport.close();
    plain.close();
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
}

const climate = (made: BootstrapResult) => ({
  part_id: made.part_id,
  resource_name: "climate",
  method_name: "Readings",
});

/** Readings of three forms. */
async function uploadMixture({ sync, made }: Rig): Promise<void> {
  await sync.dataCaptureUpload({
    metadata: sensorMetadata(made.part_id, { tags: ["red", "green"] }),
    sensorContents: [
      sensorData(NOON, { t: 1.5, text: 'a "b", c', on: true, mixed: 1, list: [1, 2] }),
      sensorData(NOON + 1_000, {
        t: -2,
        text: "line\nfeed",
        on: false,
        mixed: "x",
        in: { deep: 7 },
      }),
      sensorData(NOON + 2_000, { t: null, empty: {}, none: null }),
    ],
  });
}

Deno.test("/data/export gives JSON lines, one a reading", async () => {
  await withCloud(async (rig) => {
    await uploadMixture(rig);
    const answer = await rig.get("export", { ...climate(rig.made), format: "jsonl" });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type") ?? "", /^application\/x-ndjson/);
    assert.match(answer.headers.get("content-disposition") ?? "", /"climate-Readings\.jsonl"/);
    const lines = (await answer.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.length, 3);
    assert.deepEqual(lines[1], {
      time_received: "2026-01-02T12:00:01.005000Z",
      time_requested: "2026-01-02T12:00:01.000000Z",
      tags: ["green", "red"],
      data: {
        readings: { t: -2, text: "line\nfeed", on: false, mixed: "x", in: { deep: 7 } },
      },
    });
    const span = { start: "2026-01-02T12:00:01Z", end: "2026-01-02T12:00:02Z" };
    const part = await rig.get("export", { ...climate(rig.made), format: "jsonl", ...span });
    assert.equal((await part.text()).trimEnd().split("\n").length, 1);
  });
});

Deno.test("/data/export gives CSV with a column for each field that there is", async () => {
  await withCloud(async (rig) => {
    await uploadMixture(rig);
    const answer = await rig.get("export", { ...climate(rig.made) });
    assert.equal(
      await answer.text(),
      [
        "time_received,time_requested,tags,readings.empty,readings.in.deep,readings.list," +
        "readings.mixed,readings.none,readings.on,readings.t,readings.text",
        '2026-01-02T12:00:00.005000Z,2026-01-02T12:00:00.000000Z,green red,,,"[1,2]",1,,true,1.5,' +
        '"a ""b"", c"',
        "2026-01-02T12:00:01.005000Z,2026-01-02T12:00:01.000000Z,green red,,7,,x,,false,-2," +
        '"line\nfeed"',
        "2026-01-02T12:00:02.005000Z,2026-01-02T12:00:02.000000Z,green red,{},,,,,,,",
        "",
      ].join("\r\n"),
    );
    const empty = await rig.get("export", { ...climate(rig.made), resource_name: "none" });
    assert.equal(await empty.text(), "time_received,time_requested,tags\r\n");
  });
});

Deno.test("/data/export gives Parquet that others read, in several groups of rows", async () => {
  await withCloud(async (rig) => {
    await uploadMixture(rig);
    const values = Array.from({ length: 12_000 }, (_, n) => n / 4);
    await uploadTemperatures(rig.sync, rig.made.part_id, NOON + 10_000, values);
    const answer = await rig.get("export", { ...climate(rig.made), format: "parquet" });
    assert.equal(answer.headers.get("content-type"), "application/vnd.apache.parquet");
    const file = await answer.arrayBuffer();
    const types = parquetMetadata(file).schema.map(({ name, type, converted_type }) =>
      `${name} ${type ?? ""} ${converted_type ?? ""}`.trim()
    );
    assert.ok(types.includes("time_received INT64 TIMESTAMP_MICROS"), types.join());
    assert.ok(types.includes("readings.t DOUBLE"));
    assert.ok(types.includes("readings.on BOOLEAN"));
    assert.ok(types.includes("readings.text BYTE_ARRAY UTF8"));
    assert.equal(parquetMetadata(file).row_groups.length, 3);

    const rows = await parquetReadObjects({ file });
    assert.equal(rows.length, 12_003);
    assert.deepEqual(rows[0]?.["time_received"], new Date(NOON + 5));
    assert.deepEqual(rows[0]?.["readings.mixed"], "1");
    assert.deepEqual(rows[0]?.["readings.list"], "[1,2]");
    assert.equal(rows[1]?.["readings.mixed"], '"x"');
    assert.equal(rows[1]?.["readings.on"], false);
    assert.equal(rows[2]?.["readings.t"] ?? null, null);
    assert.deepEqual(rows.slice(3).map((row) => row["readings.temperature"]), values);
  });
});

Deno.test("/data/… answers what is wrong with a status and a reason", async () => {
  await withCloud(async (rig) => {
    const about = climate(rig.made);
    const cases: [() => Promise<Response>, number, RegExp][] = [
      [() => rig.get("export", about, null), 401, /sign in with the headers/],
      [
        () => rig.get("export", about, { ...rig.made, api_key: "wrong" }),
        401,
        /credentials are not valid/,
      ],
      [() => rig.get("export", about, rig.other), 404, /no part with id/],
      [() => rig.get("export", { ...about, format: "xls" }), 400, /^format: "xls" is none/],
      [() => rig.get("export", { ...about, start: "noon" }), 400, /^start: "noon" is no time/],
      [() => rig.get("export", { ...about, part_id: "" }), 400, /^part_id: it is missing/],
      [() => rig.get("plot", { ...about, path: "" }), 400, /^path: "" is no path/],
      [() => rig.get("plot", { ...about, path: "a", buckets: "0" }), 400, /^buckets: /],
      [() => rig.get("nothing"), 404, /not found/],
      [() => rig.get(`files/${crypto.randomUUID()}`), 404, /no file with id/],
    ];
    for (const [ask, status, message] of cases) {
      const answer = await ask();
      const { error } = await answer.json();
      assert.match(error, message);
      assert.equal(answer.status, status);
    }
  });
});

Deno.test("/data/plot gives spans as JSON", async () => {
  await withCloud(async (rig) => {
    await uploadTemperatures(rig.sync, rig.made.part_id, NOON, [1, 2, 3, 4]);
    const answer = await rig.get("plot", {
      ...climate(rig.made),
      path: "readings.temperature",
      start: "2026-01-02T12:00:00Z",
      end: "2026-01-02T12:00:04Z",
      buckets: "2",
    });
    assert.deepEqual(await answer.json(), {
      start: "2026-01-02T12:00:00.000Z",
      bucket_seconds: 2,
      count: [2, 2],
      min: [1, 3],
      max: [2, 4],
      mean: [1.5, 3.5],
    });
  });
});

Deno.test("/data/files gives a file, or a range of it, to who may see it or has a link", async () => {
  await withCloud(async (rig) => {
    const image = crypto.getRandomValues(new Uint8Array(5_000));
    const binaryDataId = await uploadImage(rig.sync, rig.made.part_id, NOON, image);
    const { data: [found] } = await rig.data.binaryDataByIDs({ binaryDataIds: [binaryDataId] });
    const uri = found?.metadata?.uri ?? "";
    const path = uri.slice(uri.indexOf("/data/") + 6);

    const whole = await rig.get(path);
    assert.equal(whole.headers.get("content-type"), "image/jpeg");
    assert.match(whole.headers.get("content-disposition") ?? "", /^attachment; .*\.jpeg"$/);
    assert.equal(whole.headers.get("content-security-policy"), "sandbox; default-src 'none'");
    assert.equal(whole.headers.get("x-content-type-options"), "nosniff");
    assert.deepEqual(await whole.bytes(), image);
    const refused = await rig.get(path, {}, rig.other);
    assert.equal(refused.status, 404);
    await refused.body?.cancel();

    const beforeS = Math.floor(Date.now() / 1_000);
    const { signedUrl, expiresAt } = await rig.data.createBinaryDataSignedURL({ binaryDataId });
    const expiresS = Number(expiresAt?.seconds);
    assert.ok(expiresS >= beforeS + 15 * 60 && expiresS <= Math.ceil(Date.now() / 1_000) + 15 * 60);
    const ranged = await fetch(signedUrl, { headers: { range: "bytes=10-19" } });
    assert.equal(ranged.status, 206);
    assert.deepEqual(await ranged.bytes(), image.subarray(10, 20));
    const forged = await fetch(signedUrl.replace(/signature=./, "signature="));
    assert.equal(forged.status, 401);
    await forged.body?.cancel();
  });
});
