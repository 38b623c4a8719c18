/** What tests of the whole agent use. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { configureLogging } from "../../shared/log/configure.ts";
import { getLogger } from "../../shared/log/loggers.ts";
import { LinuxProcessTable } from "../../shared/base/process/process_table_linux.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { type Clock, sleepWith, systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { AgentOptions } from "../options/options.ts";
import { type AgentReport, parseReport } from "../status/report.ts";
import { statusPath } from "../status/status_file.ts";
import type { AskRestartStatus } from "../server/supervision/restart_status.ts";
import { FakeCloud, testHost } from "../testing.ts";
import type { AgentEnd } from "../service/agent_end.ts";
import type { AgentDeps } from "./deps.ts";
import { runAgent } from "./run_agent.ts";

/** The line by which a server of the tests says that it serves, for `printf`. */
export const READY = 'x\\tINFO\\trdk\\tw.go:1\\tserving\\t{"url":"http://127.0.0.1:9"}\\n';

/** A server with a child of its own; both ignore nothing and go with the first TERM. */
const SERVER = `#!/bin/sh
sleep 600 &
printf 'pid=%s inner=%s\\n' $$ $!
printf 'args=%s cwd=%s token=%s\\n' "$*" "$PWD" "$TOKEN"
echo "trouble" >&2
printf '${READY}'
wait
`;

const table = new LinuxProcessTable();

const TIMES_QUICKER = 4;
/** What the agent does every few seconds comes sooner; the date is the right one. */
const QUICK_CLOCK: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * TIMES_QUICKER,
  setTimer: (ms, run) => systemClock.setTimer(ms / TIMES_QUICKER, run),
  sleep: (ms, signal) => sleepWith(QUICK_CLOCK.setTimer, ms, signal),
};

export const isAlive = (pid: number): boolean => table.startOf(pid) !== undefined;

