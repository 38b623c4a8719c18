/** Kills the cloud where it hurts most while a part and its fragment are saved. */
import assert from "node:assert/strict";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { documentOf, EMPTY_CONFIG } from "../configuration/config_document.ts";
import { createFragment } from "./fragment_save.ts";
import { effectiveText } from "./effective_configs.ts";

const SOURCE = `
  import { saveOnce } from "./fault_save_testing.ts";
  await saveOnce(...Deno.args);
`;

const POINTS = [
  "part.save.after-revision",
  "part.save.after-resolution",
  "fragment.save.after-revision",
  "fragment.save.after-rollout",
  "fragment.rollout.after-parts",
];

Deno.test("a save that is killed is whole or absent, and the next one goes on", async (t) => {
  for (const point of POINTS) {
    await t.step(point, async () => {
      const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-faults-" });
      const fragmentId = crypto.randomUUID();
      try {
        await placeEmptyDatabase(dataDir);
        const first = await openDataFolder(dataDir, systemRandom);
        const { queries } = first.database;
        const deps = { clock: systemClock, random: systemRandom };
        const made = await bootstrap(first, deps, {
          organization: "Acme",
          location: "Lab",
          machine: "demo",
        });
        const fragment = { id: fragmentId, orgId: made.org_id, name: "f" } as const;
        const actor = { type: "api-key", id: "test" } as const;
        await createFragment(
          queries,
          { ...fragment, visibility: "private", config: EMPTY_CONFIG },
          actor,
          systemClock.now(),
        );
        first.database.close();
        const run = (faultPoint?: string) =>
          runFaultChild(SOURCE, {
            folder: import.meta.dirname ?? ".",
            isLarge: true,
            args: [dataDir, made.part_id, fragmentId],
            ...(faultPoint === undefined ? {} : { faultPoint }),
          });
        const state = async () => {
          const { database } = await openDataFolder(dataDir, systemRandom);
          const { queries } = database;
          const part = await queries.selectFrom("parts").selectAll()
            .where("id", "=", made.part_id).executeTakeFirstOrThrow();
          const saved = await queries.selectFrom("part_revisions").selectAll()
            .where("part_id", "=", part.id).orderBy("number", "desc").execute();
          const text = await effectiveText(queries, part.id);
          const rollouts = await queries.selectFrom("fragment_rollouts").selectAll().execute();
          database.close();
          assert.equal(saved[0]?.number, part.revision_number, "the part has its newest revision");
          return { text: JSON.parse(text), rollouts: rollouts.length };
        };

        assert.equal((await run(point)).signal, "SIGKILL", point);
        const killed = await state();
        // Before the part's commit nothing is there; after it all of it, with the old fragment.
        assert.deepEqual(killed.text, point.startsWith("part.") ? {} : { debug: true });
        assert.equal(killed.rollouts, point === "fragment.rollout.after-parts" ? 1 : 0);
        const { code, stderr } = await run();
        assert.equal(code, 0, stderr);
        assert.deepEqual(await state(), {
          text: documentOf({ disable_log_deduplication: true, debug: true, components: [] }).value,
          rollouts: 0,
        });
      } finally {
        await Deno.remove(dataDir, { recursive: true });
      }
    });
  }
});
