import assert from "node:assert/strict";
import { emptyMachineConfig } from "../../../shared/config/machine_config.ts";
import { openSqlite } from "../../../shared/base/store/sqlite.ts";
import { type CloudAccess, NO_CLOUD_ACCESS } from "../../serving/access/cloud_access.ts";
import { KeyStore } from "../../serving/access/key_store.ts";
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

Deno.test("KeyStore gives back what it kept last of its own part", () => {
  const db = open();
  const store = new KeyStore(db, "p1");
  assert.deepEqual(store.load(), NO_CLOUD_ACCESS);
  const key = { hash: "h1", role: "owner" } as const;
  store.replace({ ...NO_CLOUD_ACCESS, keys: new Map([["a", key], ["b", key]]) });
  const last: CloudAccess = {
    keys: new Map([["b", { hash: "h3", role: "operator" }]]),
    partSecrets: ["s2", "s1"],
    locationSecrets: ["s3"],
  };
  store.replace(last);
  assert.deepEqual(store.load(), last);
  assert.deepEqual(new KeyStore(db, "p2").load(), NO_CLOUD_ACCESS);
  db.close();
});
