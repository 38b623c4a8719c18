/** PE files (Windows), as far as cutting and checking Deno's runtime needs them: 64 bit. */

/** Section that `deno compile` adds: the program, found as a resource. */
export const PAYLOAD_SECTION = ".pedata";

export interface PeSection {
  name: string;
  virtualAddress: number;
  virtualSize: number;
  rawOffset: number;
  rawSize: number;
  /** Offset of its header in the file. */
  header: number;
}

export interface PeFacts {
  machine: "x64" | "arm64";
  /** In file order. */
  sections: PeSection[];
  /** Bytes of address space the loader reserves; must cover every section. */
  sizeOfImage: number;
  sectionAlignment: number;
  resources: { virtualAddress: number; size: number };
  /** Offsets in the file of the header fields that {@link cutPe} rewrites. */
  fields: { numberOfSections: number; sizeOfImage: number; resources: number };
}

const MACHINES = new Map<number, PeFacts["machine"]>([[0x8664, "x64"], [0xaa64, "arm64"]]);
const PE32_PLUS = 0x20b;
const RESOURCE_DIRECTORY = 2;

/** Reads PE headers. @throws Error saying what about the file is not as expected. */
export function readPe(file: Uint8Array): PeFacts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 64 || view.getUint16(0) !== 0x4d5a) throw new Error("not a PE file: no MZ");
  const pe = view.getUint32(0x3c, true);
  if (pe + 24 > file.length || view.getUint32(pe) !== 0x50450000) {
    throw new Error("not a PE file: no PE header");
  }
  const machine = MACHINES.get(view.getUint16(pe + 4, true));
  if (!machine) throw new Error("PE machine is not x64 or arm64");
  const optional = pe + 24;
  if (view.getUint16(optional, true) !== PE32_PLUS) throw new Error("not a 64-bit PE file");
  const table = optional + view.getUint16(pe + 20, true);
  const resources = optional + 112 + 8 * RESOURCE_DIRECTORY;
  const sections: PeSection[] = [];
  for (let i = 0; i < view.getUint16(pe + 6, true); i++) {
    const header = table + 40 * i;
    sections.push({
      name: new TextDecoder().decode(file.subarray(header, header + 8)).replace(/\0+$/, ""),
      virtualSize: view.getUint32(header + 8, true),
      virtualAddress: view.getUint32(header + 12, true),
      rawSize: view.getUint32(header + 16, true),
      rawOffset: view.getUint32(header + 20, true),
      header,
    });
  }
  return {
    machine,
    sections,
    sizeOfImage: view.getUint32(optional + 56, true),
    sectionAlignment: view.getUint32(optional + 32, true),
    resources: {
      virtualAddress: view.getUint32(resources, true),
      size: view.getUint32(resources + 4, true),
    },
    fields: { numberOfSections: pe + 6, sizeOfImage: optional + 56, resources },
  };
}

/**
 * A copy of a compiled program without its payload: the bare runtime. The payload is the last
 * section; its header, the resource directory that points at it and the address space it took go
 * too, because a program embedded later takes their place.
 *
 * @throws Error when the last section is not the payload.
 */
export function cutPe(file: Uint8Array): Uint8Array {
  const facts = readPe(file);
  const payload = facts.sections.at(-1);
  const last = facts.sections.at(-2);
  if (payload?.name !== PAYLOAD_SECTION || !last) {
    throw new Error(`the last PE section is "${payload?.name}", expected ${PAYLOAD_SECTION}`);
  }
  const runtime = file.slice(0, payload.rawOffset);
  const view = new DataView(runtime.buffer);
  runtime.fill(0, payload.header, payload.header + 40);
  runtime.fill(0, facts.fields.resources, facts.fields.resources + 8);
  view.setUint16(facts.fields.numberOfSections, facts.sections.length - 1, true);
  view.setUint32(facts.fields.sizeOfImage, imageEnd(last, facts.sectionAlignment), true);
  return runtime;
}

/**
 * What is wrong with a compiled PE file; empty when it holds together: sections follow one another
 * in the file and in memory, the payload is the last one and is what the resources point at, and
 * `SizeOfImage` is exactly what the sections need.
 */
export function peProblems(file: Uint8Array): string[] {
  const { sections, sizeOfImage, sectionAlignment, resources } = readPe(file);
  const problems: string[] = [];
  sections.forEach((section, i) => {
    if (section.rawOffset + section.rawSize > file.length) {
      problems.push(`section ${section.name} ends after the file`);
    }
    const before = sections[i - 1];
    if (!before) return;
    if (section.virtualAddress < imageEnd(before, sectionAlignment)) {
      problems.push(`section ${section.name} overlaps ${before.name} in memory`);
    }
    if (section.rawSize > 0 && section.rawOffset < before.rawOffset + before.rawSize) {
      problems.push(`section ${section.name} overlaps ${before.name} in the file`);
    }
  });
  const last = sections.at(-1);
  if (!last || last.name !== PAYLOAD_SECTION) {
    return [...problems, `the last section is "${last?.name}", expected ${PAYLOAD_SECTION}`];
  }
  if (sections.filter((s) => s.name === PAYLOAD_SECTION).length > 1) {
    problems.push(`there is more than one ${PAYLOAD_SECTION} section`);
  }
  if (resources.virtualAddress !== last.virtualAddress) {
    problems.push(`the resource directory does not point at ${PAYLOAD_SECTION}`);
  }
  const needed = imageEnd(last, sectionAlignment);
  // SizeOfImage is a multiple of the alignment by the format; Deno leaves it unrounded, which
  // Windows accepts, so only the rounded values have to agree.
  if (roundUp(sizeOfImage, sectionAlignment) !== needed) {
    problems.push(`SizeOfImage is ${sizeOfImage}, the sections need ${needed}`);
  }
  return problems;
}

function imageEnd(section: PeSection, alignment: number): number {
  return roundUp(section.virtualAddress + section.virtualSize, alignment);
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}
