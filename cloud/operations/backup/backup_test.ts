import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { join, relative } from "node:path";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FAULT_TRACE_VARIABLE } from "../../../shared/base/faults/fault_point.ts";
import { logMigrations } from "../../fleet/logs/log_migrations.ts";
import { SqliteLogStore } from "../../fleet/logs/sqlite_log_store.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { backUp } from "./backup.ts";
import { copyDatabase } from "./snapshot.ts";
import { restore } from "./restore.ts";

const KNOWN = { "cloud.db": cloudMigrations.length, "logs.db": logMigrations.length };
const ID = "00000000-0000-4000-8000-000000000001";

/** A data folder with an organisation, a release file and a log line. */
async function withFolders(
  work: (place: { root: string; data: string; file: string; target: string }) => Promise<void>,
) {
  const root = await Deno.makeTempDir({ prefix: "machine-backup-" });
  try {
    const data = join(root, "data");
    const { database } = await openDataFolder(data, systemRandom);
    try {
      await database.queries.insertInto("settings").values({ name: "domain", value: "d" })
        .execute();
      await addReleaseFile(data, database, ID, "the release");
    } finally {
      database.close();
    }
    const logs = SqliteLogStore.open(data, systemClock);
    await logs.append("part", [line("hello")]);
    logs.close();
    await Deno.writeTextFile(join(data, "serve.lock"), "");
    await work({ root, data, file: join(root, "b.tar"), target: join(root, "new") });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function addReleaseFile(
  data: string,
  database: Awaited<ReturnType<typeof openDataFolder>>["database"],
  id: string,
  text: string,
) {
  const blobs = await FolderBlobStore.open(join(data, "releases"));
  const { size, sha256 } = await blobs.receive(id, bytesOf(text), 1_000_000);
  const added = { added_at: 0 };
  await database.queries.insertInto("releases").values({
    ...added,
    ...{ id: "r", program: "machine-agent", version: "1.0.0", channel: "stable", notes: "" },
    ...{ withdrawn_at: null, goes_back: 0 },
  }).execute();
  await database.queries.insertInto("release_files").values({
    ...added,
    ...{ id, release_id: "r", platform: "linux/amd64", size, sha256, signature: "", key_id: "" },
    ...{ added_by_type: "api-key", added_by: "" },
  }).execute();
}

async function* bytesOf(text: string) {
  yield await Promise.resolve(new TextEncoder().encode(text));
}

function line(message: string) {
  return {
    ...{ timeNs: 1n, digest: 1, level: "info", logger: "l", message, host: "h" },
    ...{ caller: null, stack: null, fields: null },
  };
}

async function messages(data: string) {
  const logs = SqliteLogStore.open(data, systemClock);
  const { lines } = await logs.read("part", { filter: {}, limit: 10 });
  logs.close();
  return lines.map(({ message }) => message);
}

Deno.test("restore() brings back what backUp() saved, files and their rights included", () =>
  withFolders(async ({ data, file, target }) => {
    const saved = await backUp(data, file, { clock: systemClock });
    assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
    const { files } = await restore(file, target, KNOWN);
    assert.equal(files, saved.files);
    assert.deepEqual(await messages(target), ["hello"]);
    for (const name of ["cloud.key", `releases/${ID}`]) {
      assert.deepEqual(
        await Deno.readFile(join(target, name)),
        await Deno.readFile(join(data, name)),
      );
    }
    (await openDataFolder(target, systemRandom)).database.close();
    assert.equal((await Deno.stat(join(target, "cloud.key"))).mode! & 0o777, 0o600);
    const names = (await Array.fromAsync(Deno.readDir(target))).map(({ name }) => name);
    assert.ok(!names.includes("restore-unfinished") && !names.includes("backup.json"));
    const left = (await Array.fromAsync(Deno.readDir(data))).map(({ name }) => name);
    assert.ok(!left.includes(".backup"), left.join());
  }));

Deno.test("backUp() saves a cloud that a program of an older version made", () =>
  withFolders(async ({ data, file, target }) => {
    const path = join(data, "cloud.db");
    const older = connect(path, addonFor(path), false);
    older.exec("DROP TABLE archived_sources; DROP TABLE archived_files; DROP TABLE replaced_files");
    older.close();
    const saved = await backUp(data, file, { clock: systemClock });
    assert.equal((await restore(file, target, KNOWN)).files, saved.files);
  }));

Deno.test("backUp() is of one moment while others write", () =>
  withFolders(async ({ data, file, target }) => {
    using _serving = await lockForServing(data);
    const { database } = await openDataFolder(data, systemRandom);
    let stop = false;
    let written = 0;
    // Both rows or none: a torn copy would have one of them.
    const writer = (async () => {
      while (!stop) {
        await database.queries.transaction().execute(async (transaction) => {
          for (const half of ["a", "b"]) {
            await transaction.insertInto("settings")
              .values({ name: `${written}-${half}` as never, value: "x".repeat(3_000) }).execute();
          }
        });
        written++;
        await systemClock.sleep(0);
      }
    })();
    await waitFor(() => written > 50, { deadlineMs: 60_000, what: "some rows" });
    await backUp(data, file, { clock: systemClock });
    stop = true;
    await writer;
    database.close();
    await restore(file, target, KNOWN);
    const restored = (await openDataFolder(target, systemRandom)).database;
    const rows = await restored.queries.selectFrom("settings").select("name").execute();
    restored.close();
    const halves = rows.filter(({ name }) => /^\d+-[ab]$/.test(name)).length;
    assert.ok(halves >= 100 && halves % 2 === 0, String(halves));
  }));

Deno.test("restore() refuses a folder with something in it, a cut file and a changed one", () =>
  withFolders(async ({ root, data, file, target }) => {
    await backUp(data, file, { clock: systemClock });
    await assert.rejects(restore(file, data, KNOWN), /not empty .*--data.*mv /);
    const bytes = await Deno.readFile(file);
    const cut = join(root, "cut.tar");
    for (const length of [0, 100, 512, 5_000, bytes.length - 1_600]) {
      await Deno.writeFile(cut, bytes.subarray(0, length));
      await assert.rejects(restore(cut, target, KNOWN), /truncated|no backup|damaged/, `${length}`);
      await assert.rejects(openDataFolder(target, systemRandom), /restore .* was cut/);
    }
    const changed = bytes.slice();
    const at = new TextDecoder("latin1").decode(bytes).indexOf("the release");
    changed[at] = 0x58;
    await Deno.writeFile(cut, changed);
    await assert.rejects(restore(cut, target, KNOWN), /damaged: releases\/0.*another copy/);
    await restore(file, target, KNOWN);
    assert.deepEqual(await messages(target), ["hello"]);
  }));

Deno.test("restore() takes a folder as somebody writes it", () =>
  withFolders(async ({ data, file, target }) => {
    await backUp(data, file, { clock: systemClock });
    await restore(file, `${target}/`, KNOWN);
    assert.deepEqual(await messages(target), ["hello"]);
    await Deno.remove(target, { recursive: true });
    await restore(file, `./${relative(Deno.cwd(), target)}`, KNOWN);
    assert.deepEqual(await messages(target), ["hello"]);
  }));

Deno.test("restore() makes no database that was not in the backup", () =>
  withFolders(async ({ data, file, target }) => {
    await Deno.remove(join(data, "logs.db"));
    await backUp(data, file, { clock: systemClock });
    await restore(file, target, KNOWN);
    await assert.rejects(Deno.stat(join(target, "logs.db")), Deno.errors.NotFound);
  }));

Deno.test("restore() refuses a backup of a newer program", () =>
  withFolders(async ({ data, file, target }) => {
    await backUp(data, file, { clock: systemClock });
    const older = { ...KNOWN, "cloud.db": KNOWN["cloud.db"] - 1 };
    await assert.rejects(restore(file, target, older), /newer program.*with that version/);
  }));

Deno.test("backUp() says what is wrong with the folder or the file", () =>
  withFolders(async ({ root, data }) => {
    const clock = { clock: systemClock };
    await assert.rejects(backUp(root, join(root, "x"), clock), /no cloud\.db.*--data/);
    await assert.rejects(backUp(data, join(data, "x.tar"), clock), /within the data folder/);
    await assert.rejects(backUp(data, join(root, "no", "x.tar"), clock), /write the backup/);
  }));

/** Runs the work in a process that dies at its nth fault point. */
async function dying(script: string, point: string, trace?: string) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", "--ext=ts", script],
    cwd: import.meta.dirname!,
    env: {
      MACHINE_FAULT_POINT: point,
      NO_COLOR: "1",
      ...(trace === undefined ? {} : { [FAULT_TRACE_VARIABLE]: trace }),
    },
    stderr: "piped",
    stdout: "null",
  }).output();
  return { code, error: new TextDecoder().decode(stderr) };
}

