import type { RgbImage } from "./decode.ts";

/** The image at another size, each colour between those of the four pixels around. */
export function resize(image: RgbImage, width: number, height: number): RgbImage {
  if (image.width === width && image.height === height) return image;
  const rgb = new Uint8Array(width * height * 3);
  const at = (x: number, y: number, colour: number) =>
    image.rgb[(y * image.width + x) * 3 + colour] ?? 0;
  for (let y = 0; y < height; y++) {
    const [y0, y1, dy] = between(y, height, image.height);
    for (let x = 0; x < width; x++) {
      const [x0, x1, dx] = between(x, width, image.width);
      for (let colour = 0; colour < 3; colour++) {
        const upper = at(x0, y0, colour) * (1 - dx) + at(x1, y0, colour) * dx;
        const lower = at(x0, y1, colour) * (1 - dx) + at(x1, y1, colour) * dx;
        rgb[(y * width + x) * 3 + colour] = Math.round(upper * (1 - dy) + lower * dy);
      }
    }
  }
  return { width, height, rgb };
}

/** Two neighbours in a row of `from` pixels of a pixel in one of `to`, and how far it is along. */
function between(position: number, to: number, from: number): [number, number, number] {
  const exact = Math.min(Math.max((position + 0.5) * from / to - 0.5, 0), from - 1);
  const first = Math.floor(exact);
  return [first, Math.min(first + 1, from - 1), exact - first];
}
