import assert from "node:assert/strict";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, uploadImage, uploadTemperatures } from "../../data/ingest/data_testing.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { runCloudCommand } from "./commands_testing.ts";

/** A folder with images: two tagged `red`, one `blue`. */
async function images() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const ids: string[] = [];
  for (const [at, tag] of ["red", "red", "blue"].entries()) {
    const bytes = new Uint8Array(at + 1);
    ids.push(await uploadImage(sync, made.part_id, NOON + at * 1_000, bytes, { tags: [tag] }));
  }
  const run = (...argv: string[]) => runCloudCommand([...argv, "--data", cloud.dataDir]);
  return { cloud, made, sync, ids, run, [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose]() };
}

Deno.test("data files lists what fits, newest first", async () => {
  await using rig = await images();
  const { run, ids } = rig;
  assert.deepEqual((await run("data", "files", "--quiet")).trim().split("\n"), ids.toReversed());
  assert.equal(
    (await run("data", "files", "--quiet", "--tag", "red", "--from", "2026-01-02T12:00:01Z"))
      .trim(),
    ids[1],
  );
  assert.equal((await run("data", "files", "--quiet", "--limit", "1")).trim(), ids[2]);
  assert.match(
    await run("data", "files", "--machine", "demo", "--resource", "eye"),
    /^ID +MACHINE +RESOURCE +CAPTURED +SIZE +TYPE +TAGS\n.* demo +eye +2026-01-02T12:00:02 /,
  );
  assert.equal(await run("data", "files", "--resource", "ear"), "no files fit\n");
  const [line = ""] = (await run("data", "files", "--json", "--id", ids[2] ?? "")).split("\n");
  assert.deepEqual(JSON.parse(line).tags, ["blue"]);
});

Deno.test("data download writes what fits, once", async () => {
  await using rig = await images();
  const { run, cloud } = rig;
  const folder = cloud.path("out/pictures");
  assert.match(await run("data", "download", folder, "--tag", "red"), /^downloaded 2 files /);
  assert.match(await run("data", "download", folder), /^downloaded 1 file .*; 2 were there alre/);
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  assert.match(names[0] ?? "", /^2026-01-02T12-00-00\.000Z-\S+\.jpeg$/);
  const sizes = await Promise.all(
    names.map(async (name) => (await Deno.stat(`${folder}/${name}`)).size),
  );
  assert.deepEqual(sizes, [1, 2, 3]);
  assert.equal(await run("data", "download", folder, "--tag", "none"), "no files fit\n");
});

Deno.test("data delete-files and delete-readings say what they would do before they do it", async () => {
  await using rig = await images();
  const { run, ids, sync, made } = rig;
  const cases: [string[], RegExp][] = [
    [["data", "delete-files"], /^select the files: --machine/],
    [["data", "delete-files", "--tag", "red"], /^2 files \(\d+ B\) would be deleted for good/],
    [["data", "delete-files", "--id", ids[0]!], /^1 file would be deleted/],
    [
      ["data", "delete-files", "--id", ids[0]!, "--tag", "red"],
      /--id and --tag do not go together/,
    ],
    [["data", "delete-readings", "--older-than-days", "0"], /confirm with --yes/],
    [["data", "files", "--from", "2026-01-03", "--to", "2026-01-02"], /--from is not before --to/],
  ];
  for (const [argv, message] of cases) {
    await assert.rejects(run(...argv), (error: unknown) => {
      assert.ok(error instanceof UsageError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
  assert.equal(await run("data", "delete-files", "--tag", "red", "--yes"), "deleted 2 files\n");
  assert.equal(await run("data", "delete-files", "--id", ids[2]!, "--yes"), "deleted 1 file\n");
  assert.equal(await run("data", "files"), "no files fit\n");
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2]);
  const all = ["data", "delete-readings", "--older-than-days", "0", "--yes"];
  assert.equal(await run(...all, "--part", "demo-main"), "deleted 2 readings\n");
});

Deno.test("data query prints rows as lines of JSON, from SQL and from MQL", async () => {
  await using rig = await images();
  const { run, sync, made } = rig;
  await uploadTemperatures(sync, made.part_id, NOON, [1.5, 2.5]);
  const sql = "SELECT component_name, count(*) AS n FROM readings GROUP BY component_name";
  assert.deepEqual(JSON.parse(await run("data", "query", sql)), {
    component_name: "climate",
    n: 2,
  });
  const mql = '[{"$match": {"component_name": "climate"}}, {"$count": "n"}]';
  assert.deepEqual(JSON.parse(await run("data", "query", "--mql", mql)), { n: 2 });
  await assert.rejects(run("data", "query", "--mql", "{"), /^UsageError: QUERY is no JSON/);
  await assert.rejects(run("data", "query", "--mql", "[1]"), /QUERY: stage 1 is no object/);
});

Deno.test("dataset commands make, fill, rename, merge, download and delete datasets", async () => {
  await using rig = await images();
  const { run, ids, cloud } = rig;
  assert.match(await run("dataset", "list"), /^no datasets; make one with machine-cloud dataset/);
  await run("dataset", "create", "shapes");
  assert.equal(
    await run("dataset", "add", "shapes", "--tag", "red"),
    "2 files are put into shapes\n",
  );
  assert.match(await run("dataset", "list"), /^\S+ +shapes +files +2 +\d+ B /m);
  await run("dataset", "add", "shapes", "--id", ids[2]!);
  await run("dataset", "remove", "shapes", "--tag", "red", "--to", "2026-01-02T12:00:00.5Z");
  await run("dataset", "rename", "shapes", "forms");
  assert.deepEqual(
    (await run("data", "files", "--quiet", "--in-dataset", "forms")).trim().split("\n"),
    [ids[2], ids[1]],
  );
  await run("dataset", "create", "rest");
  await run("dataset", "add", "rest", "--id", ids[0]!);
  await run("dataset", "merge", "all", "--from", "forms", "--from", "rest");
  const folder = cloud.path("all");
  assert.match(await run("dataset", "download", "all", folder), /^downloaded 3 files/);
  const cases: [string[], RegExp][] = [
    [["dataset", "delete", "all"], /confirm with --yes/],
    [["dataset", "add", "all"], /select the files/],
    [["dataset", "add", "al", "--tag", "x"], /no dataset "al" \(did you mean all\?\); there is/],
    [["dataset", "add", "all", "--sequence", "x"], /all is a dataset of files/],
    [["dataset", "merge", "one", "--from", "all"], /name the datasets: --from A --from B/],
  ];
  for (const [argv, message] of cases) await assert.rejects(run(...argv), message, argv.join(" "));
  await run("dataset", "delete", "all", "--yes");
  assert.equal((await run("dataset", "list", "--quiet")).trim().split("\n").length, 2);
});
