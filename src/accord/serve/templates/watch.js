"use strict";
const script = document.getElementById("script");
for (const form of document.forms) {
  form.addEventListener("submit", () => {
    // after the browser has read which button it was
    setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
  });
}
async function look() {
  try {
    const answer = await fetch(script.dataset.state, { cache: "no-store" });
    const typing = document.activeElement !== null && document.activeElement.tagName === "INPUT";
    const changed = answer.ok && (await answer.json()).view !== script.dataset.view;
    if ((changed && !typing) || answer.status === 404) { location.reload(); return; }
  } catch { /* the server is away; ask again */ }
  setTimeout(look, 1500);
}
setTimeout(look, 1500);
