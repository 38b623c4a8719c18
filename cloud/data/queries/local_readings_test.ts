import assert from "node:assert/strict";
import { join } from "node:path";
import { addonFor } from "../../../shared/base/store/connect.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { ArchiveFiles } from "../archive/archive_files.ts";
import { insertReadings } from "../ingest/reading_rows.ts";
import { copyLocal } from "./local_readings.ts";
import { EVERYTHING } from "./narrowing.ts";

const SOURCES = 3;
const READINGS = 4_000;
const SCOPE = { orgId: "org", grants: [{ resource: "organization", id: "org" }] } as const;

/** Runs a query of everything in a folder. */
const RUN = `
  import { join } from "node:path";
  import { addonFor, connect } from "../../../shared/base/store/connect.ts";
  import { ArchiveFiles } from "../archive/archive_files.ts";
  import { prepareStub, runQuery } from "./run_query.ts";
  const path = join(Deno.args[0], "cloud.db");
  const addon = addonFor(path);
  const stub = connect(":memory:", addon, false);
  prepareStub(stub);
  const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
  const places = { database: connect(path, addon, true), stub, addon, files };
  const query = { kind: "sql", text: "SELECT count(data) FROM readings" };
  const scope = JSON.parse(Deno.args[1]);
  console.log(JSON.stringify((await runQuery(places, { scope, query })).answer));`;

const LARGE = { orgId: "large", grants: [{ resource: "organization", id: "large" }] } as const;
const LARGE_BYTES = 4_000_000;

