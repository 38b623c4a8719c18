/** What the first call of anybody needs, ready before it comes. */
import type { DescService } from "@bufbuild/protobuf";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** One at a time: the largest takes 30 ms, and a call that comes meanwhile waits for it. */
const EVERY_MS = 300;

/** Those that programs call before they call a resource. */
const SERVICES: readonly DescService[] = [RobotService, AuthService, SignalingService];

/**
 * Decodes the services that are called first, which the start leaves alone, and prepares for calls
 * by WebRTC; then resolves.
 */
export async function prepareFirstCalls(
  { clock, webrtc }: { readonly clock: Clock; readonly webrtc: { prepare(): void } },
  signal: AbortSignal,
): Promise<void> {
  for (const service of SERVICES) {
    await clock.sleep(EVERY_MS, signal);
    void service.methods;
  }
  await clock.sleep(EVERY_MS, signal);
  webrtc.prepare();
}