/** An agent in this process with real child processes, real SQLite and a cloud in the test. */
export class AgentRig implements AsyncDisposable {
  readonly cloud = new FakeCloud();
  readonly lines: string[] = [];
  /** What was reported to the service manager. */
  readonly told: string[] = [];
  readonly service = {
    ready: () => void this.told.push("ready"),
    stopping: () => void this.told.push("stopping"),
    status: () => {},
    alive: () => void this.told.push("alive"),
    watchdogMs: 3_600_000,
  };
  readonly dir: string;
  /** What the server answers when it is queried whether it may be restarted. */
  ask: AskRestartStatus = () => Promise.resolve({ kind: "answer", restartAllowed: true });
  /** Networks are none of most tests' business. */
  networks: AgentDeps["networks"] = "a test leaves the networks of its computer alone";
  #restarts = new Set<() => void>();
  #stops: AbortController[] = [];
  #runs: Promise<void>[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(): Promise<AgentRig> {
    const rig = new AgentRig(await Deno.makeTempDir());
    rig.cloud.answer = { advancedSettings: { machine_server_env: { TOKEN: "t1" } } };
    await rig.writeServer(SERVER);
    await rig.writeCredentials({
      cloud: { app_address: "http://127.0.0.1:1", id: "part-1", secret: "hush-hush" },
    });
    return rig;
  }

  /** Makes the script the server that the cloud names. */
  async writeServer(script: string, name = "server.sh"): Promise<void> {
    const path = join(this.dir, name);
    await Deno.writeTextFile(path, script, { mode: 0o755 });
    this.cloud.answer = {
      viamServerUpdateInfo: { version: "customURL", url: pathToFileURL(path).href },
      advancedSettings: this.cloud.answer.advancedSettings ?? {},
    };
  }

  get credentialsFile(): string {
    return join(this.dir, "machine.json");
  }

  get agentDir(): string {
    return join(this.dir, "agent");
  }

  async writeCredentials(json: unknown): Promise<void> {
    await Deno.writeTextFile(this.credentialsFile, JSON.stringify(json), { mode: 0o600 });
  }

  /** Starts an agent; the promise is that of its whole run. */
  run(
    options: Partial<AgentOptions> = {},
  ): { stop: () => Promise<void>; ended: Promise<AgentEnd> } {
    const orderly = new AbortController();
    const ended = this.#run(options, orderly.signal);
    this.#stops.push(orderly);
    this.#runs.push(ended.then(() => {}, () => {}));
    return {
      ended,
      stop: async () => {
        orderly.abort();
        await ended;
      },
    };
  }

  async #run(options: Partial<AgentOptions>, orderly: AbortSignal): Promise<AgentEnd> {
    const logging = await configureLogging({ output: { stdout: false } });
    const deps: AgentDeps = {
      version: "0.1.0",
      host: testHost,
      hostName: "bench",
      env: { PATH: "/usr/bin:/bin", MACHINE_AGENT_TRIAL_SECONDS: "1" },
      processes: systemProcesses(),
      openCloud: () => this.cloud.connection,
      askRestartStatus: (urls) => this.ask(urls),
      writeLine: (line) => this.lines.push(line),
      memory: { collect() {}, ownBytes: () => 0, processorMs: () => 0 },
      clock: QUICK_CLOCK,
      logging,
      log: getLogger("machine-agent"),
      serverErrorLog: getLogger("machine-server.StdErr"),
      service: this.service,
      self: { path: undefined, problem: "a test" },
      networks: this.networks,
      process: { pid: Deno.pid, mark: "this one" },
      run: () => Promise.resolve({ code: 127, stdout: "", stderr: "not in a test" }),
      system: { os: "linux", hasSystemd: false, ownUnit: undefined, boot: "0".repeat(32) },
    };
    return await runAgent(
      {
        credentialsFile: this.credentialsFile,
        defaultsFile: join(this.dir, "defaults.json"),
        dir: this.agentDir,
        debug: undefined,
        wait: undefined,
        fastStart: false,
        devMode: true,
        ...options,
      },
      deps,
      {
        orderly,
        atOnce: new AbortController().signal,
        onRestart: (restart) => {
          this.#restarts.add(restart);
          return () => void this.#restarts.delete(restart);
        },
      },
    );
  }

  /** Logs so many lines at once. */
  flood(lines: number): void {
    const log = getLogger("machine-server.StdErr");
    for (let n = 0; n < lines; n++) log.warn(`line ${n} of a flood`);
  }

  /** As HUP does. */
  askForRestart(): void {
    for (const restart of this.#restarts) restart();
  }

  /** What `status.json` says; undefined before it is there. */
  async status(): Promise<AgentReport | undefined> {
    const text = await readIfExists(statusPath(this.agentDir));
    return text === undefined ? undefined : parseReport(text);
  }

  /** Waits until `status.json` says something. */
  async reported(is: (report: AgentReport) => boolean): Promise<AgentReport> {
    let last: AgentReport | undefined;
    const found = waitFor(async () => {
      last = await this.status();
      return last && is(last) ? last : undefined;
    }, { deadlineMs: 60_000 });
    return await found.catch((error) => {
      throw new Error(`the status is not as wanted: ${JSON.stringify(last)}`, { cause: error });
    });
  }

  /** Messages that the cloud has got, with level and logger. */
  logs(): string[] {
    return this.cloud.logs.map(({ loggerName, level, message }) =>
      `${level} ${loggerName} ${message}`
    );
  }

  /** The pids that the servers printed, in the order of their starts. */
  pids(name: "pid" | "inner"): number[] {
    return this.lines.flatMap((line) => {
      const found = new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1];
      return found === undefined ? [] : [Number(found)];
    });
  }

  /** Waits until that many servers have said that they serve. */
  async serving(count: number): Promise<void> {
    const ready = () => this.lines.filter((line) => line.includes("serving\t")).length >= count;
    await waitFor(ready, { deadlineMs: 60_000, what: `${count} servers serve` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop.abort();
    await Promise.all(this.#runs);
    await (await configureLogging({ output: { stdout: false } })).close();
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** Registers a test with an agent of its own. */
export function agentTest(name: string, body: (at: AgentRig) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using rig = await AgentRig.create();
      await body(rig);
    },
  });
}
