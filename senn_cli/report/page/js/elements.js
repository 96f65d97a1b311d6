// Elements. Every text is set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A text in which η_c has its index set lower, as nodes for HTML or, with `drawn`, for SVG.
function formula(text, drawn) {
  return text.split(/_(\w)(?!\w)/).flatMap((part, k) => {
    if (k % 2 === 0) return drawn && k > 0 ? [svg("tspan", { dy: -3 }, part)] : [part];
    return [drawn ? svg("tspan", { dy: 3, "font-size": 9 }, part) : el("sub", {}, part)];
  });
}

function section(id, title, ...children) {
  return el("section", { id, "aria-label": title }, el("h2", {}, title), children);
}

function empty(text) {
  return el("p", { class: "empty" }, text);
}

// A row of buttons of which one is pressed.
function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) =>
    el("button", {
      type: "button",
      "data-value": value,
      "aria-pressed": String(value === chosen),
      onclick: () => {
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
        choose(value);
      },
    }, text));
  return el("span", { class: "choice", role: "group", "aria-label": label }, buttons);
}
