// Shows all samples in the language that the reader chose last.

const KEY = "sample-language";

function choose(language) {
  for (const label of document.querySelectorAll(".pick__tab")) {
    if (label.textContent === language) label.control.checked = true;
  }
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches(".pick > input")) return;
  const language = target.labels[0].textContent;
  const before = target.labels[0].getBoundingClientRect().top;
  choose(language);
  scrollBy(0, target.labels[0].getBoundingClientRect().top - before); // samples above it have another height now
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // The browser stores nothing for pages.
  }
});

try {
  choose(localStorage.getItem(KEY));
} catch {
  // As above: the first language stays.
}
