import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  type CallResponse,
  CallResponseSchema,
  type CallUpdateRequest,
  DialStage,
  type SignalingService,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { answerStream } from "./answer_stream.ts";
import type { CallUpdate } from "./call_sides.ts";
import {
  candidateFromProto,
  candidateToProto,
  errorOf,
  iceServerToProto,
} from "./signaling_messages.ts";
import { Outbox } from "./outbox.ts";
import { hostsOf } from "./rpc_host.ts";
import { decodeSdp } from "./sdp.ts";
import type { SignalingServiceOptions } from "./service_options.ts";
import type { CallableHost } from "./signaling_access.ts";
import { notPreconfigured } from "./signaling_errors.ts";

/** `proto.rpc.webrtc.v1.SignalingService` over a queue in memory. */
export function signalingService(
  options: SignalingServiceOptions,
): ServiceImpl<typeof SignalingService> {
  const { queue, access, iceServers, log } = options;
  const callable = async (context: HandlerContext): Promise<CallableHost> => {
    const [host = ""] = hostsOf(context.requestHeader, { most: 1 });
    const found = await access.callable(host, context);
    if (!found) throw notPreconfigured();
    return found;
  };
  return {
    async *call({ sdp, disableTrickle }, context) {
      const { key, caller } = await callable(context);
      if (decodeSdp(sdp).type !== "offer") {
        throw new ConnectError("the sdp of a call is to be an offer", Code.InvalidArgument);
      }
      const outbox = new Outbox<CallResponse["stage"]>();
      const call = queue.call(key, { sdp, disableTrickle, caller }, {
        answered: (sdp) => outbox.put(stage({ case: "init", value: { sdp } })),
        candidate: (candidate) => {
          const value = { candidate: candidateToProto(candidate) };
          outbox.put(stage({ case: "update", value }));
        },
        ended: (error) => outbox.end(error),
      });
      const leave = () => {
        call.leave();
        outbox.end();
      };
      context.signal.addEventListener("abort", leave, { once: true });
      if (context.signal.aborted) leave();
      try {
        for (;;) {
          const next = await outbox.next();
          if (next === "end") return;
          if (next === "quiet") continue;
          yield create(CallResponseSchema, { uuid: call.uuid, stage: next.message });
        }
      } finally {
        context.signal.removeEventListener("abort", leave);
        call.leave();
      }
    },

    async callUpdate(request, context) {
      const { key, caller } = await callable(context);
      await queue.update(key, request.uuid, caller.owner, updateOf(request));
      return {};
    },

    answer: (responses, context) => answerStream(responses, context, options),

    async optionalWebRTCConfig(_request, context) {
      const { caller } = await callable(context);
      const additionalIceServers = iceServers(caller.entity).map(iceServerToProto);
      return { config: { additionalIceServers, disableTrickle: false } };
    },

    reportConnectionMetadata({ reachedStage, durationMs, failureCode }) {
      log?.debug("a caller reported how its dial went", {
        stage: DialStage[reachedStage] ?? String(reachedStage),
        durationMs,
        failure: Code[failureCode] ?? "none",
      });
      return {};
    },
  };
}

type Stage = NonNullable<Parameters<typeof create<typeof CallResponseSchema>>[1]>["stage"];

function stage(init: NonNullable<Stage>): CallResponse["stage"] {
  return create(CallResponseSchema, { stage: init }).stage;
}

function updateOf({ update }: CallUpdateRequest): CallUpdate {
  switch (update.case) {
    case "candidate":
      return { kind: "candidate", candidate: candidateFromProto(update.value) };
    case "done":
      return { kind: "done" };
    case "error":
      return { kind: "error", error: errorOf(update.value, "the caller failed") };
    case undefined:
      throw new ConnectError(
        "the update is missing: send a candidate, done or an error",
        Code.InvalidArgument,
      );
  }
}
