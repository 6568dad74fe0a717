// The card page: groups the number and names its brand, checks the fields before anything is sent, by the server's rules,
// and disables the button after the first press. Without it, the server does the checks.

const form = document.querySelector("[data-card-form]");
const field = (name) => form.elements[name];
// As `pasted` of kit/display_names.py: programs add marks that can't be seen, and other blanks and hyphens.
const pasted = (text) =>
  text
    .replace(/[\u200b\u200e\u200f\u202a-\u202c\u2060\u2066-\u2069\ufeff]/g, "")
    .replace(/\s/g, " ")
    .replace(/[\u2010-\u2013]/g, "-")
    .trim();
const digits = (text) => pasted(text).replace(/[ -]/g, "");

// As `BRANDS` of payments/rules/cards.py.
const brands = [
  ["Verve", /^(506(099|1[0-8]|19[0-8])|507(86[5-9]|8[7-9]|9[0-5]|96[0-4])|6500(0[2-9]|1|2[0-7]))/],
  ["Visa", /^4/],
  ["Mastercard", /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/],
  ["American Express", /^3[47]/],
];

// Group a number while it is typed, and keep the cursor behind the same digit. Leave other texts to the check.
function group() {
  const input = field("number");
  const number = digits(input.value);
  const brand = brands.find(([, prefix]) => prefix.test(number))?.[0] || "";
  const mark = form.querySelector("[data-brand]");
  mark.textContent = brand;
  mark.hidden = !brand;
  if (!/^[0-9]{0,19}$/.test(number)) return;
  const before = digits(input.value.slice(0, input.selectionStart)).length;
  const grouped = (part) =>
    brand === "American Express"
      ? [part.slice(0, 4), part.slice(4, 10), part.slice(10)].filter(Boolean).join(" ")
      : part.replace(/(.{4})(?=.)/g, "$1 ");
  if (input.value === grouped(number)) return;
  input.value = grouped(number);
  const cursor = grouped(number.slice(0, before)).length;
  input.setSelectionRange(cursor, cursor);
}

function passesLuhn(number) {
  const doubled = [...number].reverse().map((digit, place) => digit * (1 + (place % 2)));
  return doubled.reduce((sum, value) => sum + (value > 9 ? value - 9 : value), 0) % 10 === 0;
}

function numberFault(text) {
  const number = digits(text);
  if (!number) return "Enter the card number.";
  if (!/^[0-9]+$/.test(number)) return "Enter the card number without letters.";
  if (number.length < 12 || number.length > 19) return "Enter the whole card number, usually 16 digits.";
  return passesLuhn(number) ? "" : "Check the card number. One of its digits is wrong.";
}

function expiryFault(text) {
  const monthFirst = pasted(text).replace(/^(20[0-9]{2})[/-](0?[1-9]|1[0-2])$/, "$2/$1"); // HTML, autofill "cc-exp"
  const match = /^(0?[1-9]|1[0-2])[/ -]{0,3}(?:20)?([0-9]{2})$/.exec(monthFirst);
  if (!match) return "Enter the expiry date as on the card, such as 03/29.";
  // A month ends when it has ended in the westernmost time zone, UTC-12, as on the server.
  const now = new Date(Date.now() - 12 * 60 * 60 * 1000);
  const months = (2000 + Number(match[2])) * 12 + Number(match[1]);
  return months < now.getUTCFullYear() * 12 + now.getUTCMonth() + 1 ? "This card has expired. Use another card." : "";
}

function nameFault(text) {
  return pasted(text) ? "" : "Enter the name on the card.";
}

const faults = {
  number: numberFault,
  expiry: expiryFault,
  code: (text) =>
    /^[0-9]{3,4}$/.test(digits(text)) ? "" : "Enter the 3 or 4 digits of the security code, usually on the back.",
  name: nameFault,
};

function say(name, message) {
  const input = field(name);
  const id = `${name}-error`;
  document.getElementById(id)?.remove();
  const described = (input.getAttribute("aria-describedby") || "").split(" ").filter((each) => each && each !== id);
  if (message) {
    const error = document.createElement("p");
    error.className = "box__error";
    error.id = id;
    error.textContent = message;
    (input.closest(".box__marked") || input).before(error);
    described.unshift(id);
    input.setAttribute("aria-invalid", "true");
  } else {
    input.removeAttribute("aria-invalid");
  }
  if (described.length) input.setAttribute("aria-describedby", described.join(" "));
  else input.removeAttribute("aria-describedby");
}

// Show the server's summary of errors, with links to the fields, and move the focus to it.
function sumUp(found) {
  document.querySelectorAll(".say--danger").forEach((said) => said.remove());
  if (!found.length) return;
  const summary = document.querySelector("[data-summary]").content.firstElementChild.cloneNode(true);
  summary.querySelector("ul").replaceChildren(
    ...found.map(([name, message]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${name}`;
      link.textContent = message;
      item.append(link);
      return item;
    }),
  );
  form.before(summary);
  summary.focus();
  if (!document.title.startsWith("Error: ")) document.title = `Error: ${document.title}`;
}

field("number").addEventListener("input", group);
group();

form.addEventListener("submit", (event) => {
  const checked = Object.keys(faults).map((name) => [name, faults[name](field(name).value)]);
  const found = checked.filter(([, message]) => message);
  checked.forEach(([name, message]) => say(name, message));
  sumUp(found);
  if (found.length) {
    event.preventDefault();
    return;
  }
  const button = form.querySelector("[data-paying]");
  button.textContent = button.dataset.paying;
  button.disabled = true;
});

// A page from the browser's history must be usable again.
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
