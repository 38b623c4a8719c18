/** Large files on their way between a data folder and an object storage. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { moveFiles } from "../../cloud/operations/move/move_files.ts";
import { FolderBlobStore } from "../../cloud/storage/blobs/folder_blob_store.ts";
import { openDatabase } from "../../cloud/storage/data_folder/database_choice.ts";
import { runFaultChild } from "../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { S3Server } from "./s3_server.ts";

const SIZES = [0, 3, 70_000, 6 * 1024 * 1024];
const FOLDERS = ["blobs", "data-exports"];

async function filled(dataDir: string): Promise<Map<string, Uint8Array>> {
  await (await openDatabase(dataDir)).close();
  const files = new Map<string, Uint8Array>();
  for (const folder of FOLDERS) {
    const store = await FolderBlobStore.open(join(dataDir, folder));
    for (const size of SIZES) {
      const id = crypto.randomUUID();
      const bytes = new Uint8Array(size).map((_, at) => (at * 31 + size) >> 3);
      await store.receive(
        id,
        (async function* () {
          yield await Promise.resolve(bytes);
        })(),
        1e9,
      );
      files.set(join(folder, id), bytes);
    }
  }
  return files;
}

async function inFolder(dataDir: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const folder of FOLDERS) {
    for await (const { isFile, name } of Deno.readDir(join(dataDir, folder))) {
      if (isFile) files.set(join(folder, name), await Deno.readFile(join(dataDir, folder, name)));
    }
  }
  return files;
}

Deno.test("files go to an object storage and come back, killed at each point", async () => {
  await using server = await S3Server.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-files-" });
  try {
    const before = await filled(dataDir);
    const objectStorage = server.settings();
    const lines: string[] = [];
    const deps = { clock: systemClock, progress: (line: string) => void lines.push(line) };
    const killed = async (to: string, point: string) => {
      const source = `import { moveFiles } from "../../cloud/operations/move/move_files.ts";
        import { readS3Settings } from "../../cloud/storage/blobs/s3_settings.ts";
        import { systemClock as clock } from "../../shared/base/time/clock.ts";
        const env = ${JSON.stringify(server.env)};
        const objectStorage = readS3Settings("s3://machines/site", (name) => env[name]);
        await moveFiles(${JSON.stringify(dataDir)}, { objectStorage, to: "${to}", remove: true },
          { clock, progress: () => {} });`;
      const options = { folder: import.meta.dirname!, faultPoint: point };
      const { signal, stderr } = await runFaultChild(source, options);
      assert.equal(signal, "SIGKILL", `${point}: ${stderr}`);
    };
    for (const to of ["objects", "folder"] as const) {
      for (const point of ["copied#2", "compared#3"]) {
        await killed(to, `move.file.${point}`);
      }
      const all = before.size;
      const copied = await moveFiles(dataDir, { objectStorage, to, remove: false }, deps);
      assert.equal(copied.files, all);
      assert.ok(copied.copied < all, "some were copied before");
      assert.equal(copied.removed, 0);
      assert.deepEqual(await inFolder(dataDir), before, "they are on both sides");
      await killed(to, "move.file.removed#3");
      const rest = await moveFiles(dataDir, { objectStorage, to, remove: true }, deps);
      assert.equal(rest.removed, all - 3);
      assert.equal((await inFolder(dataDir)).size, to === "objects" ? 0 : all);
    }
    assert.deepEqual(await inFolder(dataDir), before);
    const again = { objectStorage, to: "folder", remove: false } as const;
    assert.equal((await moveFiles(dataDir, again, deps)).files, 0, "nothing is left there");
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a copy that is not as the file was is found, and nothing is removed", async () => {
  await using server = await S3Server.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-files-" });
  try {
    const before = await filled(dataDir);
    const objectStorage = server.settings();
    const deps = { clock: systemClock, progress: () => undefined };
    await moveFiles(dataDir, { objectStorage, to: "objects", remove: false }, deps);
    const [name, bytes = new Uint8Array()] = [...before].find(([, { length }]) => length === 3)!;
    const { S3Client } = await import("../../cloud/storage/blobs/s3_client.ts");
    const body = bytes.map((byte) => byte ^ 1);
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
    await new S3Client(objectStorage, systemClock).send({ method: "PUT", key: name, body, sha256 });
    await assert.rejects(
      moveFiles(dataDir, { objectStorage, to: "objects", remove: true }, deps),
      new RegExp(`The copy of ${name} is not as the file was read`),
    );
    assert.deepEqual((await inFolder(dataDir)).get(name), bytes);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a file that the storage does not remove is not counted, and goes with the next call", async () => {
  await using server = await S3Server.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-files-" });
  try {
    const before = await filled(dataDir);
    const objectStorage = server.settings();
    const lines: string[] = [];
    const deps = { clock: systemClock, progress: (line: string) => void lines.push(line) };
    await moveFiles(dataDir, { objectStorage, to: "objects", remove: true }, deps);
    await server.setFaults([{ method: "DELETE", contains: "/blobs/", times: 1, status: 500 }]);
    const back = { objectStorage, to: "folder", remove: true } as const;
    assert.equal((await moveFiles(dataDir, back, deps)).removed, before.size - 1);
    assert.match(lines.join(), /blobs\/\S* could not be removed; run this again$/);
    assert.equal((await moveFiles(dataDir, back, deps)).removed, 1);
    assert.deepEqual(await inFolder(dataDir), before);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
