/** Whether a compiled Mach-O file holds together, code signature included. */
import { createHash } from "node:crypto";
import { toError } from "../../shared/base/errors/to_error.ts";
import { linkeditPart, type MachoFacts, PAYLOAD_NAME, payloadOf, readMacho } from "./macho.ts";

/**
 * What is wrong with a compiled program for macOS; empty when it holds together: segments follow
 * one another in the file and in memory, the parts of `__LINKEDIT` lie in it and do not overlap,
 * the program is embedded, and on arm64, which runs nothing else, there is a code signature whose
 * hashes are those of the file.
 */
export function machoProblems(file: Uint8Array): string[] {
  const facts = readMacho(file);
  const problems = [...segmentProblems(file, facts), ...linkeditProblems(facts)];
  try {
    const { content } = payloadOf(file, facts);
    const begin = new TextDecoder().decode(content.subarray(0, PAYLOAD_NAME.length));
    if (begin !== PAYLOAD_NAME) problems.push("what is embedded is no program of Deno");
  } catch (error) {
    problems.push(toError(error).message);
  }
  const signature = linkeditPart(facts, "code signature");
  if (signature) problems.push(...signatureProblems(file, facts, signature));
  else if (facts.machine === "arm64") problems.push("there is no code signature");
  return problems;
}

function segmentProblems(file: Uint8Array, { segments }: MachoFacts): string[] {
  const problems: string[] = [];
  segments.forEach((segment, i) => {
    const { name, offset, size, address, memorySize } = segment;
    if (offset + size > file.length) problems.push(`segment ${name} ends after the file`);
    if (size > memorySize) problems.push(`segment ${name} is larger than its place in memory`);
    const before = segments[i - 1];
    if (!before) return;
    if (address < before.address + before.memorySize) {
      problems.push(`segment ${name} overlaps ${before.name} in memory`);
    }
    if (offset < before.offset + before.size) {
      problems.push(`segment ${name} overlaps ${before.name} in the file`);
    }
  });
  const last = segments.at(-1);
  if (last?.name !== "__LINKEDIT") problems.push("the last segment is not __LINKEDIT");
  else if (last.offset + last.size !== file.length) {
    problems.push(`__LINKEDIT ends at ${last.offset + last.size}, the file at ${file.length}`);
  }
  return problems;
}

function linkeditProblems({ segments, linkedit }: MachoFacts): string[] {
  const problems: string[] = [];
  const place = segments.find(({ name }) => name === "__LINKEDIT");
  if (!place) return problems;
  const parts = linkedit.filter(({ size }) => size > 0).sort((a, b) => a.offset - b.offset);
  parts.forEach(({ what, offset, size }, i) => {
    if (offset < place.offset || offset + size > place.offset + place.size) {
      problems.push(`${what}: not in __LINKEDIT`);
    }
    const before = parts[i - 1];
    if (before && offset < before.offset + before.size) {
      problems.push(`${what}: overlaps ${before.what}`);
    }
  });
  return problems;
}

const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const DIRECTORY_SLOT = 0;
const SHA256 = 2;
const ADHOC = 0x2;
/** From this version on the directory says which segment is code. */
const WITH_EXECUTABLE_SEGMENT = 0x20400;

/** The format is in xnu's `cs_blobs.h`; all numbers in it are big-endian. */
function signatureProblems(
  file: Uint8Array,
  { segments }: MachoFacts,
  { offset, size }: { offset: number; size: number },
): string[] {
  const blob = file.subarray(offset, offset + size);
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  if (view.getUint32(0) !== SUPER_BLOB) return ["code signature: it does not begin as one"];
  let at = -1;
  for (let i = 0; i < view.getUint32(8); i++) {
    if (view.getUint32(12 + 8 * i) === DIRECTORY_SLOT) at = view.getUint32(16 + 8 * i);
  }
  if (at < 0 || at + 44 > blob.length || view.getUint32(at) !== CODE_DIRECTORY) {
    return ["code signature: there is no code directory"];
  }
  const problems: string[] = [];
  const version = view.getUint32(at + 8);
  if ((view.getUint32(at + 12) & ADHOC) === 0) problems.push("code signature: it is not ad hoc");
  const hashes = at + view.getUint32(at + 16);
  const pages = view.getUint32(at + 28);
  const limit = view.getUint32(at + 32);
  const [hashSize, hashType, , pageBits] = blob.subarray(at + 36, at + 40);
  if (hashType !== SHA256 || hashSize !== 32) return ["code signature: the hash is not SHA-256"];
  if (limit !== offset) problems.push("code signature: it does not cover the file up to itself");
  const page = 2 ** pageBits!;
  if (pages !== Math.ceil(limit / page)) {
    return [...problems, `code signature: it has ${pages} hashes for ${limit} bytes`];
  }
  if (version >= WITH_EXECUTABLE_SEGMENT) {
    const text = segments.find(({ name }) => name === "__TEXT");
    const code = [view.getBigUint64(at + 64), view.getBigUint64(at + 72)].map(Number);
    if (code[0] !== text?.offset || code[1] !== text?.size) {
      problems.push("code signature: it names another segment than __TEXT as code");
    }
  }
  for (let i = 0; i < pages; i++) {
    const content = file.subarray(i * page, Math.min((i + 1) * page, limit));
    const hash = createHash("sha256").update(content).digest();
    if (!hash.equals(blob.subarray(hashes + 32 * i, hashes + 32 * (i + 1)))) {
      return [...problems, `code signature: the hash of page ${i} is not that of the file`];
    }
  }
  return problems;
}
