import { basename, join, resolve } from "node:path";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import { projectFiles } from "./project_files.ts";
import { publishImage } from "./publish.ts";

const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** Commands about programs for small computers. */
export const microCommands: CommandTree = {
  "micro new": command({
    summary: "Make a project with a driver of your own for machine-micro-server, in a new folder.",
    flags: {
      "sources": {
        type: "string",
        placeholder: "DIR",
        doc: "Checkout of the sources that it is built with. Default: make asks for it.",
      },
      "namespace": {
        type: "string",
        default: "local",
        placeholder: "NAMESPACE",
        doc: "First part of its models' names: that of your organisation.",
      },
    },
    arguments: [{
      placeholder: "NAME",
      doc: "What it is called: small letters, digits and -. Or a path that ends with that.",
    }],
    async run(_context, { values: { sources, namespace }, arguments: [path = ""] }) {
      const name = basename(path);
      for (const text of [name, namespace]) {
        if (!NAME.test(text)) {
          throw new UsageError(
            `${JSON.stringify(text)} is no name of a project or namespace: write 1 to 40 small ` +
              "letters, digits and -, a letter first",
          );
        }
      }
      const files = projectFiles({
        ...{ name, namespace },
        sources: sources === undefined ? "" : await checkedSources(sources),
      });
      const folder = resolve(path);
      await makeEmpty(folder, path);
      for (const [file, text] of Object.entries(files)) {
        await Deno.writeTextFile(join(folder, file), text, { createNew: true });
      }
      const make = sources === undefined ? "make SOURCES=DIR" : "make";
      return {
        json: { name, folder, files: Object.keys(files) },
        text: `${path} is made. Its README.md says how it comes online; it is built by:\n\n` +
          `  cd ${path} && ${make}\n`,
        ids: [folder],
      };
    },
  }),
  "micro publish": command({
    summary: "Upload an image of machine-micro-server and print the service that brings it.",
    flags: {},
    arguments: [{ placeholder: "FILE", doc: "The image, with FILE.json next to it." }],
    footer: "The cloud keeps the image as a package of the organisation, under the file's name. " +
      "Put the service that is printed\ninto the configuration of the machines that are to run it.",
    async run(context, { arguments: [file = ""] }) {
      const service = await publishImage(context, file);
      const shown = `${JSON.stringify(service, undefined, 2)}\n`;
      return { json: service, text: shown, ids: [service.attributes.url] };
    },
  }),
};

async function checkedSources(given: string): Promise<string> {
  const folder = resolve(given);
  const isThere = await Deno.stat(join(folder, "tools", "micro", "main.ts"))
    .then(() => true, () => false);
  if (isThere) return folder;
  throw new UsageError(`--sources: ${folder} has no sources of machine-micro-server`);
}

async function makeEmpty(folder: string, path: string): Promise<void> {
  try {
    await Deno.mkdir(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new UsageError(`there is something called ${path} already; nothing is changed`);
  }
}
