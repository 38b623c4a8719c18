import type {
  DescMessage,
  DescMethodClientStreaming,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { callHeaders } from "./session.svelte.ts";
import { uploadAnswer, uploadBody } from "./upload_message.ts";

export interface UploadOptions<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethodClientStreaming<I, O>;
  /** The first message: what is uploaded. */
  readonly first: MessageInitShape<I>;
  /** Number of the field that holds contents. */
  readonly field: number;
  readonly file: Blob;
  /** How much is sent, 0 to 1. */
  readonly progress: (share: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Calls a method that takes a file. Browsers send no streams, so the calls of Connect cannot; but the
 * whole stream as one body is the same to the cloud.
 *
 * @throws {ConnectError} as any other call; CANCELED after the signal
 */
export async function upload<I extends DescMessage, O extends DescMessage>(
  options: UploadOptions<I, O>,
): Promise<MessageShape<O>> {
  const { method, first, field, file, progress, signal } = options;
  const request = new XMLHttpRequest();
  const ended = new Promise<void>((resolve, reject) => {
    const failed = (message: string, code: Code) => () => reject(new ConnectError(message, code));
    request.onload = () => resolve();
    request.onerror = failed("the upload was cut; send it again", Code.Unavailable);
    request.onabort = failed("the upload was aborted", Code.Canceled);
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
  });
  request.open("POST", `/${method.parent.typeName}/${method.name}`);
  request.responseType = "arraybuffer";
  for (const [name, value] of Object.entries(callHeaders())) request.setRequestHeader(name, value);
  request.setRequestHeader("content-type", "application/connect+proto");
  request.setRequestHeader("connect-protocol-version", "1");
  const stop = () => request.abort();
  signal.addEventListener("abort", stop);
  try {
    request.send(uploadBody(method, first, field, file));
    await ended;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const bytes = new Uint8Array(request.response as ArrayBuffer);
  if (request.status === 200) return uploadAnswer(method, bytes);
  throw new ConnectError(`HTTP ${request.status}`, Code.Unavailable);
}
