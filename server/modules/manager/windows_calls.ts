/** The system calls of Windows that show whose a connection is. Loaded on Windows only. */
import type { WindowsCalls } from "./peer_process_windows.ts";

const FAMILY = { ipv4: 2, ipv6: 23 } as const;
const TCP_TABLE_OWNER_PID_CONNECTIONS = 4;
const NO_ERROR = 0;
const ERROR_INSUFFICIENT_BUFFER = 122;
const TH32CS_SNAPPROCESS = 2;
const PROCESS_QUERY_LIMITED_INFORMATION = 0x1000;
/** PROCESSENTRY32W on 64-bit systems: its size, and where the two ids stand. */
const ENTRY = { bytes: 568, pid: 8, parent: 32 } as const;
/** The table may grow between requesting its size and for itself. */
const TRIES = 8;

/** @throws when the system's libraries cannot be opened. */
export function windowsCalls(): WindowsCalls {
  const network = Deno.dlopen("iphlpapi.dll", {
    GetExtendedTcpTable: {
      parameters: ["buffer", "buffer", "i32", "u32", "u32", "u32"],
      result: "u32",
    },
  });
  const kernel = Deno.dlopen("kernel32.dll", {
    CreateToolhelp32Snapshot: { parameters: ["u32", "u32"], result: "pointer" },
    Process32FirstW: { parameters: ["pointer", "buffer"], result: "i32" },
    Process32NextW: { parameters: ["pointer", "buffer"], result: "i32" },
    OpenProcess: { parameters: ["u32", "i32", "u32"], result: "pointer" },
    GetProcessTimes: {
      parameters: ["pointer", "buffer", "buffer", "buffer", "buffer"],
      result: "i32",
    },
    CloseHandle: { parameters: ["pointer"], result: "i32" },
  });
  return {
    tcpTable(family) {
      const size = new Uint32Array([64 * 1024]);
      for (let tries = 0; tries < TRIES; tries++) {
        const table = new Uint8Array(size[0]!);
        const result = network.symbols.GetExtendedTcpTable(
          table,
          size,
          0,
          FAMILY[family],
          TCP_TABLE_OWNER_PID_CONNECTIONS,
          0,
        );
        if (result === NO_ERROR) return table;
        if (result !== ERROR_INSUFFICIENT_BUFFER) break;
      }
      return new Uint8Array();
    },

    parents() {
      const found = new Map<number, number>();
      const snapshot = kernel.symbols.CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
      const entry = new DataView(new ArrayBuffer(ENTRY.bytes));
      entry.setUint32(0, ENTRY.bytes, true);
      const bytes = new Uint8Array(entry.buffer);
      // INVALID_HANDLE_VALUE, too, has no first process.
      let more = kernel.symbols.Process32FirstW(snapshot, bytes);
      while (more !== 0) {
        found.set(entry.getUint32(ENTRY.pid, true), entry.getUint32(ENTRY.parent, true));
        more = kernel.symbols.Process32NextW(snapshot, bytes);
      }
      kernel.symbols.CloseHandle(snapshot);
      return found;
    },

    createdAt(pid) {
      const process = kernel.symbols.OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
      if (process === null) return undefined;
      const [created, ...others] = Array.from({ length: 4 }, () => new BigUint64Array(1));
      const [exit, inKernel, inUser] = others;
      const ok = kernel.symbols.GetProcessTimes(process, created!, exit!, inKernel!, inUser!);
      kernel.symbols.CloseHandle(process);
      return ok === 0 ? undefined : created![0];
    },
  };
}
