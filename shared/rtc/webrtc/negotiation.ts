/** The second data channel, by which the peer may ask to change the connection. */
import { Buffer } from "node:buffer";
import { toError } from "../../base/errors/to_error.ts";
import type { Logger } from "../../log/logger.ts";
import {
  type LocalDescription,
  parseDescription,
  type RemoteDescription,
  writeAnswer,
} from "./data_channel_sdp.ts";
import type { SctpChannel } from "./sctp_channel.ts";

/** What is needed of a connection. */
export interface Negotiable {
  readonly negotiation: SctpChannel;
  readonly remote: RemoteDescription | undefined;
}

/**
 * Answers offers that come over the connection itself, as base64 of `{"type", "sdp"}`: their data
 * channels stay, and what they add (audio, video) is refused. Offers that would begin again, and
 * all else, are ignored.
 */
export function answerNegotiation(
  { negotiation, remote }: Negotiable,
  local: LocalDescription,
  log: Logger,
): void {
  negotiation.onMessage = (bytes) => {
    try {
      const text = Buffer.from(new TextDecoder().decode(bytes), "base64").toString();
      const { type, sdp } = Object(JSON.parse(text));
      if (type !== "offer" || typeof sdp !== "string") throw new Error("it is no offer");
      const offer = parseDescription(sdp);
      if (offer.ufrag !== remote?.ufrag) throw new Error("it requests an ICE restart");
      const answer = JSON.stringify({ type: "answer", sdp: writeAnswer(local, offer) });
      negotiation.sendText(Buffer.from(answer).toString("base64"));
    } catch (error) {
      log.debug("what came over the negotiation channel is ignored", {
        reason: toError(error).message,
      });
    }
  };
}
