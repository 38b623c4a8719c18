import assert from "node:assert/strict";
import { join } from "node:path";
import { runPython } from "../e2e/python_sdk.ts";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { S3Server } from "../object_storage/s3_server.ts";

/** What `data_tour.py` found. */
interface Tour {
  tabular: {
    upload_ids: string[];
    exported: [time: string, payload: unknown, tags: string[], machine: string][];
    latest: [time: string, payload: unknown];
    paged: number[];
    counts: number[];
    sql: [time: string, data: unknown];
    mql: unknown;
    deleted: number;
    pipelines: {
      names: string[];
      about: [schedule: string, enabled: boolean, stages: string[][]];
      runs: [from: string, to: string, error: string][];
      results: number[];
      interval: string;
      left: number;
    };
  };
  binary: {
    captured: string[];
    ids: string[];
    others: string[];
    count: number;
    tagged: string[];
    whole: string[];
    names: string[];
    labels: string[];
    tags: string[];
    in_dataset: string[];
    datasets: string[];
    deleted: number;
    deleted_by_filter: number;
  };
  sequences: {
    one: string[];
    two: string[];
    resources: string[];
    tags: string[];
    listed: boolean[];
    count: number;
    exported: string[];
    readings: unknown[];
    about: string;
    signed: string;
    refused: string;
    left: number;
  };
  /** Calls of the SDK's DataClient that the tour did not make. */
  uncalled: string[];
}

rigTest("the published Python SDK uploads and reads data and sequences", async (rig) => {
  await rig.startCloud();
  check(await tour(rig), rig);
});

rigTest("the published Python SDK does so where files are in an object storage", async (rig) => {
  await using server = await S3Server.start();
  await rig.startCloud(["--blob-store", "s3://machines/site"], server.env);
  check(await tour(rig), rig);
  const asked = await server.requests();
  assert.ok(asked.some((request) => /^PUT \/machines\/site\/data-files\//.test(request)));
  assert.ok(asked.some((request) => /^PUT \/machines\/site\/data-exports\//.test(request)));
});

async function tour(rig: Rig): Promise<Tour> {
  const folder = await Deno.makeTempDir({ prefix: "machine-data-tour-" });
  try {
    const path = join(folder, "report.csv");
    await Deno.writeTextFile(path, "a,b\n1,2\n");
    const { api_key_id, api_key, org_id } = rig.bootstrapped;
    const { stdout } = await runPython(new URL("data_tour.py", import.meta.url), [
      `127.0.0.1:${rig.cloudPort}`,
      ...[api_key_id, api_key, org_id, rig.partId, path],
    ]);
    // The SDK's native library writes its own log to standard output before.
    const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
    return JSON.parse(last) as Tour;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function check({ tabular, binary, sequences, uncalled }: Tour, rig: Rig): void {
  assert.deepEqual(uncalled, [], "give them a case in data_cases.py");
  const payload = (temperature: number) => ({ readings: { temperature, ok: true } });
  assert.equal(new Set(tabular.upload_ids).size, 1);
  assert.deepEqual(tabular.exported, [
    ["2026-01-02T12:00:00.005000+00:00", payload(20.5), ["first"], "bench"],
    ["2026-01-02T12:00:01.005000+00:00", payload(21.5), ["first"], "bench"],
    ["2026-01-02T12:00:02.005000+00:00", payload(22.5), ["first"], "bench"],
  ]);
  assert.deepEqual(tabular.latest, ["2026-01-02T12:00:02.005000+00:00", payload(22.5)]);
  assert.deepEqual(tabular.paged, [20.5, 21.5, 22.5]);
  assert.deepEqual(tabular.counts, [2, 3]);
  assert.deepEqual(tabular.sql, ["2026-01-02T12:00:00.005000+00:00", payload(20.5)]);
  assert.deepEqual(tabular.mql, [{ _id: rig.partId, most: 22.5 }]);
  assert.equal(tabular.deleted, 3);
  assert.deepEqual(tabular.pipelines, {
    names: ["hottest of the hour", "hottest of the hour"],
    about: ["0 * * * *", true, [["$group"]]],
    runs: [["2026-01-02T12:00:00+00:00", "2026-01-02T13:00:00+00:00", ""]],
    results: [22.5],
    interval: "2026-01-02T12:00:00+00:00",
    left: 0,
  });

  const [picture = ""] = binary.captured;
  const [streamed = "", filed = "", fromPath = ""] = binary.others;
  assert.equal(new Set(binary.captured).size, 1);
  assert.equal(binary.count, 4);
  assert.deepEqual(binary.ids.toSorted(), [picture, streamed, filed, fromPath].toSorted());
  assert.deepEqual(binary.tagged, ["image/jpeg"]);
  assert.deepEqual(binary.whole, ["\xff\xd8 a picture", "some text", "a,b\n1,2\n"]);
  assert.deepEqual(binary.names, [".jpg", "notes.txt", "report.csv"]);
  assert.deepEqual(binary.labels, ["cat"]);
  assert.deepEqual(binary.tags, ["later", "night"]);
  assert.deepEqual(binary.in_dataset.toSorted(), [picture, filed].toSorted());
  assert.deepEqual(binary.datasets, ["pictures"]);
  assert.deepEqual([binary.deleted, binary.deleted_by_filter], [1, 3]);

  assert.deepEqual([sequences.one, sequences.two], [["picture 0"], ["picture 0", "picture 1"]]);
  assert.deepEqual([sequences.resources, sequences.tags], [["eye", "climate"], ["walk"]]);
  assert.deepEqual([sequences.listed, sequences.count], [[true, true], 1]);
  assert.deepEqual(sequences.exported, ["picture 0", "picture 1"]);
  assert.deepEqual(sequences.readings, [{ readings: { temperature: 20.5 } }]);
  assert.deepEqual([sequences.about, sequences.signed], ["walks", "picture 0"]);
  assert.match(sequences.refused, /^UNIMPLEMENTED: this cloud has no indexes of one's own/);
  assert.equal(sequences.left, 0);
}
