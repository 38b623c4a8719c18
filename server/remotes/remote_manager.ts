/** The remotes of the configuration: their connections, resources and status. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { canonicalJson, isJsonObject } from "../../shared/base/json/json.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { RemoteConfig } from "../../shared/config/remotes.ts";
import { type FrameSystemConfig, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { forwardedResource } from "../modules/forwarding/forwarded_resource.ts";
import { fullName } from "../resources/graph/name.ts";
import type { RemoteFacts, RemotesFacts, ResourceSpec } from "../resources/graph/target.ts";
import type { RemoteSnapshot } from "../config/status/machine_status.ts";
import { ASKING_HEADER } from "../serving/apis/robot.ts";
import { framesHere } from "./remote_frames.ts";
import type { RemoteLink } from "./remote_link.ts";
import type { ListedResource } from "./remote_lists.ts";
import { machinesHeader, MOST_HOPS } from "./remote_names.ts";
import { type RemoteSettings, remoteSettings } from "./remote_settings.ts";
import type { KnownApis } from "./remote_apis.ts";
import { type RemoteState, RemoteSupervisor } from "./remote_supervisor.ts";

export interface RemoteManagerOptions {
  /** Id of this machine, new with each start. */
  readonly ownId: string;
  readonly apis: KnownApis;
  readonly dial: (settings: RemoteSettings, signal: AbortSignal) => Promise<RemoteLink>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after each change of resources or status. */
  readonly onChange: (specs: readonly ResourceSpec[], facts: RemotesFacts) => void;
}

/** A remote of the configuration; without a supervisor it is wrong. */
interface Entry {
  readonly text: string;
  readonly settings: RemoteSettings | undefined;
  readonly supervisor: RemoteSupervisor | undefined;
  readonly problem: string;
  readonly since: Date;
}

export class RemoteManager {
  #entries = new Map<string, Entry>();
  #revision = "";
  #isClosed = false;
  readonly #closing = new Set<Promise<void>>();

  constructor(private readonly options: RemoteManagerOptions) {}

  /** Moves to these remotes; those that did not change stay connected. */
  apply(remotes: readonly RemoteConfig[], revision: string): void {
    if (this.#isClosed) return;
    this.#revision = revision;
    const next = new Map<string, Entry>();
    for (const remote of remotes) {
      if (next.has(remote.name)) continue;
      // The frame concerns the frame system only.
      const text = canonicalJson({ ...remote, frame: null } as JsonObject);
      const known = this.#entries.get(remote.name);
      next.set(remote.name, known?.text === text ? known : this.#open(remote, text));
    }
    const before = this.#entries;
    this.#entries = next;
    for (const [name, { supervisor }] of before) {
      if (supervisor && next.get(name)?.supervisor !== supervisor) this.#end(supervisor);
    }
    this.#report();
  }

  snapshot(): RemoteSnapshot[] {
    return [...this.#entries].map(([name, { supervisor, problem, since }]) => ({
      name,
      ...(supervisor ? shown(supervisor.state) : { state: "unhealthy", error: problem }),
      lastUpdated: supervisor?.since ?? since,
      revision: this.#revision,
    }));
  }

