/**
 * Structures of the Windows API on 64 bit, as bytes: offsets and sizes of tlhelp32.h and winnt.h.
 * Pure, so that they can be checked on every system.
 */

/** A process of a snapshot. */
export interface SnapshotEntry {
  readonly pid: number;
  /** Number of who started it; that one may be gone, and the number another's. */
  readonly parent: number;
}

/** sizeof(PROCESSENTRY32W) */
export const PROCESS_ENTRY_BYTES = 568;
const ENTRY_PID = 8;
const ENTRY_PARENT = 32;

/** An empty PROCESSENTRY32W, which has to know its own size. */
export function newProcessEntry(): Uint8Array<ArrayBuffer> {
  const entry = new Uint8Array(PROCESS_ENTRY_BYTES);
  new DataView(entry.buffer).setUint32(0, PROCESS_ENTRY_BYTES, true);
  return entry;
}

export function readProcessEntry(entry: Uint8Array<ArrayBuffer>): SnapshotEntry {
  const view = new DataView(entry.buffer);
  return { pid: view.getUint32(ENTRY_PID, true), parent: view.getUint32(ENTRY_PARENT, true) };
}

/** sizeof(JOBOBJECT_EXTENDED_LIMIT_INFORMATION) */
export const EXTENDED_LIMIT_BYTES = 144;
const LIMIT_FLAGS = 16;
const JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE = 0x2000;

/** Limits of a job whose processes end with the last handle to it. */
export function killOnCloseLimits(): Uint8Array<ArrayBuffer> {
  const limits = new Uint8Array(EXTENDED_LIMIT_BYTES);
  new DataView(limits.buffer).setUint32(LIMIT_FLAGS, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, true);
  return limits;
}

const LIST_COUNT = 4;
const LIST_IDS = 8;
const ID_BYTES = 8;

/** Room for a JOBOBJECT_BASIC_PROCESS_ID_LIST of so many processes. */
export function newProcessIdList(room: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(LIST_IDS + room * ID_BYTES);
}

/** The numbers in it. */
export function readProcessIdList(list: Uint8Array<ArrayBuffer>): number[] {
  const view = new DataView(list.buffer);
  const room = (list.length - LIST_IDS) / ID_BYTES;
  const count = Math.min(view.getUint32(LIST_COUNT, true), room);
  return Array.from(
    { length: count },
    (_, index) => Number(view.getBigUint64(LIST_IDS + index * ID_BYTES, true)),
  );
}

/** A FILETIME: 100 ns since 1601. */
export function readFileTime(bytes: Uint8Array<ArrayBuffer>): bigint {
  return new DataView(bytes.buffer).getBigUint64(0, true);
}

/** UTF-16 with a zero at the end. */
export function wideText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((text.length + 1) * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < text.length; index++) {
    view.setUint16(index * 2, text.charCodeAt(index), true);
  }
  return bytes;
}
