import {
  type ModuleProcess,
  type PeerProcesses,
  SECRET_VARIABLE,
  type TcpEnds,
} from "./peer_process.ts";

/** Longest chain of parents that is followed; no system has longer ones. */
const LONGEST_CHAIN = 64;

interface Entry {
  readonly parent: number;
  readonly session: number;
}

/** Of a Linux system, from /proc. */
export class LinuxPeerProcesses implements PeerProcesses {
  readonly #root: string;

  /** @param root where procfs is mounted. */
  constructor(root = "/proc") {
    this.#root = root;
  }

  isOf(ends: TcpEnds, run: ModuleProcess): boolean {
    const inode = this.#inodeOf(ends);
    if (inode === undefined) return false;
    // Most modules call from the program itself.
    return this.#holds(run.pid, inode) ||
      this.#others(run).some((pid) => this.#holds(pid, inode));
  }

  /** The peer's socket; undefined when no process holds it any more. */
  #inodeOf({ remoteAddress, remotePort, localAddress, localPort }: TcpEnds): string | undefined {
    const far = [addressHex(remoteAddress), portHex(remotePort)] as const;
    const near = [addressHex(localAddress), portHex(localPort)] as const;
    const tables = [["tcp", ""], ["tcp6", MAPPED]] as const;
    for (const [table, prefix] of tables) {
      // To that process its own end is the local one.
      const wanted = `: ${prefix}${far.join(":")} ${prefix}${near.join(":")} `;
      const text = read(`${this.#root}/net/${table}`) ?? "";
      const at = text.indexOf(wanted);
      if (at < 0) continue;
      const line = text.slice(at + wanted.length, text.indexOf("\n", at));
      const inode = line.trim().split(/\s+/)[6];
      if (inode !== undefined && inode !== "0") return inode;
    }
  }

  #holds(pid: number, inode: string): boolean {
    const folder = `${this.#root}/${pid}/fd`;
    try {
      for (const { name } of Deno.readDirSync(folder)) {
        if (link(`${folder}/${name}`) === `socket:[${inode}]`) return true;
      }
    } catch {
      // It has ended meanwhile, or belongs to another user.
    }
    return false;
  }

  /** What the program started: its session, its descendants, and who has its secret. */
  #others(run: ModuleProcess): number[] {
    const entries = new Map<number, Entry>();
    for (const { name } of Deno.readDirSync(this.#root)) {
      const entry = /^\d+$/.test(name) ? this.#entry(Number(name)) : undefined;
      if (entry) entries.set(Number(name), entry);
    }
    return [...entries].filter(([pid, { session }]) =>
      session === run.pid || descends(pid, run.pid, entries) || this.#carries(pid, run.secret)
    ).map(([pid]) => pid);
  }

  #entry(pid: number): Entry | undefined {
    const stat = read(`${this.#root}/${pid}/stat`);
    if (stat === undefined) return undefined;
    // The second field is the program's name in brackets and may hold anything.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(parent), session: Number(session) };
  }

  #carries(pid: number, secret: string): boolean {
    const environment = read(`${this.#root}/${pid}/environ`) ?? "";
    return `\0${environment}\0`.includes(`\0${SECRET_VARIABLE}=${secret}\0`);
  }
}

function descends(pid: number, ancestor: number, entries: ReadonlyMap<number, Entry>): boolean {
  let at: number | undefined = pid;
  for (let steps = 0; at !== undefined && at > 1 && steps < LONGEST_CHAIN; steps++) {
    if (at === ancestor) return true;
    at = entries.get(at)?.parent;
  }
  return false;
}

/** What /proc/net/tcp6 writes before an IPv4 address. */
const MAPPED = "0000000000000000FFFF0000";

/** As in /proc/net/tcp: the number in the byte order of the processor, which is little-endian. */
function addressHex(address: string): string {
  return address.split(".").reverse().map((byte) => hex(Number(byte), 2)).join("");
}

function portHex(port: number): string {
  return hex(port, 4);
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, "0");
}

function read(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined; // it has ended meanwhile, or belongs to another user
  }
}

function link(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return undefined; // closed meanwhile
  }
}
