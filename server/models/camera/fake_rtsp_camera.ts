/** A network camera for tests: one stream of H.264 over RTSP and TCP (RFC 2326, RFC 6184). */

export interface FakeRtspCamera {
  readonly port: number;
  /** Requests so far, without their fields: "DESCRIBE". */
  readonly requests: string[];
  close(): void;
}

const FRAME_MS = 50;
const CLOCK_HZ = 90_000;

/**
 * @param video H.264 in Annex B form, which is sent again and again.
 * @param password of user `viewer`; left out, everybody may look.
 */
export function startRtspCamera(video: Uint8Array, password?: string): FakeRtspCamera {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: string[] = [];
  const connections = new Set<Deno.Conn>();
  void (async () => {
    for await (const connection of listener) {
      connections.add(connection);
      void serve(connection, unitsOf(video), requests, password).catch(() => undefined);
    }
  })().catch(() => undefined);
  return {
    port: (listener.addr as Deno.NetAddr).port,
    requests,
    close() {
      listener.close();
      for (const connection of connections) {
        try {
          connection.close();
        } catch {
          // It has ended.
        }
      }
    },
  };
}

async function serve(
  connection: Deno.Conn,
  units: readonly Uint8Array[],
  requests: string[],
  password: string | undefined,
): Promise<void> {
  const wanted = password === undefined ? undefined : `Basic ${btoa(`viewer:${password}`)}`;
  const say = (lines: readonly string[]) =>
    connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  let text = "";
  for await (const bytes of connection.readable.values({ preventCancel: true })) {
    text += new TextDecoder().decode(bytes);
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const request = text.slice(0, end);
      text = text.slice(end + 4);
      const method = request.split(" ")[0] ?? "";
      requests.push(method);
      const number = /CSeq: *(\d+)/i.exec(request)?.[1] ?? "0";
      const head = ["RTSP/1.0 200 OK", `CSeq: ${number}`];
      const given = /Authorization: *([^\r]+)/i.exec(request)?.[1];
      if (wanted !== undefined && method !== "OPTIONS" && given !== wanted) {
        const realm = 'WWW-Authenticate: Basic realm="camera"';
        await say(["RTSP/1.0 401 Unauthorized", `CSeq: ${number}`, realm]);
        continue;
      }
      if (method === "OPTIONS") await say([...head, "Public: DESCRIBE, SETUP, PLAY, TEARDOWN"]);
      if (method === "DESCRIBE") {
        const sdp = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\n" +
          "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:video\r\n" +
          "a=fmtp:96 packetization-mode=1\r\n";
        await connection.write(new TextEncoder().encode(
          `${
            [...head, "Content-Type: application/sdp", `Content-Length: ${sdp.length}`].join("\r\n")
          }` +
            `\r\n\r\n${sdp}`,
        ));
      }
      if (method === "SETUP") {
        await say([...head, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1", "Session: 1"]);
      }
      if (method === "PLAY") {
        await say([...head, "Session: 1"]);
        void play(connection, units).catch(() => undefined);
      }
    }
  }
}

/** Each unit in a packet of its own: over TCP one may have 64 KB. */
async function play(connection: Deno.Conn, units: readonly Uint8Array[]): Promise<void> {
  let [sequence, time] = [0, 0];
  for (;;) {
    for (const unit of units) {
      const type = (unit[0] ?? 0) & 31;
      const isFrame = type === 1 || type === 5;
      const packet = new Uint8Array(16 + unit.length);
      const view = new DataView(packet.buffer);
      view.setUint8(0, 0x24); // "$" on channel 0
      view.setUint16(2, 12 + unit.length);
      view.setUint8(4, 0x80);
      view.setUint8(5, 96 | (isFrame ? 0x80 : 0));
      view.setUint16(6, sequence++ & 0xffff);
      view.setUint32(8, time >>> 0);
      packet.set(unit, 16);
      for (let at = 0; at < packet.length;) at += await connection.write(packet.subarray(at));
      if (!isFrame) continue;
      time += CLOCK_HZ * FRAME_MS / 1_000;
      await new Promise((done) => setTimeout(done, FRAME_MS));
    }
  }
}

function unitsOf(video: Uint8Array): Uint8Array[] {
  const starts: number[] = [];
  for (let at = 0; at + 2 < video.length; at++) {
    if (video[at] === 0 && video[at + 1] === 0 && video[at + 2] === 1) starts.push(at + 3);
  }
  return starts.map((start, index) => {
    const next = starts[index + 1];
    let end = next === undefined ? video.length : next - 3;
    while (end > start && video[end - 1] === 0) end--;
    return video.slice(start, end);
  });
}
