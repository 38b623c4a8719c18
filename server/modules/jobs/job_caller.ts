/** Calls that the server makes to its own resources. */
import {
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { addresseeOf } from "../forwarding/addressee.ts";

/**
 * Calls a method of a resource; resolves with the response as something that JSON can hold.
 *
 * - `resource`: short or full name
 * - `method`: a unary method of the resource's API, as its service names it: `GetReadings`
 * - `command`: the command of DoCommand; the request's fields besides `name` for other methods
 */
export type JobCaller = (run: {
  resource: string;
  method: string;
  command?: JsonObject;
  signal: AbortSignal;
}) => Promise<unknown>;

/** A resource by its API and short name. */
export interface CalledResource {
  readonly api: string;
  readonly name: string;
}

export interface JobCallerOptions {
  /** What the server serves. */
  readonly router: RpcRouter;
  /** The resources of that short or full name; several when APIs share a short name. */
  readonly apisOf: (name: string) => readonly CalledResource[];
  /** The service that carries an API (`rdk:component:sensor`). */
  readonly serviceOf: (api: string) => DescService | undefined;
  /** What sees these calls, in order. Default: none, so nobody has to sign in. */
  readonly interceptors?: readonly Interceptor[];
}

/**
 * Makes a {@link JobCaller} that calls without a socket and without signing in.
 *
 * It rejects with what the method fails with, and with an error of its own when the resource or its
 * method does not exist, or the command does not fit.
 */
export function createJobCaller(options: JobCallerOptions): JobCaller {
  let opening: Promise<Transport> | undefined;
  return async ({ resource, method, command = {}, signal }) => {
    const { name, unary } = findMethod(resource, method, options);
    const request = requestOf(unary, name, command);
    const transport = await (opening ??= openTransport(options));
    const { message } = await transport.unary(unary, signal, undefined, undefined, request);
    return new LazyResponse(unary.output, message);
  };
}

/** Loads the in-process transport when the first job runs; most machines have none. */
async function openTransport({ router, interceptors }: JobCallerOptions): Promise<Transport> {
  const { createInProcessTransport } = await import("../../../shared/rpc/server/in_process.ts");
  return createInProcessTransport(router, interceptors ? { interceptors } : {});
}

/** A response that becomes JSON only where somebody looks at it. */
class LazyResponse {
  constructor(private readonly schema: DescMessage, private readonly message: Message) {}

  toJSON(): unknown {
    return toJson(this.schema, this.message);
  }
}

interface FoundMethod {
  readonly name: string;
  readonly unary: DescMethodUnary;
}

function findMethod(
  resource: string,
  method: string,
  { apisOf, serviceOf }: JobCallerOptions,
): FoundMethod {
  const candidates = apisOf(resource);
  if (candidates.length === 0) throw new Error(`there is no resource ${resource}`);
  const found: (FoundMethod & { api: string })[] = [];
  for (const { api, name } of candidates) {
    const unary = serviceOf(api)?.methods.find((one) => one.name === method);
    if (unary && isUnary(unary)) found.push({ api, name, unary });
  }
  const [first, ...others] = found;
  if (!first) throw new Error(noSuchMethod(method, candidates, serviceOf));
  if (others.length > 0) {
    const names = found.map(({ api, name }) => `${api}/${name}`).join(" and ");
    throw new Error(`${resource} may be ${names}; write the full name`);
  }
  return first;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function noSuchMethod(
  method: string,
  candidates: readonly CalledResource[],
  serviceOf: JobCallerOptions["serviceOf"],
): string {
  const lists = candidates.map(({ api, name }) => {
    const unary = serviceOf(api)?.methods.filter(isUnary) ?? [];
    return `${api}/${name} has ${unary.map((one) => one.name).join(", ") || "no methods"}`;
  });
  return `there is no method ${method} that a job can call; ${lists.join("; ")}`;
}

function requestOf(method: DescMethodUnary, name: string, command: JsonObject): Message {
  const fields = method.name === "DoCommand" ? { command } : command;
  const addressee = addresseeOf(method.input);
  if (!addressee) throw new Error(`a job cannot call ${method.name}: it names no resource`);
  try {
    return addressee.put(fromJson(method.input, fields), name) as Message;
  } catch (error) {
    throw new Error(
      `the command does not fit ${method.name}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
