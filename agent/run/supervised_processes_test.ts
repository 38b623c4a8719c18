/** What the agent does with servers that behave badly: real processes, real files. */
import assert from "node:assert/strict";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { agentTest as test, isAlive, READY } from "./testing.ts";

const DEADLINE = { deadlineMs: 60_000 };

test("runAgent() ends a server that ignores TERM, with children in other groups", async (at) => {
  // The agent gives a server that shall end 70 s; one that hangs 10 s. A leftover child has 2 s.
  await at.writeServer(`#!/bin/sh
setsid sh -c 'trap "" TERM; echo "inner=$$"; while :; do sleep 1; done' &
echo "pid=$$"
printf '${READY}'
exit_on_term() { exit 0; }
trap exit_on_term TERM
while :; do sleep 0.1; done
`);
  const agent = at.run();
  await at.serving(1);
  await waitFor(() => at.pids("inner").length === 1, DEADLINE);
  const pids = [...at.pids("pid"), ...at.pids("inner")];
  assert(pids.length === 2 && pids.every(isAlive));
  await agent.stop();
  assert(!pids.some(isAlive), "also the one that left the group and ignores TERM");
});

test("runAgent() puts lines together that come in pieces, and loses none", async (at) => {
  const count = 2_000;
  await at.writeServer(`#!/bin/sh
printf 'a line in '
sleep 0.05
printf 'two pieces, caf\\303'
sleep 0.05
printf '\\251\\n'
i=0; while [ $i -lt ${count} ]; do echo "line $i of many"; i=$((i + 1)); done
printf 'x\\tINFO\\trdk\\tw.go:1\\tser'
sleep 0.05
printf 'ving\\t{"url":"http://127.0.0.1:9"}\\n'
printf 'and one without an end'
exec sleep 600
`);
  const agent = at.run();
  await at.serving(1);
  await agent.stop();
  assert(at.lines.includes("a line in two pieces, caf\u00e9"));
  const numbers = at.lines.flatMap((line) => /^line (\d+) of many$/.exec(line)?.[1] ?? []);
  assert.deepEqual(numbers, Array.from({ length: count }, (_, n) => String(n)));
  assert.equal(at.lines.at(-1), "and one without an end");
});

test("runAgent() takes no line of a module for the server's own", async (at) => {
  await at.writeServer(`#!/bin/sh
printf 'x\\tINFO\\trdk.modmanager.camera.StdOut\\tm.go:1\\tserving\\t{"url":"http://127.0.0.1:9"}\\n'
echo 'serving {"url":"http://127.0.0.1:9"}'
echo "printed=yes"
sleep 600
`);
  at.run();
  await waitFor(() => at.lines.includes("printed=yes"), DEADLINE);
  await at.reported((report) => report.server_process.state === "starting");
});

test("runAgent() tells what a crashing server wrote last, and hides secrets in it", async (at) => {
  at.cloud.answer = {
    ...at.cloud.answer,
    advancedSettings: { machine_server_env: { TOKEN: "token-of-the-server" } },
  };
  await at.writeServer(`#!/bin/sh
echo "cannot sign in with $TOKEN nor hush-hush" >&2
exit 3
`);
  const agent = at.run();
  const report = await at.reported((report) => report.server_process.last_exit !== "");
  assert.equal(
    report.server_process.last_exit,
    "exited with code 3: cannot sign in with ****** nor ******",
  );
  await agent.stop();
  const logs = at.logs().join("\n");
  assert.match(logs, /machine-server\.StdErr cannot sign in with \*{6} nor \*{6}/);
  assert(!/token-of-the-server|hush-hush/.test(logs + JSON.stringify(await at.status())));
});

test("runAgent() ends the server when it is disabled and starts it when it is not", async (at) => {
  at.run();
  await at.serving(1);
  const { answer } = at.cloud;
  const [pid = 0] = at.pids("pid");
  const settings = { ...answer.advancedSettings, disable_machine_server: true };
  at.cloud.answer = { ...answer, advancedSettings: settings };
  await waitFor(() => !isAlive(pid), DEADLINE);
  await at.reported((report) => report.server_process.state === "disabled");
  at.cloud.answer = answer;
  await at.serving(2);
});

test("runAgent() restarts the server for another environment and without the old one", async (at) => {
  at.run();
  await at.serving(1);
  const { answer } = at.cloud;
  at.cloud.answer = { ...answer, advancedSettings: { machine_server_env: {} } };
  await at.serving(2);
  assert.match(at.lines.filter((line) => line.startsWith("args=")).at(-1) ?? "", /token=$/);
});

test("runAgent() restarts the server on demand, and only when the server allows it", async (at) => {
  at.ask = () => Promise.resolve({ kind: "answer", restartAllowed: false });
  at.run();
  await at.serving(1);
  at.askForRestart();
  const report = await at.reported((report) => report.waiting_for !== "");
  assert.match(
    report.waiting_for,
    /machine-server waits to be restarted \(requested by the operator .*\): .*maintenance sensor forbids it/,
  );
  assert.equal(at.pids("pid").length, 1);
  at.ask = () => Promise.resolve({ kind: "answer", restartAllowed: true });
  await at.serving(2);
  await at.reported((report) => report.waiting_for === "");
});

test("runAgent() asks its server before it does what the cloud asks for", async (at) => {
  at.ask = () => Promise.resolve({ kind: "no-answer", reason: "refused" });
  at.cloud.restart = { mustRestart: true };
  at.run();
  await at.serving(1);
  const report = await at.reported(({ waiting_for }) =>
    waiting_for.includes("requested by the cloud")
  );
  assert.match(report.waiting_for, /gives no answer: refused/);
  at.cloud.restart = {};
  assert.equal(at.pids("pid").length, 1, "silence is no leave");
});
