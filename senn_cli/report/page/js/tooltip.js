// One box for the whole page that says what is under the pointer.
const tooltip = (() => {
  const box = el("div", { class: "tooltip", role: "status", hidden: true });
  document.body.append(box);

  // `lines`: [text, class, colour], the last two optional.
  function show(x, y, lines) {
    box.replaceChildren(...lines.map(([text, kind, colour]) =>
      el("div", { class: kind || null }, colour ? el("i", { style: `background:${colour}` }) : null, el("span", {}, formula(text)))));
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    let left = x + 14 + width <= room - 8 ? x + 14 : x - 14 - width;
    left = Math.min(Math.max(8, left), Math.max(8, room - width - 8));
    let top = y - height - 12;
    if (top < 8) top = Math.min(y + 18, Math.max(8, innerHeight - height - 8));
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
  }

  function hide() {
    if (!box.hidden) box.hidden = true;
  }

  addEventListener("scroll", hide, { passive: true });
  return { show, hide, box };
})();
