/** Has the browser save a text as a file. */
export function saveText(name: string, text: string, type = "text/plain"): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Has the browser save something as a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
