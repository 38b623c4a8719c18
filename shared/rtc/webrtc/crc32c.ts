/** The checksum of SCTP (RFC 9260, appendix A), eight bytes at a time. */

/** CRC-32C, bits in reverse. */
const POLYNOMIAL = 0x82f63b78;
const STEP = 8;
const TABLES = makeTables();

/** The checksum of all bytes. */
export function crc32c(bytes: Uint8Array): number {
  const { length } = bytes;
  const whole = length - length % STEP;
  let crc = -1;
  let at = 0;
  for (; at < whole; at += STEP) {
    crc ^= bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24;
    crc = TABLES[1792 + (crc & 255)]! ^ TABLES[1536 + (crc >>> 8 & 255)]! ^
      TABLES[1280 + (crc >>> 16 & 255)]! ^ TABLES[1024 + (crc >>> 24)]! ^
      TABLES[768 + bytes[at + 4]!]! ^ TABLES[512 + bytes[at + 5]!]! ^
      TABLES[256 + bytes[at + 6]!]! ^ TABLES[bytes[at + 7]!]!;
  }
  for (; at < length; at++) crc = TABLES[(crc ^ bytes[at]!) & 255]! ^ crc >>> 8;
  return ~crc >>> 0;
}

/** Eight tables of 256: what a byte does to the checksum of so many bytes behind it. */
function makeTables(): Int32Array {
  const tables = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256]!;
    tables[at] = before >>> 8 ^ tables[before & 255]!;
  }
  return tables;
}
