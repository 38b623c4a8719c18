/** Shared by the windows of a browser: {@link StreamHub}. */
import { type FromHub, StreamHub, type ToHub } from "./stream_hub.ts";

const hub = new StreamHub({
  fetch: (...request) => fetch(...request),
  nowMs: () => performance.now(),
});

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  const take = hub.connect((message: FromHub) => port.postMessage(message));
  port.onmessage = ({ data }: MessageEvent<ToHub>) => take(data);
});
