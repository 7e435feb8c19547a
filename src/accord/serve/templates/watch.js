"use strict";
const script = document.getElementById("script");
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.question;
  if (question && !confirm(question)) { event.preventDefault(); return; }
  // after the browser has read which button it was
  setTimeout(() => event.target.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
});
document.addEventListener("click", async (event) => {
  if (!event.target.matches?.(".copy")) return;
  const text = event.target.parentElement.querySelector("dd").textContent;
  try {
    await navigator.clipboard.writeText(text);  // only where the connection is encrypted
  } catch {
    const field = document.body.appendChild(document.createElement("textarea"));
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
    event.target.focus();
  }
  event.target.textContent = "Copied";
});
const keyOf = (element) => [element.tagName, element.href ?? element.form?.action, element.name, element.tagName === "BUTTON" ? element.value : ""].join(" ");
const findSame = (kind, key) => [...document.querySelectorAll(`main :is(${kind})`)].find((element) => keyOf(element) === key);
async function renew() {
  const answer = await fetch(script.dataset.page, { cache: "no-store" });
  if (!answer.ok) return;
  const page = document.createElement("template");  // in which neither styles nor scripts count
  page.innerHTML = await answer.text();
  const held = keyOf(document.activeElement);
  const typed = [...document.querySelectorAll("main input")].filter((input) => input.value !== input.defaultValue);
  document.querySelector("main").replaceWith(page.content.querySelector("main"));
  Object.assign(script.dataset, { view: "", state: "" }, page.content.getElementById("script").dataset);
  // the keyboard stays where it was, and so does what was typed
  findSame("a, button", held)?.focus({ preventScroll: true });
  for (const input of typed) {
    const same = findSame("input", keyOf(input));
    if (same) same.value = input.value;
  }
}
async function look() {
  if (!script.dataset.state) return;
  try {
    const answer = await fetch(script.dataset.state, { cache: "no-store" });
    if (answer.status === 404) { location.replace(script.dataset.page); return; }
    const changed = answer.ok && (await answer.json()).view !== script.dataset.view;
    if (changed && document.activeElement?.tagName !== "INPUT") await renew();
  } catch { /* the server is away; ask again */ }
  setTimeout(look, 1500);
}
setTimeout(look, 1500);
