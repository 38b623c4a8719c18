import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import {
  type AnswerRequest,
  AnswerRequestSchema,
  type AnswerResponse,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { WaitingAnswerer } from "./call_sides.ts";
import {
  candidateFromProto,
  candidateToProto,
  errorOf,
  iceServerToProto,
  statusOf,
} from "./signaling_messages.ts";
import { Outbox } from "./outbox.ts";
import { HEARTBEATS_ALLOWED, hostsOf, MOST_HOSTS } from "./rpc_host.ts";
import { decodeSdp } from "./sdp.ts";
import type { SignalingServiceOptions } from "./service_options.ts";
import { notPreconfigured } from "./signaling_errors.ts";

/** How often one who waits gets a heartbeat, and is looked at again. */
const HEARTBEAT_MS = 15_000;

type Stage = NonNullable<MessageInitShape<typeof AnswerRequestSchema>["stage"]>;

/** One stream of a machine that answers: it waits, brings one call, ends with it. */
export async function* answerStream(
  responses: AsyncIterable<AnswerResponse>,
  context: HandlerContext,
  { queue, access, iceServers, clock }: SignalingServiceOptions,
): AsyncGenerator<AnswerRequest> {
  const hosts = hostsOf(context.requestHeader, { most: MOST_HOSTS });
  const answering = await access.answering(hosts, context);
  if (!answering) throw notPreconfigured();
  const beats = context.requestHeader.get(HEARTBEATS_ALLOWED) === "true";
  const call: { uuid?: string } = {};
  const outbox = new Outbox<AnswerRequest>();
  const put = (stage: Stage) =>
    outbox.put(create(AnswerRequestSchema, { uuid: call.uuid ?? "", stage }));
  const answerer = queue.answer(answering.keys, {
    offered(uuid, { sdp, disableTrickle, caller }, deadline) {
      call.uuid = uuid;
      const additionalIceServers = iceServers(answering.entity ?? "").map(iceServerToProto);
      put({
        case: "init",
        value: {
          sdp,
          optionalConfig: { additionalIceServers, disableTrickle },
          deadline: timestampFromDate(deadline),
          callerAuthEntity: caller.entity,
          callerAuthMetadata: { ...caller.metadata },
        },
      });
    },
    candidate: (candidate) =>
      put({ case: "update", value: { candidate: candidateToProto(candidate) } }),
    done: () => put({ case: "done", value: {} }),
    ended(error) {
      if (error && call.uuid === undefined) return outbox.end(error);
      if (error) put({ case: "error", value: { status: statusOf(error) } });
      outbox.end();
    },
  });
  const closed = answering.opened();
  const leave = () => answerer.leave();
  context.signal.addEventListener("abort", leave);
  if (context.signal.aborted) leave();
  const unwatch = answering.whenRefused?.((error) => {
    outbox.end(error);
    leave();
  });
  const pause = { clock, ms: HEARTBEAT_MS };
  void read(responses, answerer, call);
  try {
    for (;;) {
      const next = await outbox.next(call.uuid === undefined ? pause : undefined);
      if (next === "end") return;
      if (next !== "quiet") yield next.message;
      else {
        await answering.check();
        if (beats) {
          yield create(AnswerRequestSchema, { stage: { case: "heartbeat", value: {} } });
        }
      }
    }
  } finally {
    unwatch?.();
    context.signal.removeEventListener("abort", leave);
    leave();
    closed();
  }
}

/** Takes what a machine sends; what is out of order ends its call. */
async function read(
  responses: AsyncIterable<AnswerResponse>,
  answerer: WaitingAnswerer,
  call: { readonly uuid?: string },
): Promise<void> {
  try {
    for await (const response of responses) {
      try {
        take(response, answerer, call.uuid);
      } catch (error) {
        answerer.fail(ConnectError.from(error));
      }
    }
  } catch {
    return answerer.leave();
  }
  try {
    // It sends no more: that is as good as done when it has answered.
    answerer.done();
  } catch {
    answerer.leave();
  }
}

function take(
  { uuid, stage }: AnswerResponse,
  answerer: WaitingAnswerer,
  expected: string | undefined,
): void {
  if (expected !== undefined && uuid !== expected) {
    throw new ConnectError(
      `the machine answers the call ${JSON.stringify(uuid)}, not ${JSON.stringify(expected)}`,
      Code.InvalidArgument,
    );
  }
  switch (stage.case) {
    case "init": {
      if (decodeSdp(stage.value.sdp).type !== "answer") {
        throw new ConnectError("the sdp of the machine is no answer", Code.InvalidArgument);
      }
      return answerer.answer(stage.value.sdp);
    }
    case "update":
      return answerer.candidate(candidateFromProto(stage.value.candidate));
    case "done":
      return answerer.done();
    case "error":
      return answerer.fail(errorOf(stage.value.status, "the machine could not answer"));
    case undefined:
      throw new ConnectError("the machine sent an unknown stage", Code.InvalidArgument);
  }
}
