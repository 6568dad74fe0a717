// "/" focuses the search. So do Ctrl K and, on a Mac, Command K, or they open the command palette.

document.addEventListener("keydown", async (event) => {
  const isK = event.key === "k" && (event.ctrlKey || event.metaKey);
  if (!isK && (event.key !== "/" || event.target.closest("input, textarea, select"))) return;
  const field = document.querySelector("[data-search]");
  event.preventDefault();
  if (isK && field.dataset.palette) return (await import(field.dataset.palette)).open(field);
  if (!field.offsetParent) field.closest("[popover]")?.showPopover(); // on a phone
  field.select();
});
