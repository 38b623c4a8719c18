// A node of the version before serves next to one of this version, on one database whose tables are
// this version's, while a cloud of two nodes is upgraded. `make test-upgrade` runs it.
import assert from "node:assert/strict";
import { archiveMigration } from "../../cloud/storage/database/archive_migration.ts";
import { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";
import { programPath } from "../../tools/run/options.ts";
import { checkout, commitOf, git, lastTag } from "../build/earlier_version.ts";
import { Cluster, DEADLINE } from "../faults/cluster.ts";
import { Load } from "../faults/cluster_load.ts";
import { CalledMachines } from "../faults/cluster_machines.ts";
import { Watches } from "./watches.ts";

const PROGRAM = programPath("machine-cloud", { binaries: undefined }, ROOT);
const MIGRATIONS = "cloud/storage/database/migrations.ts";
const [OLD, NEW] = [1, 0] as const;
const DAY_MS = 86_400_000;

/** A version or commit to come from can be given. */
const from = Deno.env.get("MACHINE_TEST_UPGRADE_FROM") ?? await lastTag() ?? await olderTables();

/** The last commit with other tables. */
async function olderTables(): Promise<string | undefined> {
  const newest = await git("log", "-1", "--format=%H", "--", MIGRATIONS);
  return newest ? await commitOf(`${newest}^`) : undefined;
}

const ignore = ignoreWithout(import.meta.url, "postgresql") || ignoreBecause(
  import.meta.url,
  from === undefined
    ? "this clone has no version before: neither a tag nor history (git fetch --unshallow)"
    : undefined,
);

Deno.test({
  name: "two nodes are upgraded one after the other, and serve together meanwhile",
  ignore,
  async fn() {
    assert.ok(from !== undefined);
    const before = await Deno.makeTempDir({ prefix: "machine-before-" });
    await checkout(from, before);
    const older = programPath("machine-cloud", { binaries: undefined }, before);
    await using receiver = FakeReceiver.start();
    await using cluster = await Cluster.start(["--allow-private-webhooks"], older);
    const oldTables = await tables(cluster);
    await using machines = await CalledMachines.start(cluster);
    const load = await Load.on(cluster, receiver);
    using watches = await Watches.on(cluster);
    const over = new AbortController();
    const loading = load.run(over.signal);
    const allWorks = async () => {
      const { size } = load.lines;
      const { length } = receiver.requests;
      await Promise.all([
        waitFor(() => load.lines.size > size + 60, DEADLINE),
        waitFor(() => receiver.requests.length > length + 3, DEADLINE),
        watches.both(),
        machines.call(),
      ]);
    };
    await allWorks();

    cluster.program(NEW).signal("SIGTERM");
    await cluster.program(NEW).exited;
    await waitFor(async () => await cluster.leader() === OLD, DEADLINE);
    cluster.command = PROGRAM;
    cluster.run(NEW);
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    const newTables = await tables(cluster);
    assert.ok(newTables >= oldTables, `${newTables} migrations, ${oldTables} before`);
    await watches.open(NEW);
    assert.equal(await cluster.leader(), OLD, "the older one leads, with tables that are newer");
    await allWorks();

    // Readings of last month are moved to files, of which versions before those tables know nothing.
    const person = await cluster.token("api-key", cluster.made.api_key_id, cluster.made.api_key);
    await archiveOld(cluster, person);
    cluster.program(OLD).signal("SIGSTOP");
    await waitFor(async () => await cluster.leader() === NEW, DEADLINE);
    cluster.program(OLD).signal("SIGCONT");
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    await watches.open(OLD);
    await allWorks();
    const moved = async () =>
      await cluster.database.query(
        "select count(*) from machine_cloud.archived_files",
      ) !== "0";
    await waitFor(moved, DEADLINE);
    assert.equal(await old(cluster, person, NEW), 1);
    assert.equal(await old(cluster, person, OLD), oldTables < archiveMigration.version ? 0 : 1);

    cluster.program(OLD).signal("SIGKILL");
    await cluster.program(OLD).exited;
    if (newTables > oldTables) {
      cluster.command = older;
      cluster.run(OLD);
      assert.equal((await cluster.program(OLD).exited).code, 1);
      assert.match(cluster.program(OLD).lines.join("\n"), /Run the newer program again/);
    }
    cluster.command = PROGRAM;
    cluster.run(OLD);
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    await watches.open(OLD);
    await allWorks();
    assert.equal(await old(cluster, person, OLD), 1);
    over.abort();
    await loading;
    await load.check(receiver);
    await Deno.remove(before, { recursive: true });
  },
});

/** How many migrations the tables have had. */
async function tables(cluster: Cluster): Promise<number> {
  return Number(
    await cluster.database.query("select count(*) from machine_cloud.schema_migrations"),
  );
}

/** Uploads a reading of last month, and has old ones moved to files. */
async function archiveOld(cluster: Cluster, person: string): Promise<void> {
  const { made } = cluster;
  const machine = await cluster.token("robot-secret", made.part_id, made.part_secret);
  const time = new Date(Date.now() - 30 * DAY_MS).toISOString();
  await cluster.insist("viam.app.datasync.v1.DataSyncService/DataCaptureUpload", machine, {
    metadata: {
      ...{ partId: made.part_id, componentType: "rdk:component:sensor", componentName: "old" },
      ...{ methodName: "Readings", type: "DATA_TYPE_TABULAR_SENSOR" },
    },
    sensorContents: [{
      metadata: { timeRequested: time, timeReceived: time },
      struct: { readings: { n: 1 } },
    }],
  });
  const settings = { organizationId: made.org_id, settings: { archiveAfterDays: 7 } };
  await cluster.call("machine.cloud.v1.StoredDataService/SetDataSettings", person, settings, NEW);
}

/** How many readings of last month a node knows. */
async function old(cluster: Cluster, person: string, node: number): Promise<number> {
  const answer = await cluster.call("viam.app.data.v1.DataService/TabularDataByFilter", person, {
    dataRequest: { filter: { componentName: "old" }, limit: "10" },
  }, node) as { data?: unknown[] };
  return answer.data?.length ?? 0;
}
