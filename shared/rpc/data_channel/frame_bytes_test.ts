import assert from "node:assert/strict";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RequestSchema, ResponseSchema } from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import { randomSource } from "../../test_tools/random_source.ts";
import {
  plainAnswerFrame,
  plainHeadersFrame,
  readPlainRequest,
  readPlainResponse,
  requestPieceFrame,
  responsePieceFrame,
  successFrame,
} from "./frame_bytes.ts";

const IDS = [1n, 127n, 128n, 300n, 2n ** 40n];
const SIZES = [0, 1, 127, 128, 16_384, 65_000];
const METHOD = "/viam.component.sensor.v1.SensorService/GetReadings";

Deno.test("frames have the bytes that protobuf writes, and are read back", () => {
  for (const id of IDS) {
    const stream = { id };
    const request = (init: { type: MessageInitShape<typeof RequestSchema>["type"] }) =>
      toBinary(RequestSchema, create(RequestSchema, { stream, type: init.type! }));
    const response = (init: { type: MessageInitShape<typeof ResponseSchema>["type"] }) =>
      toBinary(ResponseSchema, create(ResponseSchema, { stream, type: init.type! }));

    const headers = plainHeadersFrame(id, METHOD)!;
    assert.deepEqual(headers, request({ type: { case: "headers", value: { method: METHOD } } }));
    assert.deepEqual(readPlainRequest(headers), { kind: "headers", id, method: METHOD });
    const answer = plainAnswerFrame(id)!;
    assert.deepEqual(answer, response({ type: { case: "headers", value: {} } }));
    assert.deepEqual(readPlainResponse(answer), { kind: "headers", id });
    const success = successFrame(id)!;
    assert.deepEqual(success, response({ type: { case: "trailers", value: { status: {} } } }));
    assert.deepEqual(readPlainResponse(success), { kind: "success", id });

    for (const size of SIZES) {
      const data = new Uint8Array(size).fill(7);
      for (const [eom, eos] of [[true, true], [true, false], [false, false]] as const) {
        const packetMessage = { data, eom };
        const value = { hasMessage: true, packetMessage, eos };
        const asked = requestPieceFrame(id, packetMessage, eos)!;
        assert.deepEqual(asked, request({ type: { case: "message", value } }));
        assert.deepEqual(readPlainRequest(asked), { kind: "message", id, eos, data, eom });
        const answered = responsePieceFrame(id, packetMessage)!;
        const both = response({ type: { case: "message", value: { packetMessage } } });
        assert.deepEqual(answered, both);
        assert.deepEqual(readPlainResponse(answered), { kind: "message", id, data, eom });
      }
    }
  }
});

Deno.test("readPlainRequest() reads the names of many methods, of one length and read before", () => {
  const names = Array.from({ length: 40 }, (_, n) => `/a.Service/M${n % 10}${Math.floor(n / 10)}`);
  const all = [...names, ...names.slice(-4), ...names];
  const read = all.map((name) => readPlainRequest(plainHeadersFrame(1n, name)!));
  assert.deepEqual(read.map((frame) => frame?.kind === "headers" && frame.method), all);
});

Deno.test("what is not plain is left to protobuf", () => {
  assert.equal(plainHeadersFrame(1n, "/é/x"), undefined);
  for (const id of [2n ** 53n, 2n ** 64n - 1n]) {
    assert.deepEqual([plainHeadersFrame(id, "/a/b"), successFrame(id)], [undefined, undefined]);
    const ended = { stream: { id }, type: { case: "trailers", value: { status: {} } } } as const;
    const bytes = toBinary(ResponseSchema, create(ResponseSchema, ended));
    assert.equal(readPlainResponse(bytes), undefined);
  }
  const metadata = { md: { key: { values: ["value"] } } };
  const call = { case: "headers", value: { method: METHOD, metadata } } as const;
  const asked = toBinary(RequestSchema, create(RequestSchema, { stream: { id: 1n }, type: call }));
  assert.equal(readPlainRequest(asked), undefined);
  const failed = { case: "trailers", value: { status: { code: 5 } } } as const;
  const bytes = toBinary(
    ResponseSchema,
    create(ResponseSchema, { stream: { id: 1n }, type: failed }),
  );
  assert.equal(readPlainResponse(bytes), undefined);
});

Deno.test("what is understood of 20,000 spoiled frames is what protobuf reads, too", () => {
  const { bytes, below } = randomSource(1);
  const piece = { data: new Uint8Array(9), eom: true };
  const asked = [plainHeadersFrame(300n, METHOD)!, requestPieceFrame(5n, piece, true)!];
  const answered = [plainAnswerFrame(300n)!, responsePieceFrame(5n, piece)!, successFrame(9n)!];
  const spoil = (frames: readonly Uint8Array[]) => {
    const frame = new Uint8Array(frames[below(frames.length)]!);
    frame.set(bytes(1), below(frame.length));
    return below(4) === 0 ? frame.subarray(0, below(frame.length + 1)) : frame;
  };
  for (let round = 0; round < 10_000; round++) {
    const request = spoil(asked);
    const plain = readPlainRequest(request);
    if (plain) {
      const { stream, type } = fromBinary(RequestSchema, request);
      assert.deepEqual([stream?.id, type.case], [plain.id, plain.kind]);
      if (plain.kind === "message" && type.case === "message") {
        assert.deepEqual(type.value.packetMessage?.data, plain.data);
        assert.deepEqual(
          [type.value.packetMessage?.eom, type.value.eos, type.value.hasMessage],
          [plain.eom, plain.eos, true],
        );
      }
    }
    const response = spoil(answered);
    const read = readPlainResponse(response);
    if (!read) continue;
    const { stream, type } = fromBinary(ResponseSchema, response);
    assert.deepEqual([stream?.id, type.case], [
      read.id,
      read.kind === "success" ? "trailers" : read.kind,
    ]);
    if (read.kind === "message" && type.case === "message") {
      assert.deepEqual(type.value.packetMessage?.data, read.data);
      assert.equal(type.value.packetMessage?.eom, read.eom);
    }
  }
});
