import type { Messages } from "../../../shared/gen/micro/messages.ts";
import type { MachineConfig } from "../machine_config.ts";
import { decodeMessage, encodeMessage, type Fields, type Input } from "../proto/codec.ts";
import { type MethodTypes, methodTypes } from "../proto/fields.ts";
import { fromJson, toJson } from "../proto/json.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import { WireError } from "../proto/wire.ts";
import type { Machine } from "../machine.ts";
import { type Method, methodOf, SERVICES, toResourceName } from "../resources/apis.ts";
import { RpcError } from "../rpc/errors.ts";
import type { Access, Caller } from "./access.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Largest request of a caller who signed in, and of one who did not. Bytes. */
const MOST_REQUEST_BYTES = 32 * 1024;
const MOST_SIGN_IN_BYTES = 4 * 1024;
/** Calls that run at the same time. */
const MOST_CALLS = 16;
const SIGN_IN = "/proto.rpc.v1.AuthService/Authenticate";
const API_VERSION = "v0.1.468";

const API_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(SERVICES).map(([api, service]) => [service, api]),
);

/** Calls without which a client could not come to a session, or that look at one themselves. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set([
  SIGN_IN,
  ...["ResourceNames", "ResourceRPCSubtypes", "SendSessionHeartbeat", "StartSession"]
    .map((method) => `/viam.robot.v1.RobotService/${method}`),
]);

/** What is known of a call before its body. */
export interface Admitted {
  readonly path: string;
  readonly types: MethodTypes;
  readonly caller: Caller | undefined;
  /** The session that it belongs to. */
  readonly session: Session | undefined;
  /** Largest body. Bytes. */
  readonly most: number;
}

/** How a message is written. */
export type Coding = "proto" | "json";

export interface ServicesOptions {
  readonly machine: Machine;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly version: string;
  readonly restart: () => void;
}

/** Everything that can be called at the machine. */
export class Services {
  #running = 0;

  constructor(private readonly options: ServicesOptions) {}

  /** Decides by the head of a call, before a byte of its body is kept. @throws RpcError */
  admit(path: string, headers: ReadonlyMap<string, string>): Admitted {
    const caller = this.options.access.identify(headers.get("authorization"));
    return this.#admit(path, caller, headers.get("viam-sid") ?? "");
  }

  /** The same for a call that the cloud passes on, which says who calls. @throws RpcError */
  admitRelayed(path: string, caller: Caller, sessionId: string): Admitted {
    if (path === SIGN_IN) {
      throw new RpcError("failed_precondition", "who calls through the cloud is signed in already");
    }
    return this.#admit(path, caller, sessionId);
  }

  #admit(path: string, caller: Caller | undefined, sessionId: string): Admitted {
    const { access, sessions } = this.options;
    const types = /^\/(viam\.app|machine\.cloud)\./.test(path) ? undefined : methodTypes(path);
    if (!types) {
      if (!caller) throw new RpcError("unauthenticated", "authentication required");
      throw new RpcError("unimplemented", `this machine does not serve ${path.slice(0, 100)}`);
    }
    access.check(caller, path);
    if (this.#running >= MOST_CALLS) throw new RpcError("resource_exhausted", "too many calls");
    return {
      path,
      types,
      caller,
      session: caller && sessionId !== "" && !WITHOUT_SESSION.has(path)
        ? sessions.seen(caller.entity, sessionId)
        : undefined,
      most: caller ? MOST_REQUEST_BYTES : MOST_SIGN_IN_BYTES,
    };
  }

