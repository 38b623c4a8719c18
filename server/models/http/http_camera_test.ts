import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type CameraService,
  GetImagesRequestSchema,
  GetPropertiesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { jpegBytes, pngBytes } from "../camera/testing.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { httpCameraModel } from "./http_camera_model.ts";
import { multipartBoundary, readFirstPart } from "./multipart.ts";
import { withSite } from "./testing.ts";

type Camera = Driver<typeof CameraService>;

function build(attributes: JsonObject, overrides = {}): Promise<Camera> {
  return construct<Camera, unknown>(httpCameraModel(testEnvironment(overrides)), attributes);
}

async function images(camera: Camera) {
  const response = await camera.getImages!(create(GetImagesRequestSchema), testCall());
  return { image: response.images![0]!, capturedAt: response.responseMetadata!.capturedAt };
}

const encode = (text: string) => new TextEncoder().encode(text);

Deno.test("httpCameraModel() passes the image of the address on, with the time of its arrival", () =>
  withSite(() => new Response(pngBytes(64, 48)), async ({ origin }) => {
    const camera = await build({ url: origin }, { clock: new FakeClock("2026-05-06T07:08:09Z") });
    const { image, capturedAt } = await images(camera);
    assert.equal(image.mimeType, "image/png");
    assert.deepEqual(image.image, pngBytes(64, 48));
    assert.equal(timestampDate(capturedAt as never).toISOString(), "2026-05-06T07:08:09.000Z");
    const properties = await camera.getProperties!(create(GetPropertiesRequestSchema), testCall());
    assert.deepEqual(properties.intrinsicParameters, { widthPx: 64, heightPx: 48 });
    assert.equal(properties.supportsPcd, false);
    await camera.close?.();
  }));

Deno.test("httpCameraModel() takes the first image of a stream and lets go of the rest", async () => {
  const cancelled = Promise.withResolvers<void>();
  const stream = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(encode("--frame\r\nContent-Type: image/jpeg\r\n\r\n"));
        controller.enqueue(jpegBytes(320, 240));
        controller.enqueue(encode("\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n"));
      },
      cancel: () => cancelled.resolve(),
    });
  const headers = { "content-type": "multipart/x-mixed-replace; boundary=frame" };
  await withSite(() => new Response(stream(), { headers }), async ({ origin }) => {
    const camera = await build({ url: origin });
    assert.deepEqual((await images(camera)).image.image, jpegBytes(320, 240));
    await cancelled.promise;
  });
});

Deno.test("httpCameraModel() says what came when it is no image", () =>
  withSite(() => new Response("<html>"), async ({ origin }) => {
    const camera = await build({ url: origin });
    await assert.rejects(
      images(camera),
      new RegExp(`the answer of ${origin}/ is neither JPEG nor PNG: its first bytes are 3c 68`),
    );
    await camera.close?.();
  }));

Deno.test("httpCameraModel() has a problem until its camera gives images again, also when nobody asks", async () => {
  let answer = () => Promise.resolve(new Response("<html>"));
  await withSite(() => answer(), async ({ origin }) => {
    const clock = new FakeClock();
    const camera = await build({ url: origin }, { clock });
    const becomes = (like: RegExp) =>
      waitFor(async () => {
        await clock.advance(2_000);
        return like.test(camera.problem!() ?? "none");
      }, { deadlineMs: 60_000 });
    assert.equal(camera.problem!(), undefined);
    await assert.rejects(images(camera), /neither JPEG nor PNG/);
    assert.match(camera.problem!() ?? "", /neither JPEG nor PNG/);
    answer = () => Promise.resolve(new Response(pngBytes(64, 48)));
    await becomes(/^none$/);
    // Who asks leaves before a camera that is frozen times out.
    const frozen = Promise.withResolvers<void>();
    answer = async () => {
      await frozen.promise;
      return new Response(pngBytes(64, 48));
    };
    const caller = new AbortController();
    const asked = camera.getImages!(create(GetImagesRequestSchema), testCall(caller.signal));
    await clock.advance(2_000);
    caller.abort(new Error("it took too long"));
    await assert.rejects(async () => await asked, /it took too long/);
    await becomes(/took longer than 10s/);
    frozen.resolve();
    await becomes(/^none$/);
    await camera.close?.();
  });
});

Deno.test("multipartBoundary() finds the boundary however it is written", () => {
  assert.equal(multipartBoundary("multipart/x-mixed-replace;boundary=abc"), "abc");
  assert.equal(multipartBoundary('multipart/x-mixed-replace; x=1; boundary="a b"'), "a b");
  assert.equal(multipartBoundary("Multipart/X-Mixed-Replace; Boundary=--abc; x=1"), "--abc");
  assert.equal(multipartBoundary("image/jpeg"), undefined);
  assert.equal(multipartBoundary(null), undefined);
});

Deno.test("readFirstPart() gives the same image however the bytes are cut", async () => {
  const image = new Uint8Array([...jpegBytes(9, 9), 0x0d, 0x0a, 0x2d, 0x2d, 1]);
  const forms = [
    [`preamble\r\n--b\r\nContent-Type: image/jpeg\r\nContent-Length: ${image.length}\r\n\r\n`, ""],
    ["--b\r\nContent-Type: image/jpeg\r\n\r\n", "\r\n--b--"],
  ] as const;
  for (const [before, after] of forms) {
    const bytes = new Uint8Array([...encode(before), ...image, ...encode(after)]);
    for (let size = 1; size <= bytes.length; size++) {
      assert.deepEqual(await readFirstPart(pieces(bytes, size), "--b", 1_000), image, `${size}`);
    }
  }
});

Deno.test("readFirstPart() refuses parts that are too long, cut short or not there", async () => {
  const read = (text: string, size = 50) => readFirstPart(pieces(encode(text), size), "b", 10);
  await assert.rejects(read("--b\r\nContent-Length: 11\r\n\r\n"), /has more than 10 bytes/);
  await assert.rejects(read(`--b\r\n\r\n${"x".repeat(100)}`), /has more than 10 bytes/);
  await assert.rejects(read("--b\r\n\r\nxxx"), /closed within the first one/);
  await assert.rejects(read("x".repeat(20_000)), /begins without a part/);
});

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.slice(at, at + size));
  }
}
