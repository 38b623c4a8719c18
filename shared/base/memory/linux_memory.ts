/** What Linux can take back of a running program: through the C library, which Deno can call. */

const LIBRARY = {
  malloc_trim: { parameters: ["usize"], result: "i32" },
  madvise: { parameters: ["u64", "usize", "i32"], result: "i32" },
} as const;

type Library = Deno.DynamicLibrary<typeof LIBRARY>;

/** asm-generic/mman-common.h. */
const MADV_DONTNEED = 4;

/** Smaller parts of programs and libraries are not worth a call. Bytes. */
const LEAST_BYTES = 1n << 20n;

/** Addresses of part of a file that a process has mapped. */
export interface Mapping {
  readonly address: bigint;
  readonly bytes: bigint;
}

/**
 * The mappings of programs and libraries of which every page in memory is one of the file itself:
 * they cannot be written to, and no page was replaced by one of the process, here or in swap.
 *
 * @param smaps what `/proc/PID/smaps` shows.
 */
export function fileMappings(smaps: string): Mapping[] {
  const mappings: Mapping[] = [];
  for (const entry of smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/)) {
    // Of a file: with an inode, and private as the loader maps it. What is only read may hold
    // relocations, but not at the file's begin.
    const head = /^([0-9a-f]+)-([0-9a-f]+) (?:r-xp \S+|r--p 0+) \S+ [1-9]\d* +\//.exec(entry);
    if (!head) continue;
    if (!/^Anonymous: +0 kB$/m.test(entry) || !/^Swap: +0 kB$/m.test(entry)) continue;
    const [address, end] = [BigInt(`0x${head[1]}`), BigInt(`0x${head[2]}`)];
    if (end - address >= LEAST_BYTES) mappings.push({ address, bytes: end - address });
  }
  return mappings;
}

/** Gives back what this process holds without need. */
export class LinuxMemory {
  readonly #library: Library;

  private constructor(library: Library) {
    this.#library = library;
  }

  /** @returns undefined where there is no Linux with the GNU C library. */
  static open(): LinuxMemory | undefined {
    try {
      if (Deno.build.os === "linux") return new LinuxMemory(Deno.dlopen("libc.so.6", LIBRARY));
    } catch {
      // Another C library: the process keeps what it has.
    }
    return undefined;
  }

  /** Returns what was freed of the C library's heap. */
  trimHeap(): void {
    this.#library.symbols.malloc_trim(0n);
  }

  /**
   * Takes pages of programs and libraries out of the process. They stay in the system's cache of
   * files as long as it has room, from where those still in use come back at once (a fault that
   * reads nothing); those of the start are the first that go where memory is short.
   */
  unmapFiles(mappings: readonly Mapping[]): void {
    const { madvise } = this.#library.symbols;
    for (const { address, bytes } of mappings) madvise(address, bytes, MADV_DONTNEED);
  }

  /** {@link fileMappings} of this process. */
  ownFileMappings(): Mapping[] {
    return fileMappings(Deno.readTextFileSync("/proc/self/smaps"));
  }

  /** Memory that is no page of a file. Bytes. */
  anonymousBytes(): number {
    const status = Deno.readTextFileSync("/proc/self/status");
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }
}
