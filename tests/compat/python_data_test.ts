import assert from "node:assert/strict";
import { join } from "node:path";
import { runPython } from "../e2e/python_sdk.ts";
import { rigTest } from "../e2e/rig.ts";

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
}

rigTest("the published Python SDK uploads and reads tabular, binary and file data", async (rig) => {
  await rig.startCloud();
  const folder = await Deno.makeTempDir({ prefix: "machine-data-tour-" });
  const { tabular, binary } = await (async () => {
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
  })();

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
});
