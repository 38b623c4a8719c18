/** The smallest images and point clouds that have a header. Their images cannot be decoded. */

/** A PNG: signature and IHDR. */
export function pngBytes(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(33);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, 13);
  view.setUint32(12, 0x49484452);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

/** A JPEG: APP0, a table, the frame header of a progressive image, the end. */
export function jpegBytes(width: number, height: number): Uint8Array<ArrayBuffer> {
  const app0 = [0xff, 0xe0, 0, 4, 1, 2];
  const huffman = [0xff, 0xc4, 0, 3, 9];
  const frame = [0xff, 0xc2, 0, 8, 8, height >> 8, height & 255, width >> 8, width & 255, 1];
  return new Uint8Array([0xff, 0xd8, ...app0, 0xff, ...huffman, ...frame, 0xff, 0xd9]);
}

/** A cloud of one point. */
export const PCD_TEXT = `# .PCD v0.7
VERSION 0.7
FIELDS x y z
SIZE 4 4 4
TYPE F F F
COUNT 1 1 1
WIDTH 1
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS 1
DATA ascii
1 2 3
`;
