/** Point clouds in the format of the Point Cloud Library (PCD 0.7), binary. */

export interface Point {
  /** Metres. */
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** Red, green and blue, 0 to 255. */
  readonly color: readonly [number, number, number];
}

/** Bytes of a point: three floats, and the colour as one whole number. */
const POINT_BYTES = 16;

export const PCD_MIME_TYPE = "pointcloud/pcd";

/** The file. */
export function pcd(points: readonly Point[]): Uint8Array {
  const header = new TextEncoder().encode(
    [
      "VERSION .7",
      "FIELDS x y z rgb",
      "SIZE 4 4 4 4",
      "TYPE F F F I",
      "COUNT 1 1 1 1",
      `WIDTH ${points.length}`,
      "HEIGHT 1",
      "VIEWPOINT 0 0 0 1 0 0 0",
      `POINTS ${points.length}`,
      "DATA binary\n",
    ].join("\n"),
  );
  const bytes = new Uint8Array(header.length + points.length * POINT_BYTES);
  bytes.set(header);
  const view = new DataView(bytes.buffer);
  points.forEach(({ x, y, z, color: [red, green, blue] }, index) => {
    const at = header.length + index * POINT_BYTES;
    view.setFloat32(at, x, true);
    view.setFloat32(at + 4, y, true);
    view.setFloat32(at + 8, z, true);
    view.setInt32(at + 12, red << 16 | green << 8 | blue, true);
  });
  return bytes;
}
