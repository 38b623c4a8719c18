import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { Capture, type Statser } from "./capture.ts";
import { FtdcEncoder, SCHEMA_MARK } from "./encoder.ts";
import { CaptureFiles, DEFAULT_FILE_LIMITS } from "./files.ts";
import { parseProcessStat, parseProcessStatus, parseSockets, readInterfaces } from "./proc.ts";
import {
  hostReader,
  hostStatser,
  moduleStatser,
  networkStatser,
  ownKernelStatser,
  ownProcessStatser,
  resourceStatser,
  webStatser,
} from "./statsers.ts";

const linuxOnly = Deno.build.os !== "linux";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-ftdc-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("FtdcEncoder writes schema and bits exactly as the format says", () => {
  const encoder = new FtdcEncoder();
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const first = encoder.encode(1, { names, values: [1, 0, 0, 0, 0, 0, 0, 2] });
  const schema = new TextEncoder().encode(JSON.stringify(names));
  assert.equal(first[0], SCHEMA_MARK);
  assert.deepEqual(first.subarray(1, 1 + schema.length), schema);
  assert.equal(first[1 + schema.length], 0x0a);
  const datum = first.subarray(schema.length + 2);
  assert.deepEqual([...datum.subarray(0, 2)], [0xfe, 0x01], "bit 0 is clear, all others are set");
  assert.deepEqual([...datum.subarray(2, 10)], [0, 0, 0, 0, 0, 0x0f, 0x42, 0x40], "1e6 ns");
  assert.deepEqual([...datum.subarray(10, 14)], [0x3f, 0x80, 0, 0]);
  assert.equal(datum.length, 10 + 4 * 8);

  const second = encoder.encode(1_001, { names: [...names], values: [1, 0, 0, 0, 0, 0, 5, 2] });
  assert.deepEqual([...second.subarray(0, 2)], [0b1000_0000, 0], "only g moved");
  assert.deepEqual([...second.subarray(10)], [0x40, 0xa0, 0, 0]);

  encoder.restart();
  assert.equal(encoder.encode(2_000, { names, values: [] })[0], SCHEMA_MARK);
});

Deno.test("CaptureFiles begins a file when one is full and keeps the newest ones", async () => {
  await withFolder(async (folder) => {
    const place = join(folder, "diagnostics.data", "p1");
    const files = new CaptureFiles(place, { maxBytes: 10, maxFiles: 3, syncEvery: 1 });
    const clock = new FakeClock();
    for (let i = 0; i < 5; i++) {
      await files.begin(clock.now());
      assert.equal(await files.append(new Uint8Array(6)), true);
      assert.equal(await files.append(new Uint8Array(6)), false, "it is full");
      await clock.advance(i === 0 ? 0 : 1_000);
    }
    await Deno.writeTextFile(join(place, "notes.txt"), "not ours");
    await files.close();
    const names = (await Array.fromAsync(Deno.readDir(place))).map(({ name }) => name).sort();
    assert.deepEqual(names, [
      "machine-server-2026-01-02T03-04-06Z.ftdc",
      "machine-server-2026-01-02T03-04-07Z.ftdc",
      "machine-server-2026-01-02T03-04-08Z.ftdc",
      "notes.txt",
    ]);
    if (Deno.build.os !== "windows") {
      assert.equal((await Deno.stat(join(place, names[0]!))).mode! & 0o777, 0o600);
    }
  });
});

Deno.test("CaptureFiles.begin() finds another name when there is a file of this second", async () => {
  await withFolder(async (folder) => {
    const now = new Date("2026-01-02T03:04:05Z");
    for (let i = 0; i < 2; i++) {
      const files = new CaptureFiles(folder);
      await files.begin(now);
      await files.close();
    }
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    assert.deepEqual(names, [
      "machine-server-2026-01-02T03-04-05Z-1.ftdc",
      "machine-server-2026-01-02T03-04-05Z.ftdc",
    ]);
  });
});

