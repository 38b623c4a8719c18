import assert from "node:assert/strict";
import { join } from "node:path";
import { FileError } from "../../shared/base/files/fs_error.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { settle } from "../testing.ts";
import { beginTrial } from "../updates/guard/trial_file.ts";
import type { ProgramSnapshot } from "../updates/updater/snapshot.ts";
import { renderStatus } from "./render.ts";
import { type AgentFacts, type AgentReport, parseReport, programReport } from "./report.ts";
import { gatherStatus, type Status, type StatusSources } from "./status.ts";
import { keepStatusFile, statusPath } from "./status_file.ts";

const at = new Date("2026-01-02T03:04:05.000Z");
const MARK = { pid: 4711, mark: "boot:9", started_at: at.toISOString() };

const idle: ProgramSnapshot = {
  program: "machine-server",
  installed: "1.0.0",
  target: "1.0.0",
  previous: "",
  state: "idle",
  bytesDownloaded: 0,
  totalBytes: 0,
  error: "",
  lastChanged: undefined,
  waitingFor: "",
  waitingSince: undefined,
  trialUntil: undefined,
  bad: [],
  lastRollback: undefined,
};

function facts(change: Partial<AgentFacts> = {}): AgentFacts {
  return {
    part_id: "part-1",
    cloud: { address: "https://cloud.example", is_connected: true, since: at.toISOString() },
    agent: programReport(idle, "1.0.0"),
    server: programReport(idle, "1.0.0"),
    server_process: { state: "running", since: at.toISOString(), failures: 0, last_exit: "" },
    waiting_for: "",
    waiting_since: null,
    settings_problems: [],
    ...change,
  };
}

