export const PAGE_STYLE_PATH = "/account/pages.css";

/** The look of these pages: that of the console, which they do without. */
export const PAGE_STYLE = `
:root { color-scheme: light dark }
body {
  margin: 0; min-height: 100dvh; display: grid; place-items: center; padding: 16px;
  box-sizing: border-box; background: light-dark(#fff, #14171c); color: light-dark(#1a1f27, #e7eaef);
  font: 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main {
  box-sizing: border-box; width: min(400px, 100%); padding: 24px; border-radius: 6px;
  border: 1px solid light-dark(#d9dde3, #2e3540); background: light-dark(#f6f7f9, #1b1f26);
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 16px; font-size: 1.25rem; line-height: 1.3 }
p { margin: 0 0 16px }
label { font-size: 0.8125rem; font-weight: 500 }
input, button {
  box-sizing: border-box; min-height: 36px; padding: 0 12px; border-radius: 6px; font: inherit;
  color: inherit; border: 1px solid light-dark(#868f9c, #6d7787);
}
input { width: 100%; margin-top: 4px; background: light-dark(#fff, #14171c) }
button {
  cursor: pointer; font-weight: 500; border-color: light-dark(#1f5fbf, #79adff);
  background: light-dark(#1f5fbf, #79adff); color: light-dark(#fff, #0d1a2d);
}
button + button { background: transparent; color: inherit }
a { color: light-dark(#1f5fbf, #79adff) }
[role=alert] { color: light-dark(#b3261e, #ff8f85) }
:focus-visible { outline: 2px solid light-dark(#1f5fbf, #a5c8ff); outline-offset: 2px }
@media (pointer: coarse) { input, button { min-height: 44px } }
`.trim();
