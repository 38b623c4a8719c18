import assert from "node:assert/strict";
import { canonicalJson } from "../../../shared/base/json/json.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { insertReadings } from "./reading_rows.ts";

const READINGS = 5_001;
const TEXTS = ["a\nb\r\n\t", `"quoted" \\n \\`, "{,}", "", "null", "ä € 𝄞", "\u2028"];

Deno.test("insertReadings() writes each reading at its place, whatever its texts", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-reading-rows-" });
  const { database } = await openDataFolder(dir, systemRandom);
  try {
    const readings = Array.from({ length: READINGS }, (_, n) => ({
      requestedUs: 1_700_000_000_000_000 + n,
      receivedUs: 1_700_000_000_000_100 + (n >> 1),
      data: canonicalJson({ readings: { n, text: TEXTS[n % TEXTS.length] ?? "" } }),
    }));
    await database.queries.transaction().execute((work) => insertReadings(work, 3, 4, readings));
    const rows = await database.queries.selectFrom("tabular_readings").selectAll()
      .orderBy("position").execute();
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      readings.map(({ requestedUs, receivedUs, data }, position) => ({
        ...{ source_id: 3, received_us: receivedUs, upload_id: 4, position },
        ...{ requested_us: requestedUs, data },
      })),
    );
  } finally {
    await database.close();
    await Deno.remove(dir, { recursive: true });
  }
});
