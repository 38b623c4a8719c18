import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Code } from "@connectrpc/connect";
import { CredentialsError } from "../../shared/credentials/credentials_file.ts";
import { configureLogging } from "../../shared/log/configure.ts";
import { getLogger } from "../../shared/log/loggers.ts";
import { LinuxProcessTable } from "../../shared/process/process_table_linux.ts";
import { systemProcesses } from "../../shared/process/system_processes.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { waitFor } from "../../shared/time/wait_for.ts";
import { LockedError } from "../lock/instance_lock.ts";
import type { AgentOptions } from "../options/options.ts";
import { AgentState } from "../state/agent_state.ts";
import { FakeCloud, testHost } from "../testing.ts";
import { type AgentDeps, type AgentEnd, runAgent } from "./run_agent.ts";

const READY = 'serving\\t{"url":"http://127.0.0.1:9"}';

/** A server with a child of its own; both ignore nothing and go with the first TERM. */
const SERVER = `#!/bin/sh
sleep 600 &
printf 'pid=%s inner=%s\\n' $$ $!
printf 'args=%s cwd=%s token=%s\\n' "$*" "$PWD" "$TOKEN"
echo "trouble" >&2
printf 'x\\tINFO\\trdk\\tw.go:1\\t${READY}\\n'
wait
`;

const table = new LinuxProcessTable();

/** An agent in this process with real child processes, real SQLite and a cloud in the test. */
class Bench implements AsyncDisposable {
  readonly cloud = new FakeCloud();
  readonly lines: string[] = [];
  /** What the service manager was told. */
  readonly told: string[] = [];
  readonly service = {
    ready: () => void this.told.push("ready"),
    stopping: () => void this.told.push("stopping"),
    status: () => {},
    alive: () => void this.told.push("alive"),
    watchdogMs: 3_600_000,
  };
  readonly dir: string;
  #stops: AbortController[] = [];
  #runs: Promise<void>[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(): Promise<Bench> {
    const bench = new Bench(await Deno.makeTempDir());
    await Deno.writeTextFile(join(bench.dir, "server.sh"), SERVER, { mode: 0o755 });
    await bench.writeCredentials({
      cloud: { app_address: "http://127.0.0.1:1", id: "part-1", secret: "hush" },
    });
    bench.cloud.answer = {
      viamServerUpdateInfo: {
        version: "customURL",
        url: pathToFileURL(join(bench.dir, "server.sh")).href,
      },
      advancedSettings: { machine_server_env: { TOKEN: "t1" } },
    };
    return bench;
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
      env: { PATH: "/usr/bin:/bin" },
      processes: systemProcesses(),
      openCloud: () => this.cloud.connection,
      askRestartStatus: () => Promise.resolve({ kind: "answer", restartAllowed: true }),
      writeLine: (line) => this.lines.push(line),
      collect: () => {},
      clock: systemClock,
      logging,
      log: getLogger("machine-agent"),
      serverErrorLog: getLogger("machine-server.StdErr"),
      service: this.service,
      self: { path: undefined, problem: "a test" },
      process: { pid: Deno.pid, mark: "this one" },
    };
    return await runAgent(
      {
        credentialsFile: this.credentialsFile,
        defaultsFile: join(this.dir, "defaults.json"),
        dir: this.agentDir,
        debug: false,
        wait: false,
        fastStart: false,
        devMode: true,
        ...options,
      },
      deps,
      { orderly, atOnce: new AbortController().signal },
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
    await waitFor(ready, { deadlineMs: 15_000, what: `${count} servers serve` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop.abort();
    await Promise.all(this.#runs);
    await (await configureLogging({ output: { stdout: false } })).close();
    await Deno.remove(this.dir, { recursive: true });
  }
}

function test(name: string, body: (bench: Bench) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using bench = await Bench.create();
      await body(bench);
    },
  });
}

const isAlive = (pid: number) => table.startOf(pid) !== undefined;

test("runAgent() runs the server that the cloud names and ends it with its children", async (at) => {
  const agent = at.run();
  await at.serving(1);
  const told = at.lines.find((line) => line.startsWith("args="));
  assert.equal(told, `args=-config ${at.credentialsFile} cwd=${at.agentDir} token=t1`);
  const link = await Deno.readLink(join(at.agentDir, "bin", "machine-server"));
  assert(link.startsWith(join(at.agentDir, "cache", "machine-server-customURL-")), link);
  const pids = [...at.pids("pid"), ...at.pids("inner")];
  assert(pids.length === 2 && pids.every(isAlive));
  await agent.stop();
  assert(!pids.some(isAlive), "the server and its child are gone");
});

