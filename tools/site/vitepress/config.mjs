// The site's settings; tools/site/main.ts writes site.json next to it.
import { readFileSync } from "node:fs";

const site = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8"));

/** Addresses of headings as on the hosts of repositories, for which the links are written. */
const slugify = (text) =>
  text.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");

export default {
  title: "machine",
  description: "Manage a fleet of machines: robots, kiosks, gateways, camera boxes.",
  lang: "en",
  base: site.base,
  outDir: site.outDir,
  cacheDir: "../cache",
  // Addresses with .html work wherever plain files are served.
  cleanUrls: false,
  // Of a tag, which stays as it is, all; else files that are copied: pages are checked, and tests/build/site_test.ts follows every link.
  ignoreDeadLinks: site.up !== "" || [/\.(?!md$|html$)[a-z]+$/],
  metaChunk: true,
  // Pictures lie as in the repository, so their addresses are right as they are written.
  vue: { template: { transformAssetUrls: false } },
  markdown: { anchor: { slugify } },
  vite: { build: { chunkSizeWarningLimit: 5000 } },
  themeConfig: {
    nav: [
      { text: "Get started", link: "/docs/getting-started" },
      { text: "Console", link: "/docs/console" },
      { text: "Changes", link: "/CHANGELOG" },
      {
        text: site.version,
        // Other versions are other sites: no page of this one.
        items: site.versions.map(({ text, path }) => ({
          text,
          link: `/${site.up}${path}index.html`,
          target: "_self",
        })),
      },
    ],
    sidebar: site.sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    docFooter: { prev: false, next: false },
  },
};
