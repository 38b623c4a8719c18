/** One part of the agent that stands still holds up no other. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { AgentReport } from "../status/report.ts";
import { agentTest as test } from "./testing.ts";

const DEADLINE = { deadlineMs: 60_000 };

/** Accepts connections and never says a word. */
async function withSilentServer(body: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(() => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen({ host: "127.0.0.1", port: 0 }, () => resolve());
  await promise;
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}/machine-server`);
  } finally {
    server.close();
  }
}

function killServers(pids: readonly number[]): void {
  for (const pid of pids) Deno.kill(pid, "SIGKILL");
}

test("settings, restarts and status go on during a download that stands still", async (at) => {
  await withSilentServer(async (url) => {
    const agent = at.run();
    await at.serving(1);
    const target = { version: "9.0.0", url, sha256: new Uint8Array(32).fill(1) };
    const env = { TOKEN: "t1" };
    at.cloud.answer = {
      viamServerUpdateInfo: target,
      advancedSettings: { machine_server_env: env },
    };
    await at.reported(({ server }) => server.state === "downloading");

    at.cloud.answer = { viamServerUpdateInfo: target, advancedSettings: {} };
    await at.serving(2);
    killServers(at.pids("pid").slice(-1));
    await at.serving(3);
    const report = await at.reported(({ server_process: { state } }) => state === "running");
    assert.equal(report.server.state, "downloading");
    await agent.stop();
  });
});

/** A program of so many bytes, as fast as they are taken. */
async function withLargeFile(size: number, body: (url: string) => Promise<void>): Promise<void> {
  const piece = new Uint8Array(250_000);
  const head = Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    let sent = 0;
    const bytes = new ReadableStream({
      pull(controller) {
        if (sent >= size) return controller.close();
        const next = piece.slice(0, size - sent);
        if (sent === 0) next.set(head);
        sent += next.length;
        controller.enqueue(next);
      },
    });
    return new Response(bytes, { headers: { "content-length": `${size}`, etag: '"1"' } });
  });
  await body(`http://127.0.0.1:${server.addr.port}/machine-server`);
}

test("settings and status go on during a large download that is held to a rate", async (at) => {
  const kilobytes = 2_500;
  await withLargeFile(240_000_000, async (url) => {
    const agent = at.run();
    await at.serving(1);
    const target = { version: "9.0.0", url, sha256: new Uint8Array(32).fill(1) };
    const settings = (limit: number, env: Record<string, string>) => ({
      viamServerUpdateInfo: target,
      advancedSettings: { download_limit_kilobytes_per_second: limit, machine_server_env: env },
    });
    at.cloud.answer = settings(kilobytes, { TOKEN: "t1" });
    const isMoving = ({ server }: AgentReport) =>
      server.state === "downloading" && server.bytes_downloaded > 0;
    const begun = await at.reported(isMoving);
    at.cloud.answer = settings(kilobytes, {});
    await at.serving(2);
    const later = await at.reported(({ server }) =>
      server.state === "downloading" && server.bytes_downloaded > begun.server.bytes_downloaded
    );
    assert(later.server.bytes_downloaded < 240_000_000);
    at.cloud.answer = settings(0, {});
    const done = await at.reported(({ server }) => server.state === "failed");
    assert.match(done.server.error, /is not the one announced/, "as fast as it can it goes on");
    await agent.stop();
  });
});

test("the server is watched while every call to the cloud hangs", async (at) => {
  const agent = at.run();
  await at.serving(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  at.cloud.hold = promise;
  const { questions, restartQuestions } = at.cloud;
  const before = questions.length + restartQuestions;
  await waitFor(() => questions.length + at.cloud.restartQuestions >= before + 2, DEADLINE);
  killServers(at.pids("pid"));
  await at.serving(2);
  at.askForRestart();
  await at.serving(3);
  const stopped = agent.stop();
  resolve();
  await stopped;
});

test("the server is started again while its status question hangs, and settings go on", async (at) => {
  at.ask = () => new Promise(() => {});
  at.run();
  await at.serving(1);
  const { answer } = at.cloud;
  const asked = at.cloud.questions.length;
  at.cloud.answer = { ...answer, advancedSettings: { debug: "wrong" } };
  await at.reported(({ settings_problems }) => settings_problems.length === 1);
  assert(at.cloud.questions.length > asked);
  killServers(at.pids("pid"));
  await at.serving(2);
});

test("everything goes on while the queue of log lines takes nothing", async (at) => {
  const agent = at.run();
  await at.serving(1);
  const held = Promise.withResolvers<void>();
  const { answer } = at.cloud;
  at.cloud.hold = held.promise;
  // More than the queue holds; what is least severe gives way.
  at.flood(25_000);
  at.cloud.hold = undefined;
  at.cloud.answer = { ...answer, advancedSettings: { machine_server_env: {} } };
  await at.serving(2);
  killServers(at.pids("pid").slice(-1));
  await at.serving(3);
  held.resolve();
  await agent.stop();
});
