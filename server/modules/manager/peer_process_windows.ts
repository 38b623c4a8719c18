import type { ModuleProcess, PeerProcesses, TcpEnds } from "./peer_process.ts";

/** What Windows is requested. */
export interface WindowsCalls {
  /** `GetExtendedTcpTable` with `TCP_TABLE_OWNER_PID_CONNECTIONS`: the bytes of the table. */
  tcpTable(family: "ipv4" | "ipv6"): Uint8Array;
  /** Parents of all processes, by process id. A parent may have ended. */
  parents(): ReadonlyMap<number, number>;
  /** When a process was created, in units of 100 ns; undefined when there is none. */
  createdAt(pid: number): bigint | undefined;
}

/** Longest chain of parents that is followed. */
const LONGEST_CHAIN = 64;

/**
 * Of a Windows system. Belongs to a run: its program, and whose chain of parents leads there. Ids
 * are taken again there, so a parent that is younger than its child is somebody else.
 */
export class WindowsPeerProcesses implements PeerProcesses {
  constructor(private readonly calls: WindowsCalls) {}

  isOf(ends: TcpEnds, run: ModuleProcess): boolean {
    const owner = ownerIn4(this.calls.tcpTable("ipv4"), ends) ??
      ownerIn6(this.calls.tcpTable("ipv6"), ends);
    if (owner === undefined) return false;
    return owner === run.pid || this.#descends(owner, run.pid);
  }

  #descends(owner: number, ancestor: number): boolean {
    const parents = this.calls.parents();
    let pid = owner;
    let created = this.calls.createdAt(pid);
    for (let steps = 0; created !== undefined && steps < LONGEST_CHAIN; steps++) {
      const parent = parents.get(pid);
      if (parent === undefined || parent === 0) return false;
      const parentCreated = this.calls.createdAt(parent);
      if (parentCreated === undefined || parentCreated > created) return false;
      if (parent === ancestor) return true;
      pid = parent;
      created = parentCreated;
    }
    return false;
  }
}

/** Rows of MIB_TCPROW_OWNER_PID: state, local address, port, remote address, port, process. */
function ownerIn4(table: Uint8Array, ends: TcpEnds): number | undefined {
  const rows = rowsOf(table, 24);
  const far = bytesOf(ends.remoteAddress);
  const near = bytesOf(ends.localAddress);
  const row = rows.find((row) =>
    portAt(row, 8) === ends.remotePort && portAt(row, 16) === ends.localPort &&
    isAt(row, 4, far) && isAt(row, 12, near)
  );
  return row?.getUint32(20, true);
}

/** Rows of MIB_TCP6ROW_OWNER_PID: address, scope and port of both sides, state, process. */
function ownerIn6(table: Uint8Array, ends: TcpEnds): number | undefined {
  const mapped = (address: string) => [...new Array(10).fill(0), 255, 255, ...bytesOf(address)];
  const rows = rowsOf(table, 56);
  const far = mapped(ends.remoteAddress);
  const near = mapped(ends.localAddress);
  const row = rows.find((row) =>
    portAt(row, 20) === ends.remotePort && portAt(row, 44) === ends.localPort &&
    isAt(row, 0, far) && isAt(row, 24, near)
  );
  return row?.getUint32(52, true);
}

function rowsOf(table: Uint8Array, size: number): DataView[] {
  const { buffer, byteOffset, byteLength } = table;
  if (byteLength < 4) return [];
  const count = new DataView(buffer, byteOffset).getUint32(0, true);
  const fitting = Math.min(count, Math.floor((byteLength - 4) / size));
  return Array.from(
    { length: fitting },
    (_, at) => new DataView(buffer, byteOffset + 4 + at * size, size),
  );
}

/** Ports stand in network order in the first two of four bytes. */
function portAt(row: DataView, at: number): number {
  return row.getUint16(at, false);
}

function isAt(row: DataView, at: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, index) => row.getUint8(at + index) === byte);
}

function bytesOf(address: string): number[] {
  return address.split(".").map(Number);
}
