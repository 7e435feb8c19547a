(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("inspector");
  if (!root || !data.players) return;

  const MOST = 300; // infosets listed at once
  const MOST_NEXT = 40; // buttons per action
  const MOST_LETTERS = 72; // of a label in a sentence
  const RARE = 1e-6; // probability below which a gain says nothing about the equilibrium
  const RARELY = "This is told in fewer than one of a million plays, so it adds next to nothing to the player’s gap.";
  const ks = data.ks;
  const state = { player: 0, infoset: 0, k: data.k };
  const get = (id) => document.getElementById(id);

  const kName = (k) => (k === "inf" ? "∞" : k);

  // Which infosets follow which, once per player.
  for (const player of data.players) {
    for (const infoset of player.infosets) {
      infoset.children = player.actions[infoset.actions].map(() => []);
      infoset.reach = sum(infoset.prob);
    }
    player.roots = [];
    player.infosets.forEach((infoset, x) => {
      if (infoset.parent < 0) player.roots.push(x);
      else player.infosets[infoset.parent].children[infoset.via].push(x);
    });
  }

  // A long label is shown by its new words, those that are not in `known`.
  const wordsOf = (label) => label.includes("\n") ? label.split("\n") : label.match(/\[[^\]]*\]|[^\s,;|[\]]+[\s,;|]*|./gs) || [];
  function shortened(label, known) {
    if (label.length < 24) return label || "(no label)";
    const fresh = wordsOf(label).filter((word) => !known.has(word)).join(label.includes("\n") ? "\n" : "");
    return fresh && fresh.length < label.length ? `… ${fresh.trim()}` : label;
  }
  function shortLabels(labels, known) {
    const short = labels.map((label) => shortened(label, known));
    return new Set(short).size === short.length ? short : labels;
  }
  // In a sentence a label takes at most a line; its title is the whole text.
  function clipped(label) {
    const line = label.split("\n").map((part) => part.trim()).filter(Boolean).join(" · ");
    return line.length <= MOST_LETTERS ? line : `${line.slice(0, MOST_LETTERS / 2)}…${line.slice(1 - MOST_LETTERS / 2)}`;
  }
  for (const player of data.players) {
    const labels = player.infosets.map((infoset) => infoset.label);
    const common = new Set(wordsOf(labels[0] || ""));
    for (const label of labels) {
      const own = new Set(wordsOf(label));
      for (const word of common) if (!own.has(word)) common.delete(word);
    }
    player.short = shortLabels(labels, common);
  }

  // The best response to a recommendation; ties go to obeying.
  function response(infoset, told) {
    const gains = infoset.gain[state.k][told];
    let best = told;
    gains.forEach((gain, a) => { if (gain > gains[best]) best = a; });
    return { action: best, gain: gains[best] };
  }

  function segments(name, legend, options, chosen, choose) {
    const box = make("div", { class: "segments" });
    for (const [value, text] of options) {
      const input = make("input", { type: "radio", name, value });
      input.checked = value === String(chosen);
      input.addEventListener("change", () => choose(value));
      box.append(make("label", {}, input, text));
    }
    return make("fieldset", {}, make("legend", {}, legend), box);
  }

  function choosePlayer(value) {
    state.player = Number(value);
    state.infoset = 0;
    get("find").value = "";
    render();
  }
  const chooser = get("chooser");
  chooser.append(segments("player", "Player", data.players.map((p, i) => [String(i), p.label]), 0, choosePlayer));
  if (ks.length) {
    chooser.append(segments("k", "Deviations allowed", ks.map((k) => [k, `K = ${kName(k)}`]), state.k, (k) => {
      state.k = k;
      renderPanel();
    }));
  }

  // The list of infosets: one tab stop, arrows move.
  const list = get("list");
  function matching() {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    data.players[state.player].infosets.forEach((infoset, x) => {
      const label = infoset.label.toLowerCase();
      if (words.every((word) => label.includes(word))) found.push(x);
    });
    return found;
  }
  function renderList() {
    const player = data.players[state.player];
    const found = matching();
    let shown = found.slice(0, MOST);
    if (!shown.includes(state.infoset) && found.includes(state.infoset)) {
      const at = Math.max(0, found.indexOf(state.infoset) - MOST / 2);
      shown = found.slice(at, at + MOST);
    }
    list.replaceChildren(...shown.map((x) => {
      const item = make("li", { role: "option", id: `option-${x}`, "aria-selected": x === state.infoset },
        make("span", { title: player.infosets[x].label }, player.short[x]),
        make("span", { title: "share of plays that get here when everybody obeys" }, percent(player.infosets[x].reach)));
      item.addEventListener("click", () => go(x, false));
      return item;
    }));
    if (found.includes(state.infoset)) list.setAttribute("aria-activedescendant", `option-${state.infoset}`);
    else list.removeAttribute("aria-activedescendant");
    let note = `${found.length.toLocaleString("en-US")} of ${player.total.toLocaleString("en-US")} infosets`;
    if (found.length > MOST) note += `; ${MOST} are listed, type to see others`;
    if (player.infosets.length < player.total) {
      note += `. This page has the ${player.infosets.length.toLocaleString("en-US")} that are reached most often.`;
    }
    get("count").textContent = note;
    showSelected();
  }
  function showSelected() {
    const item = list.querySelector('[aria-selected="true"]');
    if (!item) return;
    const top = item.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }
  list.addEventListener("keydown", (event) => {
    const items = [...list.children];
    const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -items.length, End: items.length };
    if (!(event.key in steps) || !items.length) return;
    event.preventDefault();
    const next = Math.min(items.length - 1, Math.max(0, now + steps[event.key]));
    go(Number(items[next].id.slice("option-".length)), false);
  });
  get("find").addEventListener("input", renderList);
  get("find").addEventListener("keydown", (event) => {
    const found = event.key === "Enter" ? matching() : [];
    if (found.length) go(found[0], false);
  });

  function go(x, clear = true) {
    state.infoset = x;
    if (clear && !matching().includes(x)) get("find").value = "";
    if (!clear && get(`option-${x}`)) {
      for (const item of list.children) item.setAttribute("aria-selected", item.id === `option-${x}`);
      list.setAttribute("aria-activedescendant", `option-${x}`);
      showSelected();
    } else {
      renderList();
    }
    renderPanel();
  }
  function goButton(x, text, title) {
    const button = make("button", { type: "button", class: "go", "data-infoset": x, title }, text);
    button.addEventListener("click", () => {
      go(x);
      get("panel").focus({ preventScroll: true });
    });
    return button;
  }

  function crumbs(player, x) {
    const way = [];
    for (let y = x; player.infosets[y].parent >= 0; y = player.infosets[y].parent) {
      const infoset = player.infosets[y];
      const above = player.infosets[infoset.parent];
      way.unshift(make("li", {}, goButton(infoset.parent, player.short[infoset.parent], above.label),
        ` ${player.actions[above.actions][infoset.via]}`));
    }
    way.unshift(make("li", {}, "start"));
    way.push(make("li", { "aria-current": "step" }, "here"));
    return make("ol", { class: "crumbs", "aria-label": "Path to this infoset" }, ...way);
  }

  function toldTable(infoset, actions) {
    const names = ["told", "probability", "payoff if obeying", "best response", "payoff", "gain"];
    const body = make("tbody");
    actions.forEach((action, r) => {
      const cells = [action];
      const p = infoset.prob[r] / infoset.reach;
      const bar = make("span", { class: "bar" }, make("i", { style: `width:${100 * p}%` }));
      cells.push(make("span", {}, percent(p), bar));
      if (infoset.follow[r] === null) {
        cells.push("never told", "", "", "");
      } else {
        const best = response(infoset, r);
        const rare = infoset.prob[r] < RARE;
        const quiet = rare || best.gain <= data.negligible[state.player];
        cells.push(num(infoset.follow[r]));
        cells.push(best.gain > 0 ? (best.action === r ? `${action} now, disobey later` : `${actions[best.action]} instead`) : "obey");
        cells.push(num(infoset.follow[r] + best.gain));
        cells.push(best.gain > 0 ? make("span", { class: quiet ? "note" : "gain", title: rare ? RARELY : null }, rare ? `+${num(best.gain)}, rare` : `+${num(best.gain)}`) : "0");
      }
      body.append(make("tr", { "data-told": r }, ...cells.map((cell, i) =>
        make("td", { class: i === 3 ? "act" : null, "data-name": cell === "" ? null : names[i] }, cell))));
    });
    return make("div", { class: "scroll" }, make("table", { class: "told" },
      make("thead", {}, make("tr", {}, ...names.map((name, i) => make("th", { scope: "col", class: i === 3 ? "left" : null }, name)))), body));
  }

  // Disobeying pays exactly as much as obeying: the incentive constraints without slack.
  function binding(infoset, actions) {
    const pairs = actions.flatMap((told, r) => infoset.follow[r] === null || infoset.prob[r] < RARE ? []
      : actions.filter((_, a) => a !== r && Math.abs(infoset.gain[state.k][r][a]) <= data.negligible[state.player])
        .map((played) => `told ${told}, playing ${played} instead pays the same`));
    return pairs.length ? [make("p", { class: "binding" }, `Binding: ${pairs.join("; ")}.`)] : [];
  }

  function allResponses(infoset, actions) {
    const rows = actions.map((action, r) => {
      const gains = infoset.gain[state.k][r];
      const best = infoset.follow[r] === null ? -1 : response(infoset, r).action;
      return make("tr", {}, make("th", { scope: "row" }, action), ...gains.map((gain, a) =>
        make("td", { class: a === best && gain > data.negligible[state.player] && infoset.prob[r] >= RARE ? "best" : a === r ? "told-here" : null },
          gain === null ? "–" : num(infoset.follow[r] + gain))));
    });
    const head = make("tr", {}, make("th", { scope: "col" }, "told \\ plays"),
      ...actions.map((action) => make("th", { scope: "col" }, action)));
    return make("details", { id: "responses" }, make("summary", {}, "All responses to all recommendations"),
      make("p", { class: "note" }, "Expected payoff when the player is told the row, plays the column, and then makes the best of the remaining deviations."),
      make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))));
  }

  function planTable(infoset, actions) {
    if (!infoset.plan) return make("p", {}, "The other players and chance never let the player get here.");
    const best = infoset.plan.indexOf(Math.max(...infoset.plan));
    return make("div", {},
      make("p", { class: "note" }, "At K = 0 the player leaves the mediator before the game and gets no recommendations. The table shows the expected payoff of the best plan that comes here and plays an action, given that chance and the other players let it."),
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "action"), make("th", { scope: "col" }, "payoff"))),
        make("tbody", {}, ...actions.map((action, a) =>
          make("tr", {}, make("td", {}, action), make("td", { class: a === best ? "best" : null }, num(infoset.plan[a])))))));
  }

  function nextBox(player, infoset, actions) {
    const known = new Set(wordsOf(infoset.label));
    const rows = actions.map((action, a) => {
      const below = infoset.children[a];
      if (!below.length) return null;
      const order = [...below].sort((x, y) => player.infosets[y].reach - player.infosets[x].reach);
      const names = shortLabels(order.map((x) => player.infosets[x].label), known);
      const buttons = order.slice(0, MOST_NEXT).map((x, i) => goButton(x, names[i], player.infosets[x].label));
      const more = below.length > MOST_NEXT ? make("span", { class: "note" }, `and ${below.length - MOST_NEXT} more`) : null;
      return make("div", {}, make("strong", {}, action), make("div", { class: "buttons" }, ...buttons, more));
    }).filter(Boolean);
    const hidden = infoset.hidden ? make("p", { class: "note" }, `${infoset.hidden} of the infosets that follow are not on this page.`) : null;
    if (!rows.length) return make("div", {}, make("p", { class: "note" }, "This is the player’s last decision."), hidden);
    return make("div", {}, make("p", { class: "note" }, "Where the player may decide next, by the action taken here:"),
      make("div", { class: "next" }, ...rows), hidden);
  }

  function renderPanel() {
    const panel = get("panel");
    const player = data.players[state.player];
    const name = data.names[state.player].replace(/^./u, (letter) => letter.toUpperCase());
    const infoset = player.infosets[state.infoset];
    panel.className = `panel c${state.player % data.colors}`;
    if (!infoset) {
      panel.replaceChildren(make("p", {}, `${name} never decides.`));
      mark();
      return;
    }
    const actions = player.actions[infoset.actions];
    const parts = [crumbs(player, state.infoset), make("h3", { id: "where" }, infoset.label || "(no label)")];
    if (!(infoset.reach > 0)) {
      parts.push(make("p", {}, `${name} never gets here when everybody obeys, so there are no recommendations.`));
      parts.push(make("p", { class: "note" }, `Actions: ${actions.join(", ")}`));
    } else {
      const told = infoset.prob.map((p, r) => (infoset.follow[r] === null ? 0 : p * infoset.follow[r]));
      const size = sum(told.map(Math.abs));
      const earned = Math.abs(sum(told)) < 1e-6 * size ? 0 : sum(told) / infoset.reach; // the data has seven digits
      parts.push(make("p", {}, `${name} gets here in ${percent(infoset.reach)} of plays when everybody obeys, and can then expect a payoff of ${num(earned)}.`));
      if (state.k === "0") {
        parts.push(toldOnly(infoset, actions), planTable(infoset, actions));
      } else if (state.k) {
        parts.push(toldTable(infoset, actions), ...binding(infoset, actions), allResponses(infoset, actions));
      }
    }
    parts.push(nextBox(player, infoset, actions));
    const open = get("responses") && get("responses").open;
    panel.replaceChildren(...parts);
    if (open && get("responses")) get("responses").open = true;
    mark();
  }
  function toldOnly(infoset, actions) {
    const body = make("tbody", {}, ...actions.map((action, r) => {
      const p = infoset.prob[r] / infoset.reach;
      return make("tr", { "data-told": r }, make("td", { "data-name": "told" }, action),
        make("td", { "data-name": "probability" }, make("span", {}, percent(p), make("span", { class: "bar" }, make("i", { style: `width:${100 * p}%` })))),
        make("td", { "data-name": "payoff if obeying" }, infoset.follow[r] === null ? "never told" : num(infoset.follow[r])));
    }));
    return make("table", { class: "told" }, make("thead", {}, make("tr", {},
      ...["told", "probability", "payoff if obeying"].map((name) => make("th", { scope: "col" }, name)))), body);
  }

  // The drawn tree, if there is one, shows the chosen infoset too.
  const nodes = [...document.querySelectorAll(".accord-tree .node")];
  function mark() {
    for (const node of nodes) {
      const here = Number(node.dataset.player) === state.player && Number(node.dataset.infoset) === state.infoset;
      node.classList.toggle("chosen", here);
    }
  }
  // A plan of the device, shown as the plays that it leads to: chance may move in any way.
  const tree = document.querySelector(".accord-tree");
  const edges = [...document.querySelectorAll(".accord-tree .edge[data-start]")];
  function showPlay(told) {
    const at = new Map(nodes.map((node) => [node.dataset.node, node.dataset]));
    const reached = new Set(["0"]);
    for (const edge of edges) { // those of a node come before those below it
      const { start, end, action } = edge.dataset;
      const place = at.get(start);
      const taken = told && reached.has(start) && (!place || told[place.player][place.label] === action);
      if (taken) reached.add(end);
      edge.classList.toggle("played", Boolean(taken));
    }
    tree.classList.toggle("playing", Boolean(told));
  }
  const rowsOfPlans = tree && edges.length ? [...document.querySelectorAll("[data-plan]")] : [];
  for (const row of rowsOfPlans) {
    const button = make("button", { type: "button", class: "go", "aria-pressed": "false" }, "show its play");
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "true";
      for (const other of document.querySelectorAll("[data-plan] button[aria-pressed]")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(!shown));
      showPlay(shown ? null : JSON.parse(row.dataset.plan));
      if (!shown) get("tree").scrollIntoView({ block: "nearest" });
    });
    row.querySelector("span").append(button);
  }
  function inspectNode(player, x) {
    state.player = player;
    for (const input of chooser.querySelectorAll("input[name=player]")) input.checked = Number(input.value) === player;
    get("find").value = "";
    state.infoset = x;
    render();
  }
  for (const node of nodes) {
    const choose = () => {
      inspectNode(Number(node.dataset.player), Number(node.dataset.infoset));
      get("inspector").scrollIntoView();
    };
    node.addEventListener("click", choose);
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    });
  }
  for (const link of document.querySelectorAll("[data-go]")) {
    const [player, label] = [Number(link.dataset.go), link.dataset.label];
    const x = data.players[player].infosets.findIndex((infoset) => infoset.label === label);
    if (x < 0) { link.replaceWith(...link.childNodes); continue; }
    const short = link.querySelector(".label[title]");
    if (short) short.textContent = clipped(data.players[player].short[x]);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      inspectNode(player, x);
      get("inspector").scrollIntoView();
      get("panel").focus({ preventScroll: true });
    });
  }

  const drawing = get("tree");
  function sayWhetherWider() {
    get("wider").hidden = drawing.scrollWidth <= drawing.clientWidth;
  }
  if (drawing) {
    sayWhetherWider();
    window.addEventListener("resize", sayWhetherWider);
  }

  function render() {
    renderList();
    renderPanel();
  }
  render();
})();
