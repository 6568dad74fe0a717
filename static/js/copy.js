// Copies the text in a button's data-copy attribute, or the code below the button if it is empty, and confirms it, to screen
// readers in a live region.

const spoken = document.createElement("p");
spoken.className = "unseen";
spoken.role = "status";

function offer(scope) {
  for (const button of scope.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

// Returns the code that is shown: of several tabs, one is.
function shownCode(box) {
  return [...box.querySelectorAll("code")].find((code) => code.getClientRects().length);
}

async function write(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea"); // the clipboard API needs HTTPS
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await write(button.dataset.copy || shownCode(button.closest(".code")).textContent);
  const label = button.querySelector("[data-copy-label]");
  const before = label.textContent;
  if (button.hasAttribute("data-copied")) return;
  button.setAttribute("data-copied", "");
  label.textContent = "Copied";
  spoken.textContent = "Copied";
  setTimeout(() => {
    button.removeAttribute("data-copied");
    label.textContent = before;
    spoken.textContent = "";
  }, 1500);
});

document.body.append(spoken);
offer(document);
document.addEventListener("htmx:afterSwap", () => offer(document));
