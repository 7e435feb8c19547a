// Regions that can be touched: the reader chooses payoffs, and the page shows a device with them.
// A point of a polygon is a mixture of at most three vertices; so is its device.
for (const box of document.querySelectorAll(".touchable[data-kind=region]:not([data-ready])")) {
  box.dataset.ready = "";
  const data = JSON.parse(box.querySelector(".touch-data").textContent);
  const SNAP = 8; // distance from an equilibrium that stands out at which a click means it
  const NOTHING = 1e-9; // of the size of the picture, or a probability
  const layers = [...box.querySelectorAll(".touch")];
  const numbers = (text) => text.split(" ").map(Number);
  const range = { x: numbers(layers[0].dataset.x), y: numbers(layers[0].dataset.y) };
  const size = [range.x[1] - range.x[0], range.y[1] - range.y[0]];
  const state = { polygon: data.polygons.length - 1, point: null };

  const cross = (a, b, c) => ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / (size[0] * size[1]);
  const apart = (a, b) => Math.hypot((a[0] - b[0]) / size[0], (a[1] - b[1]) / size[1]);
  const between = (a, b, t) => [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
  function nearestOnEdge(p, a, b) {
    const [dx, dy] = [(b[0] - a[0]) / size[0], (b[1] - a[1]) / size[1]];
    const length = dx * dx + dy * dy;
    const t = length ? (((p[0] - a[0]) / size[0]) * dx + ((p[1] - a[1]) / size[1]) * dy) / length : 0;
    return between(a, b, Math.min(1, Math.max(0, t)));
  }
  const edges = (corners) => corners.map((corner, i) => [corner, corners[(i + 1) % corners.length]]);
  function nearest(p, corners) {
    const places = edges(corners).map(([a, b]) => nearestOnEdge(p, a, b));
    return places.reduce((best, place) => (apart(p, place) < apart(p, best) ? place : best));
  }
  const isInside = (p, corners) => apart(p, nearest(p, corners)) <= NOTHING
    || (corners.length > 2 && edges(corners).every(([a, b]) => cross(a, b, p) >= 0));

  // Shares of vertices whose mixture is p, as few and with as few plans as there are.
  function shares(p, vertices) {
    const places = vertices.map((vertex) => vertex.payoffs);
    let best = null;
    const consider = (members) => {
      const kept = members.filter(([, share]) => share > NOTHING);
      const plans = sum(kept.map(([v]) => vertices[v].plans.length));
      if (!best || plans < best.plans) best = { plans, members: kept };
    };
    places.forEach((a, i) => {
      if (apart(p, a) <= NOTHING) consider([[i, 1]]);
      places.forEach((b, j) => {
        if (j <= i) return;
        const onEdge = nearestOnEdge(p, a, b);
        if (apart(p, onEdge) <= NOTHING) {
          const t = apart(a, b) ? apart(a, onEdge) / apart(a, b) : 0;
          consider([[i, 1 - t], [j, t]]);
        }
        for (let k = j + 1; k < places.length; k += 1) {
          const whole = cross(a, b, places[k]);
          if (Math.abs(whole) <= NOTHING) continue;
          const [u, v, w] = [cross(p, b, places[k]), cross(a, p, places[k]), cross(a, b, p)].map((part) => part / whole);
          if (Math.min(u, v, w) >= -NOTHING) consider([[i, u], [j, v], [k, w]]);
        }
      });
    });
    const total = sum(best.members.map(([, share]) => share));
    return best.members.map(([v, share]) => [v, share / total]);
  }
  function mixture(members, vertices) {
    const plans = new Map();
    for (const [v, share] of members) {
      for (const { probability, told } of vertices[v].plans) {
        const key = JSON.stringify(told);
        const known = plans.get(key) || { probability: 0, told };
        known.probability += share * probability;
        plans.set(key, known);
      }
    }
    return [...plans.values()].sort((a, b) => b.probability - a.probability);
  }

  const chosen = make("div", { class: "chosen", "aria-live": "polite" });
  const inputs = data.axes.map((player) => {
    const input = make("input", { type: "number", step: "any" });
    return [input, make("label", {}, `${data.players[player]} `, input)];
  });
  const choice = make("div", { class: "choice" }, ...inputs.map(([, label]) => label));
  if (data.polygons.length > 1) {
    const name = `polygon-${Math.random()}`;
    choice.append(make("fieldset", {}, make("legend", {}, "Notion"), ...data.polygons.map((polygon, i) => {
      const radio = make("input", { type: "radio", name });
      radio.checked = i === state.polygon;
      radio.addEventListener("change", () => { state.polygon = i; show(); });
      return make("label", {}, radio, ` ${polygon.title}`);
    })));
  }
  for (const [input] of inputs) {
    input.addEventListener("change", () => {
      const point = inputs.map(([one]) => one.valueAsNumber);
      if (point.every(Number.isFinite)) choose(point, false);
    });
  }
  box.querySelector("figure").after(choice, chosen);
  for (const hint of box.querySelectorAll(".how-to")) hint.hidden = false;

  const payoffs = (point) => point.map((value, i) => `${num(value)} for ${data.players[data.axes[i]]}`).join(" and ");
  function show() {
    if (!state.point) return;
    const polygon = data.polygons[state.polygon];
    const corners = polygon.vertices.map((vertex) => vertex.payoffs);
    const parts = [];
    let point = state.point;
    if (!isInside(point, corners)) {
      const excluded = !isInside(point, polygon.outer);
      point = nearest(point, corners);
      parts.push(make("p", {}, excluded ? `No ${polygon.name} pays ${payoffs(state.point)}.`
        : `Whether an ${polygon.name} pays ${payoffs(state.point)} is not known.`,
      ` The nearest payoffs of one that was found are ${num(point[0])} and ${num(point[1])}:`));
    }
    const members = shares(point, polygon.vertices);
    const plans = mixture(members, polygon.vertices);
    const others = data.players.map((name, i) => [name, i]).filter(([, i]) => !data.axes.includes(i))
      .map(([name, i]) => `, ${num(sum(members.map(([v, share]) => share * polygon.vertices[v].values[i])))} for ${name}`).join("");
    const drawn = plans.length === 1 ? "always has this plan" : `draws one of ${plans.length} plans`;
    parts.push(make("p", {}, `In this ${polygon.name} the mediator ${drawn}. Expected payoffs: ${payoffs(point)}${others}.`));
    parts.push(...deviceTable(plans, data.players));
    chosen.replaceChildren(...parts);
    for (const layer of layers) mark(layer, point);
  }
  function mark(layer, point) {
    const { left, right, top, bottom } = layer.dataset;
    markAt(layer, Number(left) + (right - left) * (point[0] - range.x[0]) / size[0],
      Number(bottom) - (bottom - top) * (point[1] - range.y[0]) / size[1]);
  }
  function choose(point, fill = true) {
    state.point = point;
    if (fill) inputs.forEach(([input], i) => { input.value = Number(point[i].toPrecision(6)); });
    show();
  }

  // Digits that a click can mean: a hundredth to a thousandth of the picture.
  const rounded = (value, span) => {
    const step = 10 ** Math.floor(Math.log10(span / 100));
    return Math.round(value / step) * step;
  };
  for (const layer of layers) {
    const spots = [...layer.querySelectorAll(".spot")];
    const at = (spot) => [Number(spot.dataset.x), Number(spot.dataset.y)];
    layer.addEventListener("click", (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(layer.getScreenCTM().inverse());
      const near = spots.map((spot) => [Math.hypot(spot.cx.baseVal.value - place.x, spot.cy.baseVal.value - place.y), spot])
        .sort((a, b) => a[0] - b[0])[0];
      if (near && near[0] <= SNAP) { choose(at(near[1])); return; }
      const { left, right, top, bottom } = layer.dataset;
      const exact = [range.x[0] + size[0] * (place.x - left) / (right - left), range.y[0] + size[1] * (bottom - place.y) / (bottom - top)];
      choose([rounded(exact[0], size[0]), rounded(exact[1], size[1])]);
    });
    for (const spot of spots) {
      spot.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(at(spot)); }
      });
    }
  }
}
