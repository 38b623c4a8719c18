import assert from "node:assert/strict";
import { anyPack, StringValueSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  DataSyncService,
  DataType,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import {
  filePieces,
  imageMetadata,
  NOON,
  sensorData,
  sensorMetadata,
  uploadImage,
  uploadTemperatures,
} from "./data_testing.ts";

function storedFiles(cloud: TestCloud): string[] {
  const names = (folder: string) => [...Deno.readDirSync(cloud.path(folder))];
  return [...names("data-files"), ...names("data-files/incoming")]
    .filter((entry) => entry.isFile).map((entry) => entry.name);
}

Deno.test("DataCaptureUpload() stores readings as they were captured", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const readings = {
    temperature: 21.25,
    text: "größer",
    isOpen: true,
    nothing: null,
    nested: { list: [1, { deep: -0.5 }], empty: {} },
    __proto__x: 1,
  };

  const { fileId } = await sync.dataCaptureUpload({
    metadata: sensorMetadata(made.part_id, {
      tags: ["b", "a", "b"],
      methodParameters: {
        reader_name: anyPack(StringValueSchema, {
          $typeName: "google.protobuf.StringValue",
          value: "r1",
        }),
      },
    }),
    sensorContents: [sensorData(NOON, readings)],
  });
  const rows = [];
  for await (
    const row of data.exportTabularData({
      partId: made.part_id,
      resourceName: "climate",
      resourceSubtype: "rdk:component:sensor",
      methodName: "Readings",
    })
  ) rows.push(row);

  assert.match(fileId, /^[0-9a-f-]{36}$/);
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.deepEqual(row?.payload, { readings });
  assert.deepEqual(row.timeCaptured, timestampFromMs(NOON + 5));
  assert.deepEqual(row.tags, ["a", "b"]);
  assert.deepEqual(row.methodParameters, { reader_name: "r1" });
  assert.equal(row.robotName, "demo");
  assert.equal(row.partId, made.part_id);
});

Deno.test("DataCaptureUpload() stores an upload once when it is sent again", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const count = async () =>
    (await data.tabularDataByFilter({ countOnly: true, dataRequest: {} })).count;
  const upload = (value: Record<string, number>, tags: string[] = []) =>
    sync.dataCaptureUpload({
      metadata: sensorMetadata(made.part_id, { tags }),
      sensorContents: [sensorData(NOON, value)],
    });

  const first = await upload({ a: 1, b: 2 }, ["x", "y"]);
  const again = await upload({ b: 2, a: 1 }, ["y", "x"]);
  assert.equal(again.fileId, first.fileId);
  assert.equal(await count(), 1n);

  const others = await Promise.all([
    upload({ a: 1, b: 3 }, ["x", "y"]),
    upload({ a: 1, b: 2 }),
    sync.dataCaptureUpload({
      metadata: sensorMetadata(made.part_id, { componentName: "other" }),
      sensorContents: [sensorData(NOON, { a: 1, b: 2 })],
    }),
    sync.dataCaptureUpload({
      metadata: sensorMetadata(made.part_id, { tags: ["x", "y"] }),
      sensorContents: [sensorData(NOON + 1, { a: 1, b: 2 })],
    }),
  ]);
  assert.equal(new Set([first, ...others].map(({ fileId }) => fileId)).size, 5);
  assert.equal(await count(), 5n);

  const withoutTimes = () =>
    sync.dataCaptureUpload({
      metadata: sensorMetadata(made.part_id),
      sensorContents: [{ data: { case: "struct", value: { a: 1 } } }],
    });
  assert.notEqual((await withoutTimes()).fileId, (await withoutTimes()).fileId);
  assert.equal(await count(), 7n);
});

Deno.test("DataCaptureUpload() keeps one of two equal uploads when they come together", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const image = new Uint8Array(5_000).fill(7);
  const readings = await Promise.all(
    [1, 2, 3].map(() => uploadTemperatures(sync, made.part_id, NOON, [1, 2, 3])),
  );
  const images = await Promise.all(
    [1, 2, 3].map((n) => uploadImage(sync, made.part_id, NOON, image, { tags: [`tag${n}`] })),
  );

  assert.equal(new Set(readings).size, 1);
  assert.equal(new Set(images).size, 1);
  assert.equal(storedFiles(cloud).length, 1);
  const data = cloud.client(DataService, apiKey(made));
  const found = await data.binaryDataByIDs({ binaryDataIds: images.slice(0, 1) });
  assert.deepEqual(found.data[0]?.metadata?.captureMetadata?.tags, ["tag1", "tag2", "tag3"]);
});

