import { crc32 } from "node:zlib";

// The format is that of slots.h and layout.h in micro/hosts/cortex_m, and of store.c in
// micro/hosts/device.
const CHIP_SIZE = 8 * 1024 * 1024;
const SECTOR = 4096;
const STORE = 0x20000;
const STORE_SIZE = 2 * 384 * 1024;
const SLOTS = 0x100000;
const SLOT_SIZE = 3 * 1024 * 1024;
const BANK_MAGIC = 0x314b4e42;
const RECORD_MAGIC = 0x31434552;
const SLOT_MAGIC = 0x31574d4d;
const KEY_SIZE = 32;

/**
 * Content of the flash chip of a device that was never started.
 *
 * @param image runs in slot A
 * @param values by key, as the device finds them: `credentials`, `roots` in PEM, and `no-tls`
 * @throws Error when the image or a key is too long
 */
export function flashImage(
  image: Uint8Array,
  values: Readonly<Record<string, Uint8Array>>,
): Uint8Array {
  if (image.length > SLOT_SIZE - SECTOR) throw new Error(`an image has 3 MB, not ${image.length}`);
  const chip = new Uint8Array(CHIP_SIZE).fill(0xff);
  chip.set(withCrc([SLOT_MAGIC, image.length, crc32(image)]), SLOTS);
  chip.set(image, SLOTS + SECTOR);
  chip.set(storeImage(values), STORE);
  return chip;
}

/**
 * Both banks of values of a device that was never started.
 *
 * @throws Error when a key is too long, or the values together
 */
export function storeImage(values: Readonly<Record<string, Uint8Array>>): Uint8Array {
  const store = new Uint8Array(STORE_SIZE).fill(0xff);
  const header = withCrc([BANK_MAGIC, 1]);
  store.set(header);
  let at = header.length;
  for (const [key, value] of Object.entries(values)) {
    const record = recordOf(key, value);
    if (at + record.length > STORE_SIZE / 2) throw new Error("the values have more than 384 KiB");
    store.set(record, at);
    at += Math.ceil(record.length / 4) * 4;
  }
  return store;
}

function withCrc(numbers: readonly number[]): Uint8Array {
  const bytes = words(numbers);
  return Uint8Array.of(...bytes, ...words([crc32(bytes)]));
}

function recordOf(key: string, value: Uint8Array): Uint8Array {
  const name = new Uint8Array(KEY_SIZE);
  const { written, read } = new TextEncoder().encodeInto(key, name);
  if (read !== key.length || written >= KEY_SIZE) throw new Error(`the key ${key} is too long`);
  const checked = new Uint8Array(4 + KEY_SIZE + value.length);
  checked.set(words([value.length]));
  checked.set(name, 4);
  checked.set(value, 4 + KEY_SIZE);
  const record = new Uint8Array(8 + checked.length);
  record.set(words([RECORD_MAGIC, crc32(checked)]));
  record.set(checked, 8);
  return record;
}

function words(numbers: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(numbers.length * 4));
  numbers.forEach((number, i) => view.setUint32(i * 4, number, true));
  return new Uint8Array(view.buffer);
}
