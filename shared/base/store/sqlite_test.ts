import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { join } from "node:path";
// @ts-types="@types/better-sqlite3"
import BetterSqlite3 from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { runFaultChild } from "../faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../../test_tools/small_disk.ts";
import {
  closeSqlite,
  type Migration,
  openSqlite,
  StoreError,
  type StoreErrorCode,
} from "./sqlite.ts";

const here = import.meta.dirname ?? ".";
const isWindows = Deno.build.os === "windows";

const one: Migration = { version: 1, name: "notes", up: "CREATE TABLE notes (text TEXT) STRICT" };
const two: Migration = {
  version: 2,
  name: "first note",
  up: (db) => void db.prepare("INSERT INTO notes VALUES (?)").run("hello"),
};
const options = { name: "test", migrations: [one, two], synchronous: "FULL" } as const;

async function withFile(test: (path: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "sqlite-" });
  try {
    await test(join(folder, "test.db"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function create(path: string, migrations: readonly Migration[] = options.migrations): void {
  closeSqlite(openSqlite(path, { ...options, migrations }));
}

/** Expects the refusal, one clear line, and the very same bytes afterwards. */
function refuses(path: string, code: StoreErrorCode, message: RegExp, migrations = [one, two]) {
  const before = Deno.readFileSync(path);
  throws(() => openSqlite(path, { ...options, migrations }), (error) => {
    ok(error instanceof StoreError, String(error));
    equal(error.code, code, error.message);
    match(error.message, message);
    ok(error.message.startsWith(`The test database ${path} `), error.message);
    equal(error.message.includes("\n"), false);
    return true;
  });
  deepEqual(Deno.readFileSync(path), before);
}

Deno.test("openSqlite() creates a private file with WAL, foreign keys and all migrations", () =>
  withFile((path) => {
    const db = openSqlite(path, options);
    equal(db.pragma("journal_mode", { simple: true }), "wal");
    equal(db.pragma("foreign_keys", { simple: true }), 1);
    equal(db.pragma("synchronous", { simple: true }), 2);
    equal(db.pragma("busy_timeout", { simple: true }), 5_000);
    deepEqual(db.prepare("SELECT version, name FROM schema_migrations").all(), [
      { version: 1, name: "notes" },
      { version: 2, name: "first note" },
    ]);
    if (!isWindows) {
      for (const file of [path, `${path}-wal`, `${path}-shm`]) {
        equal(Deno.statSync(file).mode! & 0o777, 0o600, file);
      }
    }
    closeSqlite(db);
    deepEqual([...Deno.readDirSync(join(path, ".."))].map(({ name }) => name), ["test.db"]);
  }));

Deno.test("openSqlite() applies only what is missing when the file is older", () =>
  withFile((path) => {
    create(path, [one]);
    create(path);
    create(path);
    const db = openSqlite(path, options);
    deepEqual(db.prepare("SELECT text FROM notes").pluck().all(), ["hello"]);
    db.close();
  }));

Deno.test("openSqlite() serves two processes' first start at once", () =>
  withFile(async (path) => {
    const source = `
      import { openSqlite } from "./sqlite.ts";
      const migrations = Array.from({ length: 20 }, (_, index) => ({
        version: index + 1, name: "m" + index, up: "CREATE TABLE t" + index + " (a)",
      }));
      openSqlite(Deno.args[0], { name: "test", migrations, synchronous: "NORMAL" }).close();`;
    const children = await Promise.all(
      [1, 2, 3].map(() => runFaultChild(source, { folder: here, args: [path] })),
    );
    for (const { code, stderr } of children) equal(code, 0, stderr);
  }));

Deno.test("openSqlite() refuses a newer schema and leaves the file as it is", () =>
  withFile((path) => {
    create(path);
    refuses(path, "newer-schema", /has schema 2, this program knows schemas up to 1\. Run/, [one]);
  }));

Deno.test("openSqlite() sees a newer schema that only the WAL holds when the writer was killed", () =>
  withFile(async (path) => {
    create(path, [one]);
    const source = `
      import { openSqlite } from "./sqlite.ts";
      const migrations = [{ version: 1, name: "notes", up: "" }, { version: 2, name: "b", up: "" }];
      openSqlite(Deno.args[0], { name: "test", migrations, synchronous: "NORMAL" });
      Deno.kill(Deno.pid, "SIGKILL");`;
    const { stderr } = await runFaultChild(source, { folder: here, args: [path] });
    ok(Deno.statSync(`${path}-wal`).size > 0, stderr);
    refuses(path, "newer-schema", /has schema 2/, [one]);
  }));

Deno.test("openSqlite() refuses a changed history of migrations", () =>
  withFile((path) => {
    create(path);
    const renamed = [{ ...one, name: "renamed" }, two];
    refuses(path, "changed-migration", /migration 1 is "notes", expected 1 "renamed"/, renamed);
  }));

Deno.test("openSqlite() refuses gaps in the numbers at once", () =>
  withFile((path) => {
    const migrations = [one, { ...two, version: 3 }];
    throws(() => openSqlite(path, { ...options, migrations }), /must be numbered 1, 2, 3/);
  }));

Deno.test("openSqlite() refuses another program's database", () =>
  withFile((path) => {
    const db = new BetterSqlite3(path);
    db.exec("CREATE TABLE theirs (a)");
    db.close();
    refuses(path, "foreign-database", /belongs to another program/);
  }));

Deno.test("openSqlite() refuses a file that is no database", () =>
  withFile((path) => {
    for (const content of ["x", "hello ".repeat(10_000)]) {
      Deno.writeTextFileSync(path, content);
      refuses(path, "not-a-database", /is not a SQLite database\. Check the path/);
    }
  }));

for (
  const [what, damage] of [
    ["garbage in the middle", (bytes: Uint8Array) => bytes.fill(0xa5, 40_960, 57_344)],
    ["the end cut off", (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 9_000)],
    ["only the header left", (bytes: Uint8Array) => bytes.subarray(0, 60)],
  ] as const
) {
  Deno.test(`openSqlite() refuses a damaged file and leaves it as it is: ${what}`, () =>
    withFile((path) => {
      const db = openSqlite(path, options);
      const insert = db.prepare("INSERT INTO notes VALUES (?)");
      db.transaction(() => {
        for (let row = 0; row < 1_000; row++) insert.run(`row ${row} `.repeat(10));
      })();
      closeSqlite(db);
      Deno.writeFileSync(path, damage(Deno.readFileSync(path)));
      const before = Deno.readFileSync(path);
      throws(() => openSqlite(path, options), (error) => {
        ok(error instanceof StoreError, String(error));
        ok(["corrupt", "not-a-database"].includes(error.code), error.message);
        match(error.message, /Restore it from a backup|move the file away/);
        return true;
      });
      deepEqual(Deno.readFileSync(path), before);
    }));
}

Deno.test("openSqlite() goes on when a start was killed before anything was written", () =>
  withFile((path) => {
    Deno.writeFileSync(path, new Uint8Array());
    create(path);
  }));

Deno.test("openSqlite() says that the folder is missing", () =>
  withFile((path) => {
    throws(
      () => openSqlite(join(path, "no", "test.db"), options),
      (error) => error instanceof StoreError && /folder|exist/.test(error.message),
    );
  }));

Deno.test("openSqlite() takes back a migration that fails and keeps those before it", () =>
  withFile((path) => {
    const failing = {
      ...two,
      up: "INSERT INTO notes VALUES ('half'); INSERT INTO nowhere VALUES (1)",
    };
    throws(() => openSqlite(path, { ...options, migrations: [one, failing] }), StoreError);
    const db = openSqlite(path, { ...options, migrations: [one] });
    deepEqual(db.prepare("SELECT * FROM notes").all(), []);
    db.close();
  }));

Deno.test("openSqlite() refuses a migration that leaves broken foreign keys", () =>
  withFile((path) => {
    const up = `CREATE TABLE a (id INTEGER PRIMARY KEY);
      CREATE TABLE b (a INTEGER REFERENCES a (id)); INSERT INTO b VALUES (7)`;
    throws(
      () => openSqlite(path, { ...options, migrations: [{ ...one, up }] }),
      /leaves broken foreign keys/,
    );
  }));

const openAll = `
  import { openSqlite } from "./sqlite.ts";
  const migrations = ["a", "b", "c"].map((name, index) => ({
    version: index + 1, name, up: "CREATE TABLE " + name + " (x); INSERT INTO " + name + " VALUES (1)",
  }));
  const db = openSqlite(Deno.args[0], { name: "test", migrations, synchronous: "FULL" });
  console.log(db.prepare("SELECT count(*) FROM a, b, c").pluck().get());`;

for (const point of ["before-commit#1", "before-commit#2", "between#1", "between#2"]) {
  Deno.test(`openSqlite() goes on with the migrations when killed at store.migration.${point}`, () =>
    withFile(async (path) => {
      const faultPoint = `store.migration.${point}`;
      const killed = await runFaultChild(openAll, { folder: here, args: [path], faultPoint });
      equal(killed.signal, "SIGKILL", killed.stderr);
      const next = await runFaultChild(openAll, { folder: here, args: [path] });
      equal(next.stdout, "1\n", next.stderr);
    }));
}

Deno.test("openSqlite() finds every committed row when the writer was killed in its loop", () =>
  withFile(async (path) => {
    create(path, [one]);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        "--ext=ts",
        `import { openSqlite } from "./sqlite.ts";
         const migrations = [{ version: 1, name: "notes", up: "" }];
         const db = openSqlite(Deno.args[0], { name: "test", migrations, synchronous: "FULL" });
         const insert = db.prepare("INSERT INTO notes VALUES (?)");
         const encoder = new TextEncoder();
         for (let row = 0;; row++) {
           insert.run(String(row));
           Deno.stdout.writeSync(encoder.encode(row + "\\n"));
         }`,
        path,
      ],
      cwd: here,
      stdout: "piped",
    }).spawn();
    let told = "";
    let killed = false;
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      told += text;
      if (killed || told.length <= 2_000) continue;
      killed = true;
      child.kill("SIGKILL");
    }
    await child.status;
    const lastTold = Number(told.slice(0, told.lastIndexOf("\n")).split("\n").at(-1));
    const db = openSqlite(path, { ...options, migrations: [one] });
    const rows = db.prepare("SELECT text FROM notes ORDER BY rowid").pluck().all();
    db.close();
    ok(lastTold > 100);
    ok(rows.length > lastTold, `${rows.length} rows, row ${lastTold} was told`);
    deepEqual(rows, Array.from(rows, (_, index) => String(index)));
  }));

