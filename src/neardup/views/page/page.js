// The page as a whole: theme, keys, and which item is open.

const find = (id) => document.getElementById(id);

const THEMES = { auto: "light dark", light: "light", dark: "dark" };
const themeButton = find("theme");

function setTheme(name) {
  document.documentElement.style.colorScheme = THEMES[name];
  document.documentElement.dataset.theme = name;
  const [sign, label] = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[name].split(" ");
  themeButton.replaceChildren(sign, make("span", { class: "label" }, " " + label));
  themeButton.setAttribute("aria-label", `Colours: ${name}. Change`);
  store("neardup-theme", name);
}

themeButton.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
});
setTheme(Object.hasOwn(THEMES, stored("neardup-theme")) ? stored("neardup-theme") : "auto");
themeButton.hidden = false;

// A browser may not let a page copy; the paragraph can be selected too.
find("copy")?.addEventListener("click", ({ target }) => {
  const says = [...find("paragraph").children].map((one) => one.textContent.trim()).join("\n");
  const done = (label) => target.replaceChildren(label);
  const failed = () => getSelection().selectAllChildren(find("paragraph"));
  Promise.resolve(navigator.clipboard?.writeText(says) ?? Promise.reject()).then(() => done("Copied"), failed);
});
if (find("copy")) find("copy").hidden = false;

/** The list, what is open, and what of it is looked at. */
function listed(data) {
  const { settings } = data;
  const library = new Library(data);
  const selection = new Selection(data.slider);
  const review = new Review(settings.judge, library, find("review"), undo);
  const context = { settings, selection, review, next: openNext };
  const panes = find("panes");
  const detail = find("detail");
  const empty = [...detail.childNodes];
  let openedBy = null;
  let opened = null;

  const list = new List(
    library,
    selection,
    settings,
    { search: find("search"), order: find("order"), group: find("group"), columns: find("columns"), status: find("status"), rows: find("rows"), pages: find("pages") },
    (k, button) => {
      const row = [...find("rows").children].findIndex((item) => item.contains(button));
      if (row >= 0) list.mark(row, false);
      open(k, button);
    },
  );

  /** Open an item; unasked, nothing moves to it. */
  function open(k, button, unasked) {
    const item = library.items[k];
    opened = item.opened(context);
    detail.replaceChildren(...opened.draw(close));
    detail.scrollTop = 0;
    panes.classList.add("opened");
    list.setOpen(k);
    if (unasked) return;
    openedBy = button;
    history.replaceState(null, "", `#${settings.one}-${item.at}`);
    detail.querySelector("h3").focus({ preventScroll: true });
    const { top } = detail.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) find("items").scrollIntoView();
  }

  /** Open the next item of the list that can be judged; false if there is none. */
  function openNext() {
    const next = list.next((k) => library.items[k].opened(context).pair !== null);
    if (!next) return false;
    open(...next);
    opened.focus();
    return true;
  }

  /** Take the last judgement back, and open what it was about. */
  function undo() {
    const pair = review.undo();
    if (!pair) return;
    const k = library.items.findIndex((item) => pair.every((doc) => item.judged.some(([other]) => other === doc)));
    if (k >= 0) open(k, list.button(list.found.indexOf(k) % PER_PAGE), true);
  }

  function close() {
    if (!panes.classList.contains("opened")) return;
    opened = null;
    detail.replaceChildren(...empty);
    panes.classList.remove("opened");
    list.setOpen(null);
    history.replaceState(null, "", "#items");
    const back = openedBy?.isConnected ? openedBy : list.button(list.marked);
    (back || find("search")).focus();
  }

  if (data.slider) {
    new Found(data, selection, settings, (go) => {
      list.find();
      if (go && list.found.length) {
        open(list.found[0], list.button(0));
        find("items").scrollIntoView();
      } else if (opened && list.found.length && !list.found.includes(list.open)) {
        open(list.found[0], list.button(0), true);
      } else opened?.update();
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const writes = event.target.closest?.("input:not([type=range]), select, textarea");
    if (event.key === "/" && !writes) {
      event.preventDefault();
      find("search").focus();
      find("search").select();
    } else if (settings.judge?.keys.includes(event.key) && !writes && opened) {
      event.preventDefault();
      opened.judge(event.key === settings.judge.keys[0]);
    } else if (event.key === "u" && !writes) {
      event.preventDefault();
      undo();
    } else if (event.key === "Escape") {
      if (event.target === find("search") && find("search").value) {
        event.preventDefault();
        find("search").value = "";
        list.find();
      } else close();
    }
  });

  function openFromAddress() {
    const wanted = new RegExp(`^#${settings.one}-(\\d+)$`).exec(location.hash);
    const k = wanted ? library.items.findIndex((item) => item.at === Number(wanted[1])) : -1;
    if (k >= 0) open(k, null);
    return k >= 0;
  }

  addEventListener("hashchange", openFromAddress);
  // The first one with differences is open, but on small screens, where it would hide the list.
  if (!openFromAddress() && list.found.length && matchMedia("(min-width: 901px)").matches) {
    const at = Math.max(0, list.found.findIndex((k) => library.items[k].tells));
    open(list.found[at], list.button(at), true);
  }
  // Examples are made when the page is printed.
  const box = find("examples-list");
  const printed = (now) => box?.replaceChildren(...(now ? examples(library.items, context) : []));
  addEventListener("beforeprint", () => printed(true));
  addEventListener("afterprint", () => printed(false));
  matchMedia("print").addEventListener("change", ({ matches }) => printed(matches));
}

listed(JSON.parse(find("data").textContent));
document.documentElement.classList.add("ready");
