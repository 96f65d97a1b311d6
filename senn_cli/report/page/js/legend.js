// Colours of layers and runs, and legends whose entries switch something off.
const PALETTE = 7;
const MANY = 24; // entries of a legend that get a bar to scroll

function colour(place, total) {
  if (total <= PALETTE) return `var(--c${place})`;
  // More than the palette has: from blue over green to yellow, light enough for both papers.
  const share = place / (total - 1);
  return `hsl(${Math.round(265 - 210 * share)} 62% ${Math.round(48 + 12 * share)}%)`;
}

const OUTPUTS = "var(--mark)";

function swatch(paint) {
  return svg("svg", { width: 12, height: 12, "aria-hidden": "true" },
    svg("rect", { width: 12, height: 12, rx: 2.5, style: `fill:${paint}` }));
}

function stroke(paint, kind) {
  return svg("svg", { width: 22, height: 12, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: `curve ${kind || ""}`, style: paint ? `stroke:${paint}` : null }));
}

function glyph(shape, attributes) {
  return svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
    svg("path", { d: MARKS[shape](7, 7, 4.5), ...attributes }));
}

// `entries`: {key, text, sign}; those with a key are buttons. `off` is a set of the keys switched off.
function legend(entries, off, changed) {
  return el("div", { class: entries.length > MANY ? "legend many" : "legend" }, entries.map(({ key, text, sign, title }) => {
    if (key === undefined) return el("span", {}, sign, text);
    const button = el("button", {
      type: "button",
      "data-key": key,
      title: title ? `${title}: show or hide` : "show or hide",
      "aria-pressed": String(!off.has(key)),
      onclick: () => {
        if (off.has(key)) off.delete(key);
        else off.add(key);
        button.setAttribute("aria-pressed", String(!off.has(key)));
        tooltip.hide();
        changed();
      },
    }, sign, text);
    return button;
  }));
}
