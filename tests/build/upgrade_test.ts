// The version before, from a clone at its tag, with real data: forth with cloud, server and agent, and
// back with server and agent. Fetches that version's packages, so `make smoke` runs it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { restoreCopies, saveCopies } from "../../agent/state/state_copies.ts";
import { connect } from "../../shared/base/store/connect.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import type { Program } from "../e2e/program.ts";
import { checkout, commitOf, lastTag } from "./earlier_version.ts";
import { KeptData } from "./upgrade_data.ts";

/** Of the second day, where no version has been tagged yet. */
const EARLY_COMMIT = "4aba96aec7d52e92fd45346b81f54b76257ace42";
/** A version or commit to come from can be given. */
const from = Deno.env.get("MACHINE_TEST_UPGRADE_FROM") ?? await lastTag() ??
  await commitOf(EARLY_COMMIT);

async function stopped(...programs: Program[]): Promise<void> {
  for (const program of programs) await program.stop(10_000);
}

/** Saves readings with the cloud that runs, and waits for the machine to have them. */
async function follows(rig: Rig, value: number): Promise<void> {
  await rig.saveFakeReadings({ value });
  await has(rig, value);
}

/** How many changes of its tables each database of the cloud has had, while the cloud is stopped. */
function changesOfTables(rig: Rig): Map<string, number> {
  const found = new Map<string, number>();
  for (const { name } of Deno.readDirSync(join(rig.dir, "cloud"))) {
    if (!name.endsWith(".db")) continue;
    const database = connect(join(rig.dir, "cloud", name), undefined, true);
    const count = database.prepare("SELECT count(*) FROM schema_migrations").pluck().get();
    database.close();
    found.set(name, count as number);
  }
  return found;
}

async function has(rig: Rig, value: number): Promise<void> {
  rig.forgetServerSession();
  const isThere = async () => (await rig.readings("fake"))["value"] === value;
  await eventually(`the machine has ${value}`, isThere, 60_000);
}

rigTest(
  "the version before upgrades with its data, and server and agent go back",
  async (rig) => {
    assert.ok(from !== undefined);
    const before = join(rig.dir, "before");
    await checkout(from, before);
    const use = (version: "before" | "now") =>
      rig.otherSources = version === "before" ? before : undefined;

    use("before");
    let cloud = await rig.startCloud();
    let agent = await rig.startAgent();
    await follows(rig, 1);
    const kept = await KeptData.save(rig);
    await stopped(agent, cloud);
    const tables = changesOfTables(rig);

    use("now");
    cloud = await rig.startCloud();
    await kept.check(rig);
    use("before");
    agent = await rig.startAgent();
    await has(rig, 1);
    await follows(rig, 2);
    assert.ok((await rig.logs("serving")).length > 0, "what was logged before is there");
    await stopped(agent);

    // As the agent does before the first start of a version.
    const [ofAgent, ofServer] = [
      join(rig.dir, "agent/agent.db"),
      join(rig.serverHome, "server.db"),
    ];
    await saveCopies([ofAgent, ofServer], "now", memoryLogger());
    use("now");
    agent = await rig.startAgent();
    await follows(rig, 3);
    await stopped(agent);

    // On the way back an agent finds its own copy on its own, and puts the server's in place.
    await restoreCopies([ofServer], "now", memoryLogger());
    use("before");
    agent = await rig.startAgent();
    await follows(rig, 4);
    await stopped(agent, cloud);

    const now = changesOfTables(rig);
    if ([...tables].some(([name, count]) => now.get(name)! > count)) {
      const old = await rig.run("machine-cloud", [
        ...["serve", "--data", join(rig.dir, "cloud"), "--listen", `127.0.0.1:${rig.cloudPort}`],
      ]);
      assert.notEqual(old.code, 0);
      assert.match(old.stderr, /newer/, "it says that it is too old for the folder");
    } else {
      cloud = await rig.startCloud();
      await kept.check(rig);
      await stopped(cloud);
    }
    use("now");
    await rig.startCloud();
    await kept.check(rig);
    await rig.startAgent();
    await has(rig, 4);
  },
  {
    ignore: ignoreBecause(
      import.meta.url,
      from === undefined
        ? "this clone has no version before: neither a tag nor history"
        : undefined,
    ),
  },
);
