/** For tests: streams of changes of a machine, one on each node of a cluster. */
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { WatchConnections } from "../bench/watch_connections.ts";
import { type Cluster, DEADLINE } from "../faults/cluster.ts";

export class Watches implements Disposable {
  readonly #changes = [0, 0];
  readonly #connections: readonly WatchConnections[];

  private constructor(private readonly cluster: Cluster, token: string) {
    this.#connections = cluster.ports.map((port) =>
      new WatchConnections(port, token, {
        heard: (node, event) => {
          if (event === "configChanged") this.#changes[node] = (this.#changes[node] ?? 0) + 1;
        },
        ended: () => {},
      })
    );
  }

  static async on(cluster: Cluster): Promise<Watches> {
    const { made: { part_id, part_secret } } = cluster;
    const watches = new Watches(cluster, await cluster.token("robot-secret", part_id, part_secret));
    for (const node of [0, 1]) await watches.open(node);
    return watches;
  }

  /** Again, as a machine whose node has gone. */
  async open(node: number): Promise<void> {
    await this.#connections[node]?.open(node, this.cluster.made.part_id);
  }

  /** Waits until both streams have had three changes more. */
  async both(): Promise<void> {
    const before = [...this.#changes];
    const haveMore = () => this.#changes.every((count, node) => count > (before[node] ?? 0) + 3);
    await waitFor(haveMore, DEADLINE);
  }

  [Symbol.dispose](): void {
    for (const connections of this.#connections) connections[Symbol.dispose]();
  }
}
