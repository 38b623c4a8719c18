import assert from "node:assert/strict";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { hashOf } from "./enrollments.ts";

const SOURCE = `
  import { enrollOnce } from "./fault_enroll_testing.ts";
  await enrollOnce(...Deno.args);
`;
const TOKEN = "token-of-a-test";
const KEY = "k".repeat(40);

Deno.test("a cloud killed while it takes a device in makes neither two machines nor half of one", async (t) => {
  for (const point of ["enrollment.after-row", "enrollment.after-machine", undefined]) {
    await t.step(point ?? "after the commit", async () => {
      const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-enrollment-" });
      try {
        await placeEmptyDatabase(dataDir);
        const first = await openDataFolder(dataDir, systemRandom);
        const deps = { clock: systemClock, random: systemRandom };
        const names = { organization: "Acme", location: "Lab", machine: "demo" };
        const made = await bootstrap(first, deps, names);
        await first.database.queries.insertInto("enrollment_tokens").values({
          ...{ id: "t", org_id: made.org_id, location_id: made.location_id, name: "t" },
          ...{ hash: hashOf("token", TOKEN), max_machines: 1, needs_approval: 0 },
          ...{ name_pattern: "kiosk-{n}", template: '{"fragments":[],"tags":[]}', counter: 0 },
          ...{ created_at: 1, created_by_type: "api-key", created_by: "k", expires_at: null },
        }).execute();
        first.database.close();
        const run = (faultPoint?: string) =>
          runFaultChild(SOURCE, {
            ...{ folder: import.meta.dirname ?? ".", isLarge: true },
            args: [dataDir, TOKEN, KEY],
            ...(faultPoint === undefined ? {} : { faultPoint }),
          });
        const state = async () => {
          const { database } = await openDataFolder(dataDir, systemRandom);
          const machines = await database.queries.selectFrom("machines").select("name")
            .where("name", "!=", "demo").execute();
          const rows = await database.queries.selectFrom("enrollments").select("state").execute();
          database.close();
          return [machines.map(({ name }) => name), rows.map((row) => row.state)];
        };

        const killed = await run(point);
        if (point) {
          assert.equal(killed.signal, "SIGKILL");
          assert.deepEqual(await state(), [[], []]);
        }
        const { code, stderr } = await run();
        assert.equal(code, 0, stderr);
        assert.deepEqual(await state(), [["kiosk-1"], ["enrolled"]]);
      } finally {
        await Deno.remove(dataDir, { recursive: true });
      }
    });
  }
});
