/** Headers and trailers of answers as lists for the wire. */
import { toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { statusMessage } from "../client/grpc_status.ts";
import type { HeaderList } from "../h2/fields.ts";
import { type HeaderBlock, HeaderField } from "../h2/hpack_encoder.ts";

/** What every answer begins with. */
export const ANSWER_FIELDS: readonly HeaderField[] = [
  new HeaderField(":status", "200", 8),
  new HeaderField("content-type", "application/grpc+proto"),
];
const ANSWER: HeaderBlock = { repeated: ANSWER_FIELDS, others: [] };
const OK: HeaderBlock = { repeated: [new HeaderField("grpc-status", "0")], others: [] };

/** The headers of an answer. @param own those that the handler has set. */
export function answerHeaders(own?: Headers): HeaderBlock {
  return own ? { repeated: ANSWER_FIELDS, others: listOfHeaders(own) } : ANSWER;
}

/** The trailers of a call that went well. @param own those that the handler has set. */
export function okTrailers(own?: Headers): HeaderBlock {
  return own ? { repeated: OK.repeated, others: listOfHeaders(own) } : OK;
}

/** Headers that belong to a connection or to the transport, whoever sets them. */
const OWN_KEYS = new Set(["connection", "content-type", "grpc-timeout", "keep-alive"]
  .concat("proxy-connection", "te", "transfer-encoding", "upgrade"));

/** What a handler or an error carries, without what belongs to the transport. */
function listOfHeaders(headers: Headers): HeaderList {
  const list: string[] = [];
  for (const [key, value] of headers) if (!OWN_KEYS.has(key)) list.push(key, value);
  return list;
}

/**
 * The trailers of a call that failed; error details travel in `grpc-status-details-bin`.
 *
 * @param own trailers that the handler has set.
 */
export function errorTrailers(error: ConnectError, own?: Headers): HeaderList {
  const trailers = ["grpc-status", String(error.code), "grpc-message", encoded(error.rawMessage)];
  if (own) trailers.push(...listOfHeaders(own));
  if (error.details.length > 0) {
    const details = toBinary(StatusSchema, statusMessage(error)).toBase64({ omitPadding: true });
    trailers.push("grpc-status-details-bin", details);
  }
  return trailers;
}

/** Percent-encoded, but for what can be read as it is. */
function encoded(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}
