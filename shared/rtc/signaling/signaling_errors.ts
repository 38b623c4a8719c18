import { Code, ConnectError } from "@connectrpc/connect";

/** The name is none that this caller may know of. SDKs connect directly on exactly this text. */
export function notPreconfigured(): ConnectError {
  return new ConnectError("host not preconfigured", Code.InvalidArgument);
}

/** Nobody answers for the host. SDKs show this text to their users. */
export function offline(): ConnectError {
  return new ConnectError(
    "host appears to be offline; ensure machine is online and try again",
    Code.NotFound,
  );
}

/** More wait for the host than it can answer; SDKs try again. */
export function tooManyCalls(): ConnectError {
  return new ConnectError(
    "too many connection attempts; please wait a bit and try again",
    Code.Unavailable,
  );
}

/** The machine that had taken the call does not answer it any more. */
export function machineWentAway(): ConnectError {
  return new ConnectError(
    "the machine went away before the connection stood; try again",
    Code.Unavailable,
  );
}

/** The caller does not wait any more. */
export function callerWentAway(): ConnectError {
  return new ConnectError("the caller went away", Code.Canceled);
}

/** The exchange took longer than an offer lives. */
export function tookTooLong(offerMs: number): ConnectError {
  return new ConnectError(
    `the two did not come to a connection within ${Math.round(offerMs / 1_000)} s; where routers ` +
      "or firewalls are between them, the cloud has to name STUN or TURN servers",
    Code.DeadlineExceeded,
  );
}

/** The signaller ends. */
export function signalerCloses(): ConnectError {
  return new ConnectError("the signaller is shutting down; connect again", Code.Unavailable);
}
