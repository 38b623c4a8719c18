import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../base/errors/to_error.ts";
import { toFileError } from "../../base/files/fs_error.ts";
import { UsageError } from "../../base/flags/flags.ts";
import { isJsonObject } from "../../base/json/json.ts";

/** A trigger of a file, or of standard input for `-`. @throws {UsageError} {Error} */
export async function readTrigger(file: string): Promise<JsonObject> {
  let text: string;
  try {
    text = file === "-"
      ? await new Response(Deno.stdin.readable).text()
      : await Deno.readTextFile(file);
  } catch (error) {
    throw toFileError(error, "read the trigger", file);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = toError(error).message;
    throw new UsageError(`${file} is no JSON: ${reason}`, { cause: error });
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(`${file}: a trigger is a JSON object with name, event and notifications`);
}
