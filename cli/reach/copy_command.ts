import { createClient } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import { ShellService } from "../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { reach, reachFlags, resourceOf } from "./reach.ts";
import { receiveFiles } from "./receive_files.ts";
import { sendFiles } from "./send_files.ts";

/** Copies of files to and from machines. */
export const copyCommands: CommandTree = {
  "cp": command({
    summary: "Copy a file or folder to a machine, or from it.",
    flags: {
      ...reachFlags,
      "recursive": { type: "boolean", aliases: ["r"], doc: "Copy folders, with all they hold." },
      "preserve": { type: "boolean", aliases: ["p"], doc: "Keep times and permissions." },
      "service": {
        type: "string",
        placeholder: "NAME",
        doc: "Name of the shell service. Default: the first one.",
      },
    },
    arguments: [
      { placeholder: "FROM", doc: "A path here, or PART:PATH on a machine." },
      { placeholder: "TO", doc: "The other way around." },
    ],
    footer: "Paths on the machine are relative to the home folder of its server's user. " +
      "Write ./a:b for a file here whose name has a colon.",
    async run(context, { values, arguments: [from = "", to = ""] }) {
      const [source, target] = [place(from), place(to)];
      if ((source.part === undefined) === (target.part === undefined)) {
        throw new UsageError("one of FROM and TO is on a machine: PART:PATH, the other one here");
      }
      const wanted = source.part ?? target.part ?? "";
      await using machine = await reach(context, wanted, values.address);
      const name = await resourceOf(machine, "shell", values.service);
      const client = createClient(ShellService, machine.transport);
      const { recursive, preserve } = values;
      const copied = source.part === undefined
        ? await sendFiles(context, client, {
          ...{ name, source: source.path, destination: target.path, recursive, preserve },
        })
        : await receiveFiles(context, client, {
          ...{ name, source: source.path, destination: target.path, recursive, preserve },
        });
      return {
        json: { ...copied, part_id: machine.part.id },
        text: `copied ${copied.files} ${
          copied.files === 1 ? "file" : "files"
        }, ${copied.bytes} bytes\n`,
      };
    },
  }),
};

/** `PART:PATH`, or a path here. A single letter before the colon is a drive of Windows. */
function place(text: string): { readonly part?: string; readonly path: string } {
  const at = text.indexOf(":");
  const slash = text.search(/[/\\]/);
  if (at <= 0 || (slash >= 0 && slash < at)) return { path: text };
  if (at === 1 && Deno.build.os === "windows") return { path: text };
  return { part: text.slice(0, at), path: text.slice(at + 1) || "." };
}
