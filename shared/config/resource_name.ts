import { create } from "@bufbuild/protobuf";
import {
  type ResourceName as ResourceNameMessage,
  ResourceNameSchema,
} from "../gen/viam/common/v1/common_pb.ts";

/** The API of a resource: `rdk:component:sensor`. */
export interface ApiTriplet {
  namespace: string;
  /** `component` or `service`. */
  type: string;
  subtype: string;
}

/** The model of a resource: `rdk:builtin:fake`. */
export interface ModelTriplet {
  namespace: string;
  family: string;
  name: string;
}

/** Names one resource of a machine. Compare by {@linkcode formatResourceName}. */
export interface ResourceName {
  api: ApiTriplet;
  /** Remotes the resource comes through, `a:b`; empty for a resource of this machine. */
  remote: string;
  name: string;
}

/** A text that does not name what it should; the message quotes it and shows the form. */
export class ResourceNameError extends Error {
  override readonly name = "ResourceNameError";
}

/** Namespace of everything built in. */
export const BUILTIN_NAMESPACE = "rdk";
/** Family of everything built in. */
export const BUILTIN_FAMILY = "builtin";

const SEGMENT = /^[-\w]+$/;
const FULL_NAME = /^([-\w]+:[-\w]+:[-\w]+)\/((?:[-\w]+:)*)([-\w]+)$/;

/**
 * Reads `namespace:type:subtype`.
 *
 * @throws {ResourceNameError}
 */
export function parseApiTriplet(text: string): ApiTriplet {
  const [namespace, type, subtype] = triplet(text, "API", "rdk:component:sensor");
  return { namespace, type, subtype };
}

/** Writes `namespace:type:subtype`. */
function formatApiTriplet(api: ApiTriplet): string {
  return `${api.namespace}:${api.type}:${api.subtype}`;
}

/**
 * Reads a model: `namespace:family:name`, or a single word, which means `rdk:builtin:<word>`.
 *
 * @throws {ResourceNameError}
 */
export function parseModelTriplet(text: string): ModelTriplet {
  if (SEGMENT.test(text)) {
    return { namespace: BUILTIN_NAMESPACE, family: BUILTIN_FAMILY, name: text };
  }
  const [namespace, family, name] = triplet(text, "model", "rdk:builtin:fake or fake");
  return { namespace, family, name };
}

/**
 * Reads a full name, `rdk:component:sensor/[remote:]name`.
 *
 * @throws {ResourceNameError}
 */
export function parseResourceName(text: string): ResourceName {
  const match = FULL_NAME.exec(text);
  if (!match) {
    throw new ResourceNameError(
      `${JSON.stringify(text)} is not a full resource name; write namespace:type:subtype/name, ` +
        `for example rdk:component:sensor/host`,
    );
  }
  const [, api = "", remotes = "", name = ""] = match;
  return { api: parseApiTriplet(api), remote: remotes.slice(0, -1), name };
}

/** Writes `rdk:component:sensor/[remote:]name`. */
export function formatResourceName(name: ResourceName): string {
  return `${formatApiTriplet(name.api)}/${formatShortName(name)}`;
}

/** Writes `[remote:]name`, the form requests carry. */
export function formatShortName(name: Pick<ResourceName, "remote" | "name">): string {
  return name.remote === "" ? name.name : `${name.remote}:${name.name}`;
}

/** A name for the resource `shortName` (`[remote:]name`) of an API. */
export function resourceName(api: ApiTriplet | string, shortName: string): ResourceName {
  const cut = shortName.lastIndexOf(":");
  return {
    api: typeof api === "string" ? parseApiTriplet(api) : api,
    remote: cut < 0 ? "" : shortName.slice(0, cut),
    name: shortName.slice(cut + 1),
  };
}

/** The message form; the name is `[remote:]name`. */
export function resourceNameToProto(name: ResourceName): ResourceNameMessage {
  return create(ResourceNameSchema, { ...name.api, name: formatShortName(name) });
}

/** Reads the message form. Nothing is checked: a message may come from anywhere. */
export function resourceNameFromProto(message: ResourceNameMessage): ResourceName {
  const { namespace, type, subtype } = message;
  return resourceName({ namespace, type, subtype }, message.name);
}

function triplet(text: string, what: string, example: string): [string, string, string] {
  const parts = text.split(":");
  const [first, second, third] = parts;
  if (
    parts.length !== 3 || first === undefined || second === undefined || third === undefined ||
    !parts.every((part) => SEGMENT.test(part))
  ) {
    throw new ResourceNameError(
      `${JSON.stringify(text)} is not ${what === "API" ? "an" : "a"} ${what}; write three words ` +
        `with colons between, for example ${example}`,
    );
  }
  return [first, second, third];
}
