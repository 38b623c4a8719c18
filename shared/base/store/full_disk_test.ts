import assert from "node:assert/strict";
import { join } from "node:path";
import { noSmallDisks, withSmallDisk } from "../../test_tools/small_disk.ts";
import { openAlsoWhenFull } from "./full_disk.ts";
import { closeSqlite, openSqlite, StoreError } from "./sqlite.ts";

const options = {
  name: "test",
  migrations: [{ version: 1, name: "notes", up: "CREATE TABLE notes (text TEXT) STRICT" }],
  synchronous: "FULL",
} as const;

/** Takes the last byte. */
function fill(path: string): void {
  using file = Deno.openSync(path, { create: true, append: true });
  for (let size = 64 * 1024; size > 0;) {
    try {
      file.writeSync(new Uint8Array(size));
    } catch {
      size = Math.floor(size / 2);
    }
  }
}

Deno.test({
  name: "openAlsoWhenFull() reads what is there on a full disk, and writes when there is room",
  ignore: noSmallDisks(import.meta.url),
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "full-" });
    try {
      await withSmallDisk(folder, 300, () => {
        const path = join(folder, "test.db");
        const told: StoreError[] = [];
        const open = () => openAlsoWhenFull(path, options, (error) => told.push(error));
        const before = open();
        before.exec("INSERT INTO notes VALUES ('before')");
        closeSqlite(before);
        assert.deepEqual(told, []);

        fill(join(folder, "ballast"));
        assert.throws(() => openSqlite(path, options), StoreError);
        const full = open();
        assert.equal(told.length, 1);
        const texts = () => full.prepare("SELECT text FROM notes").pluck().all();
        assert.deepEqual(texts(), ["before"]);
        assert.throws(() => full.exec("INSERT INTO notes VALUES ('no room')"));
        Deno.removeSync(join(folder, "ballast"));
        full.exec("INSERT INTO notes VALUES ('after')");
        assert.deepEqual(texts(), ["before", "after"]);
        closeSqlite(full);
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("openAlsoWhenFull() leaves other problems to its caller", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "no database ".repeat(100));
    assert.throws(
      () => openAlsoWhenFull(path, options, () => assert.fail("it is not full")),
      (error) => error instanceof StoreError && error.code === "not-a-database",
    );
  } finally {
    await Deno.remove(path);
  }
});
