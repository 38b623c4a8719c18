/** Pictures of cameras, as browsers draw them. */
import { DEPTH_MIME, greyOf } from "./depth.ts";

/** Decodes a picture, depth maps too; undefined when the browser cannot. */
export async function pictureOf(
  bytes: Uint8Array,
  mime: string,
): Promise<ImageBitmap | undefined> {
  try {
    if (mime.startsWith(DEPTH_MIME)) {
      const grey = greyOf(bytes);
      return grey &&
        await createImageBitmap(new ImageData(grey.pixels, grey.width, grey.height));
    }
    return await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: mime }));
  } catch {
    return undefined;
  }
}

/** Has the browser save what is drawn. */
export function savePicture(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => {
    if (!blob) return;
    const url = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.href = url;
    const time = new Date().toISOString().replaceAll(":", "-").slice(0, 19);
    link.download = `${name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")}-${time}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }, "image/png");
}
