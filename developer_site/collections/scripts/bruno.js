const resolve = (text) => bru.interpolate(text);
const setVariable = (name, value) => bru.setVar(name, value);
const getMethod = () => req.getMethod();
const getUrl = () => req.getUrl();
const setUrl = (url) => req.setUrl(url);
const getBody = () => (typeof req.getBody({ raw: true }) === "string" ? req.getBody({ raw: true }) : "");
const setBody = (body) => body && req.setBody(body, { raw: true });
const setHeader = (name, value) => req.setHeader(name, value);
