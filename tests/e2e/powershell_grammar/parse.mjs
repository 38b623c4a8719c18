// deno run -A --config deno.json parse.mjs FILE…: prints where files are no PowerShell, as JSON, and
// the names of the functions that they define.
import { readFile } from "node:fs/promises";
import process from "node:process";
import grammar from "tree-sitter-powershell/tree-sitter-powershell.wasm" with { type: "bytes" };
import { Language, Parser } from "web-tree-sitter";

await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(grammar));

const found = [];
for (const file of process.argv.slice(2)) {
  const tree = parser.parse(await readFile(file, "utf8"));
  const errors = [];
  const functions = [];
  const walk = (node) => {
    if (node.isError || node.isMissing) {
      errors.push(`line ${node.startPosition.row + 1}: ${node.text.slice(0, 80)}`);
    }
    if (node.type === "function_name") functions.push(node.text);
    for (const child of node.children) walk(child);
  };
  walk(tree.rootNode);
  found.push({ errors, functions });
}
process.stdout.write(JSON.stringify(found));
