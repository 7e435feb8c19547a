// Curves that can be touched: the reader chooses a point, and the page shows its device.
for (const box of document.querySelectorAll(".touchable[data-kind=curve]:not([data-ready])")) {
  box.dataset.ready = "";
  const data = JSON.parse(box.querySelector(".touch-data").textContent);
  const layers = [...box.querySelectorAll(".touch")];
  const length = data.series[0].points.length;
  const state = { series: 0, place: 0 };
  const called = (point) => `${data.parameter} = ${num(point.x)}`;

  const chosen = make("div", { class: "chosen", "aria-live": "polite" });
  const slider = make("input", { type: "range", min: 0, max: length - 1, step: 1, value: 0 });
  slider.addEventListener("input", () => choose(state.series, Number(slider.value)));
  const choice = make("div", { class: "choice" }, make("label", {}, `${data.parameter} `, slider));
  const radios = [];
  if (data.series.length > 1) {
    const name = `series-${Math.random()}`;
    choice.append(make("fieldset", {}, make("legend", {}, "Curve"), ...data.series.map((one, s) => {
      const radio = make("input", { type: "radio", name });
      radio.addEventListener("change", () => choose(s, state.place));
      radios.push(radio);
      return make("label", {}, radio, ` ${one.name}`);
    })));
  }
  box.querySelector("figure").after(choice, chosen);
  for (const hint of box.querySelectorAll(".how-to")) hint.hidden = false;

  function choose(series, place) {
    Object.assign(state, { series, place });
    const { name, points } = data.series[series];
    const { value, bound, values, plans } = points[place];
    slider.value = place;
    slider.setAttribute("aria-valuetext", called(points[place]));
    if (radios.length) radios[series].checked = true;
    const known = bound === null ? "No equilibrium has a better value." : `No equilibrium has a better value than ${num(bound)}.`;
    const payoffs = values.map((payoff, i) => `${num(payoff)} for ${data.players[i]}`).join(", ");
    const parts = [
      make("p", {}, make("strong", {}, `${called(points[place])}: ${num(value)}`), ` (${name}). ${known}`),
      make("p", {}, `Expected payoffs: ${payoffs}.`),
    ];
    if (plans.length) parts.push(...deviceTable(plans, data.players));
    const rest = 1 - sum(plans.map((plan) => plan.probability));
    if (rest > 1e-9) parts.push(make("p", { class: "note" }, plans.length
      ? `All other plans together have probability ${percent(rest)}.` : "Its plans are not listed."));
    chosen.replaceChildren(...parts);
    for (const layer of layers) {
      const spot = layer.querySelectorAll(".spot")[series * length + place];
      markAt(layer, spot.cx.baseVal.value, spot.cy.baseVal.value);
    }
  }
  for (const layer of layers) {
    const spots = [...layer.querySelectorAll(".spot")];
    layer.addEventListener("click", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(layer.getScreenCTM().inverse());
      const far = spots.map((spot) => Math.hypot(spot.cx.baseVal.value - at.x, spot.cy.baseVal.value - at.y));
      const nearest = far.indexOf(Math.min(...far));
      choose(Math.floor(nearest / length), nearest % length);
    });
  }
  choose(0, 0);
}