Deno.test("DataCaptureUpload() refuses what is wrong with the field, and stores nothing", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const metadata = sensorMetadata(made.part_id);
  const reading = sensorData(NOON, { a: 1 });
  const binary = { data: { case: "binary" as const, value: new Uint8Array(3) } };
  const cases: [Parameters<typeof sync.dataCaptureUpload>[0], RegExp][] = [
    [{ sensorContents: [reading] }, /^metadata: it is missing/],
    [{ metadata }, /^sensor_contents: there are none/],
    [{ metadata, sensorContents: [reading, binary] }, /^sensor_contents\[1\]: all must have/],
    [{ metadata, sensorContents: [binary] }, /^metadata\.type: it is tabular, but/],
    [{ metadata, sensorContents: [{}] }, /^sensor_contents\[0\]: all must have/],
    [
      { metadata: imageMetadata(made.part_id), sensorContents: [reading] },
      /^metadata\.type: it is binary, but/,
    ],
    [
      {
        metadata: sensorMetadata(made.part_id, { componentName: "x".repeat(2_000) }),
        sensorContents: [reading],
      },
      /^metadata\.component_name: it is longer/,
    ],
    [
      {
        metadata: sensorMetadata(made.part_id, {
          tags: Array.from({ length: 300 }, (_, n) => `t${n}`),
        }),
        sensorContents: [reading],
      },
      /^metadata\.tags: there are more than 200/,
    ],
  ];
  for (const [request, message] of cases) {
    const failed = await failure(sync.dataCaptureUpload(request));
    assert.match(failed.message, message);
    assert.equal(failed.code, Code.InvalidArgument);
  }
  const data = cloud.client(DataService, apiKey(made));
  assert.equal((await data.tabularDataByFilter({ countOnly: true })).count, 0n);
  assert.deepEqual(storedFiles(cloud), []);
});

Deno.test("DataCaptureUpload() takes data with a time that no clock shows, as of now", async () => {
  const clock = new FakeClock(new Date(NOON));
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  // The second is the zero time of Go.
  for (const seconds of [1n << 60n, -62_135_596_800n]) {
    const time = { seconds, nanos: 0 };
    const upload = () =>
      sync.dataCaptureUpload({
        metadata: sensorMetadata(made.part_id),
        sensorContents: [{
          metadata: { timeRequested: time, timeReceived: time },
          data: { case: "struct", value: { readings: { a: 1 } } },
        }],
      });
    assert.equal((await upload()).fileId, (await upload()).fileId);
  }
  const { data: [first, second, third] } = await data.tabularDataByFilter({});
  assert.deepEqual(first?.timeReceived, timestampFromMs(NOON));
  assert.deepEqual(second?.timeReceived, timestampFromMs(NOON));
  assert.equal(third, undefined);
});

Deno.test("DataCaptureUpload() is for the part itself and for keys that own it", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const neighbour = await cloud.bootstrap({ machine: "other" });
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  const upload = (credentials: Parameters<typeof cloud.client>[1]) =>
    uploadTemperatures(cloud.client(DataSyncService, credentials), made.part_id, NOON, [1]);

  await upload(partSecret(made));
  await upload(apiKey(made));
  assert.equal((await failure(upload(partSecret(neighbour)))).code, Code.NotFound);
  assert.equal((await failure(upload(apiKey(stranger)))).code, Code.NotFound);
  assert.equal((await failure(upload(undefined))).code, Code.Unauthenticated);
});

Deno.test("FileUpload() stores a file in pieces, once, with what its metadata says", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const contents = crypto.getRandomValues(new Uint8Array(30_000));
  const metadata = imageMetadata(made.part_id, {
    componentType: "",
    componentName: "",
    methodName: "",
    type: DataType.FILE,
    fileName: "/var/data/report.csv",
    fileExtension: "",
    fileCreateTime: timestampFromMs(NOON - 1_000),
    fileModifyTime: timestampFromMs(NOON),
    tags: ["night"],
  });

  const first = await sync.fileUpload(filePieces(metadata, contents));
  const again = await sync.fileUpload(filePieces(metadata, contents, 4_096));
  const changed = await sync.fileUpload(filePieces(metadata, contents.subarray(1)));
  const empty = await sync.fileUpload(filePieces(metadata, new Uint8Array()));

  assert.equal(again.binaryDataId, first.binaryDataId);
  assert.equal(first.binaryDataId, `${made.org_id}/${made.location_id}/${first.fileId}`);
  assert.notEqual(changed.fileId, first.fileId);
  assert.equal(storedFiles(cloud).length, 3);
  const { data: [found, none] } = await data.binaryDataByIDs({
    binaryDataIds: [first.binaryDataId, empty.binaryDataId],
    includeBinary: true,
  });
  assert.deepEqual(found?.binary, contents);
  assert.equal(none?.binary.length, 0);
  const { metadata: about } = found;
  assert.equal(about?.fileName, "/var/data/report.csv");
  assert.equal(about.fileExt, ".csv");
  assert.equal(about.captureMetadata?.mimeType, "text/csv");
  assert.deepEqual(about.captureMetadata.tags, ["night"]);
  assert.deepEqual(about.timeReceived, timestampFromMs(NOON));
  assert.equal(about.fileSizeBytes, 30_000n);
});

