/** Which resource a request is for: where its name stands in the requests of each method. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { readField, withField } from "../../../shared/rpc/client/forward.ts";

/** The place of the resource's name in the requests of one method. */
export interface Addressee {
  /** The name in a decoded request; "" when there is none. */
  of(request: object): string;
  /** The name in an encoded request; undefined when there is none or the bytes are no message. */
  ofBytes(request: Uint8Array): string | undefined;
  /** The fields of the request with this name in place of the other. */
  put(request: object, name: string): object;
  /** The same of an encoded request. @throws {RangeError} when the bytes are no message. */
  putBytes(request: Uint8Array, name: string): Uint8Array;
}

/**
 * Most requests have the field `name`; those of boards and input controllers have other words for
 * it, and some streams begin with a message that holds it (`metadata`, `init`). Undefined for
 * requests that name no resource.
 */
export function addresseeOf(input: DescMessage): Addressee | undefined {
  const own = nameField(input);
  if (own) {
    return {
      of: (request) => textOf(request, own),
      ofBytes: (request) => textIn(request, own.number),
      put: (request, name) => ({ ...request, [own.localName]: name }),
      putBytes: (request, name) => withField(request, own.number, encoder.encode(name)),
    };
  }
  for (const outer of input.fields) {
    const inner = outer.message && nameField(outer.message);
    if (inner) return nested(outer, inner);
  }
}

const NAMES = ["name", "board_name", "controller"];

/** The field of a message that has a resource's name; undefined when it is further inside, or none. */
export function nameField(message: DescMessage): DescField | undefined {
  return NAMES.map((name) => message.fields.find((field) => field.name === name))
    .find((field) => field?.fieldKind === "scalar");
}

function nested(outer: DescField, inner: DescField): Addressee {
  const group = outer.oneof?.localName;
  const part = (request: object): object | undefined => {
    const fields = request as Record<string, unknown>;
    if (!group) return fields[outer.localName] as object | undefined;
    const chosen = fields[group] as { case?: string; value?: object } | undefined;
    return chosen?.case === outer.localName ? chosen.value : undefined;
  };
  return {
    of: (request) => {
      const found = part(request);
      return found ? textOf(found, inner) : "";
    },
    ofBytes: (request) => {
      const found = bytesIn(request, outer.number);
      return found && textIn(found, inner.number);
    },
    put: (request, name) => {
      const found = part(request);
      if (!found) return request;
      const renamed = { ...found, [inner.localName]: name };
      return group
        ? { ...request, [group]: { case: outer.localName, value: renamed } }
        : { ...request, [outer.localName]: renamed };
    },
    putBytes(request, name) {
      const found = bytesIn(request, outer.number);
      if (!found) return request;
      return withField(request, outer.number, withField(found, inner.number, encoder.encode(name)));
    },
  };
}

function textOf(message: object, field: DescField): string {
  return String((message as Record<string, unknown>)[field.localName] ?? "");
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

function textIn(message: Uint8Array, number: number): string | undefined {
  const bytes = bytesIn(message, number);
  return bytes && decoder.decode(bytes);
}

/** Undefined for bytes that are no message; the decoder reports it. */
function bytesIn(message: Uint8Array, number: number): Uint8Array | undefined {
  try {
    return readField(message, number);
  } catch {
    return undefined;
  }
}
