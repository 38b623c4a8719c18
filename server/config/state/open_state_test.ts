import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { closeSqlite, StoreError } from "../../../shared/base/store/sqlite.ts";
import { openServerState } from "./open_state.ts";

async function inHome(run: (home: string, path: string) => Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "server-state-" });
  try {
    await run(home, join(home, "server.db"));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

Deno.test("openServerState() makes the folder and keeps what is in it", () =>
  inHome(async (home) => {
    const log = memoryLogger();
    const inner = join(home, "new");
    const first = await openServerState(inner, log);
    first.exec("CREATE TABLE kept (n INTEGER)");
    closeSqlite(first);
    const second = await openServerState(inner, log);
    second.exec("INSERT INTO kept VALUES (1)");
    closeSqlite(second);
    assert.deepEqual(log.messages(), []);
  }));

Deno.test("openServerState() puts a damaged database aside and begins anew", () =>
  inHome(async (home, path) => {
    const log = memoryLogger();
    const first = await openServerState(home, log);
    first.exec("CREATE TABLE filler AS SELECT randomblob(200000) AS bytes");
    closeSqlite(first);
    const bytes = await Deno.readFile(path);
    bytes.fill(0xff, 4096, bytes.length - 4096);
    await Deno.writeFile(path, bytes);

    const second = await openServerState(home, log);
    assert.equal(second.pragma("quick_check", { simple: true }), "ok");
    closeSqlite(second);
    assert.deepEqual(await Deno.readFile(`${path}.damaged`), bytes);
    assert.deepEqual(log.messages(), [
      "the server's state is damaged and was moved aside; it starts empty",
    ]);
  }));

Deno.test("openServerState() puts what is no database aside, once more where one lies already", () =>
  inHome(async (home, path) => {
    for (const text of ["no database at all\n".repeat(500), "nor is this one\n".repeat(500)]) {
      await Deno.writeTextFile(path, text);
      closeSqlite(await openServerState(home, memoryLogger()));
      assert.equal(await Deno.readTextFile(`${path}.damaged`), text);
    }
  }));

Deno.test("openServerState() leaves the state of a newer version as it is", () =>
  inHome(async (home) => {
    const db = await openServerState(home, memoryLogger());
    db.exec(
      "UPDATE schema_migrations SET version = version + 1000 WHERE version = " +
        "(SELECT max(version) FROM schema_migrations)",
    );
    closeSqlite(db);
    await assert.rejects(
      openServerState(home, memoryLogger()),
      (error) => error instanceof StoreError && error.code === "newer-schema",
    );
  }));
