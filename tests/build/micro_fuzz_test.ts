// Damaged packets at the port of the compiled machine-micro-server, on Linux and on the emulated board.
// Compiling takes minutes, so `make smoke` runs it. FUZZ_PACKETS=10000 for as many at the board.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { encodeFrame, Flag, FrameType, PREFACE } from "../../shared/rpc/h2/frames.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { Program } from "../e2e/program.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { boardOf, firmware, noFirmwareBecause } from "./firmware_board.ts";

const DEADLINE_MS = 300_000;
const PACKETS = 10_000;
const PACKETS_AT_BOARD = Number(process.env["FUZZ_PACKETS"] ?? 300);
/** How much more memory it may take afterwards than before. */
const MOST_GROWTH = 256 * 1024;

const COMPONENTS = [
  { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
  { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
];

const utf8 = (text: string) => new TextEncoder().encode(text);
const joined = (parts: readonly Uint8Array[]) =>
  Uint8Array.from(parts.flatMap((part) => [...part]));

/** Requests that are in order, of each protocol, with and without a sign-in. */
function samples(token: string): readonly Uint8Array[] {
  const path = "/viam.component.sensor.v1.SensorService/GetReadings";
  const message = Uint8Array.of(10, 4, ...utf8("fake"));
  const enveloped = Uint8Array.of(0, 0, 0, 0, message.length, ...message);
  const post = (body: Uint8Array, ...headers: string[]) =>
    joined([
      utf8([`POST ${path} HTTP/1.1`, `content-length: ${body.length}`, ...headers, "", ""]
        .join("\r\n")),
      body,
    ]);
  const signed = `authorization: Bearer ${token}`;
  // Headers of HTTP/2 as literals without names of the table.
  const literal = (name: string, value: string) =>
    Uint8Array.of(0, name.length, ...utf8(name), value.length, ...utf8(value));
  const headers = joined([
    literal(":method", "POST"),
    literal(":path", path),
    literal(":scheme", "http"),
    literal("content-type", "application/grpc"),
  ]);
  const http2 = joined([
    PREFACE,
    encodeFrame(FrameType.settings, 0, 0),
    encodeFrame(FrameType.headers, Flag.endHeaders, 1, headers),
    encodeFrame(FrameType.data, Flag.endStream, 1, enveloped),
  ]);
  return [
    post(utf8('{"name":"fake"}'), "content-type: application/json", signed),
    post(utf8('{"name":"fake"}'), "content-type: application/json"),
    post(message, "content-type: application/proto", signed),
    post(enveloped, "content-type: application/grpc-web+proto", signed),
    utf8("GET / HTTP/1.1\r\n\r\n"),
    http2,
  ];
}

/** Each is a sample that is cut off or has up to five other bytes; the same for the same seed. */
function* damaged(count: number, token: string, seed = 21): Generator<Uint8Array> {
  const all = samples(token);
  let state = seed;
  const random = (below: number) => {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
  for (let n = 0; n < count; n++) {
    const sample = all[random(all.length)] ?? new Uint8Array(0);
    const packet = sample.slice(0, random(4) === 0 ? random(sample.length) : sample.length);
    for (let k = random(6); k > 0; k--) packet[random(packet.length)] = random(256);
    yield packet;
  }
}

async function send(port: number, packets: Iterable<Uint8Array>): Promise<number> {
  let sent = 0;
  for (const packet of packets) {
    // It may close at any byte.
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(packet.slice());
      await connection.closeWrite();
      await connection.read(new Uint8Array(64));
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) throw error;
    }
    sent++;
  }
  return sent;
}

/** Sends them to a machine that is online, and compares how it is before and afterwards. */
async function assertUnharmed(rig: Rig, program: Program, port: number, packets: number) {
  const key = { id: rig.bootstrapped.api_key_id, key: rig.bootstrapped.api_key };
  const url = `http://127.0.0.1:${port}`;
  const session = await eventually("signed in", () => signIn(url, key), DEADLINE_MS);
  const memory = async () => {
    const { readings } = await session.client(SensorService).getReadings({ name: "host" });
    const { kind } = readings["memory_used"] ?? {};
    return kind?.case === "numberValue" && kind.value;
  };
  // The first ones fill what is kept.
  await send(port, damaged(100, session.accessToken, 1));
  const before = await eventually("memory", memory, DEADLINE_MS);
  assert.equal(await send(port, damaged(packets, session.accessToken)), packets);
  const after = await eventually("memory afterwards", memory, DEADLINE_MS);
  process.stdout.write(`${packets} damaged packets: ${before} bytes before, ${after} after\n`);
  assert.ok(after - before < MOST_GROWTH, `${before} bytes before, ${after} after`);
  const starts = program.lines.filter((line) => /machine-micro-server \d/.test(line));
  assert.equal(starts.length, 1, starts.join("\n"));
  const { readings } = await session.client(SensorService).getReadings({ name: "fake" });
  assert.equal(readings["a"]?.kind.value, 1);
}

rigTest(`${PACKETS} damaged packets leave the program as it was`, async (rig) => {
  const options = { root: ROOT, zig: await findZig(ROOT), version: "1.2.3", commit: "0123456" };
  const output = join(ROOT, ".tools/micro/fuzz-tests", "machine-micro-server");
  const { file } = await buildMicro(ownTarget(), { ...options, output });
  await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  const port = freePort();
  const micro = Program.start({
    name: "machine-micro-server",
    command: file,
    args: [
      ...["-config", rig.credentialsFile, "-state", join(rig.dir, "micro")],
      ...["-listen", `127.0.0.1:${port}`],
    ],
  });
  rig.programs.push(micro);
  await micro.waitForLine(/applied revision/, DEADLINE_MS);
  await assertUnharmed(rig, micro, port, PACKETS);
}, { ignore: ignoreBecause(import.meta.url, await noSourcesBecause()) });

rigTest(`${PACKETS_AT_BOARD} damaged packets leave the firmware as it was`, async (rig) => {
  const built = await firmware("1.2.3");
  const { board, front } = await boardOf(rig, built);
  await using _front = front;
  await rig.saveConfig({ components: COMPONENTS });
  const program = board.start();
  rig.programs.push(program);
  await program.waitForLine(/applied revision/, DEADLINE_MS);
  await assertUnharmed(rig, program, board.port, PACKETS_AT_BOARD);
}, { ignore: ignoreBecause(import.meta.url, await noFirmwareBecause()) });