Deno.test("copyDatabase() copies one moment in many steps, while others write", () =>
  withFolders(async ({ root }) => {
    const [path, copy] = [join(root, "large.db"), join(root, "copy.db")];
    const db = connect(path, addonFor(path), false);
    db.pragma("journal_mode = WAL");
    db.exec("CREATE TABLE t (n INTEGER PRIMARY KEY, bytes BLOB)");
    const insert = db.prepare("INSERT INTO t (bytes) VALUES (randomblob(4000))");
    db.transaction(() => {
      for (let n = 0; n < 3_000; n++) insert.run();
    })();
    let isOver = false;
    let written = 0;
    const write = () => {
      // A copy that started again with each write would have the last one.
      if (isOver || written === 3_000) return;
      insert.run();
      written++;
      setImmediate(write);
    };
    const copying = copyDatabase(path, copy).finally(() => isOver = true);
    setImmediate(write);
    await copying;
    db.close();
    const copied = connect(copy, addonFor(copy), true);
    const { rows } = copied.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM t").get()!;
    const verdict = copied.pragma("integrity_check", { simple: true });
    copied.close();
    assert.ok(rows < 3_000 + written, `${rows} rows, ${written} written meanwhile`);
    assert.equal(verdict, "ok");
  }));

Deno.test("what a killed backup left next to its file is removed by the next one, to another file", () =>
  withFolders(async ({ root, data, file }) => {
    const backup = new URL("backup.ts", import.meta.url).href;
    const { code } = await dying(
      `
      const { backUp } = await import(${JSON.stringify(backup)});
      const { systemClock } = await import(${
        JSON.stringify(new URL("../../../shared/base/time/clock.ts", import.meta.url).href)
      });
      await backUp(${JSON.stringify(data)}, ${JSON.stringify(file)}, { clock: systemClock });`,
      "backup.archive.entry",
    );
    assert.notEqual(code, 0);
    const names = async () => (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    assert.ok((await names()).includes(".b.tar.unfinished"));
    const rows = join(root, ".b.tar.unfinished.rows");
    await Deno.mkdir(rows); // as it is with PostgreSQL
    await Deno.writeTextFile(join(rows, "cloud.db"), "half");
    await backUp(data, join(root, "c.tar"), { clock: systemClock });
    assert.deepEqual((await names()).sort(), ["c.tar", "data"]);
  }));

Deno.test("a backup that is killed leaves no file, and a restore that is killed nothing to use", () =>
  withFolders(async ({ root, data, file, target }) => {
    const first = new URL(".", import.meta.url).href;
    const run = (work: string) => `
      const { backUp } = await import(${JSON.stringify(`${first}backup.ts`)});
      const { restore } = await import(${JSON.stringify(`${first}restore.ts`)});
      const { systemClock } = await import("${first}../../../shared/base/time/clock.ts");
      await ${work};`;
    const saving = run(
      `backUp(${JSON.stringify(data)}, ${JSON.stringify(file)}, { clock: systemClock })`,
    );
    const restoring = run(
      `restore(${JSON.stringify(file)}, ${JSON.stringify(target)}, ${JSON.stringify(KNOWN)})`,
    );
    for (
      const point of [
        "backup.snapshot.taken",
        "backup.archive.entry",
        "backup.archive.before-rename",
      ]
    ) {
      assert.notEqual((await dying(saving, point)).code, 0, point);
      await assert.rejects(Deno.stat(file), Deno.errors.NotFound, point);
    }
    await dying(saving, "backup.archive.after-rename");
    assert.notEqual((await Deno.stat(file)).size, 0);
    await backUp(data, file, { clock: systemClock });
    assert.notEqual((await dying(restoring, "files.write.before-rename")).code, 0);
    const [mark = ""] = (await Array.fromAsync(Deno.readDir(target))).map(({ name }) => name)
      .filter((name) => name !== "serve.lock");
    assert.match(mark, /^\.restore-unfinished\./);
    const trace = join(root, "trace");
    for (
      const point of ["restore.marked", "restore.entry", "restore.entry#2", "restore.unpacked"]
    ) {
      const { code, error } = await dying(restoring, point, trace);
      assert.notEqual(code, 0, `${point} ${error}`);
      await assert.rejects(openDataFolder(target, systemRandom), /restore .* was cut/, point);
      await assert.rejects(lockForServing(target), /restore .* was cut/, point);
    }
    assert.match(await Deno.readTextFile(trace), /restore\.unpacked/);
    await dying(restoring, "restore.done");
    (await openDataFolder(target, systemRandom)).database.close();
    assert.deepEqual(await messages(target), ["hello"]);
    const left = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name).sort();
    assert.deepEqual(left, ["b.tar", "data", "new", "trace"]);
  }));
