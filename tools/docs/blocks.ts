const BLOCK = /(<!-- generated: ([a-z_-]+)[^\n]*-->\n)[^]*?(<!-- end -->)/g;

/**
 * The document with every block between `<!-- generated: name -->` and `<!-- end -->` made again.
 *
 * @throws {Error} for a block of an unknown name, and for a block that is nowhere.
 */
export function fillBlocks(text: string, blocks: ReadonlyMap<string, string>): string {
  const found = new Set<string>();
  const filled = text.replace(BLOCK, (_, begin: string, name: string, end: string) => {
    const block = blocks.get(name);
    if (block === undefined) throw new Error(`there is no generated block "${name}"`);
    found.add(name);
    return `${begin}\n${block}\n\n${end}`;
  });
  const missing = [...blocks.keys()].filter((name) => !found.has(name));
  if (missing.length > 0) throw new Error(`no place for the generated block ${missing.join(", ")}`);
  return filled;
}
