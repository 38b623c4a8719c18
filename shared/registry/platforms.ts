/**
 * What a file of an item can be for; `any` is every system, `linux/any` every host with Linux.
 */
export const PLATFORMS = [
  "any",
  "linux/any",
  "linux/amd64",
  "linux/arm64",
  "linux/arm32v7",
  "linux/arm32v6",
  "darwin/any",
  "darwin/amd64",
  "darwin/arm64",
  "windows/any",
  "windows/amd64",
] as const;
