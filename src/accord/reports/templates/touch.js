// What all pictures that can be touched share: the table of a device, and the mark of a point.
const MOST_PLANS = 40; // in the table
function deviceTable(plans, names) {
  const players = names.map((name, i) => [name, i]).filter(([, i]) => plans.some(({ told }) => Object.keys(told[i]).length));
  const rows = plans.slice(0, MOST_PLANS).map(({ probability, told }) => make("tr", {},
    make("th", { scope: "row", "data-name": "probability" }, make("span", {}, percent(probability),
      make("span", { class: "bar" }, make("i", { style: `width:${100 * probability}%` })))),
    ...players.map(([name, i]) => {
      const lines = Object.entries(told[i]).map(([infoset, action]) => make("li", {},
        make("span", { class: "label" }, infoset || "(no label)"), " ", make("strong", {}, action || "(no label)")));
      if (!lines.length) lines.push(make("li", { class: "note" }, "does not decide"));
      return make("td", { class: "left", "data-name": name }, make("ul", {}, ...lines));
    })));
  const head = make("tr", {}, make("th", { scope: "col" }, "probability"),
    ...players.map(([name]) => make("th", { scope: "col", class: "left" }, name)));
  const parts = [make("div", { class: "scroll" }, make("table", { class: "device stacked" },
    make("thead", {}, head), make("tbody", {}, ...rows)))];
  if (plans.length > MOST_PLANS) parts.push(make("p", { class: "note" }, `and ${plans.length - MOST_PLANS} more plans`));
  return parts;
}
function markAt(layer, x, y) {
  let shown = layer.querySelector(".cross");
  if (!shown) {
    shown = document.createElementNS("http://www.w3.org/2000/svg", "path");
    shown.setAttribute("class", "cross");
    layer.append(shown);
  }
  shown.setAttribute("d", `M${x - 11} ${y}h7m8 0h7M${x} ${y - 11}v7m0 8v7`);
}
