/** An updater whose world is the test's. */
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { settle } from "../../testing.ts";
import { FilesInUse } from "../downloads/files_in_use.ts";
import type { Failures, Health, RestartPermission } from "./control.ts";
import type { ProgressOfDownload, WantedProgram } from "./downloads.ts";
import { updateLimits } from "./limits.ts";
import type { Candidate, ProgramRecord } from "./record.ts";
import type { Continues, ProgramName, ProgramSlot } from "./slot.ts";
import type { Target } from "./target.ts";
import { Turns } from "./turns.ts";
import type { UpdateEvent } from "./update_machine.ts";
import { Updater } from "./updater.ts";

/** A program that starts at once and is as healthy as the test says. */
class FakeSlot implements ProgramSlot {
  /** What was done, in order. */
  readonly steps: string[] = [];
  health: Health = { is: "yes", why: "" };
  failed: Failures = { count: 0, reason: "" };
  obstacle: string | undefined;
  swapFailure: string | undefined;
  installed: InstalledVersion | undefined;
  #running = "";

  /** `isRead`: when what it left on disk has been read. */
  constructor(readonly program: ProgramName, private readonly isRead = Promise.resolve()) {}

  found(): Promise<InstalledVersion | undefined> {
    return Promise.resolve(this.installed);
  }

  async resume({ state }: ProgramRecord): Promise<readonly UpdateEvent[]> {
    await this.isRead;
    return ["swapping", "trial"].includes(state.kind) ? [{ type: "resumed" }] : [];
  }

  problem(): string | undefined {
    return this.obstacle;
  }

  letRun(version: InstalledVersion | undefined): void {
    if (!version || version.version === this.#running) return;
    this.#running = version.version;
    this.failed = { count: 0, reason: "" };
    this.steps.push(`run ${version.version}`);
  }

  swap({ target }: Candidate): Promise<void> {
    this.#running = "";
    if (this.swapFailure !== undefined) return Promise.reject(new Error(this.swapFailure));
    this.steps.push(`swap ${target.version}`);
    return Promise.resolve();
  }

  undoSwap(): Promise<void> {
    this.steps.push("undo");
    return Promise.resolve();
  }

  beginTrial({ installed }: Candidate): Continues {
    this.letRun(installed);
    return "here";
  }

  failures(): Failures {
    return this.failed;
  }

  healthy(): Health {
    return this.health;
  }

  reachesCloud(): boolean {
    return true;
  }

  commit(): Promise<void> {
    this.steps.push("commit");
    return Promise.resolve();
  }

  rollBack(_: Candidate, current: InstalledVersion): Promise<Continues> {
    this.#running = "";
    this.steps.push(`back to ${current.version}`);
    return Promise.resolve("here");
  }

  leaveTrial(): Promise<void> {
    this.steps.push("leave");
    return Promise.resolve();
  }

  tidy(): Promise<void> {
    this.steps.push("tidy");
    return Promise.resolve();
  }
}

export const release = (version: string): Target => ({
  version,
  url: `https://cloud/${version}`,
  sha256: version.replaceAll(/\D/g, "").padEnd(64, "0"),
});

/** One program, its updater, and all that it asks. */
export class UpdaterRig implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly slot: FakeSlot;
  readonly log = memoryLogger();
  readonly updater: Updater;
  /** Records on disk, by program. */
  readonly disk: Map<string, string>;
  permission: RestartPermission = { allowed: true };
  readonly permissionChanged = new Watched(0);
  readonly inUse = new FilesInUse();
  questions = 0;
  /** Why nothing may be installed; undefined: it may. */
  objection: string | undefined;
  /** Versions that were trusted or marked bad. */
  settled = 0;
  /** What the disk says to the next writes. */
  diskFailure: string | undefined;
  /** How a download ends; undefined: as it should. */
  download: ((wanted: WantedProgram, signal: AbortSignal) => Promise<void>) | undefined;
  readonly wanted: WantedProgram[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor({
    program = "machine-server",
    installed = "1.0.0",
    clock = new FakeClock(),
    turns = new Turns(),
    disk = new Map(),
    isRead = Promise.resolve(),
  }: {
    program?: ProgramName;
    installed?: string;
    clock?: FakeClock;
    turns?: Turns;
    disk?: Map<string, string>;
    isRead?: Promise<void>;
  } = {}) {
    this.clock = clock;
    this.disk = disk;
    this.slot = new FakeSlot(program, isRead);
    if (installed !== "") {
      const { url, sha256 } = release(installed);
      this.slot.installed = { version: installed, url, sha256, path: `/cache/${installed}` };
    }
    this.updater = new Updater({
      slot: this.slot,
      state: {
        update: (name) => this.disk.get(name),
        saveUpdate: (name, record) => {
          if (this.diskFailure !== undefined) throw new Error(this.diskFailure);
          this.disk.set(name, record);
        },
      },
      downloader: { obtain: (wanted, report, signal) => this.#obtain(wanted, report, signal) },
      policy: { problemOf: () => Promise.resolve(this.objection) },
      window: {
        permission: () => {
          this.questions++;
          return this.permission;
        },
        observed: this.permissionChanged,
      },
      cleaner: { cleanSoon: () => void this.settled++ },
      inUse: this.inUse,
      turns,
      limits: updateLimits({}),
      clock,
      log: this.log,
    });
    this.#running = this.updater.run(this.#stop.signal);
  }

  get state(): string {
    return this.updater.snapshot().state;
  }

  /** Time passes, and everybody does what is due. */
  async pass(ms: number): Promise<void> {
    await settle();
    await this.clock.advance(ms);
    await settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
  }

  async #obtain(
    wanted: WantedProgram,
    report: (progress: ProgressOfDownload) => void,
    signal: AbortSignal,
  ): Promise<{ path: string; sha256: string }> {
    this.wanted.push(wanted);
    report({ bytesDownloaded: 1, totalBytes: 2 });
    await this.download?.(wanted, signal);
    return { path: `/cache/${wanted.version}`, sha256: wanted.sha256 ?? "" };
  }
}
