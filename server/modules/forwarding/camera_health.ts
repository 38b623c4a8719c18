/** Whether a camera that runs elsewhere gives images, seen from the calls to it. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { type ForwardChannel, readField } from "../../../shared/rpc/client/forward.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { steadyText } from "../../resources/graph/steady_text.ts";

/** After so many failures in a row it is the camera, not the call. */
const MOST_FAILURES = 3;
/** A caller who waits less may simply be impatient. Milliseconds. */
const PATIENCE_MS = 2_000;
/** These blame the caller, or the connection; status shows a module that is gone. */
const CALLERS_OWN: ReadonlySet<Code> = new Set([
  Code.Canceled,
  Code.InvalidArgument,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.Unimplemented,
]);

export interface CameraHealth {
  /** The same channel, looked at. */
  readonly channel: ForwardChannel;
  /** Why it gives no images, until one comes. */
  problem(): string | undefined;
}

/** Looks at the GetImages calls of one camera. Those that choose sources may choose wrong ones. */
export function cameraHealth(channel: ForwardChannel): CameraHealth {
  let failures = 0;
  let reason: string | undefined;
  const watch = async <T>(answer: Promise<T>, waitsMs: number | undefined): Promise<T> => {
    try {
      const given = await answer;
      failures = 0;
      reason = undefined;
      return given;
    } catch (error) {
      const { code } = ConnectError.from(error);
      const isImpatient = code === Code.DeadlineExceeded && waitsMs !== undefined &&
        waitsMs < PATIENCE_MS;
      if (!CALLERS_OWN.has(code) && !isImpatient) {
        failures++;
        reason = steadyText(reason, reasonOf(error));
      }
      throw error;
    }
  };
  return {
    channel: {
      transport: {
        unary(method, signal, timeoutMs, header, message, values) {
          const { transport } = channel;
          const answer = transport.unary(method, signal, timeoutMs, header, message, values);
          const { filterSourceNames = [] } = message as { filterSourceNames?: string[] };
          return isWatched(method) && filterSourceNames.length === 0
            ? watch(answer, timeoutMs)
            : answer;
        },
        stream: (...call) => channel.transport.stream(...call),
      },
      unary(call, request) {
        const waitsMs = call.timeoutMs();
        const answer = channel.unary(call, request);
        return isWatched(call.method) && !choosesSources(request) ? watch(answer, waitsMs) : answer;
      },
      stream: (call, requests) => channel.stream(call, requests),
      close: () => channel.close(),
    },
    problem: () =>
      failures < MOST_FAILURES
        ? undefined
        : `GetImages fails each time: ${reason}. Look at the camera and at the log of its module; ` +
          "it is well with its next image",
  };
}

const { getImages } = CameraService.method;
const sources = getImages.input.field.filterSourceNames.number;

function isWatched({ name, parent }: DescMethod): boolean {
  return name === getImages.name && parent.typeName === CameraService.typeName;
}

function choosesSources(request: Uint8Array): boolean {
  try {
    return readField(request, sources) !== undefined;
  } catch {
    return true;
  }
}
