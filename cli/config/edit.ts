import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../shared/base/errors/to_error.ts";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { parseConfig } from "./part_config.ts";

/** Opens a file in an editor and waits until it is closed. @returns the exit code */
export type OpenEditor = (path: string) => Promise<number>;

/** What was edited, in a file that stays until it is removed. */
export interface Edited {
  readonly path: string;
  readonly text: string;
  readonly value: JsonObject;
  remove(): Promise<void>;
}

/**
 * Lets a person change a text in an editor.
 *
 * @param again requested a text that is no JSON: whether to open the editor once more
 * @throws {Error} that names the file, which is kept
 */
export async function editText(
  text: string,
  name: string,
  openEditor: OpenEditor,
  again: (problem: string) => Promise<boolean>,
): Promise<Edited> {
  const folder = await Deno.makeTempDir({ prefix: "machine-config-" });
  const path = join(folder, `${name.replaceAll(/[^\w.-]/g, "_")}.json`);
  await writeFileAtomic(path, text);
  for (;;) {
    const code = await openEditor(path);
    if (code !== 0) {
      throw new Error(`the editor exited with ${code}; nothing was saved, your text is in ${path}`);
    }
    const edited = await Deno.readTextFile(path);
    try {
      const value = parseConfig(edited, path);
      return {
        ...{ path, text: edited, value },
        remove: () => Deno.remove(folder, { recursive: true }),
      };
    } catch (error) {
      const problem = toError(error).message;
      if (await again(problem)) continue;
      throw new Error(`${problem}; nothing was saved, your text is in ${path}`, { cause: error });
    }
  }
}

/** The editor of `VISUAL` or `EDITOR`, else vi (notepad on Windows). */
export function systemEditor(env: (name: string) => string | undefined): OpenEditor {
  return async (path) => {
    const fallback = Deno.build.os === "windows" ? "notepad" : "vi";
    const editor = env("VISUAL") || env("EDITOR") || fallback;
    const [program, ...args] = Deno.build.os === "windows"
      ? ["cmd", "/c", `${editor} "${path}"`]
      : ["/bin/sh", "-c", `${editor} "$0"`, path];
    const { code } = await new Deno.Command(program!, {
      ...{ args, stdin: "inherit", stdout: "inherit", stderr: "inherit" },
    }).spawn().status;
    if (code === 127) {
      throw new Error(`there is no editor ${editor}; name one in the environment: EDITOR=nano`);
    }
    return code;
  };
}
