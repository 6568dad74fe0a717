const resolve = (text) => pm.variables.replaceIn(text);
const setVariable = (name, value) => pm.variables.set(name, value);
const getMethod = () => pm.request.method;
const getUrl = () => pm.request.url.toString();
const setUrl = (url) => pm.request.url.update(url);
const getBody = () => (pm.request.body && pm.request.body.mode === "raw" ? pm.request.body.raw || "" : "");
const setBody = (raw) => raw && pm.request.body.update({ mode: "raw", raw });
const setHeader = (key, value) => pm.request.headers.upsert({ key, value });
