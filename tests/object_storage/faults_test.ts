/** Kills the cloud where it hurts most while it brings a file to an object storage. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { bootstrap } from "../../cloud/local/bootstrap/bootstrap.ts";
import { uploadToFolder } from "../../cloud/data/ingest/fault_upload_testing.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { openObjectStorage } from "../../cloud/storage/blobs/open_object_storage.ts";
import { S3Client } from "../../cloud/storage/blobs/s3_client.ts";
import type { S3Settings } from "../../cloud/storage/blobs/s3_settings.ts";
import type { BlobStore } from "../../cloud/storage/blobs/blob_store.ts";
import { runFaultChild } from "../../shared/base/faults/fault_child_testing.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { S3Server } from "./s3_server.ts";

const HOUR_MS = 60 * 60_000;
/** 11 MB: three parts. */
const PIECES = 11_000;

const SOURCE = `
  import { uploadToFolder } from "../../cloud/data/ingest/fault_upload_testing.ts";
  import { openObjectStorage } from "../../cloud/storage/blobs/open_object_storage.ts";
  import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
  import { Secret } from "../../shared/base/redaction/secret.ts";
  import { systemClock as clock } from "../../shared/base/time/clock.ts";
  const [dataDir, settings, secret] = Deno.args;
  const stores = await openObjectStorage({
    settings: { ...JSON.parse(settings), secretAccessKey: new Secret(secret) },
    ownId: "one", clock, log: memoryLogger("machine-cloud"),
  });
  await uploadToFolder(dataDir, "file", { files: stores("data-files"), pieces: ${PIECES} });`;

async function open(settings: S3Settings): Promise<BlobStore> {
  const log = memoryLogger("machine-cloud");
  return (await openObjectStorage({ settings, ownId: "one", clock: systemClock, log }))(
    "data-files",
  );
}

async function rows(dataDir: string): Promise<string[]> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    const files = await database.queries.selectFrom("binary_data").select("id").execute();
    return files.map(({ id }) => id);
  } finally {
    database.close();
  }
}

async function keys(settings: S3Settings, query: Record<string, string>): Promise<string[]> {
  const client = new S3Client(settings, systemClock);
  const { body } = await client.send({ method: "GET", key: "", query });
  return [...new TextDecoder().decode(body).matchAll(/<Key>([^<]*)</g)].map(([, key = ""]) => key);
}

const POINTS = [
  "object_storage.part-sent#2",
  "object_storage.before-complete",
  "object_storage.stored",
  "data.file.after-write",
  "data.upload.before-commit",
  "data.upload.after-commit",
];

Deno.test("a file in an object storage is kept once, wherever its upload is killed", async (t) => {
  await using server = await S3Server.start();
  for (const [index, point] of POINTS.entries()) {
    await t.step(point, async () => {
      const settings = server.settings({ prefix: `site${index}/` });
      const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-objects-" });
      try {
        const folder = await openDataFolder(dataDir, systemRandom);
        const names = { organization: "Acme", location: "Lab", machine: "demo" };
        await bootstrap(folder, { clock: systemClock, random: systemRandom }, names);
        folder.database.close();
        const { signal, stderr } = await runFaultChild(SOURCE, {
          folder: fileURLToPath(new URL(".", import.meta.url)),
          faultPoint: point,
          args: [dataDir, JSON.stringify(settings), settings.secretAccessKey.reveal()],
        });
        assert.equal(signal, "SIGKILL", `${point} was not passed: ${stderr}`);
        assert.equal((await rows(dataDir)).length, point === "data.upload.after-commit" ? 1 : 0);

        const files = await open(settings);
        const upload = () => uploadToFolder(dataDir, "file", { files, pieces: PIECES });
        const id = await upload();
        assert.equal(await upload(), id);
        assert.deepEqual(await rows(dataDir), [id]);
        await files.sweep(
          (known) => Promise.resolve(known === id),
          new Date(Date.now() + 2 * HOUR_MS),
        );
        const prefix = `${settings.prefix}data-files/`;
        assert.deepEqual(await keys(settings, { "list-type": "2", prefix }), [`${prefix}${id}`]);
        assert.deepEqual(await keys(settings, { uploads: "", prefix }), []);
      } finally {
        await Deno.remove(dataDir, { recursive: true });
      }
    });
  }
});
