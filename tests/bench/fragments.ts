import process from "node:process";
import type { JsonObject } from "@bufbuild/protobuf";
import { systemClock } from "../../shared/base/time/clock.ts";
import { documentOf } from "../../cloud/fleet/configuration/config_document.ts";
import { Checkpoints } from "../../cloud/storage/checkpoints/checkpoints.ts";
import { SqliteDatabase } from "../../cloud/storage/database/cloud_database.ts";
import { effectiveConfig } from "../../cloud/fleet/fragments/effective_configs.ts";
import type { BootstrapResult } from "../../cloud/local/bootstrap/bootstrap.ts";
import { TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { percentile, type Reporter } from "./report.ts";

const MACHINES = 10_000;
const CHANGES = 3;
const COMPONENTS = 50;
const LOOK_EVERY_MS = 5;

/**
 * A change of a fragment that 10,000 machines have: from the call until the last of them was
 * notified its new revision. The machines are followers inside the cloud's process, without the
 * network.
 */
export async function benchFragments(reporter: Reporter, machines = MACHINES): Promise<void> {
  for (const kind of ["same", "own"] as const) {
    reporter.note(`a fragment of ${machines} machines, ${kind} configurations …`);
    await using cloud = await TestCloud.open();
    const made = await cloud.bootstrap();
    const app = cloud.app(made);
    const { fragment } = await app.createFragment({
      name: "base",
      config: components(0),
      organizationId: made.org_id,
    });
    const id = fragment?.id ?? "";
    await app.updateRobotPart({ id: made.part_id, robotConfig: { fragments: [{ id }] } });
    const partIds = await copyPart(cloud, made, id, { machines, isOwn: kind === "own" });
    const stopping = new AbortController();
    const { database } = cloud.folder;
    // As in a cloud that serves: commits make none, which would wait for the disk.
    const checkpoints = database instanceof SqliteDatabase
      ? new Checkpoints({
        database,
        dataDir: cloud.dataDir,
        clock: systemClock,
        log: cloud.log,
      })
      : undefined;
    const running = Promise.all([
      cloud.services.fragmentRollouts.run(stopping.signal),
      checkpoints?.run(stopping.signal),
    ]);
    const lag = new Lag();
    const samples: number[] = [];
    for (let n = 1; n <= CHANGES; n++) {
      const told = partIds.map((partId) => follow(cloud, partId, made.org_id));
      // To follow is the work of this program.
      await lag.forgetNow();
      const started = performance.now();
      await app.updateFragment({ id, config: components(n) });
      await Promise.all(told);
      samples.push(performance.now() - started);
    }
    lag.stop();
    stopping.abort();
    await running;
    const name = `fragment_to_${machines}_machines_${kind}_config`;
    reporter.report(`${name}_max`, percentile(samples, 1), "ms");
    reporter.report(`${name}_longest_stop`, lag.longestMs, "ms");
    reporter.report(`${name}_longest_stop_processor`, lag.longestProcessorMs, "ms");
  }
}

function components(x: number): JsonObject {
  return { components: Array.from({ length: COMPONENTS }, (_, i) => sensor(`s${i}`, { x })) };
}

function sensor(name: string, attributes: JsonObject): JsonObject {
  return { name, api: "rdk:component:sensor", model: "rdk:builtin:fake", attributes };
}

/** Resolves when the part was notified and its revision was read, as its stream does. */
async function follow(cloud: TestCloud, id: string, orgId: string): Promise<void> {
  const mailbox = cloud.services.watchers.follow({ id, orgId });
  await mailbox.take(systemClock, 600_000, new AbortController().signal);
  mailbox.close();
  await effectiveConfig(cloud.folder.database.queries, id);
}

/** Machines like the one there is, straight into the database. */
async function copyPart(
  cloud: TestCloud,
  made: BootstrapResult,
  fragmentId: string,
  { machines, isOwn }: { readonly machines: number; readonly isOwn: boolean },
): Promise<string[]> {
  const ids = [made.part_id];
  await cloud.folder.database.queries.transaction().execute(async (work) => {
    const machine = await work.selectFrom("machines").selectAll().executeTakeFirstOrThrow();
    const part = await work.selectFrom("parts").selectAll().executeTakeFirstOrThrow();
    const saved = await work.selectFrom("part_revisions").selectAll()
      .where("number", "=", part.revision_number).executeTakeFirstOrThrow();
    const resolved = await work.selectFrom("part_resolved").selectAll().executeTakeFirstOrThrow();
    for (let n = 1; n < machines; n++) {
      const machine_id = crypto.randomUUID();
      const id = crypto.randomUUID();
      ids.push(id);
      const own = { fragments: [{ id: fragmentId }], components: [sensor(`own${n}`, {})] };
      const config = isOwn ? documentOf(own).text : saved.config;
      await work.insertInto("machines").values({ ...machine, id: machine_id, name: `m${n}` })
        .execute();
      await work.insertInto("parts").values({ ...part, id, machine_id, dns_label: `m${n}-main` })
        .execute();
      await work.insertInto("part_revisions").values({ ...saved, part_id: id, config }).execute();
      await work.insertInto("part_resolved").values({ ...resolved, part_id: id }).execute();
      await work.insertInto("part_fragments")
        .values({ part_id: id, fragment_id: fragmentId, revision: "1" }).execute();
    }
  });
  // As PostgreSQL does on its own within a minute.
  await cloud.folder.database.direct()
    ?.script("analyze machines, parts, part_revisions, part_resolved, part_fragments");
  return ids;
}

/**
 * The longest time in which nothing else was done in this process, and the most processor time in one
 * go: next to other programs the first is much more, and says little of the work itself.
 */
class Lag {
  longestMs = 0;
  longestProcessorMs = 0;
  #last = now();
  readonly #timer = setInterval(() => {
    const { ms, processorMs } = now();
    this.longestMs = Math.max(this.longestMs, ms - this.#last.ms - LOOK_EVERY_MS);
    this.longestProcessorMs = Math.max(
      this.longestProcessorMs,
      processorMs - this.#last.processorMs,
    );
    this.#last = { ms, processorMs };
  }, LOOK_EVERY_MS);

  /** What went on until now does not count. */
  async forgetNow(): Promise<void> {
    const { longestMs, longestProcessorMs } = this;
    await new Promise((done) => setTimeout(done, 10 * LOOK_EVERY_MS));
    Object.assign(this, { longestMs, longestProcessorMs });
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Processor time of all threads. */
function now(): { readonly ms: number; readonly processorMs: number } {
  const { user, system } = process.cpuUsage();
  return { ms: performance.now(), processorMs: (user + system) / 1_000 };
}
