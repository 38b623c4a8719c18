/** As processors are called in the names of application images. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  "linux/amd64": "x86_64",
  "linux/arm64": "aarch64",
};

/** Whether there are application images for a platform. */
export function hasImage(platform: string): boolean {
  return ARCHITECTURES[platform] !== undefined;
}

/**
 * Where the application image of machine-server is in a download folder:
 * `image/machine-server-1.2.3-x86_64.AppImage`.
 *
 * @throws {RangeError} for a platform without images
 */
export function imagePath(version: string, platform: string): string {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) throw new RangeError(`there is no image for ${platform}`);
  return `image/machine-server-${version}-${architecture}.AppImage`;
}
