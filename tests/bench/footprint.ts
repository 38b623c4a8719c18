import { eventually, Rig } from "../e2e/rig.ts";
import { percentile, type Reporter } from "./report.ts";
import { runOwnClient } from "./throughput.ts";

/** How long everything runs undisturbed before memory is read. */
const SETTLE_MS = 45_000;
const STARTS = 10;

/** Resident memory of each process while nothing happens but the usual traffic among them. */
export async function benchMemory(reporter: Reporter): Promise<void> {
  reporter.note(`memory after ${SETTLE_MS / 1000} s of idling …`);
  await using rig = await Rig.create();
  const config = rig.defaultConfig();
  await rig.bootstrap({
    ...config,
    components: [{ name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" }],
  });
  const cloud = await rig.startCloud();
  const agent = await rig.startAgent();
  const [server] = await rig.serversOf(agent);
  if (server === undefined) throw new Error("no server runs below the agent");
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  for (const [name, pid] of [["server", server], ["agent", agent.pid], ["cloud", cloud.pid]]) {
    reporter.report(`rss_idle_${name}`, await residentMiB(Number(pid)), "MiB");
    reporter.report(`anonymous_idle_${name}`, await anonymousMiB(Number(pid)), "MiB");
  }
}

/** From the start of the process to the ready line. */
export async function benchColdStart(reporter: Reporter): Promise<void> {
  reporter.note(`${STARTS} starts of the server …`);
  await using rig = await Rig.create();
  await rig.startCloud();
  const samples: number[] = [];
  for (let n = -1; n < STARTS; n++) {
    const started = performance.now();
    const server = await rig.startServer();
    if (n >= 0) samples.push(performance.now() - started); // The first fills the caches.
    await server.stop(5_000);
  }
  reporter.report("cold_start_server_p50", percentile(samples, 0.5), "ms");
  reporter.report("cold_start_server_max", percentile(samples, 1), "ms");
}

/**
 * Memory of the server 10 s after five seconds of 64 calls in flight. As `Pss`, in which a page that
 * n processes share counts for one n-th; all else of the rig runs meanwhile.
 */
export async function benchMemoryAfterLoad(reporter: Reporter): Promise<void> {
  reporter.note("memory of the server 10 s after 5 s of load …");
  await using rig = await Rig.create();
  await rig.startCloud();
  const agent = await rig.startAgent();
  const [server] = await rig.serversOf(agent);
  if (server === undefined) throw new Error("no server runs below the agent");
  await eventually("the sensor answers", () => rig.readings("fake"));
  const { accessToken } = await rig.server();
  await runOwnClient(rig.serverUrl, accessToken, 64, 5);
  reporter.report("pss_loaded_server", await proportionalMiB(server), "MiB");
  await new Promise((done) => setTimeout(done, 10_000));
  reporter.report("pss_after_load_server", await proportionalMiB(server), "MiB");
}

/** Memory of a process, shared pages in proportion. */
async function proportionalMiB(pid: number): Promise<number> {
  const rollup = await Deno.readTextFile(`/proc/${pid}/smaps_rollup`);
  const kib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/smaps_rollup names no Pss`);
  return Number(kib) / 1024;
}

/** Resident memory of a process. */
export async function residentMiB(pid: number): Promise<number> {
  return await statusMiB(pid, "VmRSS");
}

/** Of that, what is no page of a file: nobody shares it, and the system cannot take it back. */
async function anonymousMiB(pid: number): Promise<number> {
  return await statusMiB(pid, "RssAnon");
}

async function statusMiB(pid: number, field: string): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status names no ${field}`);
  return Number(kib) / 1024;
}

/** Processor time of all threads of a process; the clock of Linux ticks 100 times a second. */
export async function processorMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
