import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { DiagnosticsService } from "../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { FtdcEncoder } from "./ftdc/encoder.ts";
import { historyService } from "./history_service.ts";

const START = Date.UTC(2026, 0, 2, 3);
const clock = new FakeClock(new Date(START + 60_000));

/** Writes a file with samples `seconds` after {@link START}. */
async function write(
  folder: string,
  seconds: readonly number[],
  names: readonly string[],
  value: (second: number) => number,
): Promise<void> {
  const encoder = new FtdcEncoder();
  const parts = seconds.map((second) =>
    encoder.encode(START + second * 1_000, { names, values: names.map(() => value(second)) })
  );
  const stamp = new Date(START + seconds[0]! * 1_000).toISOString().slice(0, 19);
  const path = join(folder, `machine-server-${stamp.replaceAll(":", "-")}Z.ftdc`);
  await Deno.writeFile(path, new Uint8Array(await new Blob(parts).arrayBuffer()));
}

async function withService(
  body: (
    client: ReturnType<typeof createClient<typeof DiagnosticsService>>,
    folder: string,
  ) => Promise<void>,
  captures = true,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-history-" });
  const service = historyService({ folder: () => captures ? folder : undefined, clock });
  const router = new RpcRouter().service(DiagnosticsService, service);
  try {
    await body(createClient(DiagnosticsService, createInProcessTransport(router)), folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(() => undefined, (error) => ConnectError.from(error).code);

Deno.test("getHistory() divides a time into spans, over files and a pause", () =>
  withService(async (client, folder) => {
    await write(folder, [-90, -80], ["host.CPUPercent"], () => 99);
    await write(folder, [0, 1, 2, 3], ["host.CPUPercent", "web.x"], (second) => second);
    await write(folder, [40, 41], ["host.CPUPercent", "host.MemoryUsedMB"], (second) => second);
    const { start, stepSeconds, series } = await client.getHistory({
      start: timestampFromMs(START),
      names: ["host."],
      points: 30,
    });
    assert.equal(start && timestampMs(start), START);
    assert.equal(stepSeconds, 2);
    assert.deepEqual(series.map(({ name }) => name), ["host.CPUPercent", "host.MemoryUsedMB"]);
    const [cpu, memory] = series;
    const shown = (values: readonly number[]) =>
      values.flatMap((value, at) => Number.isNaN(value) ? [] : [[at, value]]);
    assert.deepEqual(shown(cpu!.mean), [[0, 0.5], [1, 2.5], [20, 40.5]]);
    assert.deepEqual(shown(cpu!.least), [[0, 0], [1, 2], [20, 40]]);
    assert.deepEqual(shown(cpu!.most), [[0, 1], [1, 3], [20, 41]]);
    assert.deepEqual(shown(memory!.mean), [[20, 40.5]]);
    assert.equal(memory!.mean.length, 30);
  }));

Deno.test("getHistory() leaves out a cut end and files of other kinds", () =>
  withService(async (client, folder) => {
    await write(folder, [0, 1], ["host.CPUPercent"], () => 5);
    const [file] = await Array.fromAsync(Deno.readDir(folder));
    const path = join(folder, file!.name);
    const bytes = await Deno.readFile(path);
    await Deno.writeFile(path, bytes.subarray(0, -1));
    await Deno.writeTextFile(
      join(folder, "machine-server-2026-01-02T03-00-30Z.ftdc"),
      "no such file",
    );
    const { series } = await client.getHistory({});
    assert.equal(series.length, 1);
    assert.equal(series[0]!.mean.length, 300);
    assert.deepEqual(series[0]!.mean.filter((value) => !Number.isNaN(value)), [5]);
  }));

Deno.test("getHistory() refuses what it cannot answer, and says why", async () => {
  await withService(async (client) => {
    const start = timestampFromMs(START + 120_000);
    assert.equal(await codeOf(client.getHistory({ start })), Code.InvalidArgument);
    assert.equal(await codeOf(client.getHistory({ points: 1_001 })), Code.InvalidArgument);
    assert.equal(await codeOf(client.getHistory({ points: -1 })), Code.InvalidArgument);
    const names = Array.from({ length: 51 }, String);
    assert.equal(await codeOf(client.getHistory({ names })), Code.InvalidArgument);
    assert.deepEqual((await client.getHistory({})).series, []);
  });
  await withService(async (client) => {
    assert.equal(await codeOf(client.getHistory({})), Code.FailedPrecondition);
  }, false);
});

Deno.test("getHistory() answers a few at the same time, and refuses more", () =>
  withService(async (client, folder) => {
    await write(folder, [0, 1], ["a"], () => 1);
    const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(client.getHistory({}))));
    assert.deepEqual(codes.filter((code) => code === Code.ResourceExhausted).length, 2);
    assert.equal(await codeOf(client.getHistory({})), undefined);
  }));
