/** 10,000 machines in the list. */
import assert from "node:assert/strict";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { consoleTest } from "./console_rig.ts";

const MACHINES = 10_000;
const SLICE = 1_000;

consoleTest(
  import.meta.url,
  "a list of 10,000 machines has few rows in the page, is searched and scrolled",
  async (rig) => {
    await addMachines(rig.dataDir, rig.made);
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByText("10,001 machines", { exact: true }).waitFor();
    assert.ok(await page.getByRole("row").count() < 100);
    const table = page.getByRole("table", { name: "Fleet" });
    await table.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
      element.scrollTop = element.scrollHeight;
    });
    await page.getByRole("link", { name: "rover", exact: true }).waitFor();
    await page.getByPlaceholder("Search name").fill("m-04321");
    await page.getByText("1 of 10,001 machines").waitFor();
    await page.getByRole("link", { name: "m-04321" }).waitFor();
    await opened.picture("fleet-large");

    // Figures for docs/benchmarks.md; they are not tested, as other tests run at the same time.
    const file = Deno.env.get("MACHINE_TEST_FIGURES");
    if (file) await Deno.writeTextFile(file, JSON.stringify(await page.evaluate(MEASURE)));
  },
);

/** Filters and scrolls, and takes the longest time that the page was busy. */
const MEASURE = `(async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const input = document.querySelector("input[type=search]");
  const type = async (text) => {
    const begun = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    return performance.now() - begun;
  };
  const filterAllMs = await type("");
  await frame();
  const filterMs = await type("m-01");
  await type("");
  const table = document.querySelector("[role=table]");
  let longestFrameMs = 0;
  for (let at = 0; at < 60; at++) {
    const begun = performance.now();
    table.scrollTop += 2000;
    await frame();
    longestFrameMs = Math.max(longestFrameMs, performance.now() - begun);
  }
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return { filterAllMs, filterMs, longestFrameMs, firstPaintMs: paint?.startTime ?? 0 };
})()`;

/** Rows as the cloud itself writes them, in a few statements. */
async function addMachines(
  dataDir: string,
  made: { readonly org_id: string; readonly location_id: string },
): Promise<void> {
  const folder = await openDataFolder(dataDir, systemRandom);
  try {
    const { queries } = folder.database;
    const at = Date.now();
    for (let from = 0; from < MACHINES; from += SLICE) {
      const names = Array.from(
        { length: SLICE },
        (_, index) => `m-${String(from + index).padStart(5, "0")}`,
      );
      const place = { org_id: made.org_id, location_id: made.location_id, created_at: at };
      await queries.insertInto("machines")
        .values(names.map((name) => ({ ...place, id: `id-${name}`, name }))).execute();
      await queries.insertInto("parts").values(names.map((name) => ({
        ...{ ...place, id: `part-${name}`, machine_id: `id-${name}`, name: `${name}-main` },
        ...{ dns_label: `${name}-main`, is_main: 1, last_updated: at, revision_number: 0 },
      }))).execute();
    }
  } finally {
    folder.database.close();
  }
}
