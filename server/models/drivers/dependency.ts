/**
 * What a driver uses of others. A board that is built in and one of a module have the same methods,
 * those of the API's service, so that either can be wired to the drivers here.
 */
import type { DescMessage, DescService } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { WaitTimeoutError } from "../../../shared/base/time/wait_for.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import { driverMethod } from "../../resources/graph/driver.ts";
import { fullName } from "../../resources/graph/name.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";

/** The methods of a service as calls with the fields of their requests. */
export interface Used<S extends DescService> {
  /** Name in the configuration. */
  readonly name: string;
  /** The driver itself. */
  readonly resource: Resource;
  /**
   * Calls a method with one answer.
   *
   * @param signal default: nobody takes the call back.
   * @throws {ConnectError} UNIMPLEMENTED when the driver has no such method; what the driver threw.
   */
  call<M extends UnaryName<S>>(
    method: M,
    fields: Fields<S["method"][M]["input"]>,
    signal?: AbortSignal,
  ): Promise<Fields<S["method"][M]["output"]>>;
  /** Calls a method with a stream of answers. */
  stream<M extends StreamName<S>>(
    method: M,
    fields: Fields<S["method"][M]["input"]>,
    signal: AbortSignal,
  ): AsyncIterable<Fields<S["method"][M]["output"]>>;
  /** Stops it. */
  stop(signal?: AbortSignal): Promise<void>;
}

type UnaryName<S extends DescService> =
  & {
    [M in keyof S["method"]]: S["method"][M]["methodKind"] extends "unary" ? M : never;
  }[keyof S["method"]]
  & string;

type StreamName<S extends DescService> =
  & {
    [M in keyof S["method"]]: S["method"][M]["methodKind"] extends "server_streaming" ? M : never;
  }[keyof S["method"]]
  & string;

type Fields<D extends DescMessage> = Partial<
  Omit<Parameters<typeof create<D>>[1] & object, "$typeName" | "$unknown" | "name">
>;

const never = new AbortController().signal;
/** What moves by measurements stands still when none came for so long. Milliseconds. */
const SILENT_MS = 3_000;

/**
 * A dependency by its name, which must be of that API.
 *
 * @throws {ConnectError} when the attributes lead to something else.
 */
export function useDriver<S extends DescService>(
  service: S,
  api: string,
  name: string,
  dependencies: ReadonlyMap<string, Resource>,
): Used<S> {
  const resource = dependencyNamed(api, name, dependencies);
  if (!resource) {
    const given = [...dependencies.keys()].join(", ") || "nothing";
    throw new ConnectError(
      `${name} is no ${api.slice(api.lastIndexOf(":") + 1)}; the attributes lead to ${given}`,
      Code.FailedPrecondition,
    );
  }
  const run = (method: string, fields: object, call: CallContext) => {
    const found = driverMethod(resource, method);
    if (!found) {
      throw new ConnectError(
        `${fullName(api, name)} does not support ${method}`,
        Code.Unimplemented,
      );
    }
    return found.call(resource, create(service.method[method]!.input, { name, ...fields }), call);
  };
  return {
    name,
    resource,
    call: async (method, fields, signal = never) => await run(method, fields, { signal }) as never,
    stream: (method, fields, signal) => run(method, fields, { signal }) as never,
    async stop(signal = never) {
      if (!resource.stop) {
        throw new ConnectError(`${fullName(api, name)} does not support stop`, Code.Unimplemented);
      }
      await resource.stop({ signal });
    },
  };
}

/**
 * The same driver for who moves something by what it measures: a call ends when its signal aborts,
 * and fails when there is no answer, also where the driver heeds no signal.
 */
export function measuring<S extends DescService>(used: Used<S>, clock: Clock): Used<S> {
  const { name } = used;
  return {
    ...used,
    async call(method, fields, signal = never) {
      try {
        return await withDeadline((signal) => used.call(method, fields, signal), {
          ...{ clock, deadlineMs: SILENT_MS, what: name, signal },
        });
      } catch (error) {
        if (!(error instanceof WaitTimeoutError)) throw error;
        throw new ConnectError(
          `${name} has not answered for ${SILENT_MS / 1_000} s; nothing moves without what it ` +
            "measures. See its status, and restart its module if it hangs",
          Code.Unavailable,
        );
      }
    },
  };
}
