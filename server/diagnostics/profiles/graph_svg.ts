/** Draws the graph of resources, without another program. Pure. */
import {
  type GraphNode,
  layOut,
  type PlacedNode,
} from "../../../shared/base/graph_layout/layout.ts";
import { colourOf } from "./graph.ts";

const BOX = { height: 36, rowGap: 14, columnGap: 90, margin: 20, characterWidth: 7 } as const;

/** What depends stands right of what it needs; colours as in the DOT form. */
export function toSvg(graph: readonly GraphNode[]): string {
  const { nodes, edges, layers } = layOut(graph);
  const width = BOX.characterWidth * Math.max(20, ...nodes.map(({ key }) => key.length)) + 20;
  const place = (node: PlacedNode) => ({
    x: BOX.margin + node.layer * (width + BOX.columnGap),
    y: BOX.margin + node.order * (BOX.height + BOX.rowGap),
  });
  const places = new Map(nodes.map((node) => [node.key, place(node)]));
  const lines = edges.map(({ from, to, optional }) => {
    const a = places.get(to)!;
    const b = places.get(from)!;
    const [x1, y1] = [a.x + width, a.y + BOX.height / 2];
    const [x2, y2] = [b.x, b.y + BOX.height / 2];
    const bend = Math.max(BOX.columnGap / 2, (x2 - x1) / 2);
    return `<path d="M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}"${
      optional ? ' stroke-dasharray="4"' : ""
    }/>`;
  });
  const boxes = nodes.map((node) => {
    const { x, y } = places.get(node.key)!;
    return `<g><title>${escapeXml(`${node.key}: ${node.state}`)}</title>` +
      `<rect x="${x}" y="${y}" width="${width}" height="${BOX.height}" rx="5" ` +
      `fill="${colourOf(node.state)}" stroke="#57606a"/>` +
      `<text x="${x + 10}" y="${y + 15}">${escapeXml(node.key)}</text>` +
      `<text x="${x + 10}" y="${y + 30}" fill="#57606a">${escapeXml(node.state)}</text></g>`;
  });
  const rows = nodes.reduce((most, { order }) => Math.max(most, order + 1), 0);
  const total = {
    width: 2 * BOX.margin + Math.max(1, layers) * (width + BOX.columnGap) - BOX.columnGap,
    height: 2 * BOX.margin + Math.max(1, rows) * (BOX.height + BOX.rowGap) - BOX.rowGap,
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${total.width}" ` +
    `height="${total.height}" font-family="monospace" font-size="11">\n` +
    `<rect width="100%" height="100%" fill="white"/>\n` +
    `<g fill="none" stroke="#8c959f">${lines.join("\n")}</g>\n${boxes.join("\n")}\n</svg>\n`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
