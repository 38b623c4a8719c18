import assert from "node:assert/strict";
import { ErrorCode, ProtocolError } from "./frames.ts";
import { HpackDecoder, MAX_HEADER_BYTES } from "./hpack.ts";
import { encodeHeaders } from "./hpack_testing.ts";

const block = (hex: string) => Uint8Array.fromHex(hex.replaceAll(" ", ""));
const list = (headers: readonly string[] | undefined) => {
  const lines: string[] = [];
  for (let n = 0; headers && n < headers.length; n += 2) {
    lines.push(`${headers[n]}: ${headers[n + 1]}`);
  }
  return lines;
};

/** RFC 7541, appendix C: blocks on one connection, one after the other. */
const EXAMPLES: Record<string, [hex: string, headers: string[]][]> = {
  "C.2.1 literal with indexing": [
    ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", [
      "custom-key: custom-header",
    ]],
    ["be", ["custom-key: custom-header"]],
  ],
  "C.2.2 literal without indexing": [["040c 2f73 616d 706c 652f 7061 7468", [
    ":path: /sample/path",
  ]]],
  "C.2.3 literal never indexed": [["1008 7061 7373 776f 7264 0673 6563 7265 74", [
    "password: secret",
  ]]],
  "C.4 requests with Huffman code": [
    ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", [
      ...[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
    ]],
    ["8286 84be 5886 a8eb 1064 9cbf", [
      ...[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
      "cache-control: no-cache",
    ]],
    ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", [
      ...[":method: GET", ":scheme: https", ":path: /index.html"],
      ...[":authority: www.example.com", "custom-key: custom-value"],
    ]],
  ],
};

for (const [name, blocks] of Object.entries(EXAMPLES)) {
  Deno.test(`HpackDecoder decodes the example ${name}`, () => {
    const decoder = new HpackDecoder();
    for (const [hex, headers] of blocks) {
      assert.deepEqual(list(decoder.decode(block(hex))), headers);
    }
  });
}

Deno.test("HpackDecoder drops the oldest entries of a table that has become too small", () => {
  const decoder = new HpackDecoder();
  // RFC 7541, C.6, with the table of 256 bytes that the example has.
  const first = "3fe101" +
    "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 " +
    "66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
  const date = (second: number) => `date: Mon, 21 Oct 2013 20:13:${second} GMT`;
  const rest = [date(21), "location: https://www.example.com"];
  const priv = "cache-control: private";
  assert.deepEqual(list(decoder.decode(block(first))), [":status: 302", priv, ...rest]);
  // The new status takes the place of the one before.
  assert.deepEqual(list(decoder.decode(block("4883 640e ff c1 c0 bf"))), [
    ":status: 307",
    priv,
    ...rest,
  ]);
  assert.deepEqual(list(decoder.decode(block("be"))), [":status: 307"]);
  assert.throws(() => decoder.decode(block("c2")), ProtocolError);
  // A table of nothing, then of what it may be at most again.
  assert.deepEqual(list(decoder.decode(block("20 3fe11f 88"))), [":status: 200"]);
  assert.throws(() => decoder.decode(block("be")), ProtocolError);
});

Deno.test("HpackDecoder takes an entry that is larger than the table for an empty table", () => {
  const decoder = new HpackDecoder();
  const entry = `40 01 61 7f ${"81 1f"} ${"78".repeat(127 + 1 + 31 * 128)}`;
  assert.equal(decoder.decode(block(entry))![1]!.length, 4096);
  assert.throws(() => decoder.decode(block("be")), /index 62/);
});

Deno.test("HpackDecoder refuses what is no block of headers", () => {
  const cases: Record<string, string> = {
    "index 0": "80",
    "an index beyond the tables": "be",
    "a name beyond the tables": "7f 00 00",
    "a number that doesn't end": "ff ff ff",
    "a number that is too large": "ff ff ff ff ff ff 0f",
    "a text that is cut off": "00 05 61 62",
    "a block that ends behind a name": "00 01 61",
    "a table larger than allowed": "3f e2 1f",
    "a table size behind a header": "88 20",
    "padding of a byte or more": "00 01 61 82 1f ff",
    "padding that isn't ones": "00 01 61 81 18",
    "the end mark in a text": "00 01 61 84 ff ff ff ff",
  };
  for (const [what, hex] of Object.entries(cases)) {
    assert.throws(
      () => new HpackDecoder().decode(block(hex)),
      (error: ProtocolError) => error.code === ErrorCode.compressionError,
      what,
    );
  }
});

Deno.test("HpackDecoder gives no headers that are too large, but keeps its table right", () => {
  const decoder = new HpackDecoder();
  const one = encodeHeaders(["a", "x".repeat(3_000)]);
  one[0] = 0x40;
  const references = new Uint8Array(MAX_HEADER_BYTES / 3_033).fill(0xbe);
  assert.equal(decoder.decode(Uint8Array.of(...one, ...references, 0xbe)), undefined);
  assert.equal(decoder.decode(block("be"))![1]!.length, 3_000);
});

Deno.test("encodeHeaders() gives what decoders read, texts of any length", () => {
  for (const length of [0, 1, 126, 127, 128, 254, 255, 256, 16_000, 20_000]) {
    const headers = [":path", "/a", "x", "y".repeat(length), "é".repeat(3), "ÿ"];
    assert.deepEqual(new HpackDecoder().decode(encodeHeaders(headers)), headers);
  }
  assert.deepEqual(new HpackDecoder().decode(encodeHeaders(["a", "→"])), ["a", "?"]);
});
