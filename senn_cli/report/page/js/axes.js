// The frame of a chart: axes with ticks that do not touch, titles, and room inside.
const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text) => {
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(text).width;
  };
})();

// `x` and `y` are scales, `height` is that of the inside, `above` room over it for signs.
function axes({ width, height, x, y, xTitle, yTitle, above = 0 }) {
  const yTicks = y.ticks(Math.max(2, Math.floor(height / 44)));
  const margin = Math.max(52, Math.ceil(greatest(yTicks.map(([, text]) => measure(text)), 0)) + 12);
  const top = 26 + above, right = width - 14, bottom = top + height;
  const total = bottom + (xTitle ? 44 : 26);
  const root = svg("svg", { width, height: total, viewBox: `0 0 ${width} ${total}` });
  const px = (value) => margin + x.at(value) * (right - margin);
  const py = (value) => bottom - y.at(value) * height;
  let lowest = Infinity;
  for (const [value, text] of yTicks) {
    const place = py(value);
    root.append(svg("line", { class: "grid", x1: margin, x2: right, y1: place, y2: place }));
    if (lowest - place < 15) continue;
    lowest = place;
    root.append(svg("text", { x: margin - 7, y: place + 4, "text-anchor": "end" }, text));
  }
  let reached = -Infinity;
  for (const [value, text] of x.ticks(Math.min(10, Math.max(2, Math.floor((right - margin) / 62))))) {
    const place = px(value), half = measure(text) / 2;
    root.append(svg("line", { class: "axis", x1: place, x2: place, y1: bottom, y2: bottom + 5 }));
    const from = Math.min(place - half, width - 2 * half);
    if (from < reached + 8) continue;
    reached = from + 2 * half;
    root.append(svg("text", { x: tenth(from + half), y: bottom + 18, "text-anchor": "middle" }, text));
  }
  root.append(svg("line", { class: "axis", x1: margin, x2: right, y1: bottom, y2: bottom }));
  if (yTitle) root.append(svg("text", { class: "axis-title", x: 0, y: 12 }, formula(yTitle, true)));
  if (xTitle) root.append(svg("text", { class: "axis-title", x: right, y: bottom + 37, "text-anchor": "end" }, formula(xTitle, true)));
  const cursor = svg("line", { class: "cursor", y1: top - above, y2: bottom });
  const ring = svg("circle", { class: "ring", r: 7 });
  root.append(cursor, ring);

  // Marks what the tooltip speaks of: a ring, or a line where it has no height.
  function point(told) {
    ring.classList.toggle("on", Boolean(told && told.ring));
    cursor.classList.toggle("on", Boolean(told && !told.ring));
    if (!told) return;
    root.append(cursor, ring);
    ring.setAttribute("cx", told.x);
    ring.setAttribute("cy", told.y);
    cursor.setAttribute("x1", told.x);
    cursor.setAttribute("x2", told.x);
  }
  return { root, px, py, top, bottom, left: margin, right, width, point };
}
