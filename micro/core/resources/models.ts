import type { Host } from "../host/host.ts";
import type { Level } from "../log/log_queue.ts";
import type { Api, Driver, Resource } from "./apis.ts";
import type { Attributes } from "./attributes.ts";

/** What a model's constructor is given. */
export interface ModelContext {
  readonly name: string;
  readonly attributes: Attributes;
  readonly host: Host;
  /** Another resource, built before this one. @throws Error when there is none, or it has an error */
  resource<A extends Api>(api: A, name: string): Driver<A> & Resource;
  log(level: Level, text: string): void;
}

/** A kind of resource that is built into the firmware. */
export interface Model {
  /** `rdk:component:sensor`. */
  readonly api: string;
  /** `rdk:builtin:fake`, or `my-org:my-family:my-model`. */
  readonly model: string;
  /** @throws Error saying what is wrong with the attributes, or with the hardware */
  construct(context: ModelContext): Resource;
}

/** A model whose driver fits its API. */
export function model<A extends Api>(
  api: A,
  name: string,
  construct: (context: ModelContext) => Driver<A> & Resource,
): Model {
  return { api, model: name, construct };
}
