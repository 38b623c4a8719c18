/** A machine's unary calls as plain JSON over HTTP, for programs without an SDK. */
import {
  type DescMethod,
  fromJson,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { MAX_MESSAGE_BYTES } from "../../../shared/rpc/client/limits.ts";
import { checkJsonValues } from "../../../shared/rpc/message_values.ts";
import { RequestBudgets, type RequestLimits } from "../../../shared/rpc/server/request_budget.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { nameField } from "../../modules/forwarding/addressee.ts";
import type { ServedApi } from "../apis/served_api.ts";
import { KeyTokens } from "./key_tokens.ts";
import { gatewayDocument } from "./gateway_document.ts";

export interface GatewayOptions {
  /** Mounts every service. */
  readonly mount: (router: RpcRouter) => void;
  /** Those that can be called now, also what modules and remotes brought; its own first. */
  readonly apis: () => readonly ServedApi[];
  /** Those of the public port: they know callers and what they may. */
  readonly interceptors: readonly Interceptor[];
  /** Whether the configuration names that origin (`network.allowed_origins`). */
  readonly allowsOrigin: (origin: string) => boolean;
  readonly version: string;
  readonly nowMs: () => number;
}

const MIB = 1024 * 1024;

/** Bytes of bodies that may wait: two of the largest of an address, four in all. */
const BODIES: RequestLimits = {
  perConnection: MAX_MESSAGE_BYTES,
  perAddress: 64 * MIB,
  total: 128 * MIB,
};

/** Where everything of it is. */
const GATEWAY_PATH = "/api";

const STATUS: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: 400,
  [Code.FailedPrecondition]: 400,
  [Code.OutOfRange]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.Aborted]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Canceled]: 499,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
  [Code.DeadlineExceeded]: 504,
};

/** Answers below {@link GATEWAY_PATH}. */
export class Gateway {
  readonly #router = new RpcRouter();
  readonly #tokens: KeyTokens;
  readonly #budgets = new RequestBudgets({ letIn: BODIES });

  constructor(private readonly options: GatewayOptions) {
    options.mount(this.#router);
    this.#tokens = new KeyTokens(options.nowMs);
  }

  async answer(request: Request, peer: Peer): Promise<Response> {
    const cors = this.#cors(request);
    const origin = request.headers.get("origin");
    // A browser may send the key of one page with the request of another.
    if (origin !== null && !cors && !isOwn(origin, request)) {
      const message = `pages of ${origin} may not call this machine; name it in allowed_origins`;
      return Response.json({ code: "permission_denied", message }, { status: 403 });
    }
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: cors ?? {} });
    }
    try {
      const body = await this.#answer(request, peer);
      return Response.json(body, { headers: { ...cors, "cache-control": "no-store" } });
    } catch (error) {
      if (error instanceof MethodError) {
        const body = { code: "unimplemented", message: error.message };
        return Response.json(body, { status: 405, headers: { ...cors } });
      }
      const { code, rawMessage } = ConnectError.from(error);
      const name = Code[code].replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
      return Response.json({ code: name, message: rawMessage }, {
        status: STATUS[code] ?? 500,
        headers: { ...cors },
      });
    }
  }

  async #answer(request: Request, peer: Peer): Promise<JsonValue> {
    const transport = createInProcessTransport(this.#router, {
      ...{ interceptors: this.options.interceptors, peer },
    });
    const token = await this.#tokens.of(request.headers, transport);
    const headers = new Headers(token === undefined ? {} : { authorization: token });
    const call = async (method: DescMethod, message: Message) => {
      const unary = method as DescMethod & { methodKind: "unary" };
      return (await transport.unary(unary, request.signal, undefined, headers, message)).message;
    };
    const url = new URL(request.url);
    const parts = url.pathname.slice(GATEWAY_PATH.length + 1).split("/").map(decoded);
    const isList = parts[0] === "" || parts[0] === undefined;
    if (isList || (parts.length === 1 && parts[0] === "openapi.json")) {
      requireMethod(request, "GET");
      const names: DescMethod = RobotService.method.resourceNames;
      const found = toJson(names.output, await call(names, fromJson(names.input, {})));
      if (isList) return found;
      const { apis, version } = this.options;
      return gatewayDocument(this.#router, { apis: apis(), version, url: url.origin });
    }
    const { method, name } = this.#find(parts);
    requireMethod(request, "POST");
    // The caller is known before anything of the body is kept.
    const version: DescMethod = RobotService.method.getVersion;
    await call(version, fromJson(version.input, {}));
    const accounts = this.#budgets.accounts(peer);
    let held = 0;
    try {
      const given = await jsonOf(request, (bytes) => {
        accounts.letIn.take(bytes);
        held += bytes;
      });
      const field = nameField(method.input);
      const fields = name === undefined || !field ? given : { ...given, [field.jsonName]: name };
      return toJson(method.output, await call(method, messageOf(method, fields)));
    } finally {
      accounts.letIn.give(held);
      accounts.close();
    }
  }

  #find(parts: readonly string[]): { method: DescMethod; name?: string } {
    const [type = "", name = "", called = ""] = parts;
    if (type === "robot" && parts.length === 2) return { method: unaryOf(RobotService, name) };
    const apis = this.options.apis();
    const api = apis.find(({ api }) => api === type || api.split(":").at(-1) === type);
    if (!api) {
      const known = apis.map(({ api }) => api.split(":").at(-1)).join(", ");
      throw new ConnectError(`there is no API ${type}; there are robot, ${known}`, Code.NotFound);
    }
    if (parts.length !== 3 || name === "") {
      throw new ConnectError(
        `a call is POST ${GATEWAY_PATH}/API/RESOURCE/METHOD, for example ` +
          `${GATEWAY_PATH}/sensor/host/GetReadings`,
        Code.NotFound,
      );
    }
    return { method: unaryOf(api.service, called), name };
  }

  /** Undefined where no other page is let in. */
  #cors(request: Request): Record<string, string> | undefined {
    const origin = request.headers.get("origin");
    if (origin === null || !this.options.allowsOrigin(origin)) return undefined;
    return {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization, content-type, key-id, key",
      "vary": "Origin",
    };
  }
}

