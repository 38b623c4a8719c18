import process from "node:process";
import type { Clock } from "../time/clock.ts";
import { LinuxMemory } from "./linux_memory.ts";

/** The memory of this process, and how busy it is. */
export interface ProcessMemory {
  /** Collects what is not in use and returns it to the system, with pages of the runtime's file. */
  collect(): void;
  /** Memory of its own: resident, without pages of files where the system reports them. Bytes. */
  ownBytes(): number;
  /** Processor time used so far, user and system. Milliseconds. */
  processorMs(): number;
}

export interface IdleMemoryOptions {
  readonly memory: ProcessMemory;
  readonly clock: Clock;
}

/** Time between two looks. Milliseconds. */
const LOOK_EVERY_MS = 3_000;
/** The start is over by then: it leaves 4 MB in the agent, 3 in the server. Milliseconds. */
const FIRST_MS = 10_000;
const MIB = 1024 * 1024;
/** A program that uses less of a processor is idle. */
const IDLE = 0.05;

/**
 * V8 collects when it allocates, so an idle program would keep forever what its start needed, and
 * after a burst of calls 20 to 40 MB more. A collection takes 20 to 60 ms, longer with many
 * resources: it waits until the program is idle, and the more it is likely to return the larger the
 * share of the time that collections may take. A machine that has dialled 20 remotes holds 80 MB that
 * nobody uses, and is never quite idle: it checks each of them every second. So much is collected of
 * a program that is a little busy, too; less is not: it may be driving a motor. Pages of files don't
 * count as growth: those in use come back automatically.
 */
const WORTH: readonly Worth[] = [
  { grownBytes: 40 * MIB, share: 0.01, busy: 0.1 },
  { grownBytes: 10 * MIB, share: 0.01, busy: IDLE },
  { grownBytes: MIB, share: 0.0001, busy: IDLE },
];

interface Worth {
  readonly grownBytes: number;
  /** Of all time, for collections. */
  readonly share: number;
  /** Of a processor, used since the last look, at most. */
  readonly busy: number;
}

/** Collects after the start, and whenever the idle process has grown, until the signal aborts. */
export async function releaseIdleMemory(
  { memory, clock }: IdleMemoryOptions,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = clock.monotonicMs();
  const start = { atMs: startedMs, tookMs: 0, bytes: memory.ownBytes() };
  let last: { readonly atMs: number; readonly tookMs: number; readonly bytes: number } | undefined;
  while (!signal.aborted) {
    const usedMs = memory.processorMs();
    const lookedMs = clock.monotonicMs();
    await clock.sleep(LOOK_EVERY_MS, signal);
    const nowMs = clock.monotonicMs();
    const busy = (memory.processorMs() - usedMs) / (nowMs - lookedMs);
    const candidates = WORTH.filter((worth) => busy < worth.busy);
    if (candidates.length === 0 || nowMs - startedMs < FIRST_MS) continue;
    // One that was never idle has only what it grew by since its start.
    const base = last ?? (busy < IDLE ? undefined : start);
    if (base) {
      const { atMs, tookMs, bytes } = base;
      const grownBytes = memory.ownBytes() - bytes;
      const worth = candidates.find((worth) => grownBytes >= worth.grownBytes);
      if (!worth || tookMs > worth.share * (nowMs - atMs)) continue;
    }
    memory.collect();
    const atMs = clock.monotonicMs();
    last = { atMs, tookMs: atMs - nowMs, bytes: memory.ownBytes() };
  }
}

/** The process that runs this. */
class OwnMemory implements ProcessMemory {
  /** Opened at the first need; undefined before, null where there is none. */
  #linux: LinuxMemory | null | undefined;

  collect(): void {
    const { gc } = globalThis as { gc?: (options: { type: string; flavor: string }) => void };
    if (!gc) return;
    const linux = this.#open();
    // Read before the collection, which then takes the text.
    const files = linux?.ownFileMappings() ?? [];
    gc({ type: "major", flavor: "last-resort" });
    linux?.trimHeap();
    linux?.unmapFiles(files);
  }

  ownBytes(): number {
    return this.#open()?.anonymousBytes() ?? Deno.memoryUsage().rss;
  }

  processorMs(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }

  #open(): LinuxMemory | null {
    return this.#linux ??= LinuxMemory.open() ?? null;
  }
}

/** This process; its `collect` does nothing when it runs without `--expose-gc`. */
export const processMemory: ProcessMemory = new OwnMemory();
