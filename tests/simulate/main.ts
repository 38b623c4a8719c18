import { join } from "node:path";
import process from "node:process";
import { deserialize } from "bson";
import { setTimeout as sleep } from "node:timers/promises";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { parseFlags, UsageError } from "../../shared/base/flags/flags.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { copyMachine } from "../bench/copied_machines.ts";
import { processorMs, residentMiB } from "../bench/footprint.ts";
import { GrpcClient } from "../bench/grpc_client.ts";
import { Rig } from "../e2e/rig.ts";
import { Latencies } from "./latencies.ts";
import { SimulatedMachines } from "./simulated_machines.ts";
import { Traffic } from "./traffic.ts";

const SPEC = {
  program: "make simulate",
  summary: "Run a cloud with simulated machines, disturb them, and print latencies and losses.",
  flags: {
    "machines": {
      type: "integer",
      default: 1_000,
      min: 10,
      max: 100_000,
      doc: "How many there are. Each has a connection of its own: 10,000 take 10,000 descriptors.",
    },
    "seconds": {
      type: "integer",
      default: 60,
      min: 10,
      max: 86_400,
      doc: "How long they send, once all are connected.",
    },
  },
} as const;

/** Share of the machines that lose their connection each second. */
const CHURN_A_SECOND = 0.001;
/** Share that loses it every few seconds, from the beginning to the end. */
const FLAPPING = 0.01;
const FLAP_EVERY_MS = 10_000;
/** Share that is in the data centre which is cut off. */
const CUT = 0.3;
/** Machines of which every log line is looked for in the end. */
const LOOKED_AT = 50;
const DEADLINE_MS = 600_000;

interface Fleet {
  readonly rig: Rig;
  readonly machines: SimulatedMachines;
  readonly traffic: Traffic;
  readonly grpc: GrpcClient;
  readonly fragmentId: string;
}

async function simulate(count: number, seconds: number): Promise<void> {
  note(`making ${count} machines …`);
  await using rig = await Rig.create();
  const { partIds, fragmentId } = await makeMachines(rig, count);
  const cloud = await rig.startCloud(["--log-rate", "1048576"]);
  const { accessToken } = await rig.cloud();
  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  using machines = new SimulatedMachines(partIds, rig.cloudPort, accessToken);
  const before = await residentMiB(cloud.pid);
  const started = performance.now();
  await machines.connect();
  const connectS = (performance.now() - started) / 1_000;
  const connected = await residentMiB(cloud.pid);
  note(`all are connected after ${connectS.toFixed(1)} s; they send for ${seconds} s …`);

  const traffic = new Traffic(machines, grpc);
  const fleet = { rig, machines, traffic, grpc, fragmentId };
  const over = AbortSignal.timeout(seconds * 1_000);
  const processorBefore = await processorMs(cloud.pid);
  const sending = performance.now();
  const [, , , saves, rollout] = await Promise.all([
    traffic.run(over),
    churn(machines, over),
    flap(machines, over),
    save(fleet, over),
    rollOut(fleet, seconds),
    cutOff(machines, seconds, over),
  ]);
  const share = (await processorMs(cloud.pid) - processorBefore) / (performance.now() - sending);
  const after = await residentMiB(cloud.pid);
  note("all machines come back …");
  await until(() => machines.online === count, "all machines to be online again");
  const heading = ["", "DONE", "FAILED", "HALF IN", "99 % IN", "ALL IN"];
  const measured: readonly (readonly [string, Latencies])[] = [
    ["status reports", traffic.statuses],
    ["calls with log lines", traffic.logs],
    ["uploads of readings", traffic.uploads],
    ["save until notified", saves],
    ["roll-out until notified", rollout],
    ["cut off until back", machines.reconnects],
  ];
  print(textTable([heading, ...measured.map(([name, one]) => one.row(name))]));
  for (const [name, one] of measured) {
    for (const reason of one.reasons()) print(`${name} failed: ${reason}\n`);
  }
  const perMachineKiB = (connected - before) * 1_024 / count;
  print(textTable([
    [
      "memory of the cloud",
      `${before.toFixed(0)} MiB, ${connected.toFixed(0)} MiB with all ` +
      `connected (${perMachineKiB.toFixed(0)} KiB each), ${after.toFixed(0)} MiB in the end`,
    ],
    ["processor", `${(share * 100).toFixed(0)} % of a core while they sent`],
    ["lost", await losses(fleet)],
    ["disk", await sizes(join(rig.dir, "cloud"))],
  ]));
}

/** One machine by the API, the others like it, straight in the database. */
async function makeMachines(rig: Rig, count: number) {
  await rig.bootstrap({});
  const cloud = await rig.startCloud();
  const { accessToken } = await rig.cloud();
  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  const app = grpc.client(AppService);
  const { fragment } = await app.createFragment({
    ...{ name: "base", config: climate(0), organizationId: rig.bootstrapped.org_id },
  });
  const fragmentId = fragment?.id ?? "";
  await app.updateRobotPart({ id: rig.partId, robotConfig: { fragments: [{ id: fragmentId }] } });
  await cloud.stop(60_000);
  const folder = await openDataFolder(join(rig.dir, "cloud"), systemRandom);
  const partIds = await copyMachine(folder.database.queries, count)
    .finally(() => folder.database.close());
  return { partIds, fragmentId };
}

