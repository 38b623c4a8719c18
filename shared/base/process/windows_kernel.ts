/** The calls of kernel32.dll that ending process trees needs. Windows on 64 bit only. */
import {
  killOnCloseLimits,
  newProcessEntry,
  newProcessIdList,
  readFileTime,
  readProcessEntry,
  readProcessIdList,
  type SnapshotEntry,
  wideText,
} from "./windows_structs.ts";

/** A set of processes: one and all that it starts, also after it has ended. */
export interface ProcessJob {
  /** False when the process has ended, or belongs to a job that lets it into no other. */
  add(pid: number): boolean;
  pids(): number[];
  /** Ends all of them at once. */
  terminate(): void;
  /** Ends those that are left, as the end of this program does. */
  close(): void;
}

export interface WindowsKernel {
  /** All processes. */
  snapshot(): SnapshotEntry[];
  /** When a process started, in units that grow; undefined when it has ended or is another's. */
  startOf(pid: number): bigint | undefined;
  /** Does nothing to one that has ended. */
  terminate(pid: number): void;
  /** Undefined when Windows gives none. */
  newJob(): ProcessJob | undefined;
  /** Whether somebody waits for the event of that name, and was notified. */
  setEvent(name: string): boolean;
  /** Makes an event and resolves when it is set; rejects when it cannot be made. */
  waitForEvent(name: string): Promise<void>;
}

const SYMBOLS = {
  CreateToolhelp32Snapshot: { parameters: ["u32", "u32"], result: "pointer" },
  Process32FirstW: { parameters: ["pointer", "buffer"], result: "i32" },
  Process32NextW: { parameters: ["pointer", "buffer"], result: "i32" },
  CloseHandle: { parameters: ["pointer"], result: "i32" },
  OpenProcess: { parameters: ["u32", "i32", "u32"], result: "pointer" },
  GetProcessTimes: {
    parameters: ["pointer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
  },
  GetExitCodeProcess: { parameters: ["pointer", "buffer"], result: "i32" },
  TerminateProcess: { parameters: ["pointer", "u32"], result: "i32" },
  CreateJobObjectW: { parameters: ["pointer", "pointer"], result: "pointer" },
  SetInformationJobObject: { parameters: ["pointer", "i32", "buffer", "u32"], result: "i32" },
  QueryInformationJobObject: {
    parameters: ["pointer", "i32", "buffer", "u32", "pointer"],
    result: "i32",
  },
  AssignProcessToJobObject: { parameters: ["pointer", "pointer"], result: "i32" },
  TerminateJobObject: { parameters: ["pointer", "u32"], result: "i32" },
  CreateEventW: { parameters: ["pointer", "i32", "i32", "buffer"], result: "pointer" },
  OpenEventW: { parameters: ["u32", "i32", "buffer"], result: "pointer" },
  SetEvent: { parameters: ["pointer"], result: "i32" },
  // It returns when the event is set, so it waits on a thread of its own.
  WaitForSingleObject: { parameters: ["pointer", "u32"], result: "u32", nonblocking: true },
} as const;

const TH32CS_SNAPPROCESS = 2;
const INVALID_HANDLE = 0xffff_ffff_ffff_ffffn;
const PROCESS_TERMINATE = 1;
const PROCESS_SET_QUOTA = 0x100;
const PROCESS_QUERY_LIMITED_INFORMATION = 0x1000;
const STILL_ACTIVE = 259;
const EVENT_MODIFY_STATE = 2;
const INFINITE = 0xffff_ffff;
const JobObjectBasicProcessIdList = 3;
const JobObjectExtendedLimitInformation = 9;
/** Exit code of what is terminated by force, as that of taskkill /F. */
const FORCED = 1;
/** More processes than a tree of ours has. */
const ROOM = 4096;

/** The kernel of this host. */
export function windowsKernel(): WindowsKernel {
  const { symbols } = Deno.dlopen("kernel32.dll", SYMBOLS);
  const withProcess = <T>(pid: number, access: number, use: (handle: Deno.PointerObject) => T) => {
    const handle = symbols.OpenProcess(access, 0, pid);
    if (handle === null) return undefined;
    try {
      return use(handle);
    } finally {
      symbols.CloseHandle(handle);
    }
  };
  return {
    snapshot: () => {
      const handle = symbols.CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
      if (BigInt(Deno.UnsafePointer.value(handle)) === INVALID_HANDLE) return [];
      const found: SnapshotEntry[] = [];
      const entry = newProcessEntry();
      for (
        let more = symbols.Process32FirstW(handle, entry);
        more !== 0;
        more = symbols.Process32NextW(handle, entry)
      ) found.push(readProcessEntry(entry));
      symbols.CloseHandle(handle);
      return found;
    },
    startOf: (pid) =>
      withProcess(pid, PROCESS_QUERY_LIMITED_INFORMATION, (handle) => {
        const code = new Uint32Array(1);
        if (symbols.GetExitCodeProcess(handle, code) === 0) return undefined;
        if (code[0] !== STILL_ACTIVE) return undefined;
        const [created, exited, kernel, user] = Array.from({ length: 4 }, () => new Uint8Array(8));
        if (!created || !exited || !kernel || !user) return undefined;
        const known = symbols.GetProcessTimes(handle, created, exited, kernel, user);
        return known === 0 ? undefined : readFileTime(created);
      }),
    terminate: (pid) =>
      void withProcess(
        pid,
        PROCESS_TERMINATE,
        (handle) => symbols.TerminateProcess(handle, FORCED),
      ),
    newJob: () => {
      const job = symbols.CreateJobObjectW(null, null);
      if (job === null) return undefined;
      const limits = killOnCloseLimits();
      const information = JobObjectExtendedLimitInformation;
      if (symbols.SetInformationJobObject(job, information, limits, limits.length) === 0) {
        symbols.CloseHandle(job);
        return undefined;
      }
      return {
        add: (pid) => {
          const access = PROCESS_SET_QUOTA | PROCESS_TERMINATE;
          const added = withProcess(
            pid,
            access,
            (handle) => symbols.AssignProcessToJobObject(job, handle),
          );
          return added !== undefined && added !== 0;
        },
        pids: () => {
          const list = newProcessIdList(ROOM);
          const kind = JobObjectBasicProcessIdList;
          symbols.QueryInformationJobObject(job, kind, list, list.length, null);
          return readProcessIdList(list);
        },
        terminate: () => void symbols.TerminateJobObject(job, FORCED),
        close: () => void symbols.CloseHandle(job),
      };
    },
    setEvent: (name) => {
      const event = symbols.OpenEventW(EVENT_MODIFY_STATE, 0, wideText(name));
      if (event === null) return false;
      const isSet = symbols.SetEvent(event) !== 0;
      symbols.CloseHandle(event);
      return isSet;
    },
    waitForEvent: async (name) => {
      const event = symbols.CreateEventW(null, 1, 0, wideText(name));
      if (event === null) throw new Error(`Windows gives no event ${name}`);
      try {
        await symbols.WaitForSingleObject(event, INFINITE);
      } finally {
        symbols.CloseHandle(event);
      }
    },
  };
}
