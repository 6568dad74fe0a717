// The command palette: a dialog with what the search page finds, and with actions and pages. The server writes the list.

const PAUSE = 120; // milliseconds after the last key, before it searches
let dialog, input, list, said, search, timer, running;

export function open(field) {
  if (!dialog) build(field);
  if (dialog.open) return dialog.close();
  dialog.showModal();
  input.select();
  load();
}

function build(field) {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("../css/palette.css", import.meta.url);
  document.head.append(style);
  search = field.form.action;
  dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.ariaLabel = "Search and commands";
  dialog.innerHTML = `<form class="palette__search" role="search">
      <input type="text" enterkeyhint="go" name="q" maxlength="${field.maxLength}" placeholder="Search or type a command" aria-label="Search or type a command" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" autocomplete="off" spellcheck="false">
      <button class="button button--quiet button--small" type="button">Close</button>
    </form>
    <div class="palette__list" id="palette-list" role="listbox" aria-label="Results"></div>
    <p class="palette__foot"><span>↑ ↓ Choose</span><span>Enter Open</span><span>Esc Close</span></p>
    <p class="unseen" role="status"></p>`;
  document.body.append(dialog);
  [input, list, said] = ["input", ".palette__list", "[role=status]"].map((each) => dialog.querySelector(each));
  dialog.querySelector("form").action = search;
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
  dialog.addEventListener("submit", (event) => chosen() && (event.preventDefault(), chosen().click()));
  input.addEventListener("keydown", move);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE);
  });
}

const options = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");

async function load() {
  running?.abort();
  running = new AbortController();
  choose(null); // Enter searches, until the list belongs to what was typed
  const address = `${search}?${new URLSearchParams({ q: input.value })}`;
  try {
    const answer = await fetch(address, { headers: { "X-Palette": "true" }, signal: running.signal });
    if (!answer.ok || answer.redirected) return location.assign(address); // signed out, for example
    list.innerHTML = await answer.text();
  } catch (error) {
    if (error.name !== "AbortError") said.textContent = list.textContent = "The search is not available. Try again.";
    return;
  }
  const all = options();
  all.forEach((each, number) => (each.id = `palette-${number}`));
  choose(all[0]);
  said.textContent = all.length === 1 ? "1 result" : `${all.length} results`;
}

function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = options();
  if (!step || !all.length) return;
  event.preventDefault();
  const at = all.indexOf(chosen());
  choose(all[at < 0 ? 0 : (at + step + all.length) % all.length]);
}

function choose(option) {
  for (const each of options()) each.ariaSelected = each === option;
  if (!option) return input.removeAttribute("aria-activedescendant");
  input.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}
