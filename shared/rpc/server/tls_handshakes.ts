import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import {
  type Certificate,
  DenoTlsServer,
  nodeServesTls,
  type TlsConnection,
} from "./deno_tls_server.ts";

/** Completes TLS handshakes of connections that were accepted elsewhere. */
export class TlsHandshakes {
  readonly #server: Server | DenoTlsServer;

  /**
   * @param handshakeMs how long a handshake may take
   * @param byNode by `node:tls`, else by `Deno.listenTls`; undefined: by the first, where it works
   * @param onSecure called with a connection and what both ends chose as its `alpnProtocol`
   */
  constructor(
    certificate: Certificate,
    { handshakeMs, byNode = nodeServesTls() }: {
      handshakeMs: number;
      byNode?: boolean | undefined;
    },
    onSecure: (socket: TLSSocket) => void,
  ) {
    this.#server = byNode
      ? createServer(
        {
          ...secureContext(certificate),
          // Browsers and curl offer both and take the first; gRPC clients offer only h2.
          ALPNProtocols: ["http/1.1", "h2"],
          handshakeTimeout: handshakeMs,
        },
        onSecure,
        // Else whose handshake takes too long stays connected.
      ).on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy())
      : new DenoTlsServer(
        certificate,
        handshakeMs,
        // It has all that is used of a socket here and where it is handed over to.
        (socket: TlsConnection) => onSecure(socket as unknown as TLSSocket),
      );
  }

  /** Takes a connection; bytes that were read and put back come first. */
  take(socket: Socket): void {
    if (this.#server instanceof DenoTlsServer) this.#server.take(socket);
    else this.#server.emit("connection", socket);
  }

  /** For handshakes from now on; it must have been checked. */
  setCertificate(certificate: Certificate): void {
    if (this.#server instanceof DenoTlsServer) this.#server.setCertificate(certificate);
    else this.#server.setSecureContext(secureContext(certificate));
  }

  /** Ends what is under way; connections that are complete continue. */
  close(): void {
    if (this.#server instanceof DenoTlsServer) this.#server.close();
  }
}

function secureContext({ cert, key }: Certificate) {
  return { cert, key, minVersion: "TLSv1.2" } as const;
}
