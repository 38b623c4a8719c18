import { systemClock } from "../../../shared/base/time/clock.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { ChangedMachines } from "../presence/changed_machines.ts";
import { Enrollments } from "./enrollments.ts";

/** For a child process of a test that may be killed on its way: takes one device in. */
export async function enrollOnce(dataDir: string, token: string, key: string): Promise<void> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const enrollments = new Enrollments({
    queries: database.queries,
    transact: (work) => database.sharedTransaction(work),
    changed: new ChangedMachines(),
    clock: systemClock,
    random: systemRandom,
  });
  const row = await enrollments.tokenOf(token);
  if (!row) throw new Error("there is no such token");
  const facts = { hostName: "h", serial: "", mac: "", platform: "", agentVersion: "" };
  await enrollments.enroll(row, { key, facts, address: "127.0.0.1" });
  database.close();
}
