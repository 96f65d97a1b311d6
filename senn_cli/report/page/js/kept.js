// What a reader has chosen (a tab, what is switched off, sorted or typed) outlives the elements,
// which are made anew where a tab is opened and where the data of the page have changed.
const kept = new Map();

function keep(key, make) {
  if (!kept.has(key)) kept.set(key, make());
  return kept.get(key);
}

// By what an element is found again in a page that was made anew.
function signOf(element) {
  const { key, value } = element.dataset;
  const place = element.closest("section");
  const own = element.id || key || value || element.getAttribute("aria-label") || element.textContent.slice(0, 40);
  return [element.tagName, place ? place.id : "", own].join("|");
}

// Makes the content of `root` anew; the focus, the selection and all scrolling stay as they are.
function renewed(root, make) {
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  const sign = focused ? signOf(focused) : "";
  const selection = focused && focused.type === "search" ? [focused.selectionStart, focused.selectionEnd] : null;
  const sideways = new Map([...root.querySelectorAll(".scroll")].map((each) => [signOf(each), [each.scrollLeft, each.scrollTop]]));
  const { scrollX, scrollY } = window;
  for (const host of charts) if (root.contains(host)) forget(host);
  root.replaceChildren(...make());
  redrawAll();
  for (const each of root.querySelectorAll(".scroll")) [each.scrollLeft, each.scrollTop] = sideways.get(signOf(each)) || [0, 0];
  scrollTo(scrollX, scrollY);
  if (!focused) return;
  const found = [...root.querySelectorAll("a, button, input, select, [tabindex]")].find((each) => signOf(each) === sign);
  if (!found) return;
  found.focus({ preventScroll: true });
  if (selection) found.setSelectionRange(...selection);
}
