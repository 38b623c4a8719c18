import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { LogSpool } from "../../../shared/log/spool.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import type { SystemOutcome } from "../outcomes/system_outcome.ts";
import { parseIdentifiers } from "./identifiers.ts";
import { Journal } from "./journal.ts";
import { LogForwarder, type WantedForwarding } from "./log_forwarder.ts";

const BOOT = "b".repeat(32);
const cursor = (n: number, boot = BOOT) =>
  `s=1;i=${n.toString(16)};b=${boot};m=${n.toString(16)};t=${n.toString(16)};x=0`;

function json(n: number, identifier = "sshd", boot = BOOT): string {
  return JSON.stringify({
    __CURSOR: cursor(n, boot),
    _BOOT_ID: boot,
    __MONOTONIC_TIMESTAMP: `${n}`,
    __REALTIME_TIMESTAMP: `${n}`,
    MESSAGE: `line ${n}`,
    SYSLOG_IDENTIFIER: identifier,
  });
}

function on(list: string): WantedForwarding {
  const identifiers = parseIdentifiers(list);
  assert(identifiers);
  return { kind: "on", identifiers };
}

class Rig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly processes = new FakeProcesses();
  readonly log = memoryLogger();
  readonly wanted = new Watched<WantedForwarding | undefined>(on("all"));
  readonly told: SystemOutcome[] = [];
  /** What `journalctl --lines=1` prints. */
  newest = json(100);
  /** The journal has this line, requested by its cursor. */
  found = "";
  asks = 0;
  hasRoom = true;
  #ending = new AbortController();
  #run: Promise<void> = Promise.resolve();
  #spool: LogSpool;

  private constructor(readonly path: string, readonly maxEntries: number) {
    this.#spool = this.#open();
  }

  static async create(maxEntries = 1_000): Promise<Rig> {
    return new Rig(join(await Deno.makeTempDir(), "logs.db"), maxEntries);
  }

  #open(): LogSpool {
    const { maxEntries } = this;
    return LogSpool.open(this.path, { host: "box", clock: this.clock, maxEntries });
  }

  get spool(): LogSpool {
    return this.#spool;
  }

  async start(): Promise<void> {
    this.#ending = new AbortController();
    const run: RunProgram = (_program, args) => {
      this.asks++;
      const isCursor = args.some((arg) => arg.startsWith("--cursor="));
      if (args.includes("--cursor=nonsense")) {
        const stderr = "Failed to seek to cursor: Invalid argument\n";
        return Promise.resolve({ code: 1, stdout: "", stderr });
      }
      return Promise.resolve({ code: 0, stdout: isCursor ? this.found : this.newest, stderr: "" });
    };
    const spool = this.#spool;
    const forwarder = new LogForwarder({
      journal: new Journal({ run, processes: this.processes, path: "/usr/bin" }),
      queue: {
        mark: () => spool.mark("journal"),
        setMark: (value) => spool.setMark("journal", value),
        append: (entries: readonly LogEntry[]) => spool.appendAll(entries),
        hasRoom: () => this.hasRoom && spool.fill < 0.5,
      },
      wanted: () => this.wanted.value,
      changes: [this.wanted],
      host: "box",
      ownUnit: "machine-agent.service",
      boot: BOOT,
      hide: (text) => text,
      tell: (outcome) => void this.told.push(outcome),
      clock: this.clock,
      log: this.log,
    });
    this.#run = forwarder.run(this.#ending.signal).catch((error) => {
      if (!this.#ending.signal.aborted) throw error;
    });
    await this.clock.advance(0);
  }

  /** The process ends at once: what was not committed is lost. */
  async kill(): Promise<void> {
    const copy = `${this.path}.copy`;
    for (const suffix of ["", "-wal"]) {
      await Deno.copyFile(`${this.path}${suffix}`, `${copy}${suffix}`).catch(() => {});
    }
    await this.#end();
    for (const suffix of ["", "-wal", "-shm"]) {
      await Deno.remove(`${this.path}${suffix}`).catch(() => {});
      await Deno.rename(`${copy}${suffix}`, `${this.path}${suffix}`).catch(() => {});
    }
    this.#spool = this.#open();
  }

  async #end(): Promise<void> {
    this.#ending.abort();
    await this.#run;
    this.#spool.close();
  }

  messages(): string[] {
    const batch = this.#spool.take({ maxEntries: 10_000, maxBytes: 1e9 });
    if (batch) this.#spool.release(batch);
    return batch?.entries.map(({ message }) => message) ?? [];
  }

  /** Arguments of the journalctl that follows now, without those that are always the same. */
  get where(): string[] {
    const { args = [] } = this.processes.last.command;
    return args.filter((arg) => arg.includes("cursor"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await Deno.remove(join(this.path, ".."), { recursive: true });
  }
}

Deno.test("it begins with the newest line, and forwards what is wanted and not our own", async () => {
  await using rig = await Rig.create();
  await rig.start();
  assert.deepEqual(rig.where, [`--after-cursor=${cursor(100)}`]);
  const { last } = rig.processes;
  last.print(json(101));
  last.print(json(102, "machine-agent"));
  rig.wanted.value = on("kernel");
  last.print(json(103));
  last.print(json(104, "kernel"));
  await rig.clock.advance(200);
  assert.deepEqual(rig.messages(), ["line 101", "line 104"]);
  assert.equal(rig.processes.started.length, 1, "another filter needs no other journalctl");
  assert.equal(rig.told.at(-1)?.text, "the journal's lines of kernel are forwarded");
});

Deno.test("killed at any line, each line comes once", async () => {
  await using rig = await Rig.create();
  await rig.start();
  let next = 101;
  for (let kill = 0; kill < 4; kill++) {
    const { last } = rig.processes;
    for (let n = 0; n < 60; n++) last.print(json(next++));
    if (kill % 2 === 0) await rig.clock.advance(200);
    await rig.kill();
    const mark = rig.spool.mark("journal") ?? "";
    rig.found = json(Number.parseInt(/;m=([0-9a-f]+)/.exec(mark)?.[1] ?? "", 16));
    await rig.start();
    assert.deepEqual(rig.where, [`--after-cursor=${mark}`]);
    next = Number.parseInt(/;m=([0-9a-f]+)/.exec(mark)?.[1] ?? "", 16) + 1;
  }
  const expected = Array.from({ length: next - 101 }, (_, n) => `line ${101 + n}`);
  assert.ok(expected.length > 100);
  assert.deepEqual(rig.messages(), expected);
});

Deno.test("lines that nobody wants are noted as read, but seldom", async () => {
  await using rig = await Rig.create();
  rig.wanted.value = on("kernel");
  await rig.start();
  rig.processes.last.print(json(101));
  rig.processes.last.print(json(102));
  assert.equal(rig.spool.mark("journal"), cursor(101));
  await rig.clock.advance(30_000);
  rig.processes.last.print(json(103));
  assert.equal(rig.spool.mark("journal"), cursor(103));
});

Deno.test("a journal that lost the line is read from its beginning, without what was read", async () => {
  await using rig = await Rig.create();
  rig.spool.setMark("journal", cursor(50, "a".repeat(32)));
  rig.found = json(70);
  await rig.start();
  assert.deepEqual(rig.where, []);
  const { last } = rig.processes;
  last.print(json(49, "sshd", "a".repeat(32)));
  last.print(json(51, "sshd", "a".repeat(32)));
  last.print(json(3)); // This start of the host, with the clock set back.
  await rig.clock.advance(200);
  assert.deepEqual(rig.messages(), ["line 51", "line 3"]);
});

Deno.test("a cursor that journalctl does not know is dropped, and reported", async () => {
  await using rig = await Rig.create();
  rig.spool.setMark("journal", "nonsense");
  await rig.start();
  assert.deepEqual(rig.where, [`--after-cursor=${cursor(100)}`]);
  assert.match(rig.log.messages("warn").join(), /forwarding begins now/);
});

Deno.test("a journalctl that dies is noticed, told and started again, ever more slowly", async () => {
  await using rig = await Rig.create();
  await rig.start();
  rig.processes.last.print("Failed to open files: Too many open files", "stderr");
  rig.processes.last.exit(1);
  await rig.clock.advance(0);
  assert.match(
    rig.told.at(-1)?.text ?? "",
    /cannot be read: journalctl exited with code 1: Failed to open files: Too many open files/,
  );
  rig.found = json(100);
  await rig.clock.advance(1_000);
  assert.equal(rig.processes.started.length, 2);
  assert.equal(rig.told.at(-1)?.state, "applied");
  rig.processes.onStart = (child) => child.exit(null, "SIGKILL");
  rig.processes.last.exit(1);
  await rig.clock.advance(10 * 60_000);
  const { length } = rig.processes.started;
  assert.ok(length > 5 && length < 60, `${length} starts in ten minutes`);
  rig.processes.failWith = "cannot start journalctl: it does not exist";
  await rig.clock.advance(120_000);
  assert.match(rig.told.at(-1)?.text ?? "", /it does not exist/);
});

Deno.test("a queue without room makes journalctl wait, and ends one that waits too long", async () => {
  await using rig = await Rig.create();
  await rig.start();
  const { last } = rig.processes;
  last.print(json(101));
  rig.hasRoom = false;
  let isPaused = true;
  void last.command.onRead?.(100)?.then(() => isPaused = false);
  await rig.clock.advance(10_000);
  assert.ok(isPaused);
  assert.deepEqual(last.signals, []);
  await rig.clock.advance(60_000);
  assert.deepEqual(last.signals[0], "KILL");
  last.print(json(102));
  await rig.clock.advance(10_000);
  assert.equal(rig.processes.running, 0);
  assert.deepEqual(rig.messages(), ["line 101"]);
  rig.hasRoom = true;
  rig.found = json(101);
  await rig.clock.advance(1_000);
  assert.deepEqual(rig.where, [`--after-cursor=${cursor(101)}`]);
  assert.ok(rig.told.every(({ state }) => state === "applied"));
});

Deno.test("switched off it ends journalctl and forgets the place; on again it begins there", async () => {
  await using rig = await Rig.create();
  await rig.start();
  rig.wanted.value = { kind: "off", reason: "no system logs are forwarded" };
  await rig.clock.advance(1_000);
  assert.equal(rig.processes.running, 0);
  assert.equal(rig.spool.mark("journal"), undefined);
  rig.newest = json(200);
  rig.wanted.value = on("all");
  await rig.clock.advance(0);
  assert.deepEqual(rig.where, [`--after-cursor=${cursor(200)}`]);
});

Deno.test("a line that is too long is left out, and told", async () => {
  await using rig = await Rig.create();
  await rig.start();
  const long = json(101).padEnd(200_000, "x");
  rig.processes.last.print(long.slice(0, 131_072));
  rig.processes.last.print(long.slice(131_072));
  rig.processes.last.print(json(102));
  await rig.clock.advance(200);
  assert.deepEqual(rig.messages(), ["line 102"]);
  assert.match(rig.log.messages("warn").join(), /^1 line of the journal left out/);
});
