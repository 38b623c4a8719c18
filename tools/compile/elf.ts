/** ELF files, as far as cutting and checking Deno's runtime needs them: 64 bit, little-endian. */

/** What the header of an ELF file says. */
export interface ElfFacts {
  machine: "x64" | "arm64";
  /** Where the section header table ends, which is the end of the file as it was linked. */
  end: number;
}

const MACHINES = new Map<number, ElfFacts["machine"]>([[62, "x64"], [183, "arm64"]]);

/** Reads an ELF header. @throws Error saying what about the file is not as expected. */
export function readElf(file: Uint8Array): ElfFacts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 64 || view.getUint32(0) !== 0x7f454c46) throw new Error("not an ELF file");
  if (file[4] !== 2 || file[5] !== 1) throw new Error("not a 64-bit little-endian ELF file");
  const machine = MACHINES.get(view.getUint16(0x12, true));
  if (!machine) throw new Error(`ELF machine ${view.getUint16(0x12, true)} is not x64 or arm64`);
  const end = Number(view.getBigUint64(0x28, true)) +
    view.getUint16(0x3a, true) * view.getUint16(0x3c, true);
  if (end > file.length) {
    throw new Error(`ELF section table ends at ${end}, after the file (${file.length} bytes)`);
  }
  return { machine, end };
}

/** The file without what was appended after linking: a compiled program becomes the bare runtime. */
export function cutElf(file: Uint8Array): Uint8Array {
  return file.subarray(0, readElf(file).end);
}
