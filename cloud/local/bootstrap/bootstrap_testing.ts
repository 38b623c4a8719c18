import { systemClock } from "../../../shared/base/time/clock.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { bootstrap, type BootstrapInput, type BootstrapResult } from "./bootstrap.ts";

/**
 * Makes the machine `demo` of the location `Lab` in a data folder that no cloud serves yet. Next to
 * a cloud of the same process SQLite would wait, for seconds, for a lock that only this thread gives
 * back.
 *
 * @param names others than `Acme`, `Lab` and `demo`, and a configuration.
 */
export async function bootstrapFolder(
  dataDir: string,
  names: Partial<BootstrapInput> = {},
): Promise<BootstrapResult> {
  const { database, keys } = await openDataFolder(dataDir, systemRandom);
  const deps = { clock: systemClock, random: systemRandom, keyCost: { ln: 4, r: 8, p: 1 } };
  try {
    return await bootstrap({ database, keys }, deps, {
      organization: "Acme",
      location: "Lab",
      machine: "demo",
      ...names,
    });
  } finally {
    database.close();
  }
}
