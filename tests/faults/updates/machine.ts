/**
 * The agent's updates as they are, with real child processes, SQLite, files and links; only the
 * servers are small scripts, and the maintenance window is a question to the test's web server.
 */
import { join } from "node:path";
import { AgentSlot } from "../../../agent/updates/updater/agent_slot.ts";
import type { AgentControl, Health } from "../../../agent/updates/updater/control.ts";
import type { UpdateLimits } from "../../../agent/updates/updater/limits.ts";
import { programLink } from "../../../agent/updates/updater/program_link.ts";
import { ServerSlot } from "../../../agent/updates/updater/server_slot.ts";
import type { ProgramSnapshot } from "../../../agent/updates/updater/snapshot.ts";
import type { Target } from "../../../agent/updates/updater/target.ts";
import { Turns } from "../../../agent/updates/updater/turns.ts";
import { Updater } from "../../../agent/updates/updater/updater.ts";
import { CacheCleaner } from "../../../agent/updates/cache/clean.ts";
import { Downloader } from "../../../agent/updates/downloads/downloader.ts";
import { FilesInUse } from "../../../agent/updates/downloads/files_in_use.ts";
import { UPDATE_EXIT_CODE } from "../../../agent/updates/guard/trial_file.ts";
import { openAgentState } from "../../../agent/state/open_state.ts";
import type { Observed } from "../../../agent/server/maintenance/maintenance_window.ts";
import { ServerSupervisor } from "../../../agent/server/supervision/supervisor.ts";
import { SupervisedServer } from "../../../agent/server/trials/supervised_server.ts";
import type { WantedServer } from "../../../agent/server/supervision/wanted_server.ts";
import { runWorkers } from "../../../shared/workers/run_workers.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";

/** Times that make an update short enough for a test of each of its moments. */
const SHORT: UpdateLimits = {
  failedStarts: 3,
  interruptions: 10,
  trialMs: 60,
  unhealthyMs: 5_000,
  lookEveryMs: 10,
  askEveryMs: 20,
  refusedRetryMs: 60_000,
  recheckMs: 60_000,
  swapRetryMs: 100,
  agentFirstMs: 10_000,
};

export interface MachineOptions {
  /** The agent's folder. */
  readonly dir: string;
  /** Undefined: the cloud has not said anything. */
  readonly server?: Target | undefined;
  readonly agent?: Target | undefined;
  /** This agent; undefined: it cannot be replaced. */
  readonly self?: { readonly path: string; readonly version: string } | undefined;
  /** Whether this agent reaches the cloud. */
  readonly cloud?: () => boolean;
  /** Whether the server may be restarted. Default: yes. */
  readonly mayRestart?: () => boolean;
  /** The window is closed for so many questions first. */
  readonly closedQuestions?: number;
  readonly limits?: Partial<UpdateLimits>;
  readonly startTimeoutMs?: number;
  /** The guard's patience with an agent on trial. */
  readonly trialLimitS?: number;
  readonly clock?: Clock;
  /** Of the waits for processes that are to end. */
  readonly processClock?: Clock;
  readonly fetch?: typeof fetch;
  readonly log?: Logger;
}

/** A running machine. */
export interface Machine {
  readonly server: Updater;
  readonly agent: Updater;
  readonly supervisor: ServerSupervisor;
  /** What servers printed, each line once. */
  readonly lines: readonly string[];
  readonly log: Logger;
  /** The exit code that the agent wishes for; undefined while it wishes to stay. */
  readonly exitCode: number | undefined;
  /** Version that runs and serves, `A`. */
  readonly serving: string | undefined;
  /** Ends the server and the updates. */
  stop(): Promise<void>;
  /** Only the agent ends; what it started stays. */
  readonly ended: Promise<void>;
}

