"use strict";
const script = document.getElementById("script");
const left = document.getElementById("left");
if (left) {
  const end = performance.now() + 1000 * Number(left.dataset.left);
  setInterval(() => {
    left.textContent = `${Math.max(0, Math.ceil((end - performance.now()) / 1000))} s`;
  }, 500);
}
for (const form of document.forms) {
  form.addEventListener("submit", () => {
    // after the browser has read which button it was
    setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
  });
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
async function look() {
  try {
    const answer = await fetch(script.dataset.state, { cache: "no-store" });
    if (answer.ok && (await answer.json()).view !== script.dataset.view) {
      location.replace(location.pathname);
      return;
    }
    if (answer.status === 404) { location.reload(); return; }
  } catch { /* the server is away; ask again */ }
  setTimeout(look, 1500);
}
setTimeout(look, 1500);
