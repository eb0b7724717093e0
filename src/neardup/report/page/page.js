// The page as a whole: theme, keys, and which cluster is open.

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const library = new Library(data);
const settings = data.settings;

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

function open(k, button) {
  const cluster = new Cluster(library, k, settings);
  detail.replaceChildren(...cluster.draw(close));
  detail.scrollTop = 0;
  panes.classList.add("opened");
  list.setOpen(k);
  openedBy = button;
  history.replaceState(null, "", "#cluster-" + library.clusters[k].cluster);
  const heading = detail.querySelector("h3");
  heading.focus({ preventScroll: true });
  if (detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight / 2) {
    find("clusters").scrollIntoView();
  }
}

function close() {
  if (!panes.classList.contains("opened")) return;
  detail.replaceChildren(...empty);
  panes.classList.remove("opened");
  list.setOpen(null);
  history.replaceState(null, "", "#clusters");
  const back = openedBy?.isConnected ? openedBy : list.button(list.marked);
  (back || find("search")).focus();
}

const list = new List(
  library,
  settings.threshold,
  { search: find("search"), order: find("order"), status: find("status"), rows: find("rows"), pages: find("pages") },
  (k, button) => {
    const row = [...find("rows").children].findIndex((item) => item.contains(button));
    if (row >= 0) list.mark(row, false);
    open(k, button);
  },
);

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const writes = event.target.closest?.("input, select, textarea");
  if (event.key === "/" && !(writes && writes.type !== "checkbox")) {
    event.preventDefault();
    find("search").focus();
    find("search").select();
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
  if (!wanted) return;
  const k = library.clusters.findIndex((cluster) => cluster.cluster === Number(wanted[1]));
  if (k >= 0) open(k, null);
}

addEventListener("hashchange", openFromAddress);
openFromAddress();
document.documentElement.classList.add("ready");
