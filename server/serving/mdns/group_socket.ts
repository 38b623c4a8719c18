/** A socket in the group of multicast DNS: the smallest that this server needs. */
import type { Heard, Said, Sender } from "./mdns_message.ts";

/** Sends on one link and receives from all of them. */
export interface GroupSocket {
  /**
   * Sends to the group, or to one. Resolves when the system has taken it.
   *
   * @throws an error of the system: the link is gone or has no carrier.
   */
  send(message: Said, to?: Sender): Promise<void>;
  /** Joins the group again where the link was away meanwhile. Never throws. */
  refresh(): void;
  /** Resolves when the port is given back. */
  close(): Promise<void>;
}

/** What a socket reports. None may throw. */
export interface GroupHandlers {
  heard(message: Heard, from: Sender): void;
  /** It cannot be used: the port is taken or not allowed. Called once; the socket is then closed. */
  failed(error: Error): void;
}

/** Opens a socket that speaks from this IPv4 address of the host. Never throws. */
export type OpenGroupSocket = (address: string, handlers: GroupHandlers) => GroupSocket;
