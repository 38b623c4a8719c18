import type { RgbImage } from "./decode.ts";

/** The image at another size, each colour between those of the four pixels around. */
export function resize(image: RgbImage, width: number, height: number): RgbImage {
  if (image.width === width && image.height === height) return image;
  const from = image.rgb;
  const rgb = new Uint8Array(width * height * 3);
  const columns = neighbours(width, image.width);
  const rows = neighbours(height, image.height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    const upper = rows.first[y]! * image.width;
    const lower = rows.second[y]! * image.width;
    const dy = rows.share[y]!;
    for (let x = 0; x < width; x++) {
      const dx = columns.share[x]!;
      const [left, right] = [columns.first[x]!, columns.second[x]!];
      const a = (upper + left) * 3;
      const b = (upper + right) * 3;
      const c = (lower + left) * 3;
      const d = (lower + right) * 3;
      for (let colour = 0; colour < 3; colour++) {
        const above = from[a + colour]! * (1 - dx) + from[b + colour]! * dx;
        const below = from[c + colour]! * (1 - dx) + from[d + colour]! * dx;
        rgb[to++] = Math.round(above * (1 - dy) + below * dy);
      }
    }
  }
  return { width, height, rgb };
}

/** For each of `to` pixels in a row, its two neighbours of `from`, and how far it is along. */
function neighbours(to: number, from: number) {
  const first = new Int32Array(to);
  const second = new Int32Array(to);
  const share = new Float64Array(to);
  for (let position = 0; position < to; position++) {
    const exact = Math.min(Math.max((position + 0.5) * from / to - 0.5, 0), from - 1);
    first[position] = Math.floor(exact);
    second[position] = Math.min(first[position]! + 1, from - 1);
    share[position] = exact - first[position]!;
  }
  return { first, second, share };
}
