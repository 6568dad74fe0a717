// Asks how many rows a list has gained, while the page is visible, and offers to show them.

const link = document.querySelector("[data-news]");
const timer = setInterval(ask, 20_000);

async function ask() {
  if (document.hidden) return;
  try {
    const answer = await fetch(link.dataset.news, { headers: { "X-News": "true" } });
    if (!answer.ok || answer.redirected) return clearInterval(timer); // signed out
    link.textContent = await answer.text();
    link.hidden = !link.textContent;
  } catch {} // offline
}

document.addEventListener("visibilitychange", ask);
