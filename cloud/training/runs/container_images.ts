import * as z from "zod";
import { describeFsError } from "../../../shared/base/files/fs_error.ts";
import type { TrainingContainer } from "./runner.ts";

/** Images that anybody may pull, with bash, Python and pip; what runs where none are named. */
export const USUAL_IMAGES: readonly TrainingContainer[] = [
  {
    key: "tf:2.17",
    uri: "docker.io/tensorflow/tensorflow:2.17.0",
    framework: "tensorflow",
    description: "TensorFlow 2.17, for processors",
  },
  {
    key: "python:3.12",
    uri: "docker.io/library/python:3.12-bookworm",
    framework: "any",
    description: "Python 3.12; the script brings its libraries",
  },
];

/** The operator's list is wrong: where, and what it has to be. */
export class ImageListError extends Error {
  override readonly name = "ImageListError";
}

const FORM = z.array(z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9][\w.:-]{0,99}$/, "1 to 100 letters, digits and _ . : -"),
  // What begins with - would be taken for an option of the engine.
  image: z.string().regex(/^[A-Za-z0-9][^\s]{0,499}$/, "the name of an image"),
  framework: z.string().max(100).default("any"),
  description: z.string().max(500).default(""),
})).min(1, "at least one is needed");

/**
 * Reads the operator's list of images: a JSON list of `{"key", "image", "framework",
 * "description"}`, the usual one first.
 *
 * @throws {ImageListError}
 */
export async function readImages(path: string): Promise<TrainingContainer[]> {
  let value: unknown;
  try {
    value = JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new ImageListError(`${path} is no JSON: ${error.message}`, { cause: error });
    }
    throw new ImageListError(describeFsError(error, "read the list of images", path), {
      cause: error,
    });
  }
  const { success, data, error } = FORM.safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    const where = (issue?.path ?? []).map((part) => `[${JSON.stringify(part)}]`).join("");
    throw new ImageListError(
      `${path}${where}: ${issue?.message}; a list is needed like ` +
        '[{"key": "tf:2.17", "image": "docker.io/tensorflow/tensorflow:2.17.0"}]',
    );
  }
  const keys = data.map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new ImageListError(`${path}: the key ${twice} is there twice`);
  return data.map(({ image: uri, ...container }) => ({ ...container, uri }));
}
