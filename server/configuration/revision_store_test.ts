import assert from "node:assert/strict";
import { emptyMachineConfig } from "../../shared/config/machine_config.ts";
import { openSqlite } from "../../shared/store/sqlite.ts";
import { KeyStore } from "../access/key_store.ts";
import { serverMigrations } from "../state/schema.ts";
import { RevisionStore } from "./revision_store.ts";

const open = () =>
  openSqlite(":memory:", { name: "server", migrations: serverMigrations, synchronous: "FULL" });
const config = (revision: string) => ({ ...emptyMachineConfig(), revision });
const at = new Date("2026-01-02T03:04:05Z");

Deno.test("RevisionStore keeps the last 20 revisions of each part, newest first", () => {
  const db = open();
  const store = new RevisionStore(db, "p1");
  const other = new RevisionStore(db, "p2");
  other.add(config("other"), at);
  assert.equal(store.newest(), undefined);
  for (let n = 1; n <= 25; n++) store.add(config(`r${n}`), at);
  assert.equal(store.history().length, 20);
  assert.equal(store.newest()?.revision, "r25");
  assert.deepEqual(store.newest()?.config, config("r25"));
  assert.deepEqual(store.newest()?.appliedAt, at);
  assert.equal(store.history().at(-1)?.revision, "r6");
  assert.equal(other.history().length, 1);
  db.close();
});

Deno.test("RevisionStore.add() keeps one row when the same configuration comes again", () => {
  const db = open();
  const store = new RevisionStore(db, "p1");
  store.add(config("r1"), at);
  store.add(config("r1"), at);
  assert.equal(store.history().length, 1);
  db.close();
});

Deno.test("KeyStore gives back the last list of its own part", () => {
  const db = open();
  const store = new KeyStore(db, "p1");
  assert.deepEqual(store.load(), new Map());
  store.replace(new Map([["a", "h1"], ["b", "h2"]]));
  store.replace(new Map([["b", "h3"]]));
  assert.deepEqual(store.load(), new Map([["b", "h3"]]));
  assert.deepEqual(new KeyStore(db, "p2").load(), new Map());
  db.close();
});
