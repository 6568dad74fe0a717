// Keeps the preview of a form up to date while it is filled in. Without it, a button does.

const form = document.getElementById("link-form");
let timer;

async function update() {
  const body = new FormData(form);
  body.set("step", "preview");
  const answer = await fetch(form.action, { method: "POST", body });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.getElementById("preview");
  if (next) document.getElementById("preview").replaceChildren(...next.childNodes);
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, 500);
});
