import { type Client, Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";

/** Names the session in calls, as SDKs do. */
const HEADER = "viam-sid";
/** Heartbeats in one window, so that one may be lost. */
const HEARTBEATS = 4;

/**
 * A session at a machine: where its heartbeats end, because the browser, the host or the network
 * is gone, the machine stops what calls of the session moved.
 */
export class RobotSession {
  #id: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Starts the session; a machine without sessions is used without one.
   *
   * @param lost called when the machine knows the session no more, as after the host slept.
   */
  async begin(robot: Client<typeof RobotService>, lost: () => void): Promise<void> {
    try {
      const { id, heartbeatWindow } = await robot.startSession({}, { timeoutMs: 10_000 });
      this.#id = id;
      const windowMs = heartbeatWindow ? durationMs(heartbeatWindow) : 2_000;
      this.#timer = setInterval(
        () => {
          void robot.sendSessionHeartbeat({ id }, { timeoutMs: windowMs }).catch(
            (error: unknown) => {
              // The next heartbeat makes up for one that is late; the connection sees its own end.
              const { code } = ConnectError.from(error);
              if (code !== Code.DeadlineExceeded && code !== Code.Unavailable) lost();
            },
          );
        },
        windowMs / HEARTBEATS,
      );
    } catch (error) {
      if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
    }
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly interceptor: Interceptor = (next) => (request) => {
    if (this.#id !== undefined) request.header.set(HEADER, this.#id);
    return next(request);
  };
}
