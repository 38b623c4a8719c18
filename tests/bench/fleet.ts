import { join } from "node:path";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { TAKES_HASHES_HEADER } from "../../shared/rights/hashed_access.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { copyMachine } from "./copied_machines.ts";
import { processorMs, residentMiB } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";
import { WatchConnections } from "./watch_connections.ts";

const MACHINES = 10_000;
const SAVES = 300;
const IDLE_S = 20;
const POLLS_A_SECOND = 1_000;
const POLL_S = 10;
const MOST_UNDER_WAY = 500;
const OPENED_AT_ONCE = 50;

/**
 * A cloud with 10,000 machines: memory and processor with a Watch stream of each on a connection of
 * its own, saves until the machine is notified, polls of unchanged configurations.
 */
export async function benchFleet(reporter: Reporter, machines = MACHINES): Promise<void> {
  reporter.note(`${machines} machines …`);
  await using rig = await Rig.create();
  await rig.bootstrap({});
  const folder = await openDataFolder(join(rig.dir, "cloud"), systemRandom);
  const ids = await copyMachine(folder.database.queries, machines)
    .finally(() => folder.database.close());
  const cloud = await rig.startCloud();
  const { accessToken } = await rig.cloud();
  const before = await residentMiB(cloud.pid);

  const heard = new Map<number, () => void>();
  const streaming = new Set<number>();
  const ended: string[] = [];
  using connections = new WatchConnections(rig.cloudPort, accessToken, {
    heard(n, event) {
      streaming.add(n);
      if (event === "configChanged") heard.get(n)?.();
    },
    ended: (_, reason) => void ended.push(reason),
  });
  const opening = performance.now();
  for (let at = 0; at < machines; at += OPENED_AT_ONCE) {
    const some = ids.slice(at, at + OPENED_AT_ONCE);
    await Promise.all(some.map((id, index) => connections.open(at + index, id)));
  }
  await eventually("all machines have a stream", () => {
    if (ended.length > 0) throw new Error(`${ended.length} streams ended: ${ended[0]}`);
    return Promise.resolve(streaming.size === machines);
  }, 120_000);
  reporter.report("fleet_connect_all", (performance.now() - opening) / 1_000, "s");
  reporter.report("fleet_rss_before", before, "MiB");
  reporter.report("fleet_rss_connected", await residentMiB(cloud.pid), "MiB");
  const idle = await coreShare(
    cloud.pid,
    () => new Promise((done) => setTimeout(done, IDLE_S * 1_000)),
  );
  reporter.report("fleet_processor_idle", idle * 100, "% of a core");

  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  const app = grpc.client(AppService);
  const samples: number[] = [];
  for (let n = 0; n < Math.min(SAVES, machines); n++) {
    const which = n * 7 % machines;
    const notified = Promise.withResolvers<void>();
    heard.set(which, notified.resolve);
    const started = performance.now();
    await app.updateRobotPart({ id: ids[which] ?? "", name: "", robotConfig: { n } });
    await withDeadline(() => notified.promise, {
      ...{ clock: systemClock, deadlineMs: 60_000, what: "the notification of a save" },
    });
    samples.push(performance.now() - started);
  }
  reporter.report("fleet_save_to_notified_p50", percentile(samples, 0.5), "ms");
  reporter.report("fleet_save_to_notified_p99", percentile(samples, 0.99), "ms");
  if (ended.length > 0) throw new Error(`${ended.length} streams ended: ${ended[0]}`);

  const robot = grpc.client(RobotService);
  // As machine-server asks.
  const headers = { [TAKES_HASHES_HEADER]: "1" };
  const begun = performance.now();
  const share = await coreShare(cloud.pid, () =>
    paced(POLLS_A_SECOND, POLL_S, async (n) => {
      await robot.config({ id: ids[n % machines] ?? "" }, { headers });
    }));
  const reached = POLLS_A_SECOND * POLL_S * 1_000 / (performance.now() - begun);
  reporter.report("fleet_polls", reached, "/s");
  // What nothing but the streams takes is printed above.
  const ofPolls = (share - idle) * 100 * POLLS_A_SECOND / reached;
  reporter.report("fleet_processor_1000_polls_a_second", ofPolls, "% of a core");
}

/**
 * Calls at an even pace, and slower where the answers don't come: what waits on the one connection
 * of this client would else hold up its own sign of life, and end it.
 */
async function paced(
  aSecond: number,
  seconds: number,
  call: (n: number) => Promise<void>,
): Promise<void> {
  const started = performance.now();
  const running = new Set<Promise<void>>();
  const total = aSecond * seconds;
  for (let n = 0; n < total;) {
    const due = Math.min((performance.now() - started) / 1_000 * aSecond, total);
    for (; n < due && running.size < MOST_UNDER_WAY; n++) {
      const one = call(n).finally(() => running.delete(one));
      running.add(one);
    }
    await new Promise((done) => setTimeout(done, 5));
  }
  await Promise.all(running);
}

/** What part of one processor a process took while something was done. */
async function coreShare(pid: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  const before = await processorMs(pid);
  await work();
  return (await processorMs(pid) - before) / (performance.now() - started);
}
