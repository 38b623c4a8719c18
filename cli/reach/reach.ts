import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { type ChosenPart, findPart } from "../../shared/commands/choice/part.ts";
import { clientOf, type CommandContext } from "../../shared/commands/run/command.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { getLogger } from "../../shared/log/loggers.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";

/** A connection to a machine itself. */
export interface Reached extends AsyncDisposable {
  readonly transport: Transport;
  readonly part: ChosenPart;
  /** Aborted in the end. */
  readonly signal: AbortSignal;
  /** Resolves when the machine cannot be called over it any more. */
  readonly closed: Promise<unknown>;
}

/** A machine that is reached again, when it is next needed, after the connection to it ended. */
export class LastingWay implements AsyncDisposable {
  #current: Promise<Reached>;
  #isOver = false;

  constructor(private readonly dial: () => Promise<Reached>) {
    this.#current = this.#begin();
  }

  machine(): Promise<Reached> {
    if (this.#isOver) {
      void close(this.#current);
      this.#current = this.#begin();
    }
    return this.#current;
  }

  #begin(): Promise<Reached> {
    this.#isOver = false;
    const reached = this.dial();
    const over = () => {
      if (this.#current === reached) this.#isOver = true;
    };
    reached.then(({ closed }) => closed).then(over, over);
    return reached;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await close(this.#current);
  }
}

async function close(reached: Promise<Reached>): Promise<void> {
  const machine = await reached.catch(() => undefined);
  await machine?.[Symbol.asyncDispose]();
}

/** Of every command that talks with a machine itself. */
export const reachFlags = {
  "address": {
    type: "string",
    placeholder: "URL",
    doc: "Address of the machine's own port, in place of the path through the cloud (WebRTC).",
  },
} as const;

/** Calls a machine through its cloud's signalling by WebRTC, or at its own port. */
export async function reach(
  context: CommandContext,
  wanted: string,
  address: string | undefined,
): Promise<Reached> {
  const part = await findPart(context, wanted);
  const stop = new AbortController();
  if (address !== undefined) {
    const direct = (await context.cloud()).atMachine(address);
    return {
      ...{ part, transport: direct.transport, signal: stop.signal },
      closed: new Promise(() => {}), // it connects again automatically
      [Symbol.asyncDispose]() {
        stop.abort(new Error("the command is over"));
        return Promise.resolve(direct.close());
      },
    };
  }
  const { part: found } = await (await clientOf(context, AppService)).getRobotPart({ id: part.id });
  const peers = weriftPeers({ clock: context.clock, log: getLogger("machine") });
  const client = await clientOf(context, SignalingService);
  const host = found?.fqdn ?? "";
  const peer = await callPeer({ client, host, peers, signal: stop.signal }).catch((error) => {
    throw unreachable(error, part);
  });
  return {
    ...{ part, transport: createDataChannelTransport(peer.channel), signal: stop.signal },
    closed: peer.closed,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the command is over"));
      await peer.close();
    },
  };
}

function unreachable(error: unknown, { name }: ChosenPart): unknown {
  if (!(error instanceof ConnectError)) return error;
  const isAway = [Code.Unavailable, Code.DeadlineExceeded, Code.NotFound].includes(error.code);
  if (!isAway) return error;
  return new Error(
    `${name} cannot be reached (${error.rawMessage}); machine machines status shows whether it ` +
      "is online; in its own network, --address http://HOST:8081 goes without the cloud",
    { cause: error },
  );
}

/** The one resource of an API, such as `shell`. @throws {UsageError} that says what is there */
export async function resourceOf(
  { transport, part }: Reached,
  subtype: string,
  wanted: string | undefined,
): Promise<string> {
  const robot: Client<typeof RobotService> = createClient(RobotService, transport);
  const { resources } = await robot.resourceNames({});
  const fitting = resources.filter((each) => each.subtype === subtype);
  const found = fitting.find(({ name }) => wanted === undefined || name === wanted);
  if (found) return found.name;
  if (fitting.length > 0) {
    const names = fitting.map(({ name }) => name).join(", ");
    throw new UsageError(
      `${part.name} has no ${subtype} ${JSON.stringify(wanted)}; there is ${names}`,
    );
  }
  throw new Error(
    `${part.name} has no ${subtype} service; add one to its configuration: {"services": [{"name": ` +
      `"${subtype}", "api": "rdk:service:${subtype}", "model": "rdk:builtin:builtin"}]}`,
  );
}
