"use strict";
const script = document.getElementById("script");
const left = document.getElementById("left");
if (left) {
  const end = performance.now() + 1000 * Number(left.dataset.left);
  const show = () => {
    const seconds = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    left.textContent = `${seconds} s`;
    if (seconds <= 10) document.getElementById("soon").hidden = false;
  };
  setInterval(show, 500);
}
for (const form of document.forms) {
  form.addEventListener("submit", () => {
    // after the browser has read which button it was
    setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
  });
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
let failures = 0;
async function look() {
  failures += 1;
  try {
    const answer = await fetch(script.dataset.state, { cache: "no-store", signal: AbortSignal.timeout?.(10000) });
    if (answer.status === 404) { location.reload(); return; }
    if (answer.ok && (await answer.json()).view !== script.dataset.view) {
      location.replace(location.pathname);
      return;
    }
    if (answer.ok) failures = 0;
  } catch { /* the server is away; ask again */ }
  document.getElementById("away").hidden = failures < 2;
  setTimeout(look, 1500);
}
if (script.dataset.state) setTimeout(look, 1500);
