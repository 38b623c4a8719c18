import assert from "node:assert/strict";
import { join } from "node:path";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import { requireShared } from "./cluster.ts";

Deno.test("a cluster is refused until nothing is left that one node alone would see", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cluster-" });
  const folder = (engine: string, releaseKeys = 0) => {
    const query = { select: () => query, executeTakeFirst: () => ({ rows: releaseKeys }) };
    return { database: { engine, queries: { selectFrom: () => query } } } as unknown as DataFolder;
  };
  const objectStorage = {} as S3Settings;
  const publicUrl = "https://cloud.example.com";
  const whole = { cluster: true, dataDir, objectStorage, publicUrl };
  const refused = (options: object, pattern: RegExp, which = folder("postgres")) =>
    assert.rejects(requireShared({ ...whole, ...options }, which), pattern);
  try {
    await requireShared({ dataDir }, folder("sqlite"));
    await requireShared(whole, folder("postgres"));
    await refused({}, /--database postgres/, folder("sqlite"));
    await refused({ objectStorage: undefined }, /--blob-store s3/);
    await refused({ publicUrl: undefined }, /--public-url/);
    await refused({}, /release\.key is missing; copy it/, folder("postgres", 1));
    await Deno.mkdir(join(dataDir, "data-files", "incoming"), { recursive: true });
    await requireShared(whole, folder("postgres"));
    await Deno.writeTextFile(join(dataDir, "data-files", "a"), "");
    await refused({}, /data-files has files that other nodes do not see/);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