/** A capture over a simulated clock; `sampled` counts what was written. */
function captureOf(folder: string, statsers: Statser[], limits = DEFAULT_FILE_LIMITS) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const capture = new Capture({ folder, statsers, clock, log, limits });
  const size = async () => {
    let bytes = 0;
    for await (const { name } of Deno.readDir(folder)) {
      bytes += (await Deno.stat(join(folder, name))).size;
    }
    return bytes;
  };
  return { capture, clock, log, size };
}

Deno.test("Capture writes one sample a second and ends with everything on disk", async () => {
  await withFolder(async (folder) => {
    let sampled = 0;
    const counting: Statser = { group: "x", collect: (add) => add("n", ++sampled) };
    const { capture, clock, size } = captureOf(folder, [counting]);
    capture.start();
    // A second in which the one before is still being written has no sample.
    await waitFor(async () => {
      await clock.advance(1_000);
      return sampled >= 4;
    }, { deadlineMs: 60_000, what: "four samples" });
    await capture.close();
    const taken = sampled;
    assert.ok(taken >= 5, "close() took the last one");
    assert.equal(await size(), 9 + 13 * taken, "close() awaited what was being written");
    await clock.advance(5_000);
    assert.equal(sampled, taken);
  });
});

Deno.test("Capture leaves out what throws, says so once, and goes on", async () => {
  await withFolder(async (folder) => {
    let broken = true;
    const statsers: Statser[] = [
      { group: "good", collect: (add) => add("n", 1) },
      {
        group: "bad",
        collect: (add) => {
          add("half", 1);
          if (broken) throw new Error("no such counter");
        },
      },
    ];
    const { capture, clock, log, size } = captureOf(folder, statsers);
    capture.start();
    const written = async (bytes: number) =>
      await waitFor(async () => await size() >= bytes, { deadlineMs: 60_000 });
    await written(12);
    await clock.advance(1_000);
    await written(25);
    broken = false;
    await clock.advance(1_000);
    await capture.close();
    assert.deepEqual(log.messages("warn"), ["diagnostics are not captured: no such counter"]);
    assert.deepEqual(log.messages("info"), ["diagnostics are captured again"]);
  });
});

Deno.test("Capture waits a minute and says so once when the folder cannot be written", async () => {
  await withFolder(async (folder) => {
    const place = join(folder, "a-file");
    await Deno.writeTextFile(place, "");
    const { capture, clock, log } = captureOf(place, [{ group: "x", collect: () => {} }]);
    capture.start();
    const warned = () => log.messages("warn").length;
    await waitFor(() => warned() === 1, { deadlineMs: 60_000 });
    await clock.advance(59_000);
    await Deno.remove(place);
    await clock.advance(2_000);
    await waitFor(() => log.messages("info").length === 1, { deadlineMs: 60_000 });
    assert.equal(warned(), 1);
    assert.match(log.messages("warn")[0]!, /cannot write diagnostics into .*a-file/);
    await capture.close();
  });
});

const collect = (statser: Statser): Record<string, number> => {
  const found: Record<string, number> = {};
  statser.collect((name, value) => found[`${statser.group}.${name}`] = value);
  return found;
};

Deno.test("statsers name what they are given", () => {
  const methods = [{ path: "/p.S/M", ended: 4, failed: 1, running: 2, totalMs: 8 }];
  assert.deepEqual(collect(webStatser(() => methods)), {
    "web.p.S/M.Count": 4,
    "web.p.S/M.Errors": 1,
    "web.p.S/M.Running": 2,
    "web.p.S/M.TotalMs": 8,
  });
  assert.deepEqual(collect(resourceStatser(() => ({ ready: 2 }))), { "resources.ready": 2 });
  const own = collect(ownProcessStatser(systemClock));
  assert.ok(own["proc.machine-server.RssMB"]! > 1);
  assert.ok(own["proc.machine-server.UserCPUSecs"]! > 0);
});

Deno.test({
  name: "statsers read this process and its network from the kernel",
  ignore: linuxOnly,
  fn() {
    const own = collect(ownKernelStatser());
    assert.ok(own["proc.machine-server.VssMB"]! > 1);
    assert.ok(own["proc.machine-server.OpenFiles"]! >= 3);
    const modules = collect(moduleStatser(() => [
      { name: "here", pid: Deno.pid },
      { name: "gone", pid: 2 ** 22 + 1 },
    ]));
    assert.ok(modules["proc.modules.here.RssMB"]! > 1);
    assert.deepEqual(Object.keys(modules).filter((name) => name.includes("gone")), []);
    assert.ok("net.TCP.inuse" in collect(networkStatser()));
  },
});

