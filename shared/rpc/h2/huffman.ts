/** The Huffman code of HPACK (RFC 7541, appendix B). Pure. */

/**
 * Bits of the code of each byte 0 to 255 and of the end mark. The code is canonical, so that the
 * lengths say it all: codes count up within a length, and lengths follow one another.
 */
const CODE_LENGTHS = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  [30],
].flat();

const END_MARK = 256;
const LONGEST = 30;

/** For each length: the first code of it, how many there are, and where their symbols begin. */
interface Tables {
  readonly firstCode: Uint32Array;
  readonly count: Uint32Array;
  readonly offset: Uint32Array;
  readonly symbols: Uint16Array;
}

function tables(): Tables {
  const [firstCode, count, offset] = [0, 0, 0].map(() => new Uint32Array(LONGEST + 1));
  for (const length of CODE_LENGTHS) count![length]!++;
  let code = 0;
  for (let length = 1; length <= LONGEST; length++) {
    code = (code + count![length - 1]!) * 2;
    firstCode![length] = code;
    offset![length] = offset![length - 1]! + count![length - 1]!;
  }
  const symbols = CODE_LENGTHS.map((length, symbol) => ({ length, symbol }))
    .sort((a, b) => a.length - b.length || a.symbol - b.symbol).map(({ symbol }) => symbol);
  return {
    firstCode: firstCode!,
    count: count!,
    offset: offset!,
    symbols: Uint16Array.from(symbols),
  };
}

/** Decodes strings of headers. */
export class HuffmanDecoder {
  readonly #tables = tables();

  /** The bytes behind `encoded`; undefined where it is not valid (section 5.2). */
  decode(encoded: Uint8Array): Uint8Array | undefined {
    const { firstCode, count, offset, symbols } = this.#tables;
    // The shortest code has 5 bits.
    const out = new Uint8Array(Math.floor(encoded.length * 8 / 5));
    let written = 0;
    let code = 0;
    let length = 0;
    for (const byte of encoded) {
      for (let bit = 7; bit >= 0; bit--) {
        code = code * 2 + (byte >> bit & 1);
        if (++length > LONGEST) return undefined;
        const index = code - firstCode[length]!;
        if (index < 0 || index >= count[length]!) continue;
        const symbol = symbols[offset[length]! + index]!;
        if (symbol === END_MARK) return undefined;
        out[written++] = symbol;
        code = 0;
        length = 0;
      }
    }
    // What is left over is padding: less than a byte, all ones.
    const padded = length < 8 && code === 2 ** length - 1;
    return padded ? out.subarray(0, written) : undefined;
  }
}
