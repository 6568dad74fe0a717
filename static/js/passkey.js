// Creates and uses passkeys. A form has data-passkey ("make", "use" or "sign-in") and the server's options, or the URL to
// fetch them from. Its hidden field `credential` gets the result.

const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function readable(options) {
  const key = { ...options.publicKey, challenge: toBytes(options.publicKey.challenge) };
  if (key.user) key.user = { ...key.user, id: toBytes(key.user.id) };
  for (const list of ["excludeCredentials", "allowCredentials"]) {
    if (key[list]) key[list] = key[list].map((each) => ({ ...each, id: toBytes(each.id) }));
  }
  return { publicKey: key };
}

function asText(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = toText(credential.response[name]);
  }
  if (credential.response.getTransports) response.transports = credential.response.getTransports();
  return JSON.stringify({
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  });
}

async function optionsOf(form) {
  if (form.dataset.passkey !== "sign-in") return JSON.parse(form.dataset.options);
  const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
  return (await answer.json()).request_options;
}

function forPasskeys(options) {
  const selection = { residentKey: "required", requireResidentKey: true, userVerification: "required" };
  return { publicKey: { ...options.publicKey, authenticatorSelection: selection } };
}

async function ask(form) {
  const options = await optionsOf(form);
  if (form.dataset.passkey === "make") return navigator.credentials.create(readable(forPasskeys(options)));
  return navigator.credentials.get(readable(options));
}

async function submit(event) {
  const form = event.currentTarget;
  event.preventDefault();
  const failure = form.querySelector("[data-passkey-failure]");
  failure.hidden = true;
  try {
    form.elements.credential.value = asText(await ask(form));
    form.submit();
  } catch {
    failure.hidden = false; // declined, timed out or no passkey: the page shows other options
  }
}

const isPossible = window.PublicKeyCredential && !/^[\d.]+$|:/.test(location.hostname);

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const impossible = form.querySelector("[data-passkey-impossible]");
  if (impossible) impossible.hidden = isPossible;
  if (!isPossible) continue;
  form.querySelector("button[hidden]").hidden = false;
  form.addEventListener("submit", submit);
}
