import { Code, ConnectError } from "@connectrpc/connect";
import * as z from "zod";
import type { CallUpdate } from "../../../shared/rtc/signaling/call_sides.ts";

/** Of the bus between the nodes. */
export const SIGNALING_TOPIC = "signaling";

const candidateSchema = z.object({
  candidate: z.string(),
  sdpMid: z.string().exactOptional(),
  sdpMLineIndex: z.number().exactOptional(),
  usernameFragment: z.string().exactOptional(),
});

const errorSchema = z.object({ code: z.number(), message: z.string() });

const offerSchema = z.object({
  sdp: z.string(),
  disableTrickle: z.boolean(),
  caller: z.object({
    owner: z.string(),
    entity: z.string(),
    metadata: z.record(z.string(), z.string()),
  }),
});

const updateSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("candidate"), candidate: candidateSchema }),
  z.object({ kind: z.literal("done") }),
  z.object({ kind: z.literal("error"), error: errorSchema }),
]);

/**
 * What nodes tell one another of calls. The node of the caller keeps the call; the node of the
 * machine has a call of its own under the same uuid, and passes on what both sides say.
 *
 * - `wanted` to all: a call to a host waits, and nobody here is free;
 * - `ready`, `busy`: somebody answers for the host here;
 * - `offer`: the call, for whoever is ready; `id` is what both nodes call this attempt by;
 * - `answer`, `toCaller`, `toMachine`: what one side sends the other;
 * - `over`: the caller's node has no use for the attempt any more;
 * - `update`: what a caller sent to a node that does not have its call; `updated` is the answer.
 */
const messageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("wanted"), host: z.string() }),
  z.object({ kind: z.literal("ready"), host: z.string() }),
  z.object({ kind: z.literal("busy"), host: z.string() }),
  z.object({
    kind: z.literal("offer"),
    ...{ id: z.string(), host: z.string(), uuid: z.string(), offer: offerSchema },
  }),
  z.object({ kind: z.literal("toMachine"), id: z.string(), update: updateSchema }),
  z.object({ kind: z.literal("answer"), id: z.string(), sdp: z.string() }),
  z.object({ kind: z.literal("toCaller"), id: z.string(), update: updateSchema }),
  z.object({ kind: z.literal("over"), id: z.string(), error: errorSchema.exactOptional() }),
  z.object({
    kind: z.literal("update"),
    ...{ id: z.string(), host: z.string(), uuid: z.string(), owner: z.string() },
    update: updateSchema,
  }),
  z.object({ kind: z.literal("updated"), id: z.string(), error: errorSchema.exactOptional() }),
]);

export type SignalingMessage = z.infer<typeof messageSchema>;

/** @throws {Error} for what is no such message */
export function readMessage(payload: string): SignalingMessage {
  return messageSchema.parse(JSON.parse(payload));
}

export type SentError = z.infer<typeof errorSchema>;

export function sentError({ code, rawMessage: message }: ConnectError): SentError {
  return { code, message };
}

export function receivedError({ code, message }: SentError): ConnectError {
  const known = code >= Code.Canceled && code <= Code.Unauthenticated;
  return new ConnectError(message, known ? code as Code : Code.Unknown);
}

export type SentUpdate = z.infer<typeof updateSchema>;

export function sentUpdate(update: CallUpdate): SentUpdate {
  return update.kind === "error" ? { kind: "error", error: sentError(update.error) } : update;
}

export function receivedUpdate(update: SentUpdate): CallUpdate {
  return update.kind === "error" ? { kind: "error", error: receivedError(update.error) } : update;
}
