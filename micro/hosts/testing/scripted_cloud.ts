import type { Messages, Methods } from "../../../shared/gen/micro/messages.ts";
import { concat } from "../../core/bytes/bytes.ts";
import { utf8 } from "../../core/bytes/utf8.ts";
import type { Connection, ConnectionEvents } from "../../core/host/host.ts";
import { HttpParser } from "../../core/http/parser.ts";
import { decodeMessage, encode, encodeMessage, type Input } from "../../core/proto/codec.ts";
import { methodTypes } from "../../core/proto/fields.ts";
import { envelopeHead } from "../../core/rpc/envelopes.ts";
import type { VirtualHost } from "./virtual_host.ts";

/** When the first hour begins. */
const EPOCH = Date.UTC(2026, 0, 1);
/** Times of before are wrong; the clock is set to a second. */
const EARLIEST = EPOCH - 2000;
const KEEPALIVE_MS = 10_000;
const WATCH = "/machine.cloud.v1.MachineService/Watch";
/** What the cloud got. */
export interface Received {
  signIns: number;
  streams: number;
  configs: number;
  reports: number;
  liveReadings: number;
  logLines: number;
  readings: number;
  answers: number;
  certificates: number;
  downloads: number;
  /** Readings and log lines that have a time before {@link EARLIEST}. */
  mistimed: number;
}

type Answer = { readonly status: number; readonly body: Uint8Array };

/** A cloud in the memory of a script: it keeps nothing but counts. */
export class ScriptedCloud {
  readonly received: Received = {
    ...{ signIns: 0, streams: 0, configs: 0, reports: 0, liveReadings: 0, logLines: 0 },
    ...{ readings: 0, answers: 0, certificates: 0, downloads: 0, mistimed: 0 },
  };
  /** What the machine is to have; {@link announce} reports it. */
  config: Input<Messages["viam.app.v1.RobotConfig"]> & { readonly revision: string } = {
    revision: "",
  };
  certificate = "certificate 0";
  keys: readonly string[] = [];
  #token = 0;
  #lastCall = 0;
  readonly #streams = new Set<Connection>();

  constructor(private readonly host: VirtualHost) {
    const keepalive = () => {
      this.#emit({ keepalive: { revision: this.config.revision } });
      host.setTimer(KEEPALIVE_MS, keepalive);
    };
    keepalive();
  }

  /** Takes a connection of the machine. */
  accept(connection: Connection): ConnectionEvents {
    let start = "";
    let authorization = "";
    let parts: Uint8Array[] = [];
    const parser = new HttpParser("requests", {
      onHead: (head) => {
        start = head.start;
        authorization = head.headers.get("authorization") ?? "";
        return 1 << 20;
      },
      onBody: (bytes) => void parts.push(bytes.slice()),
      onEnd: () => {
        const body = concat(parts);
        parts = [];
        this.#request(connection, start.split(" ")[1] ?? "", authorization, body);
      },
    });
    const over = () => void this.#streams.delete(connection);
    return { onData: (bytes) => parser.push(bytes), onEnd: over, onError: over };
  }

  /** Reports a new configuration. */
  announce(): void {
    this.#emit({ configChanged: { revision: this.config.revision } });
  }

  /** Takes the tokens back, and says that the list of keys is another one. */
  rotate(): void {
    this.#token++;
    this.#emit({ accessChanged: {} });
  }

  /** Somebody watches the machine in the console. */
  requestLive(ms: number): void {
    this.#emit({ liveRequested: { duration: ms } });
  }

  /** Somebody calls through the cloud. */
  call<P extends keyof Methods & string>(method: P, input: Input<Methods[P]["input"]>): void {
    const request = encodeMessage(methodTypes(method)?.input ?? "", input as never);
    this.#emit({
      relayedCall: {
        id: ++this.#lastCall,
        method,
        request,
        caller: "somebody",
        role: 1,
        sessionId: "",
      },
    });
  }

  #request(connection: Connection, path: string, authorization: string, body: Uint8Array): void {
    if (path === WATCH && this.#isSignedIn(authorization)) {
      this.received.streams++;
      connection.write(utf8(`${this.#head(200)}transfer-encoding: chunked\r\n\r\n`));
      this.#streams.add(connection);
      return this.#emit({ keepalive: { revision: this.config.revision } });
    }
    const { status, body: answer } = this.#answer(path, authorization, body);
    const head = utf8(`${this.#head(status)}content-length: ${answer.length}\r\n\r\n`);
    connection.write(concat([head, answer]));
  }

  #head(status: number): string {
    const date = new Date(EPOCH + this.host.now()).toUTCString();
    return `HTTP/1.1 ${status} Status\r\ndate: ${date}\r\ncontent-type: application/proto\r\n`;
  }

  #isSignedIn(authorization: string): boolean {
    return authorization === `Bearer token-${this.#token}`;
  }

  #answer(path: string, authorization: string, body: Uint8Array): Answer {
    const types = methodTypes(path);
    if (!types) {
      this.received.downloads++;
      return { status: 404, body: utf8("there is no image") };
    }
    const isSignIn = path.endsWith("/Authenticate");
    if (!isSignIn && !this.#isSignedIn(authorization)) {
      return { status: 401, body: utf8('{"code":"unauthenticated","message":"sign in again"}') };
    }
    const output = this.#output(path as keyof Methods, decodeMessage(types.input, body) as never);
    return { status: 200, body: encodeMessage(types.output, output as never) };
  }

  #output(path: keyof Methods, input: never): object {
    const { received } = this;
    const take = <P extends keyof Methods>(_path: P): Methods[P]["input"] => input;
    switch (path) {
      case "/proto.rpc.v1.AuthService/Authenticate":
        received.signIns++;
        return { accessToken: `token-${this.#token}` };
      case "/viam.app.v1.RobotService/Config":
        received.configs++;
        return { config: this.config };
      case "/machine.cloud.v1.MachineService/ListAccessKeys":
        return { keys: this.keys.map((id) => ({ id, role: 1 })) };
      case "/machine.cloud.v1.MachineService/ReportStatus":
        received.reports++;
        received.liveReadings += take(path).readings.length;
        return {};
      case "/machine.cloud.v1.MachineService/AnswerCalls":
        received.answers += take(path).answers.filter(({ code }) => code === 0).length;
        return {};
      case "/viam.app.v1.RobotService/Certificate":
        received.certificates++;
        return { tlsCertificate: this.certificate, tlsPrivateKey: "a key" };
      case "/viam.app.v1.RobotService/Log": {
        const { logs } = take(path);
        received.logLines += logs.length;
        received.mistimed += logs.filter(({ time = 0 }) => time < EARLIEST).length;
        return {};
      }
      case "/viam.app.datasync.v1.DataSyncService/DataCaptureUpload": {
        const { sensorContents } = take(path);
        received.readings += sensorContents.length;
        received.mistimed +=
          sensorContents.filter(({ metadata }) => (metadata?.timeRequested ?? 0) < EARLIEST).length;
        return {};
      }
      default:
        return {};
    }
  }

  #emit(event: Input<Messages["machine.cloud.v1.WatchResponse"]>): void {
    const message = encode("machine.cloud.v1.WatchResponse", event);
    const size = utf8(`${(message.length + 5).toString(16)}\r\n`);
    const chunk = concat([size, envelopeHead(0, message.length), message, utf8("\r\n")]);
    for (const stream of this.#streams) stream.write(chunk);
  }
}
