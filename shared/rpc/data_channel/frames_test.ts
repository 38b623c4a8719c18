import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { RequestSchema, ResponseSchema } from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import { MAX_FRAME_BYTES } from "../../rtc/webrtc/channel.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import {
  endOfStreamFrame,
  MAX_PIECE_BYTES,
  MessageAssembler,
  readRequest,
  readResponse,
  requestMessageFrames,
  responseMessageFrames,
} from "./frames.ts";
import { HeldBytes } from "./held_bytes.ts";
import { patterned } from "./testing.ts";

const LONGEST_ID = 2n ** 64n - 1n;
const SIZES = [0, 1, 2, 127, 128, MAX_PIECE_BYTES - 1, MAX_PIECE_BYTES, MAX_PIECE_BYTES + 1]
  .concat([2 * MAX_PIECE_BYTES, 2 * MAX_PIECE_BYTES + 1, 1_000_000]);

function exhausted(run: () => unknown): void {
  assert.throws(run, (error) => ConnectError.from(error).code === Code.ResourceExhausted);
}

Deno.test("requestMessageFrames() and responseMessageFrames() cut messages that come out whole", () => {
  for (const size of SIZES) {
    const message = patterned(size);
    const requests = new MessageAssembler(new HeldBytes());
    const answers = new MessageAssembler(new HeldBytes());
    const frames = [...requestMessageFrames(LONGEST_ID, message, { last: true })];
    frames.forEach((bytes, at) => {
      assert.ok(bytes.length <= MAX_FRAME_BYTES, `${bytes.length} bytes`);
      const frame = readRequest(bytes);
      assert.equal(frame?.id, LONGEST_ID);
      assert.ok(frame.type.case === "message" && frame.type.value.packetMessage);
      assert.equal(frame.type.value.hasMessage, true);
      assert.equal(frame.type.value.eos, at === frames.length - 1);
      const whole = requests.push(frame.type.value.packetMessage);
      assert.equal(whole !== undefined, at === frames.length - 1);
      if (whole) assert.deepEqual(Uint8Array.from(whole), message);
    });
    let whole: Uint8Array | undefined;
    for (const bytes of responseMessageFrames(LONGEST_ID, message)) {
      assert.ok(bytes.length <= MAX_FRAME_BYTES);
      assert.equal(whole, undefined);
      const frame = readResponse(bytes);
      assert.ok(frame?.type.case === "message" && frame.type.value.packetMessage);
      whole = answers.push(frame.type.value.packetMessage);
    }
    assert.deepEqual(Uint8Array.from(whole ?? []), message);
  }
});

Deno.test("requestMessageFrames() fills frames as far as they go", () => {
  const frames = [...requestMessageFrames(LONGEST_ID, patterned(MAX_PIECE_BYTES), { last: true })];
  assert.equal(frames.length, 1);
  assert.ok(MAX_FRAME_BYTES - frames[0]!.length < 8, `${frames[0]!.length} bytes`);
});

Deno.test("endOfStreamFrame() has no message", () => {
  const frame = readRequest(endOfStreamFrame(7n));
  assert.ok(frame?.type.case === "message");
  const { hasMessage, eos, packetMessage } = frame.type.value;
  assert.deepEqual([hasMessage, eos, packetMessage?.eom, packetMessage?.data.length], [
    false,
    true,
    true,
    0,
  ]);
});

Deno.test("MessageAssembler puts a message together wherever it was cut", () => {
  const message = patterned(12);
  for (let first = 0; first <= message.length; first++) {
    for (let second = first; second <= message.length; second++) {
      const assembler = new MessageAssembler(new HeldBytes());
      // Twice: nothing of the first message may be in the second.
      for (let n = 0; n < 2; n++) {
        assert.equal(assembler.push({ data: message.subarray(0, first), eom: false }), undefined);
        const data = message.subarray(first, second);
        assert.equal(assembler.push({ data, eom: false }), undefined);
        const whole = assembler.push({ data: message.subarray(second), eom: true });
        assert.deepEqual(Uint8Array.from(whole ?? []), message, `${first} ${second}`);
        assert.equal(assembler.begun, false);
      }
    }
  }
});

Deno.test("MessageAssembler takes the largest message, and not one byte more", () => {
  const data = new Uint8Array(MAX_MESSAGE_BYTES / 4);
  for (const more of [0, 1]) {
    const assembler = new MessageAssembler(new HeldBytes());
    for (let n = 0; n < 4; n++) assembler.push({ data, eom: false });
    const last = () => assembler.push({ data: new Uint8Array(more), eom: true });
    if (more > 0) exhausted(last);
    else assert.equal(last()?.length, MAX_MESSAGE_BYTES);
  }
});

Deno.test("MessageAssembler keeps to what all calls may hold, and gives it back", () => {
  const held = new HeldBytes(100);
  const [a, b] = [new MessageAssembler(held), new MessageAssembler(held)];
  a.push({ data: new Uint8Array(60), eom: false });
  exhausted(() => b.push({ data: new Uint8Array(41), eom: false }));
  b.push({ data: new Uint8Array(40), eom: false });
  exhausted(() => b.push({ data: new Uint8Array(1), eom: false }));
  a.clear();
  b.push({ data: new Uint8Array(60), eom: true });
  a.push({ data: new Uint8Array(100), eom: false });
});

Deno.test("readRequest() and readResponse() know no frame in what is none or names no call", () => {
  const nameless = [
    toBinary(RequestSchema, create(RequestSchema, { type: { case: "rstStream", value: true } })),
    toBinary(ResponseSchema, create(ResponseSchema, { type: { case: "headers", value: {} } })),
  ];
  for (const bytes of [...nameless, patterned(40), new Uint8Array(0), Uint8Array.of(10, 200)]) {
    assert.equal(readRequest(bytes), undefined);
    assert.equal(readResponse(bytes), undefined);
  }
  // An id of zero is a name: the stream is there, with nothing in it.
  assert.deepEqual(readRequest(Uint8Array.of(10, 0)), { id: 0n, type: { case: undefined } });
  assert.equal(fromBinary(RequestSchema, Uint8Array.of(10, 0)).stream?.id, 0n);
});
