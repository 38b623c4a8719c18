/** Candidates and errors, to and from protobuf. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import {
  type ICECandidate,
  type ICEServer,
  type ICEServerSchema,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { IceCandidate, IceServer } from "../webrtc/peer.ts";

/** Longest text of an error that one side sends the other, in characters. */
const LONGEST_ERROR = 1024;

/** The message of a candidate, as an init shape. */
export function candidateToProto(candidate: IceCandidate) {
  const { sdpMid, sdpMLineIndex, usernameFragment } = candidate;
  return {
    candidate: candidate.candidate,
    ...(sdpMid !== undefined && { sdpMid }),
    ...(sdpMLineIndex !== undefined && { sdpmLineIndex: sdpMLineIndex }),
    ...(usernameFragment !== undefined && { usernameFragment }),
  };
}

/** @throws {ConnectError} INVALID_ARGUMENT when the stage has no candidate. */
export function candidateFromProto(message: ICECandidate | undefined): IceCandidate {
  if (!message) throw new ConnectError("the candidate is missing", Code.InvalidArgument);
  const { candidate, sdpMid, sdpmLineIndex, usernameFragment } = message;
  return {
    candidate,
    ...(sdpMid !== undefined && { sdpMid }),
    ...(sdpmLineIndex !== undefined && { sdpMLineIndex: sdpmLineIndex }),
    ...(usernameFragment !== undefined && { usernameFragment }),
  };
}

export function iceServerToProto(server: IceServer): MessageInitShape<typeof ICEServerSchema> {
  const { urls, username = "", credential = "" } = server;
  return { urls: [...urls], username, credential };
}

export function iceServerFromProto({ urls, username, credential }: ICEServer): IceServer {
  return { urls, ...(username !== "" && { username }), ...(credential !== "" && { credential }) };
}

export function statusOf(error: ConnectError): Status {
  return create(StatusSchema, {
    code: error.code,
    message: error.rawMessage.slice(0, LONGEST_ERROR),
  });
}

/** What the peer reports; a status that is none counts as UNKNOWN. */
export function errorOf(status: Status | undefined, fallback: string): ConnectError {
  const { code = 0, message = "" } = status ?? {};
  const known = code >= Code.Canceled && code <= Code.Unauthenticated;
  return new ConnectError(
    message.slice(0, LONGEST_ERROR) || fallback,
    known ? code as Code : Code.Unknown,
  );
}