  /** What this machine says of itself and the machines behind it. */
  machines(): string {
    // Those of a remote that was lost, too: its resources are still listed, as unavailable.
    const behind = [...this.#entries.values()].flatMap(({ supervisor }) => {
      const { state } = supervisor ?? {};
      return state && state.kind !== "connecting" && state.list ? [state.list.machines] : [];
    });
    return machinesHeader(this.options.ownId, behind);
  }

  /**
   * The frames of a remote, by their names here.
   *
   * @param asking ids of the machines for which this one asks.
   * @throws when it does not answer, or is one of those.
   */
  async frames(
    remote: string,
    signal: AbortSignal,
    asking: readonly string[],
  ): Promise<FrameSystemConfig[]> {
    const { settings, supervisor } = this.#entries.get(remote) ?? {};
    if (!settings || supervisor?.state.kind !== "connected") {
      throw new Error("the remote is not connected");
    }
    const { list, link } = supervisor.state;
    const id = list.machines.get(remote);
    if (id !== undefined && asking.includes(id)) throw new Error("it would ask itself");
    if (asking.length >= MOST_HOPS) throw new Error(`more than ${MOST_HOPS} machines ask`);
    const robot = createClient(RobotService, link.channel.transport);
    const headers = { [ASKING_HEADER]: [...asking, this.options.ownId].join(",") };
    const { frameSystemConfigs } = await robot.frameSystemConfig({}, { signal, headers });
    return framesHere(frameSystemConfigs, settings);
  }

  /** Ends all connections; their resources must have been closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { supervisor } of this.#entries.values()) if (supervisor) this.#end(supervisor);
    await Promise.all(this.#closing);
  }

  #open(remote: RemoteConfig, text: string): Entry {
    const { ownId, apis, dial, clock, log } = this.options;
    const since = clock.now();
    try {
      const settings = remoteSettings(remote);
      const onChange = () => this.#report();
      const supervisor = new RemoteSupervisor({
        ...{ settings, ownId, apis, dial, clock, log, onChange },
      });
      return { text, settings, supervisor, problem: "", since };
    } catch (error) {
      const problem = toError(error).message;
      log.error(`remote ${remote.name} cannot be connected: ${problem}`, {
        event: "remote_refused",
      });
      return { text, settings: undefined, supervisor: undefined, problem, since };
    }
  }

  #end(supervisor: RemoteSupervisor): void {
    const closing = supervisor.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #report(): void {
    if (this.#isClosed) return;
    const facts = new Map<string, RemoteFacts>();
    const specs: ResourceSpec[] = [];
    for (const [name, { supervisor, settings, problem }] of this.#entries) {
      if (!supervisor || !settings) {
        facts.set(name, { problem });
        continue;
      }
      const { state } = supervisor;
      facts.set(name, factsOf(state));
      if (state.kind !== "connecting") specs.push(...this.#specsOf(settings, state));
    }
    this.options.onChange(specs, facts);
  }

  #specsOf(
    settings: RemoteSettings,
    state: Exclude<RemoteState, { kind: "connecting" }>,
  ): ResourceSpec[] {
    return (state.list?.resources ?? []).map((resource): ResourceSpec => {
      const { api, ours } = resource;
      const services = serviceConfigsOf(settings, resource);
      const problem = state.kind === "lost"
        ? `remote ${settings.name} is not connected: ${state.reason}`
        : resource.problem !== undefined
        ? `on remote ${settings.name}: ${resource.problem}`
        : undefined;
      const generation = state.kind === "connected" ? `connection ${state.generation}` : "";
      return {
        name: ours,
        api,
        model: `remote ${settings.name}`,
        attributes: {},
        dependsOn: [],
        ...(services.length > 0 && { extra: { service_configs: services } }),
        ...(problem !== undefined && { problem }),
        builtBy: { generation, construct: () => this.#construct(settings.name, state, resource) },
      };
    });
  }

  // deno-lint-ignore require-await -- what it throws is the outcome of the build
  async #construct(remote: string, state: RemoteState, { api, theirs }: ListedResource) {
    if (state.kind !== "connected") throw new Error("the remote is not connected");
    const service = this.options.apis.serviceOf(api);
    if (!service) {
      throw new Error(
        `the remote does not describe the service of API ${api}; it needs gRPC reflection, or this ` +
          "server a module with that API",
      );
    }
    const remove = () => Promise.resolve();
    const channel = state.calls.of(theirs);
    return {
      ...forwardedResource({ channel, service, name: theirs, remove }),
      problem: () => this.#problemOf(remote, fullName(api, theirs)),
    };
  }

  /** Why a resource that can be called is unhealthy on its remote. */
  #problemOf(remote: string, key: string): string | undefined {
    const state = this.#entries.get(remote)?.supervisor?.state;
    const problem = state?.kind === "connected" ? state.list.ailing.get(key) : undefined;
    return problem === undefined ? undefined : `on remote ${remote}: ${problem}`;
  }
}

function factsOf(state: RemoteState): RemoteFacts {
  if (state.kind === "connecting") return { pending: "it is being connected to" };
  return state.kind === "lost" ? { problem: state.reason } : {};
}

function shown(state: RemoteState): Pick<RemoteSnapshot, "state" | "error"> {
  switch (state.kind) {
    case "connecting":
      return { state: "configuring", error: "it is being connected to" };
    case "connected":
      return { state: "ready", error: "" };
    case "lost":
      return { state: "unhealthy", error: state.reason };
  }
}

/** What services do for one resource: the entries of the remote that name it. */
function serviceConfigsOf(
  { serviceConfigs }: RemoteSettings,
  { api, ours, theirs }: ListedResource,
): JsonObject[] {
  const names = new Set([ours, theirs, fullName(api, ours), fullName(api, theirs)]);
  return serviceConfigs.flatMap(({ type, attributes }) => {
    const methods = (attributes as JsonObject | undefined)?.["capture_methods"];
    if (!Array.isArray(methods)) return [];
    const own = methods.filter((method: JsonValue) =>
      isJsonObject(method) && names.has(String(method["name"] ?? ""))
    );
    return own.length === 0 ? [] : [{ type, attributes: { capture_methods: own } }];
  });
}
