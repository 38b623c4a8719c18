/** Learns the APIs of a remote's resources that this server does not know. */
import type { DescService } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { learnService } from "../../shared/rpc/client/reflection_client.ts";
import { reasonOf } from "../resources/graph/errors.ts";
import type { RemoteLink } from "./remote_link.ts";
import type { RemoteList } from "./remote_lists.ts";

/** More APIs that one remote brings in all are left alone: each is kept for good. */
const MOST_APIS = 20;
const ANSWER_MS = 5_000;

/** The APIs that this server knows, and takes up from remotes: `LearnedApis`. */
export interface KnownApis {
  /** The service that carries an API; undefined for one nobody has brought yet. */
  serviceOf(api: string): DescService | undefined;
  /** Serves a service that a remote described, for the resources of `api`. */
  add(service: DescService, api: string): unknown;
}

export interface LearnOptions {
  readonly apis: KnownApis;
  /** APIs that this remote has brought, on any of its connections; added to. */
  readonly brought: Set<string>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** What cannot be learned is logged; its resources report that they are not described. */
export async function learnApis(
  { channel }: RemoteLink,
  { resources }: RemoteList,
  { apis, brought, log, signal }: LearnOptions,
): Promise<void> {
  const unknown = new Set(
    resources.map(({ api }) => api).filter((api) => apis.serviceOf(api) === undefined),
  );
  if (unknown.size === 0) return;
  try {
    const robot = createClient(RobotService, channel.transport);
    const options = { signal, timeoutMs: ANSWER_MS };
    const { resourceRpcSubtypes } = await robot.resourceRPCSubtypes({}, options);
    for (const { subtype, protoService } of resourceRpcSubtypes) {
      const api = subtype && `${subtype.namespace}:${subtype.type}:${subtype.subtype}`;
      if (!api || !unknown.has(api)) continue;
      if (brought.size + unknown.size > MOST_APIS) return;
      // A list may name it twice.
      unknown.delete(api);
      const service = await learnService(channel.transport, protoService, { signal });
      brought.add(api);
      apis.add(service, api);
    }
  } catch (error) {
    signal.throwIfAborted();
    log.debug(`APIs of a remote cannot be learned: ${reasonOf(error)}`, { apis: [...unknown] });
  }
}