async function withFolder(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    for (const name of ["bin", "etc"]) await Deno.mkdir(join(dir, name));
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function readReport(dir: string): Promise<AgentReport> {
  const report = parseReport(await Deno.readTextFile(statusPath(dir)));
  assert(report);
  return report;
}

Deno.test("keepStatusFile() writes changes within a second, for its owner alone", () =>
  withFolder(async (dir) => {
    const clock = new FakeClock(at);
    const stop = new AbortController();
    let now = facts();
    const told: string[] = [];
    const options = {
      dir,
      facts: () => now,
      process: MARK,
      tell: (line: string) => void told.push(line),
      clock,
      log: memoryLogger(),
    };
    const keeping = keepStatusFile(options, stop.signal);
    await waitForFile(dir);
    assert.deepEqual(await readReport(dir), {
      format: 1,
      written_at: at.toISOString(),
      process: MARK,
      ...now,
    });
    if (Deno.build.os !== "windows") {
      assert.equal(((await Deno.stat(statusPath(dir))).mode ?? 0) & 0o777, 0o600);
    }
    const first = await Deno.stat(statusPath(dir));
    for (let second = 0; second < 60; second++) await tick(clock);
    assert.equal((await Deno.stat(statusPath(dir))).ino, first.ino, "nothing new, nothing written");
    now = facts({ waiting_for: "the window" });
    await tick(clock);
    await waitUntil(async () => (await readReport(dir)).waiting_for === "the window");
    const steady = "machine-server 1.0.0 is running";
    assert.deepEqual(told, [steady, `${steady}; the window`]);
    stop.abort(new Error("enough"));
    await assert.rejects(keeping, /enough/);
    assert.equal(clock.pendingTimers, 0);
  }));

Deno.test("keepStatusFile() writes what only counts on every ten seconds", () =>
  withFolder(async (dir) => {
    const clock = new FakeClock(at);
    const stop = new AbortController();
    let bytesDownloaded = 0;
    const loading = () => ({
      ...idle,
      state: "downloading" as const,
      bytesDownloaded: bytesDownloaded++,
    });
    const options = {
      dir,
      facts: () => facts({ server: programReport(loading(), "1.0.0") }),
      process: MARK,
      tell: () => {},
      clock,
      log: memoryLogger(),
    };
    const keeping = keepStatusFile(options, stop.signal);
    await waitForFile(dir);
    const seen = new Set<number>();
    for (let second = 0; second < 40; second++) {
      await tick(clock);
      seen.add((await readReport(dir)).server.bytes_downloaded);
    }
    assert(seen.size >= 4 && seen.size <= 6, `${seen.size} times in 40 s`);
    stop.abort(new Error("enough"));
    await assert.rejects(keeping, /enough/);
  }));

Deno.test("keepStatusFile() says once that it cannot write and goes on", () =>
  withFolder(async (dir) => {
    const clock = new FakeClock(at);
    const stop = new AbortController();
    const log = memoryLogger();
    let count = 0;
    const options = {
      dir: join(dir, "missing"),
      facts: () => facts({ waiting_for: `${count++}` }),
      process: MARK,
      tell: () => {},
      clock,
      log,
    };
    const keeping = keepStatusFile(options, stop.signal);
    for (let second = 0; second < 5; second++) {
      await tick(clock);
    }
    assert.equal(log.messages("warn").length, 1);
    await Deno.mkdir(join(dir, "missing"));
    await tick(clock);
    await waitForFile(join(dir, "missing"));
    stop.abort(new Error("enough"));
    await assert.rejects(keeping, /enough/);
  }));

const sources: StatusSources = {
  version: "1.0.0",
  startOf: (pid) => pid === MARK.pid ? MARK.mark : undefined,
  serviceState: () => Promise.resolve(undefined),
};

async function gather(dir: string, change: Partial<StatusSources> = {}): Promise<Status> {
  const credentialsFile = join(dir, "machine.json");
  return await gatherStatus({ dir, credentialsFile, json: false }, { ...sources, ...change });
}

async function writeReport(dir: string, now: AgentFacts): Promise<void> {
  const report = { format: 1, written_at: at.toISOString(), process: MARK, ...now };
  await Deno.writeTextFile(statusPath(dir), JSON.stringify(report));
}

Deno.test("gatherStatus() tells a running agent from one that ended or whose number is another's", () =>
  withFolder(async (dir) => {
    assert.equal((await gather(dir)).is_running, false);
    await writeReport(dir, facts());
    assert.equal((await gather(dir)).is_running, true);
    assert.equal((await gather(dir, { startOf: () => undefined })).is_running, false);
    const other = await gather(dir, { startOf: () => "boot:10" });
    assert.equal(other.is_running, false);
    assert.equal(other.report?.part_id, "part-1", "what it wrote last is still told");
  }));

Deno.test("gatherStatus() works with nothing there, and with a report that is damaged", () =>
  withFolder(async (dir) => {
    for (const text of [undefined, "", "{", '{"format":2}', '{"format":1,"written_at":""}']) {
      if (text !== undefined) await Deno.writeTextFile(statusPath(dir), text);
      const status = await gather(dir);
      assert.equal(status.report, null);
      assert.equal(status.credentials.state, "missing");
      assert.match(renderStatus(status, at), /not running or never run here/);
    }
    const missing = await gather(join(dir, "no folder"));
    assert.deepEqual(missing.links, { agent: "", server: "" });
  }));

Deno.test("gatherStatus() shows links, trial and credentials without their secret", () =>
  withFolder(async (dir) => {
    const cloud = { app_address: "https://cloud.example", id: "part-1", secret: "hush" };
    await Deno.writeTextFile(join(dir, "machine.json"), JSON.stringify({ cloud }), { mode: 0o600 });
    await Deno.symlink("/c/machine-server-2.0.0-abc", join(dir, "bin", "machine-server"));
    await beginTrial(dir, { trial: "/c/machine-agent-2", previous: "/c/machine-agent-1" });
    const status = await gather(dir);
    assert.deepEqual(status.credentials, {
      file: join(dir, "machine.json"),
      state: "ok",
      problem: "",
      part_id: "part-1",
      cloud_address: "https://cloud.example",
    });
    assert.equal(status.links.server, "/c/machine-server-2.0.0-abc");
    assert.deepEqual(status.agent_trial, {
      trial: "/c/machine-agent-2",
      previous: "/c/machine-agent-1",
      starts: 0,
    });
    assert(!JSON.stringify(status).includes("hush"));
    const text = renderStatus(status, at);
    assert.match(text, /machine-server {2}machine-server-2\.0\.0-abc/);
    assert.match(text, /machine-agent-2 is on trial, started 0 times; before it machine-agent-1/);
  }));

Deno.test({
  name: "gatherStatus() says that the files may not be read",
  ignore: Deno.build.os === "windows" || Deno.uid() === 0,
  fn: () =>
    withFolder(async (dir) => {
      await writeReport(dir, facts());
      await Deno.chmod(statusPath(dir), 0o000);
      await assert.rejects(gather(dir), FileError);
    }),
});

Deno.test("renderStatus() shows in full what is going on", () =>
  withFolder(async (dir) => {
    const server = programReport({
      ...idle,
      target: "1.2.0",
      previous: "0.9.0",
      state: "waiting",
      lastChanged: at,
      waitingFor: "the maintenance sensor says no",
      waitingSince: at,
      bad: [{ version: "1.1.0", reason: "did not say that it serves", at }],
      lastRollback: { from: "1.1.0", to: "1.0.0", reason: "did not say that it serves", at },
    }, "1.0.0");
    const agent = programReport({
      ...idle,
      target: "1.1.0",
      state: "downloading",
      bytesDownloaded: 40_000_000,
      totalBytes: 93_000_000,
    }, "1.0.0");
    const networks = {
      state: "provisioning",
      since: null,
      detail: "the hotspot setup-host is up on wlan0",
      problems: ["additional_networks.a waits for the interface eth9"],
      reboots: 1,
    };
    const settings_problems = ["agent.x: unknown"];
    await writeReport(dir, facts({ agent, server, settings_problems, networks }));
    const service = {
      manager: "systemd",
      state: "active",
      startup: "enabled",
      restarts: 2,
      result: "success",
    };
    const status = await gather(dir, { serviceState: () => Promise.resolve(service) });
    const later = new Date(at.getTime() + 5 * 60_000);
    const text = renderStatus(status, later).replaceAll(dir, "DIR");
    assert.equal(
      text,
      `machine-agent   1.0.0, running for 5 min (process 4711)
  target        1.1.0, downloading: 40.0 of 93.0 MB
machine-server  1.0.0, running for 5 min
  target        1.2.0, ready to be installed
  waits for     the maintenance sensor says no, since 2026-01-02T03:04:05.000Z (5 min)
  previous      0.9.0
  bad           1.1.0: did not say that it serves (2026-01-02T03:04:05.000Z)
  rolled back   1.1.0 -> 1.0.0 at 2026-01-02T03:04:05.000Z: did not say that it serves
setting         agent.x: unknown
networks        provisioning (the hotspot setup-host is up on wlan0); reboots of the host for it: 1
  problem       additional_networks.a waits for the interface eth9
cloud           https://cloud.example, connected for 5 min
credentials     cannot read the credentials file DIR/machine.json: it or its folder does not exist (ENOENT)
service         systemd: active, enabled, restarted 2 times
folder          DIR
`,
    );
  }));

Deno.test("renderStatus() says clearly that the agent does not run and how the server failed", () =>
  withFolder(async (dir) => {
    const server_process = {
      state: "backing off",
      since: at.toISOString(),
      failures: 3,
      last_exit: "exited with 1",
    };
    const agent = programReport({ ...idle, state: "trial", trialUntil: at }, "1.0.0");
    await writeReport(dir, facts({ server_process, agent }));
    const status = await gather(dir, { startOf: () => undefined });
    const text = renderStatus(status, new Date(at.getTime() + 49 * 3_600_000));
    assert.match(text, /^machine-agent {3}1\.0\.0, NOT RUNNING; what follows was so 2 d 1 h ago$/m);
    assert.match(text, /was backing off for 2 d 1 h, failed 3 times \(exited with 1\)$/m);
    assert.match(text, /was connected/);
    assert.match(text, /target {8}1\.0\.0, on trial$/m);
    assert.match(text, /service {9}not installed/);
  }));

/** Lets the loop do one turn, files included. */
async function tick(clock: FakeClock): Promise<void> {
  await waitUntil(() => Promise.resolve(clock.pendingTimers === 1));
  await clock.advance(1_000);
  await waitUntil(() => Promise.resolve(clock.pendingTimers === 1));
}

async function waitForFile(dir: string): Promise<void> {
  await waitUntil(async () => await Deno.stat(statusPath(dir)).then(() => true, () => false));
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    if (await isSo()) return;
    await settle(1);
  }
  throw new Error("it did not come to that");
}
