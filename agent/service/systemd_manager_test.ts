import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { socketAddress } from "./notify_socket.ts";
import { noServiceManager } from "./service_manager.ts";
import { systemdManager } from "./systemd_manager.ts";
import { DatagramReceiver } from "./datagram_receiver_testing.ts";
import { tendWatchdog } from "./watchdog.ts";

const isLinux = Deno.build.os === "linux";
const pid = 4711;

async function withFolder(body: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const kind of ["path", "abstract"] as const) {
  Deno.test({
    name: `systemdManager() tells systemd over a socket with a ${kind} address`,
    ignore: !isLinux,
    fn: () =>
      withFolder((folder) => {
        const path = join(folder, "notify");
        using receiver = new DatagramReceiver(kind === "path" ? path : `@${path}`);
        const log = memoryLogger();
        const env = { NOTIFY_SOCKET: receiver.address };
        const manager = systemdManager({ env, pid, log });
        manager.ready();
        manager.status("waits\nfor  the window");
        manager.alive();
        manager.stopping();
        assert.deepEqual(receiver.received(), [
          "READY=1",
          "STATUS=waits for the window",
          "WATCHDOG=1",
          "STOPPING=1",
        ]);
        assert.deepEqual(log.messages("warn"), []);
      }),
  });
}

Deno.test({
  name: "systemdManager() says once that nobody listens, and goes on",
  ignore: !isLinux,
  fn: () =>
    withFolder((folder) => {
      const address = join(folder, "notify");
      const log = memoryLogger();
      const manager = systemdManager({ env: { NOTIFY_SOCKET: address }, pid, log });
      manager.ready();
      manager.alive();
      assert.equal(log.messages("warn").length, 1);
      using receiver = new DatagramReceiver(address);
      manager.alive();
      assert.deepEqual(receiver.received(), ["READY=1", "WATCHDOG=1"]);
    }),
});

/** A service manager to which datagrams go that `takes` lets through. */
function sendingThrough(takes: (text: string) => boolean) {
  const sent: string[] = [];
  const send = (text: string) => {
    if (!takes(text)) throw new Error("nobody takes it");
    sent.push(text);
  };
  const env = { NOTIFY_SOCKET: "/run/notify" };
  return { sent, manager: systemdManager({ env, pid, log: memoryLogger(), open: () => send }) };
}

Deno.test("systemdManager() says of no moment that is over that the agent was alive", () => {
  let isFull = true;
  const { sent, manager } = sendingThrough(() => !isFull);
  manager.alive();
  isFull = false;
  manager.status("updates: stuck");
  assert.deepEqual(sent, ["STATUS=updates: stuck"]);
});

Deno.test("systemdManager() is ready and alive also with a status that nobody takes", () => {
  const { sent, manager } = sendingThrough((text) => !text.includes("bad"));
  manager.status("bad");
  manager.ready();
  manager.alive();
  manager.stopping();
  assert.deepEqual(sent, ["READY=1", "WATCHDOG=1", "STOPPING=1"]);
  manager.status("good");
  assert.equal(sent.at(-1), "STATUS=good");
});

Deno.test({
  name: "systemdManager() sends what a full socket did not take, the newest of each kind",
  ignore: !isLinux,
  fn: () =>
    withFolder((folder) => {
      using receiver = new DatagramReceiver(join(folder, "notify"));
      const log = memoryLogger();
      const manager = systemdManager({ env: { NOTIFY_SOCKET: receiver.address }, pid, log });
      const most = Number(Deno.readTextFileSync("/proc/sys/net/unix/max_dgram_qlen"));
      const full = Array.from({ length: most + 1 }, (_, at) => `STATUS=step ${at}`);
      for (const text of full) manager.status(text.slice("STATUS=".length));
      assert.deepEqual(log.messages("warn"), []);
      manager.ready();
      for (const text of ["starts", "runs"]) manager.status(text);
      assert.equal(log.messages("warn").length, 1);
      assert.deepEqual(receiver.received(), full);
      manager.alive();
      const later = receiver.received().slice(full.length);
      assert.deepEqual(later, ["READY=1", "WATCHDOG=1", "STATUS=runs"]);
    }),
});

Deno.test("systemdManager() falls back to a program where there is no C library", () => {
  const sent: string[] = [];
  const manager = systemdManager({
    env: { NOTIFY_SOCKET: "/run/x" },
    pid,
    log: memoryLogger(),
    open: () => {
      throw new Error("no such library");
    },
    fallback: (text) => void sent.push(text),
  });
  manager.ready();
  assert.deepEqual(sent, ["READY=1"]);
});

Deno.test("systemdManager() is nobody when no service manager named a socket", () => {
  assert.equal(systemdManager({ env: {}, pid, log: memoryLogger() }), noServiceManager);
});

for (
  const [env, expected] of [
    [{}, undefined],
    [{ WATCHDOG_USEC: "120000000" }, 120_000],
    [{ WATCHDOG_USEC: "120000000", WATCHDOG_PID: `${pid}` }, 120_000],
    [{ WATCHDOG_USEC: "120000000", WATCHDOG_PID: "1" }, undefined],
    [{ WATCHDOG_USEC: "0" }, undefined],
    [{ WATCHDOG_USEC: "soon" }, undefined],
  ] as const
) {
  Deno.test(`systemdManager() reads the watchdog's time from ${JSON.stringify(env)}`, () => {
    const all = { ...env, NOTIFY_SOCKET: "/run/x" };
    const { watchdogMs } = systemdManager({
      env: all,
      pid,
      log: memoryLogger(),
      open: () => () => {},
    });
    assert.equal(watchdogMs, expected);
  });
}

Deno.test("socketAddress() refuses what is no address", () => {
  assert.throws(() => socketAddress("vsock:2"), /is no address of a unix socket/);
  assert.throws(() => socketAddress(`/${"x".repeat(107)}`), /too long/);
  assert.deepEqual([...socketAddress("@a")].slice(2), [0, 97]);
  assert.deepEqual([...socketAddress("/a")].slice(2), [47, 97, 0]);
});

Deno.test("tendWatchdog() is silent while a part is stuck and heard while none is", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const stop = new AbortController();
  const said: string[] = [];
  let stuck: string | undefined;
  const manager = {
    ...noServiceManager,
    watchdogMs: 120_000,
    alive: () => void said.push("alive"),
    status: (text: string) => void said.push(text),
  };
  const tending = tendWatchdog({ manager, stuck: () => stuck, clock, log }, stop.signal);
  await clock.advance(90_000);
  assert.equal(said.length, 4, "four times in its time");
  stuck = "the settings worker has not moved for 10 minutes";
  await clock.advance(120_000);
  assert.deepEqual(said.slice(4), [stuck]);
  assert.equal(log.messages("error").length, 1);
  stuck = undefined;
  await clock.advance(30_000);
  assert.equal(said.at(-1), "alive");
  stop.abort(new Error("enough"));
  await assert.rejects(tending, /enough/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("tendWatchdog() only waits when nobody listens", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const manager = { ...noServiceManager, alive: () => assert.fail("nobody asked") };
  const options = { manager, stuck: () => undefined, clock, log: memoryLogger() };
  const tending = tendWatchdog(options, stop.signal);
  await clock.advance(1e9);
  stop.abort(new Error("enough"));
  await assert.rejects(tending, /enough/);
});
