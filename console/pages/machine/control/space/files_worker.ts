/** Reads files of shapes apart from the page: {@link FileReading} ends it. */
import { contentOf, type FileKind } from "./files.ts";

addEventListener("message", ({ data }: MessageEvent<{ kind: FileKind; file: Uint8Array }>) => {
  postMessage(contentOf(data.kind, data.file));
});
