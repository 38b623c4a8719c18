/** From the short name in a request to the resource that answers it. */
import { Code, ConnectError } from "@connectrpc/connect";
import { fullName } from "./name.ts";
import type { ResourceNode } from "./node.ts";

/** Resources by short name. */
type Names = Map<string, ResourceNode>;

/** Looks resources up by API and short name; on the path of every call, so it allocates nothing. */
export class ResourceIndex {
  readonly #apis = new Map<string, Names>();
  /** Resources of remotes by their names without the remote: API → name → resources. */
  readonly #behindRemotes = new Map<string, Map<string, ResourceNode[]>>();

  constructor(private readonly concurrentCalls: number) {}

  add(node: ResourceNode): void {
    const { api, name } = node.target.spec;
    let names = this.#apis.get(api);
    if (!names) this.#apis.set(api, names = new Map());
    names.set(name, node);
    const plain = withoutRemote(name);
    if (plain === undefined) return;
    let behind = this.#behindRemotes.get(api);
    if (!behind) this.#behindRemotes.set(api, behind = new Map());
    behind.set(plain, [...behind.get(plain) ?? [], node]);
  }

  delete(key: string): void {
    const slash = key.indexOf("/");
    const [api, name] = [key.slice(0, slash), key.slice(slash + 1)];
    this.#apis.get(api)?.delete(name);
    const plain = withoutRemote(name);
    if (plain === undefined) return;
    const behind = this.#behindRemotes.get(api);
    const left = behind?.get(plain)?.filter((node) => node.key !== key) ?? [];
    if (left.length > 0) behind?.set(plain, left);
    else behind?.delete(plain);
  }

  /** The resource of that full name, ready or not; undefined when there is none. */
  peek(key: string): ResourceNode | undefined {
    const slash = key.indexOf("/");
    return this.#apis.get(key.slice(0, slash))?.get(key.slice(slash + 1));
  }

  /**
   * The resource of that API and short name, ready or not; undefined when there is none. A resource
   * of a remote is also found by its name without the remote, where no other has it.
   */
  find(api: string, name: string): ResourceNode | undefined {
    const own = this.#apis.get(api)?.get(name);
    if (own || this.#behindRemotes.size === 0) return own;
    const behind = this.#behindRemotes.get(api)?.get(name);
    return behind?.length === 1 ? behind[0] : undefined;
  }

  /** The whole short name of what {@link find} finds; the name itself where that is nothing. */
  wholeName(api: string, name: string): string {
    return this.find(api, name)?.target.spec.name ?? name;
  }

  /**
   * Finds a resource and counts the call. The caller must {@link release} the node.
   *
   * @throws {ConnectError} NOT_FOUND when the configuration has no such resource, UNAVAILABLE when
   * it is not ready, RESOURCE_EXHAUSTED when it answers too many calls already.
   */
  acquire(api: string, name: string): ResourceNode {
    const node = this.find(api, name);
    if (!node) throw this.#notFound(api, name);
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

  #notFound(api: string, name: string): ConnectError {
    const several = this.#behindRemotes.get(api)?.get(name);
    if (!several) {
      return new ConnectError(`no node found with api ${api} and name ${name}`, Code.NotFound);
    }
    const names = several.map(({ target }) => target.spec.name).sort().join(", ");
    return new ConnectError(
      `found multiple nodes matching api ${api} and name ${name}; call one of ${names}`,
      Code.NotFound,
    );
  }
}

/** `s` of `r:s`; undefined for a resource of this machine. */
function withoutRemote(name: string): string | undefined {
  const colon = name.lastIndexOf(":");
  return colon < 0 ? undefined : name.slice(colon + 1);
}
