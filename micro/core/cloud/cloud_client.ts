import type { Messages, Methods } from "../../../shared/gen/micro/messages.ts";
import { concat } from "../bytes/bytes.ts";
import { fromUtf8 } from "../bytes/utf8.ts";
import type { Host, TimerId } from "../host/host.ts";
import { HttpClient, type Origin } from "../http/client.ts";
import {
  decode,
  decodeMessage,
  encode,
  encodeMessage,
  type Fields,
  type Input,
} from "../proto/codec.ts";
import { methodTypes } from "../proto/fields.ts";
import { envelopeHead, Envelopes } from "../rpc/envelopes.ts";
import { Code, type CodeName, RpcError, textOf } from "../rpc/errors.ts";

/** Largest answer of the cloud: a configuration, mostly. Bytes. */
const MOST_ANSWER_BYTES = 96 * 1024;
const CALL_TIMEOUT_MS = 20_000;
/** A stream is dead when it is silent for so long; the cloud sends something each 10 s. */
const SILENCE_MS = 30_000;

/** How the device proves which part it is. */
export interface Credentials {
  readonly origin: Origin;
  readonly partId: string;
  /** Id of the part or of the key. */
  readonly entity: string;
  readonly type: "robot-secret" | "api-key";
  readonly payload: string;
}

/** Calls the cloud by the Connect protocol over HTTP/1.1; signs in when it must. */
export class CloudClient {
  readonly #calls: HttpClient;
  readonly #streams: HttpClient;
  #token: string | undefined;

  constructor(private readonly host: Host, readonly credentials: Credentials) {
    this.#calls = new HttpClient(host, credentials.origin);
    this.#streams = new HttpClient(host, credentials.origin);
  }

  /** @throws RpcError; `unavailable` where the cloud cannot be reached */
  async call<P extends keyof Methods>(
    path: P,
    input: Input<Methods[P]["input"]>,
  ): Promise<Methods[P]["output"]> {
    const known = this.#token !== undefined;
    try {
      return await this.#once(path, input);
    } catch (error) {
      if (!known || !(error instanceof RpcError) || error.code !== "unauthenticated") throw error;
      this.#token = undefined;
      return await this.#once(path, input);
    }
  }

