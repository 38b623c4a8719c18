/** Which process of this host is the peer of a TCP connection. */

/** The two ends of a connection, as the accepting side sees them. IPv4 addresses. */
export interface TcpEnds {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

/** One run of a module's program, by what no process of another user can take on. */
export interface ModuleProcess {
  /** Of the program that was started; the leader of its session. */
  readonly pid: number;
  /** In the environment of the program and of what it starts, by {@link SECRET_VARIABLE}. */
  readonly secret: string;
}

/**
 * A random text, new for each run. Whoever has it in the environment comes from the module: the
 * system shows the environment of a process to its own user and to root only.
 */
export const SECRET_VARIABLE = "MACHINE_MODULE_SECRET";

/** The operating system's list of connections and of who holds them. */
export interface PeerProcesses {
  /** Whether the run's program, or something that it started, is the peer. */
  isOf(ends: TcpEnds, run: ModuleProcess): boolean;
}
