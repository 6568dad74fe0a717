// Closes menus on Escape and on clicks outside.

// On phones, scroll the navigation to the current area.
document.querySelector(".sidebar__area[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

const openMenus = () => document.querySelectorAll("details.menu[open]");

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
