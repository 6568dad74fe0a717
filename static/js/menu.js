// Closes menus on Escape and on clicks outside.

const openMenus = () => document.querySelectorAll("details.menu[open], details.chip[open]");

document.addEventListener("pointerdown", (event) => {
  for (const menu of openMenus()) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
