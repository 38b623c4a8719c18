import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../faults/fault_child_testing.ts";
import { copySqlite, moveSqlite, restoreSqlite, schemaOf } from "./copy.ts";
import { closeSqlite, type Database, openSqlite, StoreError } from "./sqlite.ts";

const here = import.meta.dirname ?? ".";
const migrations = [{ version: 1, name: "notes", up: "CREATE TABLE notes (text TEXT)" }];
const newer = [...migrations, { version: 2, name: "more", up: "CREATE TABLE more (text TEXT)" }];

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "copy-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const open = (path: string, known = migrations): Database =>
  openSqlite(path, { name: "test", migrations: known, synchronous: "FULL" });
const write = (db: Database, text: string) => db.prepare("INSERT INTO notes VALUES (?)").run(text);
const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

function notes(path: string, known = migrations): string[] {
  const db = open(path, known);
  try {
    return db.prepare<[], string>("SELECT text FROM notes").pluck().all();
  } finally {
    closeSqlite(db);
  }
}

/** As a newer program that is killed: its last rows are in the WAL alone. */
async function bringOnAndDie(path: string): Promise<void> {
  const source = `
    import { openSqlite } from "./sqlite.ts";
    const migrations = ${JSON.stringify(newer)};
    const db = openSqlite(Deno.args[0], { name: "test", migrations, synchronous: "FULL" });
    db.prepare("INSERT INTO notes VALUES ('after')").run();
    Deno.kill(Deno.pid, "SIGKILL");`;
  await runFaultChild(source, { folder: here, args: [path] });
  ok(Deno.statSync(`${path}-wal`).size > 0);
}

Deno.test("copySqlite() copies what is committed while the database is in use", () =>
  withFolder(async (folder) => {
    const [path, copy] = [join(folder, "a.db"), join(folder, "a.db.copy")];
    equal(await copySqlite(path, copy), false, "there is none");
    const db = open(path);
    write(db, "only in the WAL");
    equal(await copySqlite(path, copy), true);
    write(db, "later");
    closeSqlite(db);
    deepEqual(notes(copy), ["only in the WAL"]);
    if (Deno.build.os !== "windows") equal(Deno.statSync(copy).mode! & 0o777, 0o600);
    await copySqlite(path, copy);
    deepEqual(notes(copy), ["only in the WAL", "later"], "a copy is replaced");
    deepEqual(names(folder), ["a.db", "a.db.copy"]);
  }));

Deno.test("copySqlite() leaves the copy from before when the database is damaged", () =>
  withFolder(async (folder) => {
    const [path, copy] = [join(folder, "a.db"), join(folder, "a.db.copy")];
    const db = open(path);
    write(db, "good");
    closeSqlite(db);
    await copySqlite(path, copy);
    await Deno.writeTextFile(path, "no database ".repeat(1_000));
    await rejects(copySqlite(path, copy), StoreError);
    deepEqual(notes(copy), ["good"]);
    deepEqual(names(folder), ["a.db", "a.db.copy"]);
  }));

Deno.test("restoreSqlite() takes nothing of the replaced database over, and keeps it aside", () =>
  withFolder(async (folder) => {
    const [path, copy] = [join(folder, "a.db"), join(folder, "a.db.copy")];
    const before = open(path);
    write(before, "before");
    closeSqlite(before);
    await copySqlite(path, copy);
    await bringOnAndDie(path);
    await restoreSqlite(copy, path, `${path}.aside`);
    deepEqual(notes(path), ["before"]);
    equal(schemaOf(path), 1);
    deepEqual(notes(`${path}.aside`, newer), ["before", "after"]);
    deepEqual(names(folder), ["a.db", "a.db.aside"]);
  }));

Deno.test("restoreSqlite() replaces a damaged database, its WAL included", () =>
  withFolder(async (folder) => {
    const [path, copy] = [join(folder, "a.db"), join(folder, "a.db.copy")];
    const db = open(path);
    write(db, "good");
    closeSqlite(db);
    await copySqlite(path, copy);
    // The WAL is as it should be, and would be played into any file of this name.
    await bringOnAndDie(path);
    await Deno.writeTextFile(path, "x".repeat(10_000));
    await restoreSqlite(copy, path, `${path}.aside`);
    deepEqual(notes(path), ["good"]);
    equal(schemaOf(path), 1);
  }));

for (const point of ["before-rename", "after-rename"]) {
  Deno.test(`restoreSqlite() leaves one of the two when killed at store.restore.${point}`, () =>
    withFolder(async (folder) => {
      const [path, copy] = [join(folder, "a.db"), join(folder, "a.db.copy")];
      const db = open(path);
      write(db, "before");
      closeSqlite(db);
      await copySqlite(path, copy);
      const later = open(path, newer);
      write(later, "after");
      closeSqlite(later);
      const source = `
        import { restoreSqlite } from "./copy.ts";
        await restoreSqlite(Deno.args[0], Deno.args[1], Deno.args[1] + ".aside");`;
      const faultPoint = `store.restore.${point}`;
      const { signal } = await runFaultChild(source, {
        folder: here,
        faultPoint,
        args: [copy, path],
      });
      equal(signal, "SIGKILL");
      const isDone = point === "after-rename";
      deepEqual(notes(path, newer), isDone ? ["before"] : ["before", "after"]);
      if (!isDone) await restoreSqlite(copy, path, `${path}.aside`);
      deepEqual(notes(path, newer), ["before"]);
    }));
}

Deno.test("schemaOf() is the newest migration, 0 for none, and an error for what is damaged", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.db");
    closeSqlite(open(path, newer));
    equal(schemaOf(path), 2);
    const empty = join(folder, "empty.db");
    await Deno.writeFile(empty, new Uint8Array());
    equal(schemaOf(empty), 0);
    await Deno.writeTextFile(path, "no database ".repeat(1_000));
    throws(() => schemaOf(path), StoreError);
  }));

Deno.test("moveSqlite() takes along what lies beside, over what is there", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.db");
    const aside = `${path}.damaged`;
    await Deno.writeTextFile(path, "one");
    await Deno.writeTextFile(`${path}-wal`, "two");
    await Deno.writeTextFile(aside, "old");
    await Deno.writeTextFile(`${aside}-shm`, "old");
    await moveSqlite(path, aside);
    deepEqual(names(folder), ["a.db.damaged", "a.db.damaged-wal"]);
    equal(await Deno.readTextFile(aside), "one");
  }));