  /** Follows the stream of changes until it ends. @throws RpcError */
  async watch(onEvent: (event: Messages["machine.cloud.v1.WatchResponse"]) => void): Promise<void> {
    const body = encode("machine.cloud.v1.WatchRequest", {
      partId: this.credentials.partId,
      takesCalls: true,
    });
    const headers = {
      "content-type": "application/connect+proto",
      "connect-protocol-version": "1",
      authorization: `Bearer ${await this.#signedIn()}`,
    };
    let silence: TimerId | undefined;
    const heard = () => {
      if (silence !== undefined) this.host.clearTimer(silence);
      silence = this.host.setTimer(SILENCE_MS, () => this.#streams.close("silent for 30 s"));
    };
    const envelopes = new Envelopes(MOST_ANSWER_BYTES, (flags, message) => {
      if (flags & 2) throwEndOfStream(message);
      else onEvent(decode("machine.cloud.v1.WatchResponse", message));
    });
    let failure: RpcError | undefined;
    try {
      await this.#streams.stream({
        method: "POST",
        path: "/machine.cloud.v1.MachineService/Watch",
        headers,
        body: concat([envelopeHead(0, body.length), body]),
        timeoutMs: CALL_TIMEOUT_MS,
        most: MOST_ANSWER_BYTES,
      }, {
        onHead: (status) => {
          heard();
          if (status !== 200) failure = failureOf(status, new Uint8Array(0));
        },
        onBody: (bytes) => {
          heard();
          if (!failure) envelopes.push(bytes);
        },
      });
    } catch (error) {
      throw error instanceof RpcError ? error : new RpcError("unavailable", textOf(error));
    } finally {
      if (silence !== undefined) this.host.clearTimer(silence);
    }
    if (failure?.code === "unauthenticated") this.#token = undefined;
    if (failure) throw failure;
  }

  /** Lets the cloud check somebody's API key. @throws RpcError when it is none */
  async verifyKey(id: string, key: string): Promise<void> {
    await this.#post("/proto.rpc.v1.AuthService/Authenticate", {
      entity: id,
      credentials: { type: "api-key", payload: key },
    }, {});
  }

  /**
   * What signs a request in that goes to the cloud's own address; nothing for any other.
   *
   * @param anew the sign-in of before was refused
   * @throws RpcError when the cloud cannot be reached, or refuses the device
   */
  async headersFor(
    { host, port, tls }: Origin,
    anew = false,
  ): Promise<Readonly<Record<string, string>>> {
    const own = this.credentials.origin;
    if (own.host !== host || own.port !== port || own.tls !== tls) return {};
    if (anew) this.#token = undefined;
    return { authorization: `Bearer ${await this.#signedIn()}` };
  }

  /** Ends all connections; what runs fails. */
  close(): void {
    this.#calls.close();
    this.#streams.close();
  }

  async #once<P extends keyof Methods>(
    path: P,
    input: Input<Methods[P]["input"]>,
  ): Promise<Methods[P]["output"]> {
    return await this.#post(path, input, { authorization: `Bearer ${await this.#signedIn()}` });
  }

  async #signedIn(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const { entity, type, payload } = this.credentials;
    const { accessToken } = await this.#post("/proto.rpc.v1.AuthService/Authenticate", {
      entity,
      credentials: { type, payload },
    }, {});
    return this.#token = accessToken;
  }

  async #post<P extends keyof Methods>(
    path: P,
    input: Input<Methods[P]["input"]>,
    headers: Readonly<Record<string, string>>,
  ): Promise<Methods[P]["output"]> {
    const types = methodTypes(path);
    if (!types) throw new Error(`there is no method ${path}`);
    const response = await this.#calls.request({
      method: "POST",
      path,
      headers: { "content-type": "application/proto", "connect-protocol-version": "1", ...headers },
      body: encodeMessage(types.input, input as Fields),
      timeoutMs: CALL_TIMEOUT_MS,
      most: MOST_ANSWER_BYTES,
    }).catch((error) => {
      throw new RpcError("unavailable", textOf(error));
    });
    this.#setClock(response.headers.get("date"));
    if (response.status !== 200) throw failureOf(response.status, response.body);
    return decodeMessage(types.output, response.body) as Methods[P]["output"];
  }

  /** A device without a battery learns the time from its cloud, to a second. */
  #setClock(date: string | undefined): void {
    const told = date === undefined ? NaN : Date.parse(date);
    if (Number.isNaN(told)) return;
    const wall = this.host.wallClock();
    if (wall === 0 || Math.abs(wall - told) > 60_000) this.host.setWallClock(told);
  }
}

function failureOf(status: number, body: Uint8Array): RpcError {
  const byStatus: CodeName = status === 401
    ? "unauthenticated"
    : status === 403
    ? "permission_denied"
    : status === 404
    ? "unimplemented"
    : status === 429
    ? "resource_exhausted"
    : "unavailable";
  try {
    return errorOf(JSON.parse(fromUtf8(body)), byStatus);
  } catch {
    return new RpcError(byStatus, `the cloud answered with HTTP status ${status}`);
  }
}

function errorOf(json: unknown, otherwise: CodeName): RpcError {
  const { code, message } = json as { code?: unknown; message?: unknown };
  const known = typeof code === "string" && code in Code ? code as CodeName : otherwise;
  return new RpcError(known, typeof message === "string" ? message : "no reason given");
}

function throwEndOfStream(message: Uint8Array): void {
  const end = JSON.parse(fromUtf8(message) || "{}") as { error?: unknown };
  if (end.error) throw errorOf(end.error, "unknown");
}
