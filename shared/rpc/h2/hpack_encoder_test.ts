import assert from "node:assert/strict";
import { HpackDecoder } from "./hpack.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { type HeaderBlock, HeaderField, HpackEncoder } from "./hpack_encoder.ts";

const METHOD = new HeaderField(":method", "POST", 3);
const PATH = new HeaderField(":path", "/a");
const field = (n: number, length: number) => new HeaderField(`n${n}`, "v".repeat(length));

/** Encodes on one side, decodes on the other. */
class Pair {
  readonly encoder = new HpackEncoder();
  readonly decoder = new HpackDecoder();

  pass(repeated: HeaderField[], others: string[] = []): string {
    const block: HeaderBlock = { repeated, others };
    const bytes = this.encoder.encode(block).slice();
    this.last = bytes.length;
    return this.decoder.decode(bytes)!.join();
  }
  /** Bytes of the last block. */
  last = 0;
}

Deno.test("HpackEncoder sends what is repeated as a byte, and the rest as it is", () => {
  const pair = new Pair();
  assert.equal(pair.pass([METHOD, PATH], ["a", "1"]), ":method,POST,:path,/a,a,1");
  assert.equal(pair.last, 1 + (1 + 6 + 3) + 5);
  assert.equal(pair.pass([METHOD, PATH], ["a", "2"]), ":method,POST,:path,/a,a,2");
  assert.equal(pair.last, 2 + 5);
  // Another one of the same text is another field; one that stands further back keeps its place.
  assert.equal(pair.pass([new HeaderField("x", "y"), PATH]), "x,y,:path,/a");
  assert.equal(pair.pass([PATH]), ":path,/a");
  assert.equal(pair.last, 1);
});

Deno.test("HpackEncoder says the same as its peer when the table overflows", () => {
  const pair = new Pair();
  const fields = Array.from({ length: 40 }, (_, n) => field(n, 10 + 37 * n % 300));
  // Larger than the table: it empties it.
  fields.push(field(40, 5_000));
  let state = 7;
  for (let round = 0; round < 3_000; round++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const chosen = [fields[state % fields.length]!, fields[round % 3]!, METHOD];
    const expected = chosen.map(({ literal }) => new HpackDecoder().decode(literal));
    expected[2] = [":method", "POST"];
    assert.equal(pair.pass(chosen, ["o", "p"]), [...expected.flat(), "o", "p"].join());
  }
});

Deno.test("HpackEncoder.limit() keeps to what the peer's table holds, and tells it", () => {
  const pair = new Pair();
  pair.pass([PATH]);
  pair.encoder.limit(65_536);
  pair.pass([PATH]);
  assert.equal(pair.last, 1);
  pair.encoder.limit(0);
  assert.equal(pair.pass([PATH]), ":path,/a");
  assert.equal(pair.pass([PATH]), ":path,/a");
  assert.equal(pair.last, 1 + 6 + 3);
  // Down and up again between two blocks: the peer has emptied its table.
  pair.encoder.limit(4_096);
  pair.pass([PATH]);
  pair.encoder.limit(0);
  pair.encoder.limit(100);
  assert.equal(pair.pass([PATH, field(1, 50)]), `:path,/a,n1,${"v".repeat(50)}`);
  assert.equal(pair.pass([PATH]), ":path,/a");
});

Deno.test("HpackEncoder writes blocks of any size", () => {
  const others = ["x", "y".repeat(40_000), "z", "é→"];
  const bytes = new HpackEncoder().encode({ repeated: [METHOD], others });
  assert.deepEqual(bytes.slice(1), encodeHeaders(others));
});
