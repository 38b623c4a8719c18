import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  DatasetService,
  DatasetType,
  SequenceDatasetExportStatus as Status,
} from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { NOON, uploadImage, uploadTemperatures } from "../ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const HOUR_MS = 60 * 60_000;
const IMAGE = new Uint8Array(70_000).map((_, n) => n * 7 >> 2);

async function opened() {
  const clock = new FakeClock(new Date(NOON));
  const cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const datasets = cloud.client(DatasetService, apiKey(made));
  const organizationId = made.org_id;
  const dataset = async (name: string) => {
    const type = DatasetType.SEQUENCE_DATA;
    return (await datasets.createDataset({ organizationId, name, type })).id;
  };
  return {
    cloud,
    clock,
    made,
    sync,
    data,
    datasets,
    dataset,
    /** A dataset with one sequence of ten readings and two images. */
    async walk() {
      await uploadTemperatures(sync, made.part_id, NOON, Array.from({ length: 12 }, (_, n) => n));
      const images = [];
      for (const at of [0, 5_000]) {
        images.push(await uploadImage(sync, made.part_id, NOON + at, IMAGE.slice(at / 100)));
      }
      const datasetId = await dataset("walks");
      const { id: sequenceId } = await data.createSequence({
        partId: made.part_id,
        resources: [{ resourceName: "eye" }, { resourceName: "climate", methodName: "Readings" }],
        sequenceTags: ["night"],
        startTime: timestampFromMs(NOON),
        endTime: timestampFromMs(NOON + 10_000),
      });
      await data.addSequencesToDataset({ datasetId, sequenceIds: [sequenceId] });
      return { datasetId, sequenceId, images };
    },
    async get(link: string): Promise<Response> {
      const url = new URL(link);
      return await cloud.services.dataFiles({
        path: url.pathname.split("/").slice(2),
        method: "GET",
        header: () => undefined,
        query: (name) => url.searchParams.get(name) ?? undefined,
        peer: { address: "127.0.0.1", transport: "http" } as never,
      });
    },
    work: () => cloud.services.dataExports.work(new AbortController().signal),
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

/** Unpacks an archive. */
async function unpacked(archive: Uint8Array<ArrayBuffer>, work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-export-" });
  try {
    await Deno.writeFile(join(folder, "a.tar.gz"), archive);
    const { success, stderr } = await new Deno.Command("tar", {
      args: ["-xzf", "a.tar.gz"],
      cwd: folder,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function lines(path: string): Promise<Record<string, unknown>[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("an export holds the readings and files of each sequence, and downloads by its link", async () => {
  await using it = await opened();
  const { datasetId, sequenceId, images } = await it.walk();
  await it.data.addBoundingBoxToImageByID({
    ...{ binaryDataId: images[0] ?? "", label: "cat" },
    ...{ xMinNormalized: 0.1, yMinNormalized: 0.2, xMaxNormalized: 0.3, yMaxNormalized: 0.4 },
  });
  const { jobId } = await it.datasets.startSequenceDatasetExport({ datasetId });
  assert.equal((await it.datasets.startSequenceDatasetExport({ datasetId })).jobId, jobId);
  const running = await it.datasets.getSequenceDatasetExport({ jobId });
  assert.deepEqual([running.status, running.downloadUrl], [Status.RUNNING, ""]);
  await it.work();
  const done = await it.datasets.getSequenceDatasetExport({ jobId });
  assert.equal(done.status, Status.COMPLETED);
  assert.equal(done.expiresAt?.seconds, BigInt((NOON + HOUR_MS) / 1_000));

  const response = await it.get(done.downloadUrl);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/gzip");
  const archive = new Uint8Array(await response.arrayBuffer());
  await unpacked(archive, async (folder) => {
    const about = JSON.parse(await Deno.readTextFile(join(folder, "dataset.json")));
    assert.equal(about.name, "walks");
    assert.deepEqual(about.sequences, [{
      id: sequenceId,
      part_id: it.made.part_id,
      start_time: "2026-01-02T12:00:00.000000Z",
      end_time: "2026-01-02T12:00:10.000000Z",
      resources: [
        { resource_name: "eye", method_name: "" },
        { resource_name: "climate", method_name: "Readings" },
      ],
      tags: ["night"],
      readings: 10,
      files: 2,
      missing_files: 0,
    }]);
    const readings = await lines(join(folder, sequenceId, "readings-0001.jsonl"));
    assert.deepEqual(
      readings.map(({ data }) => data),
      readings.map((_, n) => ({
        readings: { temperature: n },
      })),
    );
    assert.equal(readings[0]?.["time_received"], "2026-01-02T12:00:00.005000Z");
    const files = await lines(join(folder, sequenceId, "files-0001.jsonl"));
    assert.deepEqual((files[0]?.["bounding_boxes"] as { label: string }[]).map((b) => b.label), [
      "cat",
    ]);
    for (const { path, sha256 } of files) {
      const bytes = await Deno.readFile(join(folder, sequenceId, String(path)));
      assert.equal(createHash("sha256").update(bytes).digest("hex"), sha256);
    }
  });
});

Deno.test("the link of an export opens nothing else and ends, and the archive goes after a day", async () => {
  await using it = await opened();
  const { datasetId } = await it.walk();
  const { jobId } = await it.datasets.startSequenceDatasetExport({ datasetId });
  await it.work();
  const { downloadUrl } = await it.datasets.getSequenceDatasetExport({ jobId });
  assert.equal((await it.get(downloadUrl.replace(/\?.*/, ""))).status, 401);
  assert.equal((await it.get(`${downloadUrl}x`)).status, 401);
  assert.equal((await it.get(downloadUrl.replace("exports", "files"))).status, 401);
  it.clock.setNow(NOON + 2 * HOUR_MS);
  assert.equal((await it.get(downloadUrl)).status, 403);
  const again = await it.datasets.getSequenceDatasetExport({ jobId });
  assert.equal((await it.get(again.downloadUrl)).status, 200);
  it.clock.setNow(NOON + 23.5 * HOUR_MS);
  const last = await it.datasets.getSequenceDatasetExport({ jobId });
  assert.equal(last.expiresAt?.seconds, BigInt((NOON + 24 * HOUR_MS) / 1_000));
  it.clock.setNow(NOON + 25 * HOUR_MS);
  await it.cloud.services.dataExports.clean();
  const gone = await failure(it.datasets.getSequenceDatasetExport({ jobId }));
  assert.equal(gone.code, Code.NotFound);
  const left = [...Deno.readDirSync(it.cloud.path("data-exports"))].filter((entry) => entry.isFile);
  assert.deepEqual(left, []);
});

Deno.test("a dataset keeps one archive, an organisation so much of them, and none when it is deleted", async () => {
  await using it = await opened();
  const { datasetId } = await it.walk();
  const archives = () =>
    [...Deno.readDirSync(it.cloud.path("data-exports"))].filter(({ isFile }) => isFile)
      .map(({ name }) => name);
  const jobs = [];
  for (let n = 0; n < 3; n++) {
    jobs.push((await it.datasets.startSequenceDatasetExport({ datasetId })).jobId);
    await it.work();
    assert.deepEqual(archives(), [jobs[n]]);
  }
  const gone = await failure(it.datasets.getSequenceDatasetExport({ jobId: jobs[1] ?? "" }));
  assert.equal(gone.code, Code.NotFound);

  const other = await it.dataset("others");
  await it.cloud.folder.database.queries.updateTable("sequence_exports")
    .set({ size: 64 * 1024 ** 3 }).execute();
  const refused = await failure(it.datasets.startSequenceDatasetExport({ datasetId: other }));
  assert.equal(refused.code, Code.ResourceExhausted);
  await it.datasets.startSequenceDatasetExport({ datasetId }); // takes the place of its own
  await it.work();
  await it.datasets.startSequenceDatasetExport({ datasetId: other });
  await it.work();
  assert.equal(archives().length, 2);

  for (const id of [datasetId, other]) await it.datasets.deleteDataset({ id });
  assert.deepEqual(archives(), []);
});

Deno.test("exports tell what is wrong, go with their dataset, and leave out files that are gone", async () => {
  await using it = await opened();
  const { datasetId, images } = await it.walk();
  const { id: files } = await it.datasets.createDataset({
    organizationId: it.made.org_id,
    name: "pictures",
  });
  const stranger = it.cloud.client(
    DatasetService,
    apiKey(await it.cloud.bootstrap({ organization: "X" })),
  );
  const asPart = it.cloud.client(DatasetService, partSecret(it.made));
  const { jobId } = await it.datasets.startSequenceDatasetExport({ datasetId });
  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [
      () => it.datasets.startSequenceDatasetExport({ datasetId: files }),
      Code.FailedPrecondition,
      /"pictures" holds files/,
    ],
    [() => stranger.startSequenceDatasetExport({ datasetId }), Code.NotFound, /^no dataset/],
    [() => stranger.getSequenceDatasetExport({ jobId }), Code.NotFound, /^no export with id/],
    [() => asPart.startSequenceDatasetExport({ datasetId }), Code.PermissionDenied, /do not allow/],
    [() => asPart.getSequenceDatasetExport({ jobId }), Code.PermissionDenied, /do not allow/],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
  await Deno.remove(it.cloud.path(`data-files/${images[0]?.split("/")[2]}`));
  await it.work();
  const { downloadUrl } = await it.datasets.getSequenceDatasetExport({ jobId });
  const archive = new Uint8Array(await (await it.get(downloadUrl)).arrayBuffer());
  await unpacked(archive, async (folder) => {
    const { sequences: [one] } = JSON.parse(await Deno.readTextFile(join(folder, "dataset.json")));
    assert.deepEqual([one.files, one.missing_files], [1, 1]);
  });
  await it.datasets.deleteDataset({ id: datasetId });
  assert.equal(
    (await failure(it.datasets.getSequenceDatasetExport({ jobId }))).code,
    Code.NotFound,
  );
  assert.equal((await it.get(downloadUrl)).status, 404);
});

Deno.test("an export that a stopped cloud left is made by the next one, and too many are refused", async () => {
  await using it = await opened();
  const ids = [];
  for (let n = 0; n < 11; n++) ids.push(await it.dataset(`walks ${n}`));
  const jobs = [];
  for (const datasetId of ids.slice(0, 10)) {
    jobs.push((await it.datasets.startSequenceDatasetExport({ datasetId })).jobId);
  }
  const datasetId = ids[10] ?? "";
  const refused = await failure(it.datasets.startSequenceDatasetExport({ datasetId }));
  assert.equal(refused.code, Code.ResourceExhausted);
  const stopping = new AbortController();
  stopping.abort();
  await it.cloud.services.dataExports.work(stopping.signal);
  const stateOf = async (jobId = "") =>
    (await it.datasets.getSequenceDatasetExport({ jobId })).status;
  assert.equal(await stateOf(jobs[0]), Status.RUNNING);
  await it.work();
  for (const job of jobs) assert.equal(await stateOf(job), Status.COMPLETED);
});

for (const point of ["packages.blob.writing#2", "sequences.export.stored"]) {
  Deno.test(`an export that was killed at ${point} is made by the next cloud`, async () => {
    await using it = await opened();
    const { datasetId } = await it.walk();
    const { jobId } = await it.datasets.startSequenceDatasetExport({ datasetId });
    const source = `import { workOnExports } from "./fault_export_testing.ts";
      await workOnExports(Deno.args[0]);`;
    const { signal, stderr } = await runFaultChild(source, {
      folder: import.meta.dirname ?? ".",
      isLarge: true,
      faultPoint: point,
      args: [it.cloud.dataDir],
    });
    assert.equal(signal, "SIGKILL", stderr);
    const running = await it.datasets.getSequenceDatasetExport({ jobId });
    assert.equal(running.status, Status.RUNNING);
    await it.work();
    const { downloadUrl } = await it.datasets.getSequenceDatasetExport({ jobId });
    const archive = new Uint8Array(await (await it.get(downloadUrl)).arrayBuffer());
    await unpacked(archive, async (folder) => {
      const { sequences } = JSON.parse(await Deno.readTextFile(join(folder, "dataset.json")));
      assert.deepEqual([sequences[0].readings, sequences[0].files], [10, 2]);
    });
  });
}
