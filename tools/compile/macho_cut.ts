/** Takes the embedded program out of a Mach-O file, so that another one can be embedded. */
import {
  FIELDS,
  linkeditPart,
  type MachoFacts,
  type MachoSegment,
  PAYLOAD_SEGMENT,
  payloadOf,
  readMacho,
  SEGMENT_FIELDS,
  segmentNamed,
} from "./macho.ts";

/** Page size of the processor, to which segments are rounded in memory. */
const PAGE = { x64: 0x1000, arm64: 0x4000 };

/**
 * A copy of a compiled program without its payload: the bare runtime. For arm64 the payload is a
 * segment of its own in front of `__LINKEDIT`, for x64 it stands at the end of the string table.
 * A code signature stays where it is and is wrong then; `deno compile` makes a new one.
 *
 * @throws Error when there is no payload.
 */
export function cutMacho(file: Uint8Array): Uint8Array {
  const facts = readMacho(file);
  const payload = facts.segments.find(({ name }) => name === PAYLOAD_SEGMENT);
  return payload ? withoutSegment(file, facts, payload) : withoutStrings(file, facts);
}

function withoutSegment(file: Uint8Array, facts: MachoFacts, payload: MachoSegment): Uint8Array {
  const end = payload.offset + payload.size;
  const linkedit = segmentNamed(facts, "__LINKEDIT");
  if (linkedit.offset !== end || facts.segments.at(-1) !== linkedit) {
    throw new Error(`${PAYLOAD_SEGMENT} does not stand in front of __LINKEDIT`);
  }
  const runtime = new Uint8Array(file.length - payload.size);
  runtime.set(file.subarray(0, payload.offset));
  runtime.set(file.subarray(end), payload.offset);
  const view = new DataView(runtime.buffer);
  for (const { field, offset } of facts.linkedit) {
    view.setUint32(field, offset - payload.size, true);
  }
  const { command } = linkedit;
  const set64 = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true);
  set64(command + SEGMENT_FIELDS.offset, payload.offset);
  set64(command + SEGMENT_FIELDS.address, payload.address);

  const commandBytes = view.getUint32(payload.command + 4, true);
  runtime.copyWithin(payload.command, payload.command + commandBytes, facts.commandsEnd);
  runtime.fill(0, facts.commandsEnd - commandBytes, facts.commandsEnd);
  for (
    const [field, less] of [[FIELDS.commandCount, 1], [FIELDS.commandBytes, commandBytes]] as const
  ) view.setUint32(field, view.getUint32(field, true) - less, true);
  return runtime;
}

function withoutStrings(file: Uint8Array, facts: MachoFacts): Uint8Array {
  const { begin } = payloadOf(file, facts);
  const strings = linkeditPart(facts, "strings");
  const linkedit = segmentNamed(facts, "__LINKEDIT");
  if (strings?.offset === undefined || strings.offset + strings.size !== file.length) {
    throw new Error("the string table is not the end of the Mach-O file");
  }
  const runtime = file.slice(0, begin);
  const view = new DataView(runtime.buffer);
  view.setUint32(strings.field + 4, begin - strings.offset, true);
  const size = begin - linkedit.offset;
  const page = PAGE[facts.machine];
  const set64 = (field: number, value: number) =>
    view.setBigUint64(linkedit.command + field, BigInt(value), true);
  set64(SEGMENT_FIELDS.size, size);
  set64(SEGMENT_FIELDS.memorySize, Math.ceil(size / page) * page);
  return runtime;
}
