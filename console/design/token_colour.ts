/** A token as a canvas takes it; `light-dark()` is resolved by the browser only in colours. */
export function tokenColour(box: HTMLElement | undefined, token: string): string {
  if (!box) return "#888";
  box.style.color = `var(${token})`;
  const resolved = getComputedStyle(box).color;
  box.style.color = "";
  return resolved;
}
