// The moments of a run: its start, every round that changed the network, and its end.
function momentsOf(run) {
  const steps = [0, ...run.rounds.map((round) => round.step)];
  if (run.last > steps[steps.length - 1]) steps.push(run.last);
  return steps;
}

function momentText(run, moments, k) {
  const widths = run.layers.map((layer) => widthAt(layer, moments[k])).filter(Boolean);
  const sizes = `${stepText(run, moments[k])}: ${widths.map(whole).join("-") || "no hidden layer"}`;
  const round = k > 0 ? run.rounds[k - 1] : null;
  if (!round) return `${sizes}${k > 0 ? ", the end" : ", the start"}`;
  const edits = round.edits.slice(0, 2).map((edit) => `${edit.what} at ${edit.where}`);
  const more = round.edits.length > 2 ? `, and ${count(round.edits.length - 2, "other edit")}` : "";
  return `${sizes}; ${edits.join(", ")}${more}`;
}

// A slider over the moments of a run, and a button that plays them; `show(k)` draws moment k.
// The last moment stays the last one where a run goes on.
function replay(run, key, show) {
  const moments = momentsOf(run), last = moments.length - 1;
  const state = keep(key, () => ({ at: null, timer: null }));
  const at = () => Math.min(state.at ?? last, last);
  const slider = el("input", {
    type: "range", min: 0, max: last, step: 1, value: at(), "aria-label": "Moment of the training",
    oninput: () => go(Number(slider.value)),
  });
  const text = el("output", {}, "");
  const button = el("button", { type: "button", onclick: () => (state.timer ? stop() : play()) }, "Play");

  function go(k) {
    state.at = k >= last ? null : k;
    slider.value = String(k);
    slider.setAttribute("aria-valuetext", momentText(run, moments, k));
    text.textContent = momentText(run, moments, k);
    show(k);
  }

  function stop() {
    clearInterval(state.timer);
    state.timer = null;
    button.textContent = "Play";
  }

  function play() {
    if (at() === last) go(0);
    button.textContent = "Pause";
    const stride = Math.ceil(last / 120);
    state.timer = setInterval(() => {
      if (!slider.isConnected || at() === last) return stop();
      go(Math.min(last, at() + stride));
    }, Math.min(700, Math.max(60, 9000 / last)));
  }

  const playing = Boolean(state.timer);
  stop();
  go(at());
  if (playing) play();
  // Nothing moves by itself for readers who prefer that.
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return el("div", { class: "replay" }, el("div", {}, still ? null : button, slider), text);
}
