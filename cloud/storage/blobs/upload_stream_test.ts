import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { readUpload, type UploadPiece } from "./upload_stream.ts";

type Piece = UploadPiece<string>;

const GZIP = Uint8Array.of(0x1f, 0x8b, 1, 2);

async function* requests(pieces: readonly Piece[], hang = false): AsyncIterable<Piece> {
  for (const piece of pieces) yield await Promise.resolve(piece);
  if (hang) await new Promise(() => undefined);
}

async function contentsOf(pieces: readonly Piece[]): Promise<number[]> {
  const options = { clock: new FakeClock(), signal: new AbortController().signal };
  const { contents } = await readUpload(requests(pieces), (piece) => piece, options);
  const found: number[] = [];
  for await (const bytes of contents) found.push(...bytes);
  return found;
}

Deno.test("readUpload() gives the contents however they are cut", async () => {
  const ones = [...GZIP].map((byte) => ({ bytes: Uint8Array.of(byte) }));
  for (const pieces of [[{ bytes: GZIP }], ones, [{ bytes: new Uint8Array() }, { bytes: GZIP }]]) {
    assert.deepEqual(await contentsOf([{ info: "x" }, ...pieces]), [...GZIP]);
  }
});

Deno.test("readUpload() refuses messages in another order and contents that are no gzip", async () => {
  const cases: [pieces: Piece[], reason: RegExp][] = [
    [[], /first message/],
    [[{ bytes: GZIP }], /first message/],
    [[{ info: "x" }, { bytes: GZIP }, { info: "y" }], /only the first message/],
    [[{ info: "x" }], /gzipped tar is needed/],
    [[{ info: "x" }, { bytes: Uint8Array.of(0x1f) }], /gzipped tar is needed/],
    [[{ info: "x" }, { bytes: Uint8Array.of(0x1f, 0) }], /gzipped tar is needed/],
  ];
  for (const [pieces, reason] of cases) {
    await assert.rejects(contentsOf(pieces), (error) => {
      assert.ok(error instanceof ConnectError && error.code === Code.InvalidArgument);
      assert.match(error.rawMessage, reason);
      return true;
    });
  }
});

Deno.test("readUpload() ends when the caller is gone and the stream never says so", async () => {
  const caller = new AbortController();
  const options = { clock: new FakeClock(), signal: caller.signal };
  const pieces = [{ info: "x" }, { bytes: GZIP }];
  const { contents } = await readUpload(requests(pieces, true), (piece) => piece, options);
  const reading = (async () => {
    for await (const _ of contents) caller.abort();
  })();
  await assert.rejects(reading, (error) => (error as ConnectError).code === Code.Canceled);
  assert.equal(options.clock.pendingTimers, 0);
});
