import { dirname } from "node:path";
import { toFileError } from "../../base/files/fs_error.ts";
import { progressBar } from "../output/progress.ts";
import type { CommandContext } from "../run/command.ts";

/** The body of what a cloud answers to a download. @throws {Error} with the reason that it gives */
export async function bodyOf(answer: Response): Promise<ReadableStream<Uint8Array>> {
  if (answer.ok && answer.body) return answer.body;
  const text = await answer.text();
  throw new Error(`the cloud refuses the download (${answer.status}): ${reasonIn(text)}`);
}

function reasonIn(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: string }).error ?? text);
  } catch {
    return text.slice(0, 200); // Somebody else answered, a proxy.
  }
}

/**
 * Saves a download, with a progress bar for who looks at a terminal. The file is there whole or not
 * at all: it is written next to its place and renamed.
 *
 * @returns how many bytes it has
 * @throws {FileError}, or what the cloud gives as the reason
 */
export async function saveAnswer(
  context: CommandContext,
  answer: Response,
  path: string,
): Promise<number> {
  const body = await bodyOf(answer);
  const length = Number(answer.headers.get("content-length") ?? 0);
  const progress = progressBar(context, `download ${path}`, length > 0 ? length : undefined);
  const temporary = `${path}.${context.random.uuid().slice(0, 8)}.tmp`;
  let bytes = 0;
  try {
    using file = await Deno.open(temporary, { write: true, createNew: true });
    for await (const piece of body) {
      for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
      bytes += piece.length;
      progress.add(piece.length);
    }
    await Deno.rename(temporary, path);
    return bytes;
  } catch (error) {
    await body.cancel().catch(() => undefined); // It has ended, or the file could not be made.
    await Deno.remove(temporary).catch(() => undefined); // It may not have been made.
    throw error instanceof Error && "code" in error && typeof error.code === "string"
      ? toFileError(error, `write to ${dirname(path)}`, path)
      : error;
  } finally {
    progress.end();
  }
}
