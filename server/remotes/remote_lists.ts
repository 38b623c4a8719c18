/** Asks a remote for its resources, and for what is wrong with those that are not ready. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { ResourceName } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { ResourceStatus_State, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { fullName } from "../resources/graph/name.ts";
import { steadyText } from "../resources/graph/steady_text.ts";
import { MACHINES_HEADER } from "../serving/apis/robot.ts";
import type { RemoteLink } from "./remote_link.ts";
import {
  LONGEST_HEADER,
  type RemoteListing,
  remoteListing,
  type RemoteResource,
} from "./remote_names.ts";

/** A remote that takes longer is lost. Milliseconds. */
const ANSWER_MS = 2_000;
/** How often the remote's status is looked at where the names stay the same: every so many lists. */
const STATUS_EVERY = 5;
/** Longest reason that is taken over, in characters. */
const LONGEST_REASON = 1_000;

/** A resource of a remote, with why it is not ready there; undefined for one that is. */
export interface ListedResource extends RemoteResource {
  readonly problem: string | undefined;
}

export interface RemoteList extends Omit<RemoteListing, "resources"> {
  readonly resources: readonly ListedResource[];
  /** Why resources that can be called are unhealthy there, by their full names there. */
  readonly ailing: ReadonlyMap<string, string>;
  /** Two lists of one remote with the same text are the same. */
  readonly text: string;
}

export interface ListOptions {
  readonly remote: string;
  readonly prefix: string;
  readonly ownId: string;
}

/** The lists of one connection. */
export class RemoteLists {
  readonly #client;
  #names = "";
  #unready: { name: ResourceName; problem: string }[] = [];
  #hasStatus = true;
  #count = 0;

  constructor(link: RemoteLink, private readonly options: ListOptions) {
    this.#client = createClient(RobotService, link.channel.transport);
  }

  /** @throws {ConnectError} when the remote does not answer in time. */
  async next(signal: AbortSignal): Promise<RemoteList> {
    let machines = "";
    const { resources } = await this.#client.resourceNames({}, {
      signal,
      timeoutMs: ANSWER_MS,
      onHeader: (header) => machines = header.get(MACHINES_HEADER) ?? "",
    });
    if (machines.length > LONGEST_HEADER) machines = "";
    const names = resources.map(keyOf).join(" ");
    if (names !== this.#names || this.#count++ % STATUS_EVERY === 0) await this.#look(signal);
    this.#names = names;
    const problems = new Map(this.#unready.map(({ name, problem }) => [keyOf(name), problem]));
    const ailing = new Map<string, string>();
    for (const key of resources.map(keyOf)) {
      const problem = problems.get(key);
      if (problem !== undefined) ailing.set(key, problem);
      problems.delete(key);
    }
    const unready = this.#unready.filter(({ name }) => problems.has(keyOf(name)));
    const all = [...resources, ...unready.map(({ name }) => name)];
    const listing = remoteListing(all, { ...this.options, machines });
    const listed = listing.resources.map((one) => ({
      ...one,
      problem: problems.get(fullName(one.api, one.theirs)),
    }));
    const text = JSON.stringify([machines, listed, [...ailing]]);
    return { ...listing, resources: listed, ailing, text };
  }

  /** What is not ready there; a remote whose status cannot be had shows only what is ready. */
  async #look(signal: AbortSignal): Promise<void> {
    if (!this.#hasStatus) return;
    try {
      const options = { signal, timeoutMs: ANSWER_MS };
      const { resources } = await this.#client.getMachineStatus({}, options);
      const before = new Map(this.#unready.map(({ name, problem }) => [keyOf(name), problem]));
      this.#unready = resources.flatMap(({ name, state, error }) => {
        const isReady = state === ResourceStatus_State.READY ||
          state === ResourceStatus_State.REMOVING;
        if (!name || !isResource(name) || isReady) return [];
        const reason = (error || "it is not ready").slice(0, LONGEST_REASON);
        return [{ name, problem: steadyText(before.get(keyOf(name)), reason) }];
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code } = ConnectError.from(error);
      if (code === Code.Unimplemented || code === Code.PermissionDenied) this.#hasStatus = false;
      this.#unready = [];
    }
  }
}

/** Status also has the remotes of a machine and parts of its server. */
function isResource({ namespace, subtype }: ResourceName): boolean {
  return subtype !== "" && !namespace.endsWith("-internal");
}

function keyOf({ namespace, type, subtype, name }: ResourceName): string {
  return `${namespace}:${type}:${subtype}/${name}`;
}