  /** Performs a call. @throws RpcError, or whatever a driver throws */
  async call(admitted: Admitted, body: Uint8Array, coding: Coding): Promise<Uint8Array> {
    const { input, output } = admitted.types;
    this.#running++;
    try {
      const request = readRequest(input, body, coding);
      const answer = (await this.#perform(admitted, request) ?? {}) as Fields;
      return coding === "json"
        ? utf8(JSON.stringify(toJson(output, answer)))
        : encodeMessage(output, answer);
    } finally {
      this.#running--;
    }
  }

  #perform(admitted: Admitted, request: Record<string, unknown>): unknown {
    const { path, types, caller } = admitted;
    if (path === SIGN_IN) {
      return this.#signIn(request as unknown as Messages["proto.rpc.v1.AuthenticateRequest"]);
    }
    const [, service = "", method = ""] = path.split("/");
    if (service === "viam.robot.v1.RobotService") {
      return this.#robot(method, caller?.entity ?? "", request);
    }
    const api = API_OF.get(service) ?? "";
    const name = String(request["name"] ?? request["boardName"] ?? "");
    const { graph } = this.options.machine;
    const resource = graph.find(api, name);
    if (!resource) {
      const state = graph.stateOf(name);
      if (state?.config.api === api) {
        throw new RpcError("unavailable", `${name} has an error: ${state.error}`);
      }
      throw new RpcError("not_found", `this machine has no ${api} named ${JSON.stringify(name)}`);
    }
    const own = methodOf(resource, method);
    if (!own) throw new RpcError("unimplemented", `${name} does not support ${method}`);
    return types.moves ? this.#move(admitted, name, own, request) : own(request);
  }

  async #move({ session }: Admitted, name: string, own: Method, request: unknown) {
    const { sessions } = this.options;
    if (session) sessions.moves(name, session);
    const answer = await own(request);
    if (!session) sessions.movedWithout(name);
    return answer;
  }

  async #signIn(request: Messages["proto.rpc.v1.AuthenticateRequest"]) {
    const { type = "", payload = "" } = request.credentials ?? {};
    return { accessToken: await this.options.access.signIn(request.entity, type, payload) };
  }

  #robot(method: string, entity: string, request: Record<string, unknown>): unknown {
    const { machine, sessions, version, restart } = this.options;
    switch (method) {
      case "StartSession":
        return {
          id: sessions.start(entity, String(request["resume"] ?? "")),
          heartbeatWindow: sessions.windowMs,
        };
      case "SendSessionHeartbeat":
        sessions.seen(entity, String(request["id"] ?? ""));
        return {};
      case "GetSessions":
        return { sessions: sessions.ids.map((id) => ({ id })) };
      case "ResourceNames":
        return {
          resources: machine.graph.states.filter(({ resource }) => resource)
            .map(({ config: { api, name } }) => toResourceName(api, name)),
        };
      case "ResourceRPCSubtypes":
        return {
          resourceRpcSubtypes: Object.entries(SERVICES).map(([api, protoService]) => ({
            subtype: toResourceName(api, ""),
            protoService,
          })),
        };
      case "GetMachineStatus":
        return machine.status();
      case "GetVersion":
        return { platform: "machine-micro-server", version, apiVersion: API_VERSION };
      case "StopAll":
        return machine.graph.halt();
      case "GetOperations":
      case "FrameSystemConfig":
        return {};
      case "GetCloudMetadata":
        return cloudMetadata(machine.config);
      case "Shutdown":
        return restart();
      default:
        throw new RpcError("unimplemented", `this machine does not serve ${method}`);
    }
  }
}

function cloudMetadata(
  config: MachineConfig | undefined,
): Input<Messages["viam.robot.v1.GetCloudMetadataResponse"]> {
  const cloud = config?.cloud;
  if (!cloud) {
    throw new RpcError("failed_precondition", "the machine has not reached its cloud yet");
  }
  return {
    primaryOrgId: cloud.primaryOrgId,
    locationId: cloud.locationId,
    machineId: cloud.machineId,
    machinePartId: cloud.id,
  };
}

function readRequest(name: string, body: Uint8Array, coding: Coding): Record<string, unknown> {
  try {
    if (coding === "proto") return decodeMessage(name, body);
    return fromJson(name, JSON.parse(fromUtf8(body) || "{}"));
  } catch (error) {
    if (!(error instanceof WireError) && !(error instanceof SyntaxError)) throw error;
    throw new RpcError("invalid_argument", `the request cannot be read: ${error.message}`);
  }
}