function unaryOf(service: { readonly methods: readonly DescMethod[] }, name: string): DescMethod {
  const unary = service.methods.filter(({ methodKind }) => methodKind === "unary");
  const method = unary.find((each) => each.name === name);
  if (method) return method;
  const known = unary.map((each) => each.name).join(", ");
  const isStream = service.methods.some((each) => each.name === name);
  throw new ConnectError(
    isStream
      ? `${name} is a stream, which JSON over HTTP does not carry; use an SDK`
      : `there is no method ${name}; there are ${known}`,
    isStream ? Code.Unimplemented : Code.NotFound,
  );
}

/** GET in place of POST, or the other way round. */
class MethodError extends Error {
  constructor(found: string, wanted: string) {
    super(`${found} is not known here; use ${wanted}`);
  }
}

function requireMethod(request: Request, method: string): void {
  if (request.method !== method) throw new MethodError(request.method, method);
}

function isOwn(origin: string, request: Request): boolean {
  return URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}

/**
 * An empty body stands for no fields.
 *
 * @param hold notified of bytes before they are kept; throws where there are too many.
 */
async function jsonOf(
  request: Request,
  hold: (bytes: number) => void,
): Promise<Record<string, JsonValue>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.length;
    if (size > MAX_MESSAGE_BYTES) {
      throw new ConnectError(
        `the body has more than ${MAX_MESSAGE_BYTES} bytes`,
        Code.ResourceExhausted,
      );
    }
    hold(piece.length);
    pieces.push(piece);
  }
  const bytes = await new Blob(pieces).bytes();
  checkJsonValues(bytes);
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === "") return {};
  const wrong = (found: string) =>
    new ConnectError(`the body is no JSON object: ${found}`, Code.InvalidArgument);
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(toError(error).message);
  }
  if (!isJsonObject(value)) throw wrong(JSON.stringify(value).slice(0, 40));
  return value as Record<string, JsonValue>;
}

function messageOf(method: DescMethod, fields: Record<string, JsonValue>): Message {
  try {
    return fromJson(method.input, fields);
  } catch (error) {
    throw new ConnectError(toError(error).message, Code.InvalidArgument);
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ConnectError(
      `the path has ${part}, which is no percent-encoding`,
      Code.InvalidArgument,
    );
  }
}
