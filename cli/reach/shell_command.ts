import { partArgument } from "../../shared/commands/choice/part.ts";
import { createClient } from "@connectrpc/connect";
import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import {
  type ShellRequestSchema,
  ShellService,
} from "../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { MessageChannel } from "./channel.ts";
import { reach, reachFlags, resourceOf } from "./reach.ts";

/** What a person types at, and sees. */
export interface Keyboard {
  readonly isTerminal: boolean;
  /** Keys go to the machine as they are pressed. */
  setRaw(raw: boolean): void;
  size(): { readonly columns: number; readonly rows: number } | undefined;
  /** @returns stops listening */
  onResize(listener: () => void): () => void;
  /** What is typed, until standard input ends or the signal is aborted. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A terminal on a machine. */
export function shellCommands(keyboard: Keyboard): CommandTree {
  return {
    "shell": command({
      summary: "Open a shell on a machine; without a terminal it runs standard input.",
      flags: {
        ...reachFlags,
        "service": {
          type: "string",
          placeholder: "NAME",
          doc: "Name of the shell service. Default: the first one.",
        },
      },
      arguments: [partArgument],
      footer: "Takes an owner of the machine, and the service rdk:service:shell.",
      async run(context, { values, arguments: [wanted = ""] }) {
        await using machine = await reach(context, wanted, values.address);
        const name = await resourceOf(machine, "shell", values.service);
        const typed = new MessageChannel<MessageInitShape<typeof ShellRequestSchema>>();
        const tellSize = () => {
          const size = keyboard.size();
          typed.push({
            ...{ name, dataIn: "" },
            ...(size
              ? { extra: { message: "window-change", cols: size.columns, rows: size.rows } }
              : {}),
          });
        };
        tellSize();
        const stopListening = keyboard.onResize(tellSize);
        const ended = new AbortController();
        if (keyboard.isTerminal) keyboard.setRaw(true);
        void type(keyboard, name, typed, ended.signal);
        try {
          const answers = createClient(ShellService, machine.transport).shell(typed);
          const encoder = new TextEncoder();
          for await (const { dataOut, dataErr, eof } of answers) {
            if (dataOut !== "") await context.write(encoder.encode(dataOut));
            if (dataErr !== "") await context.write(encoder.encode(dataErr));
            if (eof) break;
          }
        } finally {
          ended.abort();
          typed.end();
          stopListening();
          if (keyboard.isTerminal) keyboard.setRaw(false);
        }
      },
    }),
  };
}

/** Passes on what is typed. Never rejects: the shell ends when its input does. */
async function type(
  keyboard: Keyboard,
  name: string,
  typed: MessageChannel<MessageInitShape<typeof ShellRequestSchema>>,
  signal: AbortSignal,
): Promise<void> {
  const decoder = new TextDecoder();
  let last = "\n";
  try {
    for await (const bytes of keyboard.read(signal)) {
      const dataIn = decoder.decode(bytes, { stream: true });
      if (dataIn !== "") last = dataIn.slice(-1);
      await typed.room();
      typed.push({ name, dataIn });
    }
    // A shell at a terminal does not notice that nobody types any more.
    if (!keyboard.isTerminal) typed.push({ name, dataIn: `${last === "\n" ? "" : "\n"}exit\n` });
  } finally {
    typed.end();
  }
}

/** The terminal of this process. */
export const systemKeyboard: Keyboard = {
  get isTerminal() {
    return Deno.stdin.isTerminal();
  },
  setRaw: (raw) => Deno.stdin.setRaw(raw),
  size: () => Deno.stdout.isTerminal() ? Deno.consoleSize() : undefined,
  onResize(listener) {
    if (Deno.build.os === "windows") return () => {};
    Deno.addSignalListener("SIGWINCH", listener);
    return () => Deno.removeSignalListener("SIGWINCH", listener);
  },
  async *read(signal) {
    const buffer = new Uint8Array(16 * 1024);
    while (!signal.aborted) {
      const count = await Deno.stdin.read(buffer).catch(() => null);
      if (count === null) return;
      yield buffer.slice(0, count);
    }
  },
};
