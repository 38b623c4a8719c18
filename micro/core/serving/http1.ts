import { concat } from "../bytes/bytes.ts";
import { utf8 } from "../bytes/utf8.ts";
import type { Connection } from "../host/host.ts";
import { type Head, HttpError, HttpParser } from "../http/parser.ts";
import { envelopeHead } from "../rpc/envelopes.ts";
import { Code, type CodeName, RpcError, textOf, toRpcError } from "../rpc/errors.ts";
import type { Admitted, Coding, Services } from "./services.ts";

/** How a call is written over HTTP/1.1. */
type Protocol = { readonly kind: "connect" | "grpc-web"; readonly coding: Coding };

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  "application/proto": { kind: "connect", coding: "proto" },
  "application/json": { kind: "connect", coding: "json" },
  "application/grpc-web": { kind: "grpc-web", coding: "proto" },
  "application/grpc-web+proto": { kind: "grpc-web", coding: "proto" },
};

/** HTTP status by code, as Connect's protocol has it. */
const STATUS: Partial<Record<CodeName, number>> = {
  cancelled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  out_of_range: 400,
  unimplemented: 501,
  unavailable: 503,
  unauthenticated: 401,
};

const CORS = [
  "access-control-allow-origin: *",
  "access-control-expose-headers: grpc-status, grpc-message",
];

/** Requests that a caller may send before the first is answered. */
const MOST_WAITING = 4;

interface Request {
  readonly head: Head;
  readonly parts: Uint8Array[];
  readonly protocol: Protocol | undefined;
  /** What to call, or why not. */
  readonly admitted: Admitted | RpcError | undefined;
}

/** Answers gRPC-web, Connect and a plain GET over one connection of HTTP/1.1. */
export class Http1Connection {
  readonly #parser: HttpParser;
  #request: Request | undefined;
  #answers: Promise<void> = Promise.resolve();
  #waiting = 0;
  #closing = false;
  #known = false;

