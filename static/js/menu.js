// Closes menus on Escape, and on clicks and focus outside, which they could cover.

const openMenus = () => document.querySelectorAll("details.menu[open], details.chip[open]");

for (const left of ["pointerdown", "focusin"]) {
  document.addEventListener(left, (event) => {
    for (const menu of openMenus()) menu.open = menu.contains(event.target);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
