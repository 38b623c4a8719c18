import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSocket, type Socket } from "node:dgram";
import { Message, parseMessage } from "werift";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { randomSource } from "../../test_tools/random_source.ts";
import { IceAgent, type IceEvents } from "./ice_agent.ts";

const BINDING = 1;
const REQUEST = 0;
const until = (what: string, condition: () => boolean) =>
  waitFor(condition, { what, deadlineMs: 60_000 });
const NOTHING: IceEvents = { candidate() {}, connected() {}, datagram() {}, media() {}, lost() {} };

/** An agent with its sockets, and a stranger with a socket. */
async function withStranger(
  events: Partial<IceEvents>,
  work: (agent: IceAgent, stranger: Stranger) => Promise<void>,
): Promise<void> {
  const agent = new IceAgent(false, { ...NOTHING, ...events }, memoryLogger());
  const socket = createSocket("udp4");
  try {
    await agent.gatherHosts();
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    await work(agent, new Stranger(socket, agent));
  } finally {
    await agent.close();
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}

class Stranger {
  readonly answers: Buffer[] = [];
  readonly #socket: Socket;
  readonly #port: number;

  constructor(socket: Socket, agent: IceAgent) {
    this.#socket = socket;
    const line = agent.candidates.find((candidate) => candidate.includes(" 127.0.0.1 ")) ?? "";
    this.#port = Number(line.split(" ")[5]);
    socket.on("message", (data) => this.answers.push(Buffer.from(data)));
  }

  /** A check as another agent makes it. */
  check(ufrag: string, password: string | undefined): void {
    const message = new Message(BINDING, REQUEST);
    message.setAttribute("USERNAME", `${ufrag}:they`).setAttribute("PRIORITY", 1)
      .setAttribute("ICE-CONTROLLING", 1n);
    if (password !== undefined) message.addMessageIntegrity(Buffer.from(password));
    this.send(message.addFingerprint().bytes);
  }

  send(data: Buffer): void {
    this.#socket.send(data, this.#port, "127.0.0.1");
  }
}

Deno.test("IceAgent answers checks of those who know its password, and nobody else's", async () => {
  await withStranger({}, async (agent, stranger) => {
    stranger.check(agent.ufrag, undefined);
    stranger.check(agent.ufrag, "wrong");
    stranger.check("wrong", agent.password);
    stranger.check(agent.ufrag, agent.password);
    await until("an answer", () => stranger.answers.length > 0);
    stranger.check(agent.ufrag, agent.password);
    await until("another", () => stranger.answers.length > 1);
    assert.equal(stranger.answers.length, 2);
    assert.ok(stranger.answers.every((data) => parseMessage(data, Buffer.from(agent.password))));
  });
});

Deno.test("IceAgent passes on no datagrams of addresses that it does not know, and survives them", async () => {
  let passed = 0;
  await withStranger({ datagram: () => passed++ }, async (agent, stranger) => {
    const random = randomSource(1);
    for (let n = 0; n < 200; n++) stranger.send(Buffer.from(random.bytes(n)));
    for (let first = 0; first < 256; first++) stranger.send(Buffer.alloc(40, first));
    stranger.check(agent.ufrag, agent.password);
    await until("an answer", () => stranger.answers.length > 0);
    assert.equal(passed, 0);
  });
});

Deno.test("IceAgent.close() can be called at any time", async () => {
  const agent = new IceAgent(true, NOTHING, memoryLogger());
  const gathering = agent.gatherHosts();
  await agent.close();
  await gathering;
});