  constructor(
    private readonly connection: Connection,
    private readonly services: Services,
    private readonly title: string,
  ) {
    this.#parser = new HttpParser("requests", {
      onHead: (head) => this.#head(head),
      onBody: (bytes) => {
        const request = this.#request;
        if (request && !(request.admitted instanceof RpcError)) request.parts.push(bytes.slice());
      },
      onEnd: () => this.#end(),
    });
  }

  /** Whether a call runs. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  /** Whether somebody who signed in has called. */
  get known(): boolean {
    return this.#known;
  }

  push(bytes: Uint8Array): void {
    if (this.#closing) return;
    try {
      this.#parser.push(bytes);
    } catch (error) {
      this.#closing = true;
      const refused = this.#request?.admitted;
      const answer = this.#request && refused instanceof RpcError
        ? failure(this.#request.protocol, refused)
        : response(
          error instanceof HttpError ? error.status : error === null ? 503 : 400,
          "text/plain",
          [],
          utf8(`${textOf(error)}\n`),
        );
      this.#inTurn(() => Promise.resolve(answer));
      this.#answers.then(() => this.connection.end());
    }
  }

  #head(head: Head): number {
    const [method = "", path = ""] = head.start.split(" ");
    if (!/^[A-Z]+ \S+ HTTP\/1\.[01]$/.test(head.start)) {
      throw new HttpError(400, "the request line is not of HTTP/1.1");
    }
    if (this.#waiting >= MOST_WAITING) throw new HttpError(429, "too many requests at once");
    const type = (head.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    const protocol = method === "POST" && Object.hasOwn(PROTOCOLS, type)
      ? PROTOCOLS[type]
      : undefined;
    const request = { head, parts: [], protocol };
    if (!protocol) {
      this.#request = { ...request, admitted: undefined };
      return 0;
    }
    try {
      const admitted = this.services.admit(path, head.headers);
      if (admitted.caller) this.#known = true;
      this.#request = { ...request, admitted };
      return admitted.most;
    } catch (error) {
      this.#request = { ...request, admitted: toRpcError(error) };
      const length = head.headers.get("content-length");
      // A small body is read over, so that the connection can be used further; it is not kept.
      return length !== undefined && Number(length) <= 4096 ? 4096 : 0;
    }
  }

  #end(): void {
    const request = this.#request;
    this.#request = undefined;
    if (!request) return;
    this.#inTurn(() => this.#answer(request));
    if (/close/i.test(request.head.headers.get("connection") ?? "")) {
      this.#closing = true;
      this.#answers.then(() => this.connection.end());
    }
  }

  /** Answers leave in the order of the requests. */
  #inTurn(answer: () => Promise<Uint8Array>): void {
    this.#waiting++;
    const made = answer();
    this.#answers = this.#answers.then(async () => {
      this.connection.write(await made);
      this.#waiting--;
    });
  }

  async #answer({ head, parts, protocol, admitted }: Request): Promise<Uint8Array> {
    if (!protocol || !admitted) return this.#plain(head);
    if (admitted instanceof RpcError) return failure(protocol, admitted);
    try {
      const body = concat(parts);
      const answer = await this.services.call(
        admitted,
        protocol.kind === "connect" ? body : unwrap(body),
        protocol.coding,
      );
      if (protocol.kind === "connect") {
        return response(200, `application/${protocol.coding}`, [], answer);
      }
      const trailer = utf8("grpc-status: 0\r\n");
      const frames = [envelopeHead(0, answer.length), answer, envelopeHead(128, trailer.length)];
      return response(200, "application/grpc-web+proto", [], concat([...frames, trailer]));
    } catch (error) {
      return failure(protocol, toRpcError(error));
    }
  }

  #plain({ start, headers }: Head): Uint8Array {
    if (start.startsWith("OPTIONS ")) {
      const wanted = headers.get("access-control-request-headers") ?? "content-type";
      return response(204, "text/plain", [
        "access-control-allow-methods: POST",
        `access-control-allow-headers: ${wanted.replace(/[^A-Za-z0-9,\- ]/g, "")}`,
        "access-control-max-age: 7200",
      ], new Uint8Array(0));
    }
    if (start.startsWith("GET / ")) return response(200, "text/plain", [], utf8(`${this.title}\n`));
    if (start.startsWith("POST ")) {
      const text = `content-type must be one of ${Object.keys(PROTOCOLS).join(", ")}\n`;
      return response(415, "text/plain", [], utf8(text));
    }
    return response(404, "text/plain", [], utf8("not found; methods are called by POST\n"));
  }
}

/** The one message of a unary request of gRPC or gRPC-web. @throws RpcError */
export function unwrap(body: Uint8Array): Uint8Array {
  const [flags = 0, a = 0, b = 0, c = 0, d = 0] = body;
  if (body.length < 5 || a * 0x1000000 + (b << 16 | c << 8 | d) !== body.length - 5) {
    throw new RpcError("invalid_argument", "the request is not one message");
  }
  if (flags !== 0) throw new RpcError("unimplemented", "compressed messages are not supported");
  return body.subarray(5);
}

/** `grpc-message` allows visible ASCII only; everything else is written as `%XX`. */
export function escapeMessage(text: string): string {
  let escaped = "";
  for (const byte of utf8(text.slice(0, 500))) {
    escaped += byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte < 16 ? "0" : ""}${byte.toString(16).toUpperCase()}`;
  }
  return escaped;
}

function failure(protocol: Protocol | undefined, { code, message }: RpcError): Uint8Array {
  if (protocol?.kind !== "grpc-web") {
    const body = utf8(JSON.stringify({ code, message }));
    return response(STATUS[code] ?? 500, "application/json", [], body);
  }
  const trailer = utf8(`grpc-status: ${Code[code]}\r\ngrpc-message: ${escapeMessage(message)}\r\n`);
  const body = concat([envelopeHead(128, trailer.length), trailer]);
  return response(200, "application/grpc-web+proto", [], body);
}

function response(
  status: number,
  type: string,
  headers: readonly string[],
  body: Uint8Array,
): Uint8Array {
  const lines = [
    `HTTP/1.1 ${status} ${status < 300 ? "OK" : "Error"}`,
    ...CORS,
    ...headers,
    ...(status === 204 ? [] : [`content-type: ${type}`, `content-length: ${body.length}`]),
  ];
  return concat([utf8(`${lines.join("\r\n")}\r\n\r\n`), body]);
}