Deno.test("StreamingDataCaptureUpload() stores a large image in pieces", async () => {
  await using cloud = await TestCloud.open({ fileLimitBytes: 50_000 });
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const upload = (size: number) =>
    sync.streamingDataCaptureUpload(async function* () {
      const value = {
        uploadMetadata: imageMetadata(made.part_id),
        sensorMetadata: {
          timeRequested: timestampFromMs(NOON),
          timeReceived: timestampFromMs(NOON + 9),
          annotations: {
            bboxes: [{
              label: "cat",
              xMinNormalized: 0.1,
              yMinNormalized: 0.1,
              xMaxNormalized: 0.5,
              yMaxNormalized: 0.5,
              confidence: 0.75,
            }],
            classifications: [{ label: "day" }],
          },
        },
      };
      yield { uploadPacket: { case: "metadata" as const, value } };
      for (let sent = 0; sent < size; sent += 10_000) {
        const bytes = new Uint8Array(10_000).fill(sent / 10_000);
        yield await Promise.resolve({ uploadPacket: { case: "data" as const, value: bytes } });
      }
    }());

  const { binaryDataId } = await upload(50_000);
  const tooLarge = await failure(upload(60_000));
  const data = cloud.client(DataService, apiKey(made));
  const { data: [found] } = await data.binaryDataByIDs({ binaryDataIds: [binaryDataId] });

  assert.equal(tooLarge.code, Code.ResourceExhausted);
  assert.match(tooLarge.message, /larger than 50000 bytes.*--data-file-limit/);
  assert.equal(storedFiles(cloud).length, 1);
  assert.equal(found?.metadata?.captureMetadata?.mimeType, "image/jpeg");
  assert.deepEqual(found.metadata.timeReceived, timestampFromMs(NOON + 9));
  assert.equal(found.metadata.annotations?.bboxes[0]?.label, "cat");
  assert.equal(found.metadata.annotations.bboxes[0].confidence, 0.75);
  assert.equal(found.metadata.annotations.classifications[0]?.label, "day");
});

Deno.test("FileUpload() has room for others however many slow uploads one organisation has", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const sync = cloud.client(DataSyncService, partSecret(made));
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const metadata = imageMetadata(made.part_id);
  const begun = Array.from({ length: 64 }, async (_, at) => {
    const piece = (value: number) => {
      const data = new Uint8Array([at, value]);
      return { uploadPacket: { case: "fileContents" as const, value: { data } } };
    };
    return await sync.fileUpload(async function* () {
      yield { uploadPacket: { case: "metadata" as const, value: metadata } };
      yield piece(1);
      await over;
      yield piece(2);
    }());
  });
  const codes: number[] = [];
  const ended = begun.map((upload) => upload.catch(({ code }) => codes.push(code)));
  const incoming = cloud.path("data-files/incoming");
  const what = "uploads under way";
  await waitFor(() => [...Deno.readDirSync(incoming)].length + codes.length === 64, {
    ...{ deadlineMs: 60_000, what },
  });
  const upload = cloud.client(DataSyncService, partSecret(other));
  const { fileId } = await upload.fileUpload(
    filePieces(imageMetadata(other.part_id), new Uint8Array([7])),
  );
  assert.notEqual(fileId, "");
  end();
  await Promise.all(ended);
  assert.deepEqual(codes, Array.from({ length: 16 }, () => Code.ResourceExhausted));
});

Deno.test("FileUpload() leaves nothing when its caller leaves", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const leaving = new AbortController();
  const upload = sync.fileUpload(
    async function* () {
      yield* filePieces(imageMetadata(made.part_id), new Uint8Array(3_000));
      leaving.abort();
      await new Promise(() => undefined);
    }(),
    { signal: leaving.signal },
  );
  assert.equal((await failure(upload)).code, Code.Canceled);
  await waitFor(() => storedFiles(cloud).length === 0, {
    what: "the rest of the upload to go",
    deadlineMs: 60_000,
  });
});
