/** Mach-O files (macOS), as far as cutting and checking Deno's runtime needs them: 64 bit. */

/** What `deno compile` calls the segment (arm64) that holds the program. */
export const PAYLOAD_SEGMENT = "__SUI";
/** What stands in front of the program at the end of the string table (x64). */
export const PAYLOAD_MARK = "<~sui-data~>";
/** Section of {@link PAYLOAD_SEGMENT}, and the first bytes of the program in both forms. */
export const PAYLOAD_NAME = "d3n0l4nd";

export interface MachoSegment {
  readonly name: string;
  readonly address: number;
  readonly memorySize: number;
  readonly offset: number;
  readonly size: number;
  /** Names of its sections. */
  readonly sections: readonly MachoSection[];
  /** Offset of its load command in the file. */
  readonly command: number;
}

export interface MachoSection {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

/** A part of `__LINKEDIT`. */
export interface LinkeditPart {
  readonly what: string;
  readonly offset: number;
  readonly size: number;
  /** Where its offset stands in the file; its size is in the 4 bytes after that. */
  readonly field: number;
}

export interface MachoFacts {
  readonly machine: "x64" | "arm64";
  /** In file order. */
  readonly segments: readonly MachoSegment[];
  /** All parts of `__LINKEDIT`; empty ones as far as they have a place. */
  readonly linkedit: readonly LinkeditPart[];
  /** Where the load commands end. */
  readonly commandsEnd: number;
}

const HEADER = 32;
export const FIELDS = { commandCount: 16, commandBytes: 20 };
const MACHINES = new Map<number, MachoFacts["machine"]>([
  [0x01000007, "x64"],
  [0x0100000c, "arm64"],
]);
const EXECUTABLE = 2;
const SEGMENT = 0x19;
/** Fields of a segment's load command, and of a section in it, from their beginnings. */
export const SEGMENT_FIELDS = { address: 24, memorySize: 32, offset: 40, size: 48 };
const SECTIONS_AT = 72;
const SECTION_BYTES = 80;

/** Load commands with offsets into `__LINKEDIT`: where each pair of offset and size stands. */
const LINKEDIT_COMMANDS = new Map<number, readonly (readonly [string, number])[]>([
  [0x80000022, [
    ["rebase", 8],
    ["bind", 16],
    ["weak bind", 24],
    ["lazy bind", 32],
    ["exports", 40],
  ]],
  [0x26, [["function starts", 8]]],
  [0x29, [["data in code", 8]]],
  [0x1d, [["code signature", 8]]],
  [0x80000033, [["exports", 8]]],
  [0x80000034, [["chained fixups", 8]]],
]);
const SYMBOLS = 0x2;
const DYNAMIC_SYMBOLS = 0xb;
const SYMBOL_BYTES = 16;

/** Reads the header and the load commands. @throws Error saying what is not as expected. */
export function readMacho(file: Uint8Array): MachoFacts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const u32 = (at: number) => view.getUint32(at, true);
  const u64 = (at: number) => Number(view.getBigUint64(at, true));
  if (file.length < HEADER || u32(0) !== 0xfeedfacf) {
    throw new Error("not a 64-bit Mach-O file");
  }
  const machine = MACHINES.get(u32(4));
  if (!machine) throw new Error(`Mach-O machine ${u32(4)} is not x64 or arm64`);
  if (u32(12) !== EXECUTABLE) throw new Error("the Mach-O file is no program");
  const commandsEnd = HEADER + u32(FIELDS.commandBytes);
  if (commandsEnd > file.length) throw new Error("the load commands end after the file");
  const segments: MachoSegment[] = [];
  const linkedit: LinkeditPart[] = [];
  const part = (what: string, field: number, size: number) => {
    if (u32(field) > 0) linkedit.push({ what, offset: u32(field), size, field });
  };
  let at = HEADER;
  for (let i = 0; i < u32(FIELDS.commandCount); i++) {
    if (at + 8 > commandsEnd) throw new Error("there are fewer load commands than the header says");
    const command = u32(at);
    const size = u32(at + 4);
    if (size < 8 || at + size > commandsEnd) throw new Error(`load command ${i} has a wrong size`);
    if (command === SEGMENT) segments.push(segmentAt(at));
    else if (command === SYMBOLS) {
      part("symbols", at + 8, u32(at + 12) * SYMBOL_BYTES);
      part("strings", at + 16, u32(at + 20));
    } else if (command === DYNAMIC_SYMBOLS) {
      part("indirect symbols", at + 56, u32(at + 60) * 4);
    }
    for (const [what, field] of LINKEDIT_COMMANDS.get(command) ?? []) {
      part(what, at + field, u32(at + field + 4));
    }
    at += size;
  }
  return { machine, segments, linkedit, commandsEnd };

  function segmentAt(command: number): MachoSegment {
    const sections: MachoSection[] = [];
    for (let i = 0; i < u32(command + 64); i++) {
      const section = command + SECTIONS_AT + SECTION_BYTES * i;
      sections.push({
        name: nameAt(section),
        size: u64(section + 40),
        offset: u32(section + 48),
      });
    }
    return {
      name: nameAt(command + 8),
      address: u64(command + SEGMENT_FIELDS.address),
      memorySize: u64(command + SEGMENT_FIELDS.memorySize),
      offset: u64(command + SEGMENT_FIELDS.offset),
      size: u64(command + SEGMENT_FIELDS.size),
      sections,
      command,
    };
  }

  function nameAt(at: number): string {
    return new TextDecoder().decode(file.subarray(at, at + 16)).replace(/\0+$/, "");
  }
}

/** Finds a segment. @throws Error when there is none of that name. */
export function segmentNamed({ segments }: MachoFacts, name: string): MachoSegment {
  const found = segments.find((segment) => segment.name === name);
  if (!found) throw new Error(`the Mach-O file has no segment ${name}`);
  return found;
}

/** Finds a part of `__LINKEDIT`; undefined when the file has none. */
export function linkeditPart({ linkedit }: MachoFacts, what: string): LinkeditPart | undefined {
  return linkedit.find((part) => part.what === what);
}

/** Where the embedded program is. @throws Error when the file has none. */
export function payloadOf(file: Uint8Array, facts = readMacho(file)): {
  /** Where what was added begins: the segment, or the mark in front of the program. */
  readonly begin: number;
  readonly content: Uint8Array;
} {
  const segment = facts.segments.find(({ name }) => name === PAYLOAD_SEGMENT);
  if (segment) {
    const section = segment.sections.find(({ name }) => name === PAYLOAD_NAME);
    if (!section) throw new Error(`${PAYLOAD_SEGMENT} has no section ${PAYLOAD_NAME}`);
    const { offset, size } = section;
    return { begin: segment.offset, content: file.subarray(offset, offset + size) };
  }
  const strings = linkeditPart(facts, "strings");
  if (!strings) throw new Error("the Mach-O file has no string table");
  const table = file.subarray(strings.offset, strings.offset + strings.size);
  const mark = new TextEncoder().encode(PAYLOAD_MARK);
  const at = indexOf(table, mark);
  if (at < 0) throw new Error("the Mach-O file has no embedded program");
  // After the mark a number of 4 bytes and the length in 8.
  const header = at + mark.length + 12;
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  const length = Number(view.getBigUint64(header - 8, true));
  return { begin: strings.offset + at, content: table.subarray(header, header + length) };
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array): number {
  for (let at = bytes.indexOf(wanted[0]!); at >= 0; at = bytes.indexOf(wanted[0]!, at + 1)) {
    if (wanted.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}
