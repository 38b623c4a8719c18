import type { DescMethod } from "@bufbuild/protobuf";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { ByteHandler } from "../../../shared/rpc/client/forward.ts";
import type { MethodBinding, RpcRouter } from "../../../shared/rpc/server/router.ts";

const PATH = /^\/[A-Za-z_][\w.]{0,200}\/[A-Za-z_]\w{0,100}$/;

/**
 * Every method there may be, answered by `handler` as the bytes it comes in: what a device serves is
 * known to the device. One request and one answer, as devices have no other calls; a stream fails
 * with the device's answer that it has none.
 */
export function deviceRouter(handler: ByteHandler): Pick<RpcRouter, "method"> {
  return {
    method(path): MethodBinding | undefined {
      if (!PATH.test(path)) return undefined;
      return {
        path,
        service: MachineService,
        method: UNARY,
        handler: () => undefined,
        route: () => handler,
      };
    },
  };
}

/** Of it only counts that it takes one message and gives one. */
const UNARY: DescMethod = MachineService.method.answerCalls;
