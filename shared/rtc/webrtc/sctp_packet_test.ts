import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { randomSource } from "../../test_tools/random_source.ts";
import { crc32c } from "./crc32c.ts";
import { DataChunk, Flags, makeSack, readPacket, writePacket } from "./sctp_packet.ts";

const ADDRESS = { localPort: 5000, remotePort: 5001, tag: 0xfedcba98 };

Deno.test("crc32c() is that of RFC 3720, B.4, for any length", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e);
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
  assert.equal(crc32c(new Uint8Array(0)), 0);
});

Deno.test("a packet is read as it was written, and its bytes stay as they were", () => {
  const data = [0, 1, 2, 3, 4, 500].map((length, index) =>
    new DataChunk(
      Flags.whole,
      0xffff_fff0 + index,
      1,
      65_535,
      53,
      new Uint8Array(randomBytes(length)),
    )
  );
  const sack = makeSack(0xffff_ffff, 131_072, [[2, 2], [4, 65_535]], [7, 0xffff_fffe]);
  const packet = writePacket(ADDRESS, sack, data);
  const before = Buffer.from(packet);
  assert.deepEqual(readPacket(packet), {
    tag: ADDRESS.tag,
    chunks: [makeSack(sack.cumulativeTsn, sack.advertisedRwnd, sack.gaps, []), ...data],
  });
  assert.deepEqual(packet, before);
  assert.equal(packet.length % 4, 0);
});

Deno.test("readPacket() throws at what is no packet, and leaves packets with other chunks alone", () => {
  const good = writePacket(ADDRESS, makeSack(1, 2, [[1, 1]], []), [
    new DataChunk(Flags.whole, 3, 0, 0, 53, randomBytes(20)),
  ]);
  const changed = (at: number, value: number) => {
    const packet = Buffer.from(good);
    packet[at] = value;
    packet.writeUInt32LE(0, 8);
    packet.writeUInt32LE(crc32c(packet), 8);
    return packet;
  };
  assert.equal(readPacket(changed(12, 4)), undefined);
  // A chunk of no length would never end; gaps and data must fit in their chunks.
  for (const packet of [changed(15, 0), changed(15, 3), changed(25, 9), changed(35, 8)]) {
    assert.throws(() => readPacket(packet), RangeError);
  }
  assert.throws(() => readPacket(good.subarray(0, 11)), /shorter than its header/);
  const { bytes, below } = randomSource(1);
  for (let round = 0; round < 2_000; round++) {
    const packet = Buffer.from(good);
    packet.set(bytes(1 + below(4)), below(packet.length - 4));
    if (!packet.equals(good)) assert.throws(() => readPacket(packet), /wrong checksum/);
  }
});
