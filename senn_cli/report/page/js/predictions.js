// Predicted against true targets of a regression: a point an example, a chart a target.
const MOST_TARGETS = 4;

function predictionChart(points, k) {
  const own = points.true[k], said = points.predicted[k];
  return chart(`Predicted over true ${points.targets[k]}`, (whole_) => {
    const width = Math.min(whole_, 520);
    const low = Math.min(least(own), least(said)), high = Math.max(greatest(own), greatest(said));
    const room = 0.04 * (high - low || 1), x = linear(low - room, high + room);
    const frame = axes({ width, height: 0.6 * width, x, y: x, xTitle: `true ${clipped(points.targets[k], width / 2)}`, yTitle: "predicted" });
    frame.root.append(svg("line", { class: "tau", x1: frame.px(x.min), y1: frame.py(x.min), x2: frame.px(x.max), y2: frame.py(x.max) }));
    const places = own.map((value, n) => [frame.px(value), frame.py(said[n])]);
    frame.root.append(svg("path", { class: "predictions", d: signs("circle", places, 3), style: "fill:var(--c0);fill-opacity:0.55" }));
    hover(frame, places.length,
      nearby(places, 18),
      (n) => ({ x: places[n][0], y: places[n][1], ring: true, lines: [[`true ${number(own[n], 4)}`], [`predicted ${number(said[n], 4)}`]] }));
    return frame.root;
  });
}

function predictionsPart(found) {
  const { points } = found.shown;
  if (!points) return null;
  const left = points.targets.length - MOST_TARGETS;
  return [
    el("h3", {}, "Predicted and true targets"),
    points.targets.slice(0, MOST_TARGETS).map((_, k) => predictionChart(points, k)),
    left > 0 ? el("p", { class: "soft" }, `There are ${count(left, "more target", "more targets")}.`) : null,
  ];
}
