import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { bundlePrograms } from "../../tools/test/bundle_programs.ts";
import { eventually } from "../e2e/rig.ts";
import { Cluster } from "../faults/cluster.ts";
import { copyMachine } from "./copied_machines.ts";
import { processorMs, residentMiB } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";
import { WatchConnections } from "./watch_connections.ts";

const MACHINES = 10_000;
const SAVES = 100;
const IDLE_S = 20;
const OPENED_AT_ONCE = 50;
const DEADLINE_MS = 300_000;
const NOTIFIED = { deadlineMs: DEADLINE_MS, what: "notifying a machine of a save" };
/** As machine-server: it comes back after a second, and up to this much later. */
const FIRST_RETRY_MS = 1_000;
const RETRY_JITTER_MS = 4_000;

/**
 * Two nodes on one PostgreSQL with half of the machines each, connected with a stream: memory and
 * processor, saves on one until a machine of the other is notified, and how long the machines of a
 * node that is killed take to be on the other.
 */
export async function benchNodes(reporter: Reporter, machines = MACHINES): Promise<void> {
  const missing = missingTools("postgresql");
  if (missing !== undefined) return reporter.note(missing);
  reporter.note(`${machines} machines on two nodes …`);
  await bundlePrograms();
  await using cluster = await Cluster.start(["--log-rate", "1048576"]);
  const folder = await openDataFolder(cluster.folder(0), systemRandom, cluster.database.address());
  const ids = await copyMachine(folder.database.queries, machines)
    .finally(() => folder.database.close());
  const { api_key_id: id, api_key: key } = cluster.made;
  const { accessToken } = await signIn(cluster.url, { id, key });
  const pids = [0, 1].map((node) => cluster.program(node).pid);
  const before = await memory(pids);

  using fleet = new Fleet(cluster.ports, accessToken, ids);
  for (let n = 0; n < machines; n += OPENED_AT_ONCE) {
    const some = ids.slice(n, n + OPENED_AT_ONCE);
    await Promise.all(some.map((_, at) => fleet.open(n + at, (n + at) % 2)));
  }
  const all = () => Promise.resolve(fleet.online === machines);
  await eventually("all machines have a stream", all, DEADLINE_MS);
  const connected = await memory(pids);
  const each = (connected - before) * 1_024 / machines;
  reporter.report("nodes_memory_started", before / 2, "MiB each");
  reporter.report("nodes_memory_connected", connected / 2, "MiB each");
  reporter.report("nodes_memory_per_machine", each, "KiB");
  const used = await Promise.all(pids.map(processorMs));
  await new Promise((done) => setTimeout(done, IDLE_S * 1_000));
  for (const [node, pid] of pids.entries()) {
    const share = (await processorMs(pid) - (used[node] ?? 0)) / (IDLE_S * 1_000);
    reporter.report(`nodes_processor_idle_${node}`, share * 100, "% of a core");
  }
  const idle = (await memory(pids) - before) * 1_024 / machines;
  reporter.report("nodes_memory_per_machine_idle", idle, "KiB");

  using grpc = new GrpcClient(`http://127.0.0.1:${cluster.ports[0]}`, accessToken);
  const app = grpc.client(AppService);
  const samples: [number[], number[]] = [[], []];
  const saving = await Promise.all(pids.map(processorMs));
  for (let n = 0; n < Math.min(SAVES, machines); n++) {
    const notified = fleet.notified(n);
    const started = performance.now();
    await app.updateRobotPart({ id: ids[n] ?? "", name: "", robotConfig: { n } });
    await withDeadline(() => notified, { ...NOTIFIED, clock: systemClock });
    samples[n % 2 === 0 ? 0 : 1].push(performance.now() - started);
  }
  for (const [node, pid] of pids.entries()) {
    const each = (await processorMs(pid) - (saving[node] ?? 0)) / Math.min(SAVES, machines);
    reporter.report(`nodes_processor_of_a_save_${node}`, each, "ms");
  }
  for (const [node, ms] of samples.entries()) {
    const name = `nodes_save_to_notified_${node === 0 ? "same" : "other"}`;
    for (const share of [0.5, 0.99]) {
      reporter.report(`${name}_p${share * 100}`, percentile(ms, share), "ms");
    }
  }

  const other = cluster.program(1).pid;
  const back = await processorMs(other);
  const killed = performance.now();
  cluster.program(0).signal("SIGKILL");
  await eventually("its machines are lost", () => Promise.resolve(fleet.online < machines));
  await eventually("all machines are back", all, DEADLINE_MS);
  reporter.report("nodes_all_back_after_kill", (performance.now() - killed) / 1_000, "s");
  const eachBack = (await processorMs(other) - back) / (machines / 2);
  reporter.report("nodes_processor_of_one_back", eachBack, "ms");
}

/** Machines that come back on the other node when they lose theirs. */
class Fleet implements Disposable {
  readonly #online = new Set<number>();
  readonly #notified = new Map<number, () => void>();
  readonly #nodes: readonly WatchConnections[];
  #isOver = false;

  constructor(ports: readonly number[], token: string, private readonly ids: readonly string[]) {
    this.#nodes = ports.map((port, node) =>
      new WatchConnections(port, token, {
        heard: (n, event) => {
          this.#online.add(n);
          if (event === "configChanged") this.#notified.get(n)?.();
        },
        ended: (n) => this.#ended(n, node),
      })
    );
  }

  get online(): number {
    return this.#online.size;
  }

  async open(n: number, node: number): Promise<void> {
    if (!this.#isOver) await this.#nodes[node]?.open(n, this.ids[n] ?? "");
  }

  /** Resolves when a machine learns that its configuration changed. */
  notified(n: number): Promise<void> {
    return new Promise((done) => this.#notified.set(n, done));
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const node of this.#nodes) node[Symbol.dispose]();
  }

  #ended(n: number, node: number): void {
    this.#online.delete(n);
    const waitMs = FIRST_RETRY_MS + Math.random() * RETRY_JITTER_MS;
    const again = () => void this.open(n, 1 - node).catch(() => this.#ended(n, 1 - node));
    if (!this.#isOver) setTimeout(again, waitMs);
  }
}

/** Of all of these processes together. */
async function memory(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(residentMiB))).reduce((sum, mib) => sum + mib, 0);
}
