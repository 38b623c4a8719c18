/** For tests: a downloader with everything around it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  FileServer,
  randomBytes,
  type ServedFile,
  sha256Of,
  withFolder,
} from "../../../shared/transfer/download/testing.ts";
import { type MemoryLogger, memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { CacheCleaner } from "../cache/clean.ts";
import { AgentState } from "../../state/agent_state.ts";
import { DownloadError } from "./download_error.ts";
import { Downloader, type DownloaderOptions } from "./downloader.ts";
import { FilesInUse } from "./files_in_use.ts";
import type { DownloadProgress } from "./progress.ts";
import type { Obtained, WantedFile } from "./wanted_file.ts";

export const never = new AbortController().signal;

/** What begins like a program for Linux on amd64, or another processor. */
export function programBytes(length = 300_000, machine = 0x3e): Uint8Array<ArrayBuffer> {
  const bytes = randomBytes(length);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
  bytes.set([3, 0, machine, 0], 16);
  return bytes;
}

/** Downloads of one agent from its start to its end. */
export class DownloadRig {
  readonly log: MemoryLogger = memoryLogger("downloads");
  readonly state: AgentState;
  readonly downloader: Downloader;
  readonly inUse = new FilesInUse();
  readonly cleaner: CacheCleaner;
  readonly progress: DownloadProgress[] = [];
  /** Files that the cleaner shall keep in addition to those that the downloader uses. */
  readonly kept: string[] = [];
  limit = 0;
  readonly cacheDir: string;

  /** @param folder with the database; `cache` in it is made unless options name another. */
  constructor(
    folder: string,
    clock: Clock,
    options: Partial<DownloaderOptions> = {},
  ) {
    const { log } = this;
    this.cacheDir = options.cacheDir ?? join(folder, "cache");
    Deno.mkdirSync(this.cacheDir, { recursive: true });
    this.state = AgentState.open(join(folder, "agent.db"));
    const db = this.state.database;
    this.cleaner = new CacheCleaner({
      cacheDir: this.cacheDir,
      db,
      keep: () => [...this.kept, ...this.inUse.paths()],
      clock,
      log,
    });
    this.downloader = new Downloader({
      cacheDir: this.cacheDir,
      db,
      platform: "linux/amd64",
      credentialsFor: () => ({}),
      bandwidthBytesPerS: () => this.limit,
      cleaner: this.cleaner,
      inUse: this.inUse,
      fetch,
      clock,
      log,
      random: () => 1,
      ...options,
    });
  }

  obtain(wanted: Partial<WantedFile>, signal: AbortSignal = never): Promise<Obtained> {
    const whole = { program: "machine-server", version: "1.0.0", url: "", ...wanted };
    return this.downloader.obtain(whole, (progress) => void this.progress.push(progress), signal);
  }

  /** Names in the cache, with partial files as `part/…`. */
  names(): string[] {
    const inside = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name);
    const parts = inside(this.cacheDir).includes("part")
      ? inside(join(this.cacheDir, "part")).map((name) => `part/${name}`)
      : [];
    return [...inside(this.cacheDir).filter((name) => name !== "part"), ...parts].sort();
  }

  close(): void {
    this.state.close();
  }
}

/** Runs a test with a folder and a server for files; `start` makes the agent restart. */
export function withRig(
  test: (at: {
    folder: string;
    server: FileServer;
    start(clock?: Clock, options?: Partial<DownloaderOptions>): DownloadRig;
  }) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const server = await FileServer.start();
    const rigs: DownloadRig[] = [];
    const start = (clock: Clock = systemClock, options: Partial<DownloaderOptions> = {}) => {
      for (const rig of rigs) rig.close();
      const rig = new DownloadRig(folder, clock, options);
      rigs.push(rig);
      return rig;
    };
    try {
      await test({ folder, server, start });
    } finally {
      for (const rig of rigs) rig.close();
      await server.close();
    }
  });
}

/** What a test kills somewhere in between. @returns where the file is, or why it is not. */
export async function obtainOnce(folder: string, wanted: Partial<WantedFile>): Promise<string> {
  const rig = new DownloadRig(folder, systemClock);
  try {
    const { path } = await rig.obtain(wanted);
    await rig.cleaner.clean("all");
    return path;
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    return `${error.permanent ? "refused" : "later"}: ${error.reason}`;
  } finally {
    rig.close();
  }
}

/** A release on a server: what the cloud would report it. */
export function release(
  server: FileServer,
  bytes: Uint8Array<ArrayBuffer>,
  version = "1.0.0",
) {
  const path = `/machine-server-${version}`;
  server.files.set(path, { bytes, contentType: "application/octet-stream" });
  const url = `${server.origin}${path}?sign=hidden`;
  return { version, url, sha256: sha256Of(bytes), size: bytes.length };
}

/** Puts a file on a server, as badly as the test wants it. */
export function serve(
  server: FileServer,
  file: Partial<ServedFile>,
  path = "/machine-server-1.0.0",
): void {
  server.files.set(path, { bytes, contentType: "application/octet-stream", ...file });
}

/** What is served unless a test has something else. */
export const bytes = programBytes();

/** Expects an error that holds no secret. */
export async function fails(work: Promise<unknown>, permanent: boolean, reason: RegExp) {
  let thrown: DownloadError | undefined;
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof DownloadError, String(error));
    assert.match(error.reason, reason);
    assert.equal(error.permanent, permanent, error.reason);
    assert.doesNotMatch(error.reason, /hidden|s3cret/);
    thrown = error;
    return true;
  });
  assert.ok(thrown);
  return thrown;
}