test("runAgent() sends its own lines and the server's errors to the cloud", async (at) => {
  const agent = at.run();
  await at.serving(1);
  await agent.stop();
  const logs = at.cloud.logs.map(({ loggerName, level, message }) =>
    `${level} ${loggerName} ${message}`
  );
  assert(logs.includes("info machine-agent machine-agent starts"), logs.join("\n"));
  assert(logs.includes("warn machine-server.StdErr trouble"));
  assert(logs.includes("info machine-agent machine-agent ends"));
  assert(!JSON.stringify(logs).includes("serving"), "the server sends its own lines itself");
  assert(!/hush|t1/.test(JSON.stringify(logs)), "no secret");
});

test("runAgent() starts the server from what it kept while the cloud is away", async (at) => {
  const first = at.run();
  await at.serving(1);
  await first.stop();
  at.cloud.failure = Code.Unavailable;
  const second = at.run();
  await at.serving(2);
  await second.stop();
  assert.equal(at.pids("pid").length, 2);
});

test("runAgent() starts no server before the cloud's answer when it is to wait", async (at) => {
  const first = at.run();
  await at.serving(1);
  await first.stop();
  const questions = at.cloud.questions.length;
  const held = Promise.withResolvers<void>();
  at.cloud.hold = held.promise;
  at.run({ wait: true });
  await waitFor(() => at.cloud.questions.length > questions, { deadlineMs: 10_000 });
  assert.equal(at.pids("pid").length, 1);
  held.resolve();
  await at.serving(2);
});

test("runAgent() waits for nothing when fast start is forced", async (at) => {
  const first = at.run();
  await at.serving(1);
  await first.stop();
  const held = Promise.withResolvers<void>();
  at.cloud.hold = held.promise;
  at.run({ wait: true, fastStart: true });
  await at.serving(2);
  held.resolve();
});

test("runAgent() starts the server again when it was killed", async (at) => {
  at.run();
  await at.serving(1);
  for (const pid of at.pids("pid")) Deno.kill(pid, "SIGKILL");
  await at.serving(2);
  const [inner = 0] = at.pids("inner");
  assert(!isAlive(inner), "what the killed one left behind is gone");
});

test("runAgent() ends a server that a killed agent left, then starts its own", async (at) => {
  await Deno.mkdir(at.agentDir, { recursive: true });
  const state = AgentState.open(join(at.agentDir, "agent.db"));
  const onLine = (_: string, line: string) => void at.lines.push(line);
  const stray = systemProcesses().start({
    program: join(at.dir, "server.sh"),
    env: { PATH: "/usr/bin:/bin" },
    tree: state.serverTree(),
    onLine,
  });
  await at.serving(1);
  // Killed before it could write the number down: only the mark tells.
  state.close();
  at.run();
  await at.serving(2);
  const [strayPid = 0, ownPid = 0] = at.pids("pid");
  // It may be dead and not yet collected by this process, its parent.
  const gone = waitFor(() => !isAlive(strayPid), { deadlineMs: 10_000, what: "the stray's end" });
  await gone.finally(() => stray.kill());
  assert(isAlive(ownPid));
});

test("runAgent() tells the service manager that it is ready, alive and ending", async (at) => {
  const agent = at.run();
  await at.serving(1);
  assert.deepEqual(at.told, ["ready", "alive"]);
  await agent.stop();
  assert.deepEqual(at.told, ["ready", "alive", "stopping"]);
});

test("runAgent() keeps what others need not read for its owner", async (at) => {
  const agent = at.run();
  await at.serving(1);
  const modes: Record<string, string> = {};
  for (const name of ["", "bin", "etc", "cache", "agent.db", "agent-logs.db", "agent.lock"]) {
    const { mode } = await Deno.stat(join(at.agentDir, name));
    modes[name] = ((mode ?? 0) & 0o777).toString(8);
  }
  await agent.stop();
  assert.deepEqual(modes, {
    ...{ "": "755", "bin": "755", "etc": "755", "cache": "755" },
    ...{ "agent.db": "600", "agent-logs.db": "600", "agent.lock": "644" },
  });
});

test("runAgent() lets no second agent into its folder", async (at) => {
  at.run();
  await at.serving(1);
  await assert.rejects(at.run().ended, LockedError);
  assert.equal(at.pids("pid").length, 1);
});

test("runAgent() ends with one line when the credentials cannot be used", async (at) => {
  await at.writeCredentials({ cloud: {} });
  await assert.rejects(
    at.run().ended,
    (error) => error instanceof CredentialsError && error.message.includes(at.credentialsFile),
  );
});
