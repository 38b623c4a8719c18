import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode, Tree } from "@lezer/common";

/** Steps to a value: names and numbers. */
export type Path = readonly (string | number)[];

/** A text of hundreds of kilobytes takes a fraction of it. */
const READ_WITHIN_MS = 1_000;

/** The tree of the whole text: an editor reads in slices, and has none of what is further down. */
export function wholeTree(state: EditorState, withinMs = READ_WITHIN_MS): Tree {
  return ensureSyntaxTree(state, state.doc.length, withinMs) ?? syntaxTree(state);
}

/** The text of a property's name. */
export function nameOf(state: EditorState, property: SyntaxNode): string | undefined {
  const node = property.getChild("PropertyName");
  if (!node) return undefined;
  try {
    return JSON.parse(state.sliceDoc(node.from, node.to));
  } catch {
    return undefined; // Not closed yet.
  }
}

/** The path of the value that a node is, or is the name of. */
export function pathOf(state: EditorState, node: SyntaxNode): (string | number)[] {
  const path: (string | number)[] = [];
  for (let here: SyntaxNode | null = node; here; here = here.parent) {
    if (here.name === "Property") path.unshift(nameOf(state, here) ?? "");
    else if (here.parent?.name === "Array") path.unshift(indexIn(here));
  }
  return path;
}

function indexIn(node: SyntaxNode): number {
  let index = 0;
  for (let before = node.prevSibling; before; before = before.prevSibling) {
    if (/^(Object|Array|String|Number|True|False|Null)$/.test(before.name)) index++;
  }
  return index;
}

/** Where a value stands in the text: that of the nearest one above where it is not there. */
export function placeOf(
  state: EditorState,
  tree: Tree,
  path: Path,
): { from: number; to: number } {
  let node: SyntaxNode | null = tree.topNode.firstChild;
  let place = { from: 0, to: Math.min(1, state.doc.length) };
  for (const [at, step] of path.entries()) {
    if (!node) break;
    const child: SyntaxNode | null = typeof step === "number"
      ? elementAt(node, step)
      : node.getChildren("Property").find((each) => nameOf(state, each) === step) ?? null;
    if (!child) break;
    const name = child.getChild("PropertyName");
    place = name && at === path.length - 1
      ? { from: name.from, to: child.to }
      : { from: child.from, to: name?.to ?? child.from + 1 };
    node = child.name === "Property" ? child.lastChild : child;
  }
  return place;
}

function elementAt(array: SyntaxNode, index: number): SyntaxNode | null {
  let left = index;
  for (let node = array.firstChild; node; node = node.nextSibling) {
    if (!/^(Object|Array|String|Number|True|False|Null)$/.test(node.name)) continue;
    if (left-- === 0) return node;
  }
  return null;
}

/**
 * A JSON Pointer as steps; numbers where an array is meant cannot be determined from names in it.
 */
export function fromPointer(pointer: string): (string | number)[] {
  return pointer.replace(/^#/, "").split("/").slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((step) => /^\d+$/.test(step) ? Number(step) : step);
}
