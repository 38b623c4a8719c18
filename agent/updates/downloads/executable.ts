/** Whether a file is a program for this host, by its first bytes. */

/** So many bytes are enough. */
export const HEADER_BYTES = 4096;

/** Machine numbers, by the processor of a platform such as `linux/amd64`. */
interface Machines {
  /** ELF specification, `e_machine`. */
  readonly elf: number;
  /** PE specification, `Machine`. */
  readonly pe?: number;
  /** Mach-O, `cputype`. */
  readonly macho?: number;
}

const MACHINES: Readonly<Record<string, Machines>> = {
  amd64: { elf: 0x3e, pe: 0x8664, macho: 0x0100_0007 },
  arm64: { elf: 0xb7, pe: 0xaa64, macho: 0x0100_000c },
  arm: { elf: 0x28, pe: 0x01c4 },
  386: { elf: 0x03, pe: 0x014c },
  riscv64: { elf: 0xf3 },
};
const ELF = 0x7f45_4c46;
const MACHO_64 = 0xcffa_edfe;
const MACHO_UNIVERSAL = 0xcafe_babe;
/** Java classes have the same mark; their next number is larger. */
const MOST_ARCHITECTURES = 20;

type Format = "elf" | "pe" | "mach-o";

const FORMATS: Readonly<Record<Format, string>> = {
  "elf": "a program for Linux",
  "pe": "a program for Windows",
  "mach-o": "a program for macOS",
};

/** True for `#!`. */
export function isScript(header: Uint8Array): boolean {
  return header[0] === 0x23 && header[1] === 0x21;
}

/**
 * Why this host cannot run it; undefined when it can.
 *
 * @param header the first {@link HEADER_BYTES}, or all of a shorter file.
 * @param platform `linux/amd64`. A processor that is not known here is not compared.
 */
export function executableProblem(header: Uint8Array, platform: string): string | undefined {
  const [os = "", processor = ""] = platform.split("/");
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const format = formatOf(view);
  const wanted = os === "windows" ? "pe" : os === "darwin" ? "mach-o" : "elf";
  if (format !== wanted) {
    const found = format ? FORMATS[format] : "no program";
    return `it is ${found}, needed is one for ${platform}`;
  }
  const machines = MACHINES[processor];
  if (!machines || machinesOf(view, format).includes(machineOf(machines, format))) return undefined;
  return `it is a program for another processor, needed is one for ${platform}`;
}

function formatOf(view: DataView): Format | undefined {
  if (view.byteLength < 64) return undefined;
  const mark = view.getUint32(0);
  if (mark === ELF) return "elf";
  if (mark === MACHO_64) return "mach-o";
  if (mark === MACHO_UNIVERSAL && view.getUint32(4) <= MOST_ARCHITECTURES) return "mach-o";
  return peOffset(view) === undefined ? undefined : "pe";
}

/** Where the PE header begins: after `MZ` and what old systems print. */
function peOffset(view: DataView): number | undefined {
  if (view.getUint16(0) !== 0x4d5a) return undefined;
  const at = view.getUint32(0x3c, true);
  return at + 6 <= view.byteLength && view.getUint32(at) === 0x5045_0000 ? at : undefined;
}

function machineOf(machines: Machines, format: Format): number | undefined {
  return format === "elf" ? machines.elf : format === "pe" ? machines.pe : machines.macho;
}

function machinesOf(view: DataView, format: Format): (number | undefined)[] {
  switch (format) {
    case "elf":
      return [view.getUint16(18, view.getUint8(5) !== 2)];
    case "pe":
      return [view.getUint16((peOffset(view) ?? 0) + 4, true)];
    case "mach-o": {
      if (view.getUint32(0) === MACHO_64) return [view.getUint32(4, true)];
      const count = Math.min(view.getUint32(4), Math.floor((view.byteLength - 8) / 20));
      return Array.from({ length: count }, (_, index) => view.getUint32(8 + 20 * index));
    }
  }
}