Deno.test("openSqlite() gives a handle that Kysely takes as it is", () =>
  withFile(async (path) => {
    const database = openSqlite(path, options);
    const db = new Kysely<{ notes: { text: string } }>({
      dialect: new SqliteDialect({ database }),
    });
    deepEqual(await db.selectFrom("notes").selectAll().execute(), [{ text: "hello" }]);
    await db.destroy();
    equal(database.open, false);
  }));

Deno.test({
  name: "openSqlite() says what to do when the disk is full or read-only",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFile((path) =>
      withSmallDisk(join(path, ".."), 200, async ({ remountReadOnly }) => {
        create(path, [one]);
        const up = "INSERT INTO notes VALUES (zeroblob(1000000) || '')";
        throws(
          () => openSqlite(path, { ...options, migrations: [one, { ...two, up }] }),
          (error) => error instanceof StoreError && error.code === "disk-full",
        );
        create(path, [one]);
        await remountReadOnly();
        throws(
          () => openSqlite(path, options),
          (error) => error instanceof StoreError && error.code === "read-only",
        );
      })
    ),
});

Deno.test("a table that was small at the last start is searched by its index", () =>
  withFile((path) => {
    const up = "CREATE TABLE a (id TEXT PRIMARY KEY, n INTEGER); " +
      "CREATE TABLE b (a_id TEXT, n INTEGER, UNIQUE (a_id, n))";
    const migrations = [{ version: 1, name: "tables", up }];
    const query = "EXPLAIN QUERY PLAN SELECT b.n FROM a JOIN b ON b.a_id = a.id AND b.n = a.n " +
      "WHERE a.id IN ('x', 'y')";
    const plan = (db: ReturnType<typeof openSqlite>) =>
      db.prepare(query).all().map((row) => String((row as { detail: string }).detail)).join("; ");
    const first = openSqlite(path, { ...options, migrations });
    first.exec("INSERT INTO a VALUES ('x', 1); INSERT INTO b VALUES ('x', 1)");
    plan(first);
    closeSqlite(first);
    const second = openSqlite(path, { ...options, migrations });
    const afterClose = plan(second);
    second.exec("ANALYZE");
    const misled = plan(second);
    second.close();
    const third = openSqlite(path, { ...options, migrations });
    const afterOlderRelease = plan(third);
    third.close();

    equal(afterClose.includes("SCAN"), false, afterClose);
    ok(misled.includes("SCAN"), misled);
    equal(afterOlderRelease.includes("SCAN"), false, afterOlderRelease);
  }));