/** Readings of three sources, 24 MB, and a file that has more of the first one. */
async function withReadings(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-local-readings-" });
  try {
    const database = SqliteDatabase.open(dataDir);
    const { queries } = database;
    await queries.transaction().execute(async (transaction) => {
      for (let id = 1; id <= SOURCES; id++) {
        await transaction.insertInto("data_sources").values({
          ...{ id, org_id: "org", location_id: "l", machine_id: "m", part_id: "p" },
          ...{ machine_name: "m", part_name: "p", component_type: "sensor" },
          ...{ component_name: `climate-${id}`, method_name: "Readings" },
        }).execute();
        await transaction.insertInto("data_uploads").values({
          ...{ id, source_id: id, digest: `${id}`, org_id: "org", file_id: "f", synced_at: 1 },
          ...{ tags: "[]", parameters: "{}", min_received_us: 0, max_received_us: READINGS },
        }).execute();
        const readings = Array.from({ length: READINGS }, (_, at) => {
          // Some are of one microsecond.
          const receivedUs = at >> 1;
          const data = JSON.stringify({ readings: { text: "x".repeat(2_000) } });
          return { receivedUs, requestedUs: receivedUs, data };
        });
        await insertReadings(transaction, id, id, readings);
      }
      await transaction.insertInto("data_sources").values({
        ...{ id: SOURCES + 1, org_id: "large", location_id: "l", machine_id: "m", part_id: "p" },
        ...{ machine_name: "m", part_name: "p", component_type: "sensor" },
        ...{ component_name: "large", method_name: "Readings" },
      }).execute();
      const data = JSON.stringify("x".repeat(LARGE_BYTES));
      const large = Array.from(
        { length: 5 },
        (_, at) => ({ receivedUs: at, requestedUs: at, data }),
      );
      await insertReadings(transaction, SOURCES + 1, SOURCES + 1, large);
      await transaction.insertInto("archived_files").values({
        ...{ id: "file", org_id: "org", part_id: "p", day: 0, readings: 1, reading_bytes: 1 },
        ...{ size: 1, sha256: "", min_synced_at: 1, max_synced_at: 1 },
      }).execute();
      await transaction.insertInto("archived_sources").values({
        ...{ source_id: 1, day: 0, file_id: "file", first_row: 0, readings: 1, reading_bytes: 1 },
        ...{ min_received_us: READINGS, max_received_us: READINGS },
      }).execute();
    });
    await database.close();
    await work(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("copyLocal() copies each reading once, and no JSON that nobody looks at", () =>
  withReadings(async (dataDir) => {
    const path = join(dataDir, "cloud.db");
    const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
    const places = { addon: addonFor(path), files };
    const needs = { looks: [{ ...EVERYTHING, toUs: READINGS - 1 }], data: true, uploads: true };
    const sums = async (data: boolean) => {
      using stack = new DisposableStack();
      const copy = stack.adopt(
        await copyLocal(path, SCOPE, { ...needs, data }, places),
        (one) => void one.close(),
      );
      return copy.prepare(`SELECT count(*) AS n, sum(received_us) AS us, sum(position) AS at,
        max(length(data)) AS length FROM tabular_readings`).get();
    };
    const each = SOURCES * READINGS;
    const us = SOURCES * (READINGS / 2) * (READINGS / 2 - 1);
    const at = each * (READINGS - 1) / 2;
    assert.deepEqual(await sums(true), { n: each, us, at, length: 2_024 });
    assert.deepEqual(await sums(false), { n: each, us, at, length: 2 });

    const bounded = (rows: number, bytes: number) =>
      copyLocal(path, SCOPE, needs, places, { rows, bytes }).then((copy) => void copy.close());
    const rows = each + SOURCES; // with the uploads
    await bounded(rows, 64 * 1024 ** 2);
    await assert.rejects(bounded(rows - 1, 64 * 1024 ** 2), /more than .* readings/);
    await assert.rejects(bounded(rows, 16 * 1024 ** 2), /more than .* readings/);
    // With those of the file, which is not there.
    const all = (most: number) =>
      copyLocal(path, SCOPE, { ...needs, looks: [EVERYTHING] }, places, {
        ...{ rows: most, bytes: 64 * 1024 ** 2 },
      });
    await assert.rejects(all(rows), /more than .* readings/);
    await assert.rejects(all(rows + 1), /is not there/);
  }));

Deno.test("copyLocal() of a few long readings, more than may be copied, says so", () =>
  withReadings(async (dataDir) => {
    const path = join(dataDir, "cloud.db");
    const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
    const needs = { looks: [EVERYTHING], data: true, uploads: false };
    const bounds = { rows: 100, bytes: 12 * 1024 ** 2 };
    await assert.rejects(
      copyLocal(path, LARGE, needs, { addon: addonFor(path), files }, bounds),
      /more than .* readings/,
    );
  }));

Deno.test("copyLocal() of a few long uploads, more than may be copied, says so", () =>
  withReadings(async (dataDir) => {
    const database = SqliteDatabase.open(dataDir);
    for (let id = 11; id <= 15; id++) {
      await database.queries.insertInto("data_uploads").values({
        ...{ id, source_id: SOURCES + 1, digest: `${id}`, org_id: "large", file_id: "f" },
        ...{ synced_at: 1, tags: "[]", parameters: JSON.stringify("x".repeat(LARGE_BYTES)) },
        ...{ min_received_us: 0, max_received_us: READINGS },
      }).execute();
    }
    await database.close();
    const path = join(dataDir, "cloud.db");
    const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
    const needs = { looks: [EVERYTHING], data: false, uploads: true };
    const bounds = { rows: 100, bytes: 12 * 1024 ** 2 };
    await assert.rejects(
      copyLocal(path, LARGE, needs, { addon: addonFor(path), files }, bounds),
      /more than .* readings/,
    );
  }));

Deno.test("copyLocal() copies each of many uploads of a source once", () =>
  withReadings(async (dataDir) => {
    const database = SqliteDatabase.open(dataDir);
    const count = 1_201;
    await database.queries.transaction().execute(async (transaction) => {
      for (let id = 11; id < 11 + count; id++) {
        await transaction.insertInto("data_uploads").values({
          ...{ id, source_id: SOURCES + 1, digest: `${id}`, org_id: "large", file_id: "f" },
          ...{ synced_at: 1, tags: "[]", parameters: "{}" },
          ...{ min_received_us: 0, max_received_us: READINGS },
        }).execute();
      }
    });
    await database.close();
    const path = join(dataDir, "cloud.db");
    const files = new ArchiveFiles({ read: () => Promise.resolve(undefined) });
    const needs = { looks: [EVERYTHING], data: false, uploads: true };
    const copied = (rows: number) =>
      copyLocal(path, LARGE, needs, { addon: addonFor(path), files }, {
        ...{ rows, bytes: 64 * 1024 ** 2 },
      });
    const copy = await copied(count + 5);
    const found = copy.prepare<[], number>("SELECT count(DISTINCT id) FROM data_uploads").pluck();
    assert.equal(found.get(), count);
    copy.close();
    await assert.rejects(copied(count - 1), /more than .* readings/);
  }));

Deno.test({
  name: "a query of files where the disk is full says so, and not that it is too large",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withReadings(async (dataDir) => {
      const folder = await Deno.makeTempDir();
      await withSmallDisk(folder, 4_096, async () => {
        const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["eval", "--no-check", "--ext=ts", RUN, dataDir, JSON.stringify(SCOPE)],
          cwd: import.meta.dirname!,
          env: { SQLITE_TMPDIR: folder },
        }).output();
        const answer = new TextDecoder().decode(stdout);
        assert.match(
          answer,
          /"failed".*the disk of the data folder is full/,
          answer + new TextDecoder().decode(stderr),
        );
      });
      await Deno.remove(folder);
    }),
});
