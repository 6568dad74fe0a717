// Focuses the search with "/", Ctrl K or, on a Mac, Command K.

document.addEventListener("keydown", (event) => {
  const isK = event.key === "k" && (event.ctrlKey || event.metaKey);
  if (!isK && (event.key !== "/" || event.target.closest("input, textarea, select"))) return;
  const field = document.querySelector("[data-search]");
  event.preventDefault();
  if (!field.offsetParent) field.closest("[popover]")?.showPopover(); // on a phone
  field.select();
});
