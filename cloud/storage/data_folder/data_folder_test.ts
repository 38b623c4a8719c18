import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { openSqlite, StoreError } from "../../../shared/base/store/sqlite.ts";
import { toCallFailure } from "../database/call_failures.ts";
import { cloudMigrations } from "../database/migrations.ts";
import { KeyFileError, loadOrCreateKeys } from "../keys/key_file.ts";
import { systemRandom } from "../keys/random.ts";
import { makeDataFolder, NoDataFolderError, openDataFolder } from "./data_folder.ts";
import { lockFolder } from "./serve_lock.ts";

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-data-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "lockFolder() can take what was given back while other threads start programs",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async (folder) => {
      const starting = 'for (;;) await new Deno.Command("/bin/true").output();';
      const thread = new Worker(`data:text/javascript,${encodeURIComponent(starting)}`, {
        type: "module",
      });
      try {
        for (let time = 0; time < 500; time++) {
          using _lock = await lockFolder(folder, "serve.lock", "in use");
        }
      } finally {
        thread.terminate();
      }
    }),
});

Deno.test("loadOrCreateKeys() makes one key however many ask at once", () =>
  inFolder(async (folder) => {
    const all = await Promise.all(
      [1, 2, 3, 4, 5].map(() => loadOrCreateKeys(folder, systemRandom)),
    );
    const prints = new Set(all.map(({ secrets }) => secrets.fingerprint()));
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.equal(prints.size, 1);
    assert.deepEqual(names, ["cloud.key"]);
  }));

Deno.test("openDataFolder() refuses a key that is damaged or of another database", () =>
  inFolder(async (folder) => {
    (await openDataFolder(folder, systemRandom)).database.close();
    const key = join(folder, "cloud.key");
    const right = await Deno.readTextFile(key);
    for (
      const text of [
        "",
        "{",
        "null",
        "{}",
        right.replace(/"master_secret": "..../, '"master_secret": "'),
      ]
    ) {
      await Deno.writeTextFile(key, text);
      await assert.rejects(openDataFolder(folder, systemRandom), KeyFileError, text);
    }
    await Deno.remove(key);
    await assert.rejects(openDataFolder(folder, systemRandom), /do not belong together/);
    await Deno.writeTextFile(key, right);
    (await openDataFolder(folder, systemRandom)).database.close();
  }));

Deno.test("openDataFolder() leaves a newer database as it is", () =>
  inFolder(async (folder) => {
    const path = join(folder, "cloud.db");
    const newer = {
      version: cloudMigrations.length + 1,
      name: "from the future",
      up: "CREATE TABLE future (x)",
    };
    openSqlite(path, {
      name: "cloud",
      synchronous: "FULL",
      migrations: [...cloudMigrations, newer],
    }).close();
    const before = await Deno.readFile(path);
    await assert.rejects(
      openDataFolder(folder, systemRandom),
      (error) => error instanceof StoreError && error.code === "newer-schema",
    );
    assert.deepEqual(await Deno.readFile(path), before);
  }));

Deno.test("toCallFailure() tells callers that the disk is full", () => {
  const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  const failure = toCallFailure(full);
  assert.ok(failure instanceof ConnectError);
  assert.equal(failure.code, Code.ResourceExhausted);
  assert.match(failure.rawMessage, /disk is full; nothing was saved/);
  const other = new Error("x");
  assert.equal(toCallFailure(other), other);
});

Deno.test("openDataFolder() takes no folder of something else for its own", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(join(folder, "training"));
    for (const open of [() => makeDataFolder(folder), () => openDataFolder(folder, systemRandom)]) {
      await assert.rejects(open, (error) => {
        assert.ok(error instanceof NoDataFolderError);
        assert.match(error.message, /a folder training, .* name a new or empty folder with --data/);
        return true;
      });
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["training"]);
    await Deno.rename(join(folder, "training"), join(folder, "lost+found"));
    (await openDataFolder(folder, systemRandom)).database.close();
    await Deno.mkdir(join(folder, "training"));
    (await openDataFolder(folder, systemRandom)).database.close();
  }));
