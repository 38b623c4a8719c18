/**
 * What {@link benchAgentDownload} measures: the agent's downloader alone in a process of its own.
 * Arguments: folder, address, SHA-256. Prints a {@link DownloadFigures} as JSON.
 */
import { join } from "node:path";
import process from "node:process";
import { Downloader } from "../../agent/updates/downloads/downloader.ts";
import { FilesInUse } from "../../agent/updates/downloads/files_in_use.ts";
import { AgentState } from "../../agent/state/agent_state.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";

export interface DownloadFigures {
  readonly seconds: number;
  /** Before the download, and the most while it ran. MiB. */
  readonly rssBefore: number;
  readonly rssMost: number;
  /** The longest time in which nothing else could run, waits for a processor included. Milliseconds. */
  readonly blockedMs: number;
  /** The most that was computed in one go: what is left of `blockedMs` on a quiet computer. */
  readonly computedMs: number;
}

/** How often is looked; a small part of the span that must not be blocked. */
const LOOK_MS = 5;

/** Processor time of this thread. Milliseconds. */
const computedMs = () => {
  const path = `/proc/self/task/${process.pid}/schedstat`;
  return Number(Deno.readTextFileSync(path).split(" ")[0]) / 1e6;
};

const residentMiB = () => process.memoryUsage.rss() / 2 ** 20;

async function main([folder = "", url = "", sha256 = ""]: string[]): Promise<void> {
  const cacheDir = join(folder, "cache");
  await Deno.mkdir(cacheDir);
  const state = AgentState.open(join(folder, "agent.db"));
  const downloader = new Downloader({
    cacheDir,
    db: state.database,
    platform: "linux/amd64",
    credentialsFor: () => ({}),
    bandwidthBytesPerS: () => 0,
    cleaner: { clean: () => Promise.resolve() },
    inUse: new FilesInUse(),
    fetch,
    clock: systemClock,
    log: memoryLogger(),
  });
  const rssBefore = residentMiB();
  let rssMost = rssBefore;
  let blockedMs = 0;
  let mostMs = 0;
  let beforeMs = computedMs();
  let lookedMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    blockedMs = Math.max(blockedMs, nowMs - lookedMs - LOOK_MS);
    lookedMs = nowMs;
    const afterMs = computedMs();
    mostMs = Math.max(mostMs, afterMs - beforeMs);
    beforeMs = afterMs;
    rssMost = Math.max(rssMost, residentMiB());
  }, LOOK_MS);
  const startedMs = performance.now();
  const wanted = { program: "machine-server", version: "1.0.0", url, sha256 };
  await downloader.obtain(wanted, () => {}, new AbortController().signal);
  const seconds = (performance.now() - startedMs) / 1_000;
  clearInterval(timer);
  state.close();
  const figures: DownloadFigures = { seconds, rssBefore, rssMost, blockedMs, computedMs: mostMs };
  process.stdout.write(JSON.stringify(figures));
}

if (import.meta.main) await main(Deno.args);
