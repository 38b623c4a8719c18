/** From the short name in a request to the resource that answers it. */
import { Code, ConnectError } from "@connectrpc/connect";
import { fullName } from "./name.ts";
import type { ResourceNode } from "./node.ts";

/** Looks resources up by API and short name; on the path of every call, so it allocates nothing. */
export class ResourceIndex {
  readonly #apis = new Map<string, Map<string, ResourceNode>>();

  constructor(private readonly concurrentCalls: number) {}

  add(node: ResourceNode): void {
    const { api, name } = node.target.spec;
    let names = this.#apis.get(api);
    if (!names) this.#apis.set(api, names = new Map());
    names.set(name, node);
  }

  delete(key: string): void {
    const slash = key.indexOf("/");
    this.#apis.get(key.slice(0, slash))?.delete(key.slice(slash + 1));
  }

  /** The resource of that full name, ready or not; undefined when there is none. */
  peek(key: string): ResourceNode | undefined {
    const slash = key.indexOf("/");
    return this.#apis.get(key.slice(0, slash))?.get(key.slice(slash + 1));
  }

  /** The resource of that API and short name, ready or not; undefined when there is none. */
  find(api: string, name: string): ResourceNode | undefined {
    return this.#apis.get(api)?.get(name);
  }

  /**
   * Finds a resource and counts the call. The caller must {@link release} the node.
   *
   * @throws {ConnectError} NOT_FOUND when the configuration has no such resource, UNAVAILABLE when
   * it is not ready, RESOURCE_EXHAUSTED when it answers too many calls already.
   */
  acquire(api: string, name: string): ResourceNode {
    const node = this.#apis.get(api)?.get(name);
    if (!node) {
      throw new ConnectError(`no node found with api ${api} and name ${name}`, Code.NotFound);
    }
    if (!node.instance) {
      throw new ConnectError(
        `resource ${node.key} not available; reason=${node.error || `it is ${node.state}`}`,
        Code.Unavailable,
      );
    }
    if (node.inFlight >= this.concurrentCalls) {
      throw new ConnectError(
        `resource ${fullName(api, name)} exceeded the shared concurrent-request limit of ` +
          `${this.concurrentCalls}; wait for earlier calls to finish`,
        Code.ResourceExhausted,
      );
    }
    node.inFlight++;
    return node;
  }

  release(node: ResourceNode): void {
    node.inFlight--;
  }
}
