import assert from "node:assert/strict";
import {
  EXTENDED_LIMIT_BYTES,
  killOnCloseLimits,
  newProcessEntry,
  newProcessIdList,
  PROCESS_ENTRY_BYTES,
  readFileTime,
  readProcessEntry,
  readProcessIdList,
  wideText,
} from "./windows_structs.ts";

/** Sizes and alignments of the types on 64 bit, from winnt.h. */
const TYPES = {
  DWORD: 4,
  LONG: 4,
  ULONG_PTR: 8,
  LARGE_INTEGER: 8,
  SIZE_T: 8,
  ULONGLONG: 8,
} as const;

type Field = readonly [name: string, type: keyof typeof TYPES | "WCHAR[260]"];

/** Lays fields out as a C compiler does. */
function layout(fields: readonly Field[]): { offsets: Record<string, number>; size: number } {
  const offsets: Record<string, number> = {};
  let at = 0;
  let widest = 1;
  for (const [name, type] of fields) {
    const align = type === "WCHAR[260]" ? 2 : TYPES[type];
    const size = type === "WCHAR[260]" ? 520 : TYPES[type];
    at = Math.ceil(at / align) * align;
    offsets[name] = at;
    at += size;
    widest = Math.max(widest, align);
  }
  return { offsets, size: Math.ceil(at / widest) * widest };
}

/** As documented for PROCESSENTRY32W. */
const entryLayout = layout([
  ["dwSize", "DWORD"],
  ["cntUsage", "DWORD"],
  ["th32ProcessID", "DWORD"],
  ["th32DefaultHeapID", "ULONG_PTR"],
  ["th32ModuleID", "DWORD"],
  ["cntThreads", "DWORD"],
  ["th32ParentProcessID", "DWORD"],
  ["pcPriClassBase", "LONG"],
  ["dwFlags", "DWORD"],
  ["szExeFile", "WCHAR[260]"],
]);

/** As documented for JOBOBJECT_EXTENDED_LIMIT_INFORMATION, with what it is made of. */
const limitLayout = layout([
  ["PerProcessUserTimeLimit", "LARGE_INTEGER"],
  ["PerJobUserTimeLimit", "LARGE_INTEGER"],
  ["LimitFlags", "DWORD"],
  ["MinimumWorkingSetSize", "SIZE_T"],
  ["MaximumWorkingSetSize", "SIZE_T"],
  ["ActiveProcessLimit", "DWORD"],
  ["Affinity", "ULONG_PTR"],
  ["PriorityClass", "DWORD"],
  ["SchedulingClass", "DWORD"],
  ...["ReadOps", "WriteOps", "OtherOps", "ReadBytes", "WriteBytes", "OtherBytes"]
    .map((name) => [name, "ULONGLONG"] as const),
  ["ProcessMemoryLimit", "SIZE_T"],
  ["JobMemoryLimit", "SIZE_T"],
  ["PeakProcessMemoryUsed", "SIZE_T"],
  ["PeakJobMemoryUsed", "SIZE_T"],
]);

Deno.test("PROCESSENTRY32W is laid out as documented", () => {
  assert.equal(PROCESS_ENTRY_BYTES, entryLayout.size);
  const entry = newProcessEntry();
  const view = new DataView(entry.buffer);
  assert.equal(view.getUint32(0, true), 568);
  view.setUint32(entryLayout.offsets["th32ProcessID"] ?? -1, 4242, true);
  view.setUint32(entryLayout.offsets["th32ParentProcessID"] ?? -1, 77, true);
  assert.deepEqual(readProcessEntry(entry), { pid: 4242, parent: 77 });
});

Deno.test("JOBOBJECT_EXTENDED_LIMIT_INFORMATION is laid out as documented", () => {
  assert.equal(EXTENDED_LIMIT_BYTES, limitLayout.size);
  const limits = killOnCloseLimits();
  const at = limitLayout.offsets["LimitFlags"] ?? -1;
  assert.equal(new DataView(limits.buffer).getUint32(at, true), 0x2000);
  assert.equal(limits.filter((byte) => byte !== 0).length, 1, "no other limit");
});

Deno.test("JOBOBJECT_BASIC_PROCESS_ID_LIST gives the numbers that are in it", () => {
  const list = newProcessIdList(3);
  assert.equal(list.length, 8 + 3 * 8);
  const view = new DataView(list.buffer);
  view.setUint32(0, 5, true); // NumberOfAssignedProcesses: more than fit
  view.setUint32(4, 2, true); // NumberOfProcessIdsInList
  view.setBigUint64(8, 11n, true);
  view.setBigUint64(16, 0xffff_fffcn, true);
  assert.deepEqual(readProcessIdList(list), [11, 0xffff_fffc]);
  view.setUint32(4, 99, true);
  assert.equal(readProcessIdList(list).length, 3, "never beyond the room");
});

Deno.test("readFileTime() and wideText() have the forms of Windows", () => {
  const bytes = new Uint8Array([1, 0, 0, 0, 2, 0, 0, 0]);
  assert.equal(readFileTime(bytes), 0x2_0000_0001n);
  assert.deepEqual([...wideText("aé")], [0x61, 0, 0xe9, 0, 0, 0]);
});
