// The page as a whole: theme, keys, and which cluster is open.

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const library = new Library(data);
const selection = new Selection(data.slider);
const settings = data.settings;
const review = new Review(settings.run, library, find("review"));

// Theme: the rules for dark screens are in one media rule, whose condition is changed here.
const dark = [...document.styleSheets]
  .flatMap((sheet) => [...sheet.cssRules])
  .find((rule) => rule instanceof CSSMediaRule && rule.media.mediaText.includes("dark"));
const THEMES = { auto: "screen and (prefers-color-scheme: dark)", light: "not all", dark: "screen" };
const themeButton = find("theme");

function setTheme(name) {
  dark.media.mediaText = THEMES[name];
  document.documentElement.dataset.theme = name;
  const [sign, label] = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[name].split(" ");
  themeButton.replaceChildren(sign, make("span", { class: "label" }, " " + label));
  themeButton.setAttribute("aria-label", `Colours: ${name}. Change`);
  try {
    localStorage.setItem("neardup-theme", name);
  } catch {
    // A page from a file may have no storage; then the choice lasts as long as the page.
  }
}

themeButton.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
});
let stored = null;
try {
  stored = localStorage.getItem("neardup-theme");
} catch {
  stored = null;
}
setTheme(Object.hasOwn(THEMES, stored) ? stored : "auto");
themeButton.hidden = false;

// The clusters.
const panes = find("panes");
const detail = find("detail");
const empty = [...detail.childNodes];
let openedBy = null;
let cluster = null;

/** Open a cluster; unasked, nothing moves to it. */
function open(k, button, unasked) {
  cluster = new Cluster({ library, settings, selection, review }, k, openNext);
  detail.replaceChildren(...cluster.draw(close));
  detail.scrollTop = 0;
  panes.classList.add("opened");
  list.setOpen(k);
  if (unasked) return;
  openedBy = button;
  history.replaceState(null, "", "#cluster-" + library.clusters[k].cluster);
  detail.querySelector("h3").focus({ preventScroll: true });
  const { top } = detail.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) find("clusters").scrollIntoView();
}

/** Open the next cluster of the list that has pairs to be judged; false if there is none. */
function openNext() {
  for (let next = list.next(); next; next = list.next()) {
    open(...next);
    if (!cluster.pairs.length) continue;
    detail.querySelector(".sides").scrollIntoView();
    cluster.right.focus({ preventScroll: true });
    return true;
  }
  return false;
}

function close() {
  if (!panes.classList.contains("opened")) return;
  cluster = null;
  detail.replaceChildren(...empty);
  panes.classList.remove("opened");
  list.setOpen(null);
  history.replaceState(null, "", "#clusters");
  const back = openedBy?.isConnected ? openedBy : list.button(list.marked);
  (back || find("search")).focus();
}

const list = new List(
  library,
  selection,
  { search: find("search"), order: find("order"), status: find("status"), rows: find("rows"), pages: find("pages") },
  (k, button) => {
    const row = [...find("rows").children].findIndex((item) => item.contains(button));
    if (row >= 0) list.mark(row, false);
    open(k, button);
  },
);

new Found(
  data,
  selection,
  settings.clusters,
  {
    similarities: find("similarities"),
    broken: find("broken"),
    cutoff: find("cutoff"),
    value: find("cutoff-value"),
    says: find("cutoff-says"),
    bars: find("bars"),
    filters: find("filters"),
  },
  (go) => {
    list.find();
    if (go && list.found.length) {
      open(list.found[0], list.button(0));
      find("clusters").scrollIntoView();
    } else if (cluster && list.found.length && !list.found.includes(list.open)) {
      open(list.found[0], list.button(0), true);
    } else cluster?.update();
  },
);

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const writes = event.target.closest?.("input:not([type=range]), select, textarea");
  if (event.key === "/" && !writes) {
    event.preventDefault();
    find("search").focus();
    find("search").select();
  } else if ((event.key === "y" || event.key === "n") && !writes && cluster) {
    event.preventDefault();
    cluster.judge(event.key === "y");
  } else if (event.key === "Escape") {
    if (event.target === find("search") && find("search").value) {
      event.preventDefault();
      find("search").value = "";
      list.find();
    } else close();
  }
});

function openFromAddress() {
  const wanted = /^#cluster-(\d+)$/.exec(location.hash);
  const k = wanted ? library.clusters.findIndex((one) => one.cluster === Number(wanted[1])) : -1;
  if (k >= 0) open(k, null);
  return k >= 0;
}

addEventListener("hashchange", openFromAddress);
// The first one with differences is open, but on small screens, where it would hide the list.
if (!openFromAddress() && list.found.length && matchMedia("(min-width: 901px)").matches) {
  const differs = list.found.findIndex((k) => library.clusters[k].lowest !== 1 && library.clusters[k].texts);
  const at = Math.max(0, differs);
  open(list.found[at], list.button(at), true);
}
// Examples are made when the page is printed.
const examples = find("examples-list");
function printed(now) {
  examples?.replaceChildren(...(now ? chosenExamples({ library, settings, selection, review }) : []));
}
addEventListener("beforeprint", () => printed(true));
addEventListener("afterprint", () => printed(false));
matchMedia("print").addEventListener("change", ({ matches }) => printed(matches));
document.documentElement.classList.add("ready");
