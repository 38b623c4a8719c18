import type { Interceptor, Transport } from "@connectrpc/connect";
import { GrpcChannel, type GrpcChannelOptions } from "./grpc_channel.ts";
import { transportOver } from "./transport_over.ts";

export interface GrpcTransportOptions extends GrpcChannelOptions {
  readonly interceptors?: Interceptor[];
  /** As for {@link transportOver}. */
  readonly fewValues?: boolean;
}

/**
 * A Connect transport over native gRPC. It connects when first used and reconnects automatically.
 */
export function createGrpcTransport(
  options: GrpcTransportOptions,
): Transport & { close(): void } {
  const { interceptors, fewValues = false } = options;
  const channel = new GrpcChannel(options);
  return {
    ...transportOver(channel, { interceptors, fewValues }),
    close: () => channel.close(),
  };
}
