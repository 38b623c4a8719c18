/** Which calls move something, and what is done when their caller falls silent. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { safety_heartbeat_monitored } from "../../../shared/gen/viam/common/v1/common_pb.ts";

/** The part of a call that safety monitoring looks at and writes to. */
export interface MonitoredCall {
  readonly method: DescMethod;
  readonly values: ContextValues;
  readonly responseHeader: Headers;
}

/** Notified of every call that reaches a resource, by whoever finds the resource. */
export interface SafetyMonitor {
  /**
   * A call is about to be answered by that resource, which exists and is ready.
   *
   * @param resource full name, `rdk:component:motor/left`
   * @throws {ConnectError} INVALID_ARGUMENT `SESSION_EXPIRED` when the caller's session has ended
   */
  used(call: MonitoredCall, resource: string): void;
}

const known = new WeakMap<DescMethod, boolean>();

/** True when the method's description says that the caller's heartbeat is to be watched. */
export function isMonitored(method: DescMethod): boolean {
  let monitored = known.get(method);
  if (monitored === undefined) {
    monitored = getOption(method, safety_heartbeat_monitored);
    known.set(method, monitored);
  }
  return monitored;
}
