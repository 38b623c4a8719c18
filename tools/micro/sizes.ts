import type { Built } from "./build.ts";

/**
 * What takes how much room in the program, a line a part.
 *
 * @param libc name of the C library
 */
export async function sizeReport(built: Built, libc = "musl"): Promise<string> {
  const { size } = await Deno.stat(built.file);
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(0).padStart(6)} KiB`;
  const own = new Map<string, string>();
  for (const part of built.parts) {
    for (const object of part.objects) {
      for (const { name } of symbolsOf(await Deno.readFile(object))) own.set(name, part.name);
    }
  }
  const sums = new Map<string, number>();
  for (const symbol of symbolsOf(await Deno.readFile(await built.withSymbols()))) {
    const part = own.get(symbol.name) ?? `C library (${libc}) and the rest`;
    sums.set(part, (sums.get(part) ?? 0) + symbol.size);
  }
  const lines = [...sums].map(([name, bytes]) => `  ${kib(bytes)}  ${name}`);
  return [
    `${built.file} ${kib(size).trim()}`,
    ...lines,
    `  ${kib(built.bytecode)}  of that bytecode\n`,
  ]
    .join("\n");
}

interface Symbol {
  readonly name: string;
  readonly size: number;
}

const SYMBOL_TABLE = 2;
/** Functions and data. */
const KINDS = [1, 2];
/** Memory that is zero at the start takes no room in the file. */
const NO_BITS = 8;

/** Functions and constants that an ELF file defines, of 32 or 64 bits, little-endian. */
function symbolsOf(file: Uint8Array): Symbol[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const wide = file[4] === 2;
  const word = (at: number): number =>
    wide ? Number(view.getBigUint64(at, true)) : view.getUint32(at, true);
  const table = word(wide ? 0x28 : 0x20);
  const entry = view.getUint16(wide ? 0x3a : 0x2e, true);
  const count = view.getUint16(wide ? 0x3c : 0x30, true);
  const sections = Array.from({ length: count }, (_, i) => {
    const at = table + i * entry;
    return {
      type: view.getUint32(at + 4, true),
      offset: word(at + (wide ? 0x18 : 0x10)),
      size: word(at + (wide ? 0x20 : 0x14)),
      link: view.getUint32(at + (wide ? 0x28 : 0x18), true),
    };
  });
  const symbols: Symbol[] = [];
  for (const { type, offset, size, link } of sections) {
    const names = sections[link];
    if (type !== SYMBOL_TABLE || !names) continue;
    for (let at = offset; at < offset + size; at += wide ? 24 : 16) {
      const info = file[at + (wide ? 4 : 12)] ?? 0;
      const section = sections[view.getUint16(at + (wide ? 6 : 14), true)];
      if (!KINDS.includes(info & 15) || !section || section.type === NO_BITS) continue;
      const start = names.offset + view.getUint32(at, true);
      const name = new TextDecoder().decode(file.subarray(start, file.indexOf(0, start)));
      const bytes = word(at + (wide ? 16 : 8));
      if (bytes > 0) symbols.push({ name, size: bytes });
    }
  }
  return symbols;
}