Deno.test("readers of /proc take the fields they are named after", () => {
  const stat = "12 (a) b (c)) S 1 12 12 0 -1 4194304 1 2 3 4 250 75 0 0 20 0 1 0 99";
  assert.deepEqual(parseProcessStat(stat), { userSeconds: 2.5, systemSeconds: 0.75 });
  const status = "Name:\tx\nVmSize:\t    2048 kB\nVmRSS:\t  1024 kB\nThreads:\t7\n";
  assert.deepEqual(parseProcessStatus(status), {
    vssBytes: 2 ** 21,
    rssBytes: 2 ** 20,
    threads: 7,
  });
  const dev = "head\nhead\n  eth0: 100 1 2 3 0 0 0 0 200 1 5 6 0 0 0 0\nveth1: 1 1 1 1\n";
  assert.deepEqual([...readInterfaces(dev)], [{
    ...{ name: "eth0", rxBytes: 100, rxErrors: 2, rxDropped: 3 },
    ...{ txBytes: 200, txErrors: 5, txDropped: 6 },
  }]);
  const sockets = "sockets: used 5\nTCP: inuse 3 orphan 0\nUDP: inuse 1\nRAW: inuse 0\n";
  assert.deepEqual([...parseSockets(sockets)], [
    ["TCP.inuse", 3],
    ["TCP.orphan", 0],
    ["UDP.inuse", 1],
  ]);
});

Deno.test("hostStatser() tells rates since the sample before, and how full memory and disk are", async () => {
  const clock = new FakeClock();
  let cpu = { busy: 100, total: 1_000 };
  let network: { rxBytes: number; txBytes: number } | undefined = { rxBytes: 5_000, txBytes: 0 };
  const statser = hostStatser(clock, {
    cpu: () => cpu,
    memory: () => ({ totalBytes: 4e9, usedBytes: 1e9 }),
    disk: () => ({ totalBytes: 9e9, usedBytes: 3e9 }),
    network: () => network,
  });
  const collected = () => {
    const values: Record<string, number> = {};
    statser.collect((name, value) => values[name] = value);
    return values;
  };
  assert.deepEqual(collected(), {
    ...{ MemoryUsedMB: 1_000, MemoryTotalMB: 4_000, DiskUsedMB: 3_000, DiskTotalMB: 9_000 },
  }, "no rates: nothing stands before the first sample");
  await clock.advance(2_000);
  cpu = { busy: 150, total: 1_200 };
  network = { rxBytes: 9_000, txBytes: 2_000 };
  const { CPUPercent, RxBytesPerSecond, TxBytesPerSecond } = collected();
  assert.deepEqual([CPUPercent, RxBytesPerSecond, TxBytesPerSecond], [25, 2_000, 1_000]);
  network = undefined;
  assert.equal(collected().RxBytesPerSecond, undefined);
});

Deno.test("hostReader() reads this host", () => {
  const host = hostReader(Deno.build.os);
  for (const { totalBytes, usedBytes } of [host.memory(), host.disk()]) {
    assert.ok(usedBytes > 0 && usedBytes < totalBytes);
  }
  for (const { busy, total } of [host.cpu(), hostReader("darwin").cpu()]) {
    assert.ok(busy > 0 && busy < total, `${busy} of ${total}`);
  }
  const texts: Record<string, string> = {
    "/proc/stat": "cpu  10 1 5 80 4 0 1 0 0 0\ncpu0 1 1 1\n",
    "/proc/net/dev": "h\nh\n lo: 7 1 1 1 1 1 1 1 7 1\n eth0: 100 1 2 3 0 0 0 0 200 1\n",
  };
  const fake = hostReader("linux", (path) => texts[path] ?? "");
  assert.deepEqual(fake.cpu(), { busy: 17, total: 101 });
  assert.deepEqual(fake.network(), { rxBytes: 100, txBytes: 200 });
});
