import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { CredentialsError } from "../../shared/cloud/credentials/credentials_file.ts";
import { TREE_VARIABLE } from "../../shared/base/process/process_table.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { LockedError } from "../state/instance_lock.ts";
import { AgentState } from "../state/agent_state.ts";
import { agentTest as test, isAlive } from "./testing.ts";

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
  const logs = at.logs();
  assert(logs.includes("info machine-agent machine-agent starts"), logs.join("\n"));
  assert(logs.includes("warn machine-server.StdErr trouble"));
  assert(logs.includes("info machine-agent machine-agent stopped"));
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
  await waitFor(() => at.cloud.questions.length > questions, { deadlineMs: 60_000 });
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

test("runAgent() installs the wanted version before the first start when it is to wait", async (at) => {
  const first = at.run();
  await at.reported(({ server }) => server.installed !== "" && server.state === "idle");
  await first.stop();
  await at.writeServer("#!/bin/sh\necho which=two\nexec sleep 600\n", "two.sh");
  // The window has no say: no server runs that could be disturbed.
  at.ask = () => Promise.resolve({ kind: "answer", restartAllowed: false });
  at.run({ wait: true });
  await waitFor(() => at.lines.includes("which=two"), { deadlineMs: 60_000 });
  assert.equal(at.pids("pid").length, 1, "the old version was not started once more");
});

test("runAgent() starts what it has when it need not wait, and asks before it exchanges", async (at) => {
  const first = at.run();
  await at.reported(({ server }) => server.installed !== "" && server.state === "idle");
  await first.stop();
  await at.writeServer("#!/bin/sh\necho which=two\nexec sleep 600\n", "two.sh");
  at.ask = () => Promise.resolve({ kind: "answer", restartAllowed: false });
  at.run();
  await at.serving(2);
  await at.reported(({ server }) => server.state === "waiting");
  assert(!at.lines.includes("which=two"));
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
  // Started without `systemProcesses()`, whose handle ends all that have the mark when the stray
  // ends: a killed agent has none.
  const outer = Deno.env.get(TREE_VARIABLE);
  const tree = state.serverTree();
  const stray = new Deno.Command(join(at.dir, "server.sh"), {
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", [TREE_VARIABLE]: outer ? `${outer}:${tree}` : tree },
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  // Killed before it could write the number down: only the mark identifies it.
  state.close();
  assert(isAlive(stray.pid));
  at.run();
  await at.serving(1);
  assert.equal((await stray.status).success, false);
  const [ownPid = 0] = at.pids("pid");
  assert(ownPid !== stray.pid && isAlive(ownPid));
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
    ...{ "agent.db": "600", "agent-logs.db": "600", "agent.lock": "600" },
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
