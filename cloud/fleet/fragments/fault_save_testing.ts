import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ChangeFeed } from "../../storage/database/change_feed.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { documentOf } from "../configuration/config_document.ts";
import { savePart } from "../machines/revisions.ts";
import { FragmentRollouts } from "./fragment_rollouts.ts";
import { saveFragment } from "./fragment_save.ts";

/** For a child process of a test that may be killed on its way: saves a part, then its fragment. */
export async function saveOnce(dataDir: string, partId: string, fragmentId: string): Promise<void> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const { queries, engine } = database;
  const actor = { type: "api-key", id: "test" } as const;
  const log = memoryLogger("test");
  const changes = new ChangeFeed(database, systemClock, log);
  const now = systemClock.now();
  const config = documentOf({ fragments: [fragmentId], debug: true });
  await queries.transaction().execute((work) => savePart(work, partId, { config }, actor, now));
  const changed = documentOf({ components: [], disable_log_deduplication: true });
  await queries.transaction().execute((work) =>
    saveFragment(work, fragmentId, { config: changed }, actor, now)
  );
  await new FragmentRollouts({ queries, engine, changes, clock: systemClock, log }).finish();
  database.close();
}
