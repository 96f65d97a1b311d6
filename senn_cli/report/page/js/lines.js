// Curves over steps, with what happened to the network as thin lines behind them.

// A path through points in order of x; of those in one column of pixels, what is seen stays.
function linePath(points) {
  const parts = [];
  let i = 0;
  while (i < points.length) {
    const pixel = Math.round(points[i][0]);
    let last = i, low = i, high = i;
    while (last + 1 < points.length && Math.round(points[last + 1][0]) === pixel) {
      last++;
      if (points[last][1] < points[low][1]) low = last;
      if (points[last][1] > points[high][1]) high = last;
    }
    for (const k of [...new Set([i, Math.min(low, high), Math.max(low, high), last])]) {
      parts.push(`${parts.length ? "L" : "M"}${tenth(points[k][0])} ${tenth(points[k][1])}`);
    }
    i = last + 1;
  }
  return parts.join("");
}

// Vertical lines at the rounds that changed the network, one a pixel at most.
function eventLines(frame, run, from, to) {
  for (const layer of [false, true]) {
    const seen = new Set();
    let path = "";
    for (const round of run.rounds) {
      if (round.marks.includes("layer") !== layer) continue;
      const x = Math.round(frame.px(unitOf(run, round.step))) + 0.5;
      if (seen.has(x)) continue;
      seen.add(x);
      path += `M${x} ${from}V${to}`;
    }
    // Many lines are paler, so that they do not hide what lies between them.
    const paler = Math.min(1, (frame.right - frame.left) / 20 / seen.size);
    if (path) frame.root.append(svg("path", { class: layer ? "event event-layer" : "event", d: path, "stroke-opacity": paler.toFixed(2) }));
  }
}

// A curve, and a dot where it has one value. `below`: how many equal ones it lies upon.
function curve(frame, points, paint, below) {
  if (points.length === 1) {
    frame.root.append(svg("path", { d: MARKS.circle(tenth(points[0][0]), tenth(points[0][1]), 3.5 / (1 + below)), style: `fill:${paint}` }));
  } else if (points.length) {
    const gaps = below ? `;stroke-dasharray:6 ${6 * below}` : "";
    frame.root.append(svg("path", { class: "curve", d: linePath(points), style: `stroke:${paint}${gaps}` }));
  }
}

function sameCurve(a, b) {
  const x = columnOf(a.run, a.column), y = columnOf(b.run, b.column);
  return x.steps.length > 0 && x.steps.length === y.steps.length &&
    x.steps.every((step, k) => step === y.steps[k] && x.values[k] === y.values[k]);
}

const MOST_EQUAL = 4; // that are named

// The lines that are equal to an earlier one, in a sentence; null where there is none.
function equalText(lines) {
  const told = lines.map((line, k) => [line, lines.slice(0, k).find((other) => sameCurve(line, other))])
    .filter(([, first]) => first).map(([line, first]) => `${line.text} is the same as ${first.text}`);
  if (told.length > MOST_EQUAL) return `${told.length} of them are the same as another one: drawn in dashes.`;
  return told.length ? `${told.join(", ")}: drawn in dashes.` : null;
}

// The steps and values of a column of the metrics, gaps left out.
function columnOf(run, key) {
  const steps = [], values = [];
  (run.curves[key] || []).forEach((value, k) => {
    if (value === null) return;
    steps.push(run.curves.step[k]);
    values.push(value);
  });
  return { steps, values };
}

const MOST_TOLD = 14; // lines that a tooltip has room for

// A chart of several lines: {run, key, text, paint, form}; `off` has the keys not shown.
function lineChart(label, { title, lines, off, scale, height, events = null }) {
  return chart(label, (width) => {
    const shown = lines.filter((line) => !off.has(line.key)).map((line) => ({ ...line, ...columnOf(line.run, line.column) }));
    const values = shown.flatMap((line) => line.values);
    const x = linear(0, greatest(lines.map(({ run }) => unitOf(run, run.last)), 0));
    const y = values.length ? scale(values) : linear(0, 1);
    const frame = axes({ width, height, x, y, yTitle: title, xTitle: unitTitle() });
    if (events) eventLines(frame, events, frame.top, frame.bottom);
    shown.forEach((line, place) => {
      const below = shown.slice(0, place).filter((other) => sameCurve(line, other)).length;
      line.at = line.steps.map((step) => unitOf(line.run, step));
      curve(frame, line.at.map((v, k) => [frame.px(v), frame.py(line.values[k])]), line.paint, below);
    });
    const longest = shown.reduce((a, b) => (b.steps.length > a.steps.length ? b : a), { steps: [], at: [] });
    hover(frame, longest.steps.length,
      (px) => (longest.steps.length ? nearest(longest.at, x.back((px - frame.left) / (frame.right - frame.left))) : -1),
      (place) => {
        const at = longest.at[place];
        const all = shown.filter((line) => line.steps.length);
        const told = all.slice(0, MOST_TOLD).map((line) => {
          const k = nearest(line.at, at);
          return [`${line.text}: ${line.form(line.values[k])}`, null, line.paint];
        });
        if (all.length > MOST_TOLD) told.push([`and ${count(all.length - MOST_TOLD, "other")}`, "weak"]);
        const head = lines.every(({ run }) => run === longest.run) ? stepText(longest.run, longest.steps[place]) : `${settings.unit} ${number(at, 5)}`;
        return { x: frame.px(at), y: frame.top + 10, lines: [[head, "strong"], ...told] };
      });
    return frame.root;
  });
}