export const homeOf = (dir: string) => join(dir, "home");

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { dir, clock = systemClock, log = memoryLogger() } = options;
  const limits = { ...SHORT, ...options.limits };
  for (const folder of ["bin", "cache", "etc", "home"]) {
    await Deno.mkdir(join(dir, folder), { recursive: true });
  }
  const state = await openAgentState(join(dir, "agent.db"), log);
  const wanted = new Watched<WantedServer>({
    isEnabled: true,
    version: undefined,
    env: { MACHINE_HOME: homeOf(dir) },
    startTimeoutMs: options.startTimeoutMs ?? 10_000,
  });
  const lines: string[] = [];
  const supervisor = new ServerSupervisor({
    processes: systemProcesses({ clock: options.processClock ?? systemClock }),
    state,
    wanted,
    credentialsFile: join(dir, "machine.json"),
    dir,
    env: { PATH: "/usr/bin:/bin" },
    writeLine: (line) => lines.push(line),
    clock,
    backoff: new Backoff({ minMs: 20, maxMs: 50, jitter: false }),
    log,
    errorLog: log,
    redact: (text) => text,
  });
  const answers = new Answers(supervisor);
  const control = new SupervisedServer({
    supervisor,
    wanted,
    window: answers,
    reach: { reached: new Watched(true) },
  });
  const stopped = new AbortController();
  let exitCode: number | undefined;
  let questions = 0;
  const self = options.self;
  const agentControl: AgentControl = {
    runningPath: self?.path,
    version: self?.version ?? "0",
    problem: self ? undefined : "it is a test",
    healthy: (cloudBefore): Health => {
      const isReached = options.cloud?.() ?? true;
      if (answers.silence !== undefined) return { is: "not yet", why: answers.silence };
      if (cloudBefore && !isReached) return { is: "not yet", why: "the cloud is not reached" };
      return { is: "yes", why: "" };
    },
    reachesCloud: () => options.cloud?.() ?? true,
    restart: () => {
      exitCode ??= UPDATE_EXIT_CODE;
      stopped.abort();
    },
  };
  const inUse = new FilesInUse(self ? ["machine-agent", "machine-server"] : ["machine-server"]);
  const cleaner = new CacheCleaner({
    cacheDir: join(dir, "cache"),
    db: state.database,
    keep: () => inUse.paths(),
    clock,
    log,
  });
  const downloader = new Downloader({
    cacheDir: join(dir, "cache"),
    db: state.database,
    platform: "linux/amd64",
    credentialsFor: () => ({}),
    bandwidthBytesPerS: () => 0,
    cleaner,
    inUse,
    fetch: options.fetch ?? fetch,
    clock,
    log,
  });
  const turns = new Turns();
  const shared = {
    state,
    downloader,
    policy: { problemOf: () => Promise.resolve(undefined) },
    window: {
      permission: () =>
        questions++ < (options.closedQuestions ?? 0) || options.mayRestart?.() === false
          ? { allowed: false, why: "the window is closed", since: clock.now() } as const
          : { allowed: true } as const,
      observed: new Watched(0),
    },
    cleaner,
    inUse,
    turns,
    limits,
    clock,
    log,
  };
  const bin = join(dir, "bin");
  const server = new Updater({
    ...shared,
    slot: new ServerSlot({
      link: programLink(bin, "machine-server"),
      control,
      databases: () => [join(homeOf(dir), "server.db")],
      log,
    }),
  });
  const agent = new Updater({
    ...shared,
    slot: new AgentSlot({
      dir,
      link: programLink(bin, "machine-agent"),
      control: agentControl,
      databases: [join(dir, "agent.db")],
      ...(options.trialLimitS === undefined ? {} : { limitS: options.trialLimitS }),
      log,
    }),
  });
  if ("server" in options) server.setTarget(options.server);
  if ("agent" in options) agent.setTarget(options.agent);
  const workers = [
    { name: "supervision", run: (signal: AbortSignal) => supervisor.run(signal) },
    { name: "server", run: (signal: AbortSignal) => server.run(signal) },
    { name: "answers", run: (signal: AbortSignal) => answers.run(signal) },
    ...self ? [{ name: "agent", run: (signal: AbortSignal) => agent.run(signal) }] : [],
  ];
  const ended = runWorkers(workers, { signal: stopped.signal, clock, log }).finally(() =>
    state.close()
  );
  return {
    server,
    agent,
    supervisor,
    lines,
    log,
    ended,
    get exitCode() {
      return exitCode;
    },
    get serving() {
      if (supervisor.state.value.kind !== "running" || answers.silence) return undefined;
      return lines.findLast((line) => line.startsWith("version="))?.slice("version=".length);
    },
    stop: async () => {
      stopped.abort();
      await ended;
    },
  };
}

/** Whether the running server answers at the address that it named. */
class Answers {
  silence: string | undefined = "not asked yet";
  readonly #supervisor: ServerSupervisor;

  constructor(supervisor: ServerSupervisor) {
    this.#supervisor = supervisor;
  }

  current(): Observed | undefined {
    const { launched } = this.#supervisor;
    return launched && {
      launched,
      kind: this.silence === undefined ? "yes" : "silent",
      why: this.silence ?? "",
      since: { date: systemClock.now(), ms: 0 },
      ...{ misses: 0, isReconfiguring: false, cloudReached: true },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.silence = await this.#ask();
      await systemClock.sleep(10, signal);
    }
  }

  async #ask(): Promise<string | undefined> {
    const state = this.#supervisor.state.value;
    if (state.kind !== "running") return "the server does not run";
    try {
      const answer = await fetch(`${state.urls[0]}/restart_status`);
      await answer.body?.cancel();
      return answer.ok ? undefined : `status ${answer.status}`;
    } catch {
      return "no answer";
    }
  }
}

/** For a JSON line of the child process. */
export function shortStatus({ server, agent, serving }: Machine) {
  const short = ({ state, installed, previous, bad, lastRollback }: ProgramSnapshot) => ({
    state,
    installed,
    previous,
    bad: bad.map(({ version }) => version),
    reason: lastRollback?.reason,
  });
  return { serving, server: short(server.snapshot()), agent: short(agent.snapshot()) };
}
