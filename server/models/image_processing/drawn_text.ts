/** Text in images, in capitals of 3 by 5 dots. */
import type { RgbImage } from "../../../shared/image/decode.ts";

/** Rows of three bits, from the top, five a glyph. */
const GLYPHS: Readonly<Record<string, string>> = {
  ...{ A: "25755", B: "65656", C: "34443", D: "65556", E: "74647", F: "74644", G: "34553" },
  ...{ H: "55755", I: "72227", J: "11152", K: "55655", L: "44447", M: "57755", N: "65555" },
  ...{ O: "25552", P: "65644", Q: "25563", R: "65655", S: "34216", T: "72222", U: "55557" },
  ...{ V: "55552", W: "55775", X: "55255", Y: "55222", Z: "71247", "0": "75557", "1": "26227" },
  ...{ "2": "61247", "3": "61216", "4": "55711", "5": "74616", "6": "34652", "7": "71222" },
  ...{ "8": "25252", "9": "25316", "%": "51245", "-": "00700", ".": "00002", "_": "00007" },
  ...{ ":": "02020", "/": "11244", " ": "00000" },
};
const UNKNOWN = "75557";
const DOT_PX = 2;
const STEP_PX = 4 * DOT_PX;

/** Pixels from the upper edge to the lower, with a margin. */
export const TEXT_HEIGHT = 5 * DOT_PX + 2 * DOT_PX;

/** Writes light letters on a dark ground into the image; what does not fit is left out. */
export function drawText(
  { width, height, rgb }: RgbImage,
  text: string,
  x: number,
  y: number,
): void {
  const right = Math.min(width, x + text.length * STEP_PX + DOT_PX);
  for (let row = y; row < Math.min(height, y + TEXT_HEIGHT); row++) {
    rgb.fill(24, (row * width + x) * 3, (row * width + Math.max(x, right)) * 3);
  }
  for (const [index, letter] of [...text.toUpperCase()].entries()) {
    const rows = GLYPHS[letter] ?? UNKNOWN;
    for (let dot = 0; dot < 15; dot++) {
      if (!(Number(rows[Math.floor(dot / 3)]) & (4 >> dot % 3))) continue;
      const left = x + DOT_PX + index * STEP_PX + dot % 3 * DOT_PX;
      const top = y + DOT_PX + Math.floor(dot / 3) * DOT_PX;
      if (left + DOT_PX > width || top + DOT_PX > height) continue;
      for (let line = top; line < top + DOT_PX; line++) {
        rgb.fill(255, (line * width + left) * 3, (line * width + left + DOT_PX) * 3);
      }
    }
  }
}