function climate(x: number) {
  const attributes = { x };
  const api = "rdk:component:sensor";
  return { components: [{ name: "climate", api, model: "rdk:builtin:fake", attributes }] };
}

/** Machines lose their connection, here and there. */
async function churn(machines: SimulatedMachines, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(100);
    const expected = machines.count * CHURN_A_SECOND / 10;
    const some = Math.floor(expected) + (Math.random() < expected % 1 ? 1 : 0);
    for (let n = 0; n < some; n++) machines.cut(Math.floor(Math.random() * machines.count));
  }
}

/** The same few lose it over and over. */
async function flap(machines: SimulatedMachines, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (let n = 0; n < machines.count * FLAPPING; n++) machines.cut(n);
    await sleep(FLAP_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** A third of the way in, many lose it at once. */
async function cutOff(machines: SimulatedMachines, seconds: number, signal: AbortSignal) {
  await sleep(seconds * 1_000 / 3, undefined, { signal }).catch(() => undefined);
  for (let n = 0; n < machines.count * CUT; n++) machines.cut(machines.count - 1 - n);
}

/** Configurations are saved one after the other, until their machine learns of it. */
async function save({ machines, grpc, fragmentId }: Fleet, signal: AbortSignal) {
  const latencies = new Latencies();
  const app = grpc.client(AppService);
  for (let n = 0; !signal.aborted; n++) {
    // Of those that are not cut off on purpose.
    const share = FLAPPING + Math.random() * (1 - CUT - FLAPPING);
    const which = Math.floor(machines.count * share);
    const robotConfig = { fragments: [{ id: fragmentId }], n };
    const notified = machines.notified(which);
    const saved = app.updateRobotPart({ id: machines.idOf(which), name: "", robotConfig });
    await latencies.measure(saved.then(() => within(notified, 30_000)));
    await sleep(100);
  }
  return latencies;
}

/** Two thirds of the way in, the fragment of all machines changes. */
async function rollOut({ machines, grpc, fragmentId }: Fleet, seconds: number) {
  const latencies = new Latencies();
  await sleep(seconds * 2_000 / 3);
  const started = performance.now();
  const all = Array.from({ length: machines.count }, (_, n) => machines.notified(n));
  await grpc.client(AppService).updateFragment({ id: fragmentId, config: climate(1) });
  await Promise.all(all.map((one) => latencies.measure(within(one, DEADLINE_MS), started)));
  return latencies;
}

/** What was acknowledged and is not there. */
async function losses({ rig, traffic, grpc }: Fleet): Promise<string> {
  const data = grpc.client(DataService);
  const { rawData } = await data.tabularDataBySQL({
    organizationId: rig.bootstrapped.org_id,
    sqlQuery: "SELECT part_id, count(*) AS n FROM readings GROUP BY part_id",
  });
  const stored = new Map(rawData.map((row) => {
    const { part_id: id, n } = deserialize(row);
    return [String(id), Number(n)];
  }));
  let [sent, missing] = [0, 0];
  for (const [id, count] of traffic.readings) {
    sent += count;
    // A call that failed may have been carried out: of some there are more.
    missing += Math.max(0, count - (stored.get(id) ?? 0));
  }
  const app = grpc.client(AppService);
  let lines = 0;
  let missingLines = 0;
  for (const [id, count] of [...traffic.lines].slice(0, LOOKED_AT)) {
    lines += count;
    let found = 0;
    for (let pageToken = "";;) {
      const page = await app.getRobotPartLogs({ id, pageToken, levels: ["info"] });
      found += page.logs.filter(({ host }) => host === "simulated").length;
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    missingLines += Math.max(0, count - found);
  }
  const looked = Math.min(LOOKED_AT, traffic.lines.size);
  return `${missing} of ${sent} readings, ${missingLines} of ${lines} log lines of ` +
    `${looked} machines that were acknowledged`;
}

/** What the databases take, with what is not yet in the file itself. */
async function sizes(folder: string): Promise<string> {
  const bytes = new Map<string, number>();
  for await (const { name } of Deno.readDir(folder)) {
    const [, database] = /^(.*\.db)(?:-wal)?$/.exec(name) ?? [];
    if (database === undefined) continue;
    const { size } = await Deno.stat(join(folder, name));
    bytes.set(database, (bytes.get(database) ?? 0) + size);
  }
  return [...bytes].map(([name, size]) => `${name} ${(size / 2 ** 20).toFixed(1)} MiB`).join(", ");
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const late = new AbortController();
  const timer = sleep(ms, undefined, { signal: late.signal }).then(() => {
    throw new Error(`not within ${ms / 1_000} s`);
  });
  await Promise.race([work, timer]).finally(() => {
    timer.catch(() => undefined);
    late.abort();
  });
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await sleep(50);
  }
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function print(text: string): void {
  process.stdout.write(text);
}

if (import.meta.main) {
  try {
    const { values } = parseFlags(Deno.args, SPEC, (name) => Deno.env.get(name));
    await simulate(values.machines, values.seconds);
  } catch (error) {
    note(`make simulate: ${error instanceof Error ? error.message : String(error)}`);
    Deno.exit(error instanceof UsageError ? 2 : 1);
  }
}
