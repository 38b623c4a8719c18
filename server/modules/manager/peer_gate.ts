/** Lets only the module's own processes connect to its parent server. */
import type { Logger } from "../../../shared/log/logger.ts";
import type { ModuleProcess, PeerProcesses, TcpEnds } from "./peer_process.ts";

/**
 * Refusals that may be looked into in each second. The look costs some milliseconds, and who is
 * refused may try as often as he likes; beyond this he is refused unseen, and so, for the rest of
 * the second, is everybody.
 */
const REFUSALS_A_SECOND = 20;

export interface PeerGateOptions {
  readonly moduleName: string;
  readonly peers: PeerProcesses;
  readonly log: Logger;
  /** Default: the process's monotonic clock. */
  readonly monotonicMs?: () => number;
}

export class PeerGate {
  /** Nobody may connect while the module does not run. */
  #run: ModuleProcess | undefined;
  #secondBegan = -Infinity;
  #refused = 0;
  #isTold = false;

  constructor(private readonly options: PeerGateOptions) {}

  /** From now on processes of this run may connect. */
  open(run: ModuleProcess): void {
    this.#run = run;
    this.#isTold = false;
  }

  /** The run has ended: nobody may, unless another has begun. */
  close(run: ModuleProcess): void {
    if (this.#run === run) this.#run = undefined;
  }

  /** Why this connection is refused; undefined when it is let in. */
  refusal(ends: TcpEnds): string | undefined {
    const { peers, monotonicMs = () => performance.now() } = this.options;
    const now = monotonicMs();
    if (now - this.#secondBegan >= 1_000) {
      this.#secondBegan = now;
      this.#refused = 0;
    }
    if (this.#refused >= REFUSALS_A_SECOND) return "too many others tried within a second";
    if (this.#run && peers.isOf(ends, this.#run)) return undefined;
    this.#refused++;
    this.#tell(ends.remotePort);
    return "it is not of the module's processes";
  }

  #tell(port: number): void {
    const { log, moduleName } = this.options;
    const level = this.#isTold ? "debug" : "warn";
    this.#isTold = true;
    log[level](
      `a connection to the server that is there for module ${moduleName} was refused: it comes ` +
        "from none of the module's processes. Only what the module itself started may call; a " +
        "program that runs as another user or in a container must use the machine's own port",
      { port },
    );
  }
}
