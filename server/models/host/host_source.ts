/** Where the host sensor gets its numbers from; one implementation a platform. */

/** Counters that only become readings as a difference of two samples. */
export interface Counters {
  /** Time the processors were busy and time in all, summed over processors, in one unit. */
  readonly cpu: { readonly busy: number; readonly total: number };
  /** Bytes since boot, summed over the chosen interfaces. */
  readonly network: { readonly rxBytes: number; readonly txBytes: number };
}

/** Numbers that are readings as they are. */
export interface Gauges {
  /** Mean runnable tasks over 1, 5 and 15 minutes; zeros where the system has no such figure. */
  readonly load: readonly [number, number, number];
  readonly memory: { readonly totalBytes: number; readonly usedBytes: number };
  /** `availableBytes` is what ordinary users may still write. */
  readonly disk: {
    readonly totalBytes: number;
    readonly usedBytes: number;
    readonly availableBytes: number;
  };
  readonly uptimeSeconds: number;
  readonly processCount: number;
}

/** What does not change while the machine runs. */
export interface HostFacts {
  readonly hostname: string;
  /** For people: `Debian GNU/Linux 12 (bookworm)`. */
  readonly os: string;
  readonly cpuCount: number;
}

export interface HostSource {
  facts(): HostFacts;
  counters(): Counters | Promise<Counters>;
  gauges(): Gauges | Promise<Gauges>;
}

/** What the sensor's attributes choose. */
export interface HostSourceOptions {
  /** A path on the file system to watch. */
  readonly diskPath: string;
  /** Names of the network interfaces to count; undefined: all but loopback. */
  readonly interfaces: readonly string[] | undefined;
}
