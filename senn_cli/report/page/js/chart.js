// A chart redraws itself when its width changes, and when `redraw` is called.
const charts = new Set();
const settings = { unit: "step" };

const chartWidth = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.redraw) target.redraw();
});

// `draw(width)` returns the elements of a chart; `label` tells those who cannot see it what it is.
function chart(label, draw) {
  const host = el("div", { class: "chart" });
  let drawn = 0;
  function redraw(force) {
    const width = Math.floor(host.clientWidth);
    if (width < 60 || (!force && width === drawn)) return;
    drawn = width;
    const made = draw(width);
    if (made instanceof SVGElement) {
      made.setAttribute("role", "img");
      made.setAttribute("aria-label", label);
    }
    host.replaceChildren(made);
  }
  host.redraw = redraw;
  charts.add(host);
  chartWidth.observe(host);
  return host;
}

function forget(host) {
  charts.delete(host);
  chartWidth.unobserve(host);
}

function redrawAll() {
  tooltip.hide();
  for (const host of charts) host.redraw(true);
}

// x of a step in the present unit.
function unitOf(run, step) {
  return settings.unit === "epoch" && run.per_epoch ? step / run.per_epoch : step;
}

// What the hidden layers of runs are made of.
function unitsOf(runs, capital) {
  const units = new Set(runs.map((run) => `${run.unit}s`));
  const text = units.size === 1 ? [...units][0] : "units";
  return capital ? text[0].toUpperCase() + text.slice(1) : text;
}

function unitTitle() {
  return settings.unit === "epoch" ? "epoch" : "training step";
}

function stepText(run, step) {
  const epoch = run.per_epoch && run.per_epoch !== 1 ? `, epoch ${number(step / run.per_epoch, 4)}` : "";
  return `step ${whole(step)}${epoch}`;
}

// Finds the place of the point that is nearest to the pointer; -1 where none is within the radius.
function nearby(points, radius) {
  return (px, py) => {
    let found = -1, closest = radius * radius;
    points.forEach(([a, b], k) => {
      const away = (a - px) ** 2 + (b - py) ** 2;
      if (away < closest) [found, closest] = [k, away];
    });
    return found;
  };
}

// Pointer, touch and arrow keys over a chart.
// `find(x, y)` gives the place of what is there, or -1; `tell(place)` gives {x, y, lines}.
function hover(frame, total, find, tell) {
  const { root } = frame;
  let place = -1;
  function show(next) {
    place = next;
    const told = place < 0 ? null : tell(place);
    frame.point(told);
    if (!told) return tooltip.hide();
    const box = root.getBoundingClientRect();
    tooltip.show(box.left + told.x, box.top + told.y, told.lines);
  }
  function moved(event) {
    const box = root.getBoundingClientRect();
    show(find(event.clientX - box.left, event.clientY - box.top));
  }
  root.addEventListener("pointermove", moved);
  root.addEventListener("pointerdown", moved);
  root.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(-1));
  root.addEventListener("blur", () => show(-1));
  root.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    if (!by || !total) return;
    event.preventDefault();
    show(place < 0 ? (by > 0 ? 0 : total - 1) : Math.min(total - 1, Math.max(0, place + by)));
  });
  if (total) root.setAttribute("tabindex", "0");
}

addEventListener("pointerdown", (event) => {
  if (!event.target.closest || !event.target.closest(".chart")) tooltip.hide();
});
