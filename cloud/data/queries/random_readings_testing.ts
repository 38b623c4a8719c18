import { type Document, serialize } from "bson";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { insertReadings } from "../ingest/reading_rows.ts";
import type { QueryRequest, QueryScope } from "./query_form.ts";
import type { Dice } from "./random_query_testing.ts";

const SOURCES = 12;

/** For tests: random readings of three organisations, within an hour. */
export async function fillReadings(queries: Queries, dice: Dice, startUs: number): Promise<void> {
  for (let id = 1; id <= SOURCES; id++) {
    const source = {
      ...{ org_id: `org-${id % 3}`, location_id: `location-${id % 2}`, part_id: `part-${id % 5}` },
      ...{ machine_id: `machine-${id % 4}`, machine_name: "Zoë's", part_name: "main" },
      ...{
        component_type: id > 9 ? "camera" : "sensor",
        method_name: dice.of(["Readings", "Position"]),
      },
    };
    await queries.insertInto("data_sources").values({
      ...{ id, ...source, component_name: id % 2 ? "oven" : `climate-${id}` },
    }).execute();
    for (let upload = 0; upload < 3; upload++) {
      const uploadId = id * 10 + upload;
      const count = dice.upTo(30);
      const readings = Array.from({ length: count }, () => {
        const receivedUs = startUs + dice.upTo(3_600) * 1_000_000 + dice.upTo(3) * 499_999;
        return { receivedUs, requestedUs: receivedUs - dice.upTo(5_000), data: randomData(dice) };
      });
      const times = readings.map(({ receivedUs }) => receivedUs);
      const tags = dice.of([[], ["red"], ["red", 'b"lue'], ["fred"]]);
      await queries.insertInto("data_uploads").values({
        ...{ id: uploadId, source_id: id, digest: `${uploadId}`, org_id: source.org_id },
        ...{ file_id: "f", synced_at: 1_767_323_000_000 + uploadId, tags: JSON.stringify(tags) },
        parameters: JSON.stringify({ upload }),
        min_received_us: Math.min(...times, startUs),
        max_received_us: Math.max(...times, startUs),
      }).execute();
      await insertReadings(queries, id, uploadId, readings);
    }
  }
}

function randomData(dice: Dice): string {
  const value = dice.of([dice.upTo(40), dice.upTo(400) / 10, null, true, "3", 'a "b" \\ ☃ 𝄞\n']);
  return JSON.stringify({ readings: { temperature: value, list: [dice.upTo(3), { deep: "x" }] } });
}

/** For tests: what a caller may see, of readings from {@link fillReadings}. */
export function randomScope(dice: Dice, startUs: number): QueryScope {
  const orgId = `org-${dice.upTo(2)}`;
  const grants = dice.of<QueryScope["grants"]>([
    [{ resource: "organization", id: orgId }],
    [{ resource: "part", id: `part-${dice.upTo(4)}` }, { resource: "robot", id: "machine-1" }],
    [{ resource: "location", id: "location-1" }],
    // Of another organisation.
    [{ resource: "organization", id: "org-9" }],
  ]);
  const fromUs = startUs + 1_000_000_000;
  return { orgId, grants, span: dice.upTo(4) === 0 ? { fromUs, toUs: 2 * fromUs } : undefined };
}

/** For tests: a query in MQL. */
export function stagesOf(pipeline: readonly Document[]): QueryRequest["query"] {
  return {
    kind: "mql",
    stages: pipeline.map((stage) => new Uint8Array(serialize(stage)).toBase64()),
  };
}
