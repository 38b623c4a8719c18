import { createHash } from "node:crypto";

/** The page's style. Colours have a contrast of 4.5:1 or more, what is touched 44 px of height. */
export const STYLE =
  `:root{color-scheme:light dark;--bg:#f4f5f7;--card:#fff;--ink:#1b1f24;--soft:#57606a;
--line:#d0d7de;--accent:#0b5cad;--on:#fff;--bad:#a40e26;--badbg:#fff0f1;--good:#116329}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--card:#161b22;--ink:#e6edf3;--soft:#9da7b3;
--line:#3d444d;--accent:#6cb6ff;--on:#0d1117;--bad:#ff9492;--badbg:#2d1518;--good:#6fdd8b}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:0 auto;padding:1.25rem 1rem 3rem}
h1{font-size:1.4rem;line-height:1.25;margin:.25rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:0 0 .25rem;overflow-wrap:anywhere}
p{margin:.25rem 0 .75rem}
.soft,small{color:var(--soft);font-size:.875rem}
fieldset,.card{border:1px solid var(--line);border-radius:.75rem;background:var(--card);margin:0 0 1rem;
padding:.75rem 1rem;min-width:0}
legend{font-weight:600;padding:0 .35rem}
.bad{border-color:var(--bad);background:var(--badbg)}
.bad h2{color:var(--bad)}
.good h2{color:var(--good)}
.n{display:flex;align-items:center;gap:.75rem;min-height:3rem;padding:.25rem 0;
border-top:1px solid var(--line)}
.n:first-of-type{border-top:0}
.n input{width:1.25rem;height:1.25rem;flex:none;margin:0;accent-color:var(--accent)}
.n>span{flex:1;min-width:0;overflow-wrap:anywhere}
.n bdi{display:block;max-height:3em;overflow:hidden}
.n small{display:block}
.n.off{color:var(--soft)}
.n>.g{flex:none;letter-spacing:1px;font-size:.8rem}
.g i{opacity:.25;font-style:normal}
label.t{display:block;font-weight:600;margin:.5rem 0 .25rem}
input[type=text],input[type=password],textarea{width:100%;min-height:2.75rem;padding:.5rem .75rem;
font:inherit;color:inherit;background:var(--bg);border:1px solid var(--soft);border-radius:.5rem}
textarea{font:.875rem/1.4 ui-monospace,monospace;min-height:6rem}
.row{display:flex;gap:.5rem}
.row input{flex:1;min-width:0}
button,.button{font:inherit;font-weight:600;min-height:2.75rem;padding:.5rem 1rem;border-radius:.5rem;
border:1px solid var(--accent);background:transparent;color:var(--accent);cursor:pointer}
.button{display:inline-block;text-decoration:none}
.main{width:100%;background:var(--accent);color:var(--on);font-size:1.05rem}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
form:has([name=network]) .other{display:none}
form:has([value=other]:checked) .other{display:block}
form:has([data-open]:checked) .psk{display:none}
[hidden]{display:none!important}
progress{width:100%;accent-color:var(--accent)}`;

/** What the page does better with JavaScript; nothing of it is needed. */
export const SCRIPT = `(function(){"use strict";
function q(s){return document.querySelector(s)}
var show=q("#show"),psk=q("#psk"),form=q("#setup"),trying=q("#trying");
if(show){show.hidden=false;show.onclick=function(){var was=psk.type==="password";
psk.type=was?"text":"password";show.textContent=was?show.dataset.hide:show.dataset.show;psk.focus()}}
if(form){var fill=function(){var given=/^#credentials=([\\w-]+)$/.exec(location.hash),box=q("#credentials");
if(given)history.replaceState(null,"","/");
if(given&&box)try{var raw=atob(given[1].replace(/-/g,"+").replace(/_/g,"/"));
box.value=new TextDecoder().decode(Uint8Array.from(raw,function(c){return c.charCodeAt(0)}))}
catch(e){box.value=""}};
fill();addEventListener("hashchange",fill);
var told=0;form.addEventListener("input",function(){var now=Date.now();
if(now-told<30000)return;told=now;
fetch("/active",{method:"POST",headers:{"content-type":"text/plain"},body:form.elements.token.value})
.catch(function(){})});
form.addEventListener("submit",function(){setTimeout(function(){q("#go").disabled=true})})}
if(trying){var missed=0;var look=function(){var c=new AbortController();
var t=setTimeout(function(){c.abort()},4000);
fetch("/status",{cache:"no-store",signal:c.signal}).then(function(r){return r.json()}).then(function(s){
missed=0;q("#gone").hidden=true;if(s.state!=="trying")location.replace("/")}).catch(function(){
if(++missed>1)q("#gone").hidden=false}).then(function(){clearTimeout(t);setTimeout(look,2000)})};
setTimeout(look,2000)}
})();`;

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing but this style and this script runs, and nothing is loaded from anywhere. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(SCRIPT)}`,
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
