/** The methods and arguments of this client are those of clients/surface.json, which the Python client has too. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import ts from "typescript";

import { NoCredentials, OutcomeUnknown, Sluice } from "../src/index.js";

interface Method { operations: string[]; once?: boolean; arguments?: string[]; fields?: string[] }
interface Surface { factories: Record<string, string[]>; call: string[]; groups: Record<string, Record<string, Method>> }

const surface = JSON.parse(readFileSync("../surface.json", "utf8")) as Surface;
const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile("tsconfig.json", ts.sys.readFile).config, ts.sys, ".");
const program = ts.createProgram(["src/client.ts"], options);
const checker = program.getTypeChecker();
const source = program.getSourceFile("src/client.ts") as ts.SourceFile;
const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol);
const sluice = exported.find(({ name }) => name === "Sluice") as ts.Symbol;

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function typeOf(symbol: ts.Symbol): ts.Type {
  return checker.getTypeOfSymbolAtLocation(symbol, source);
}

function isPublic(symbol: ts.Symbol): boolean {
  const modifiers = ts.getCombinedModifierFlags(symbol.valueDeclaration as ts.Declaration);
  return !(modifiers & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) && !/^(#|__)/.test(symbol.name);
}

function parametersOf(method: ts.Symbol): ts.Symbol[] {
  const [signature] = typeOf(method).getCallSignatures();
  return [...(signature as ts.Signature).parameters];
}

/** Returns the properties of a parameter, for a union those of all members, without those that the service ignores. */
function fieldsOf(parameter: ts.Symbol): string[] {
  const type = checker.getNonNullableType(typeOf(parameter));
  const members = type.isUnion() ? type.types : [type];
  const properties = members.flatMap((member) => checker.getPropertiesOfType(member));
  const isIgnored = (property: ts.Symbol) =>
    property.getJsDocTags(checker).some(({ text }) => ts.displayPartsToString(text) === "Ignored.");
  return [...new Set(properties.filter((property) => !isIgnored(property)).map(({ name }) => name))].sort();
}

const groups = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(sluice))
  .filter((property) => isPublic(property) && typeOf(property).getCallSignatures().length === 0);

function methodsOf(group: ts.Symbol): ts.Symbol[] {
  return checker.getPropertiesOfType(typeOf(group)).filter(isPublic);
}

test("has the groups and methods of the surface", () => {
  const mine = Object.fromEntries(groups.map((group) => [group.name, methodsOf(group).map(({ name }) => name).sort()]));
  const expected = Object.entries(surface.groups)
    .map(([name, methods]) => [camelCase(name), Object.keys(methods).map(camelCase).sort()] as const);

  assert.deepEqual(mine, Object.fromEntries(expected));
});

for (const [groupName, methods] of Object.entries(surface.groups)) {
  for (const [name, expected] of Object.entries(methods)) {
    test(`has the arguments of ${groupName}.${name}`, () => {
      const group = groups.find((each) => each.name === camelCase(groupName)) as ts.Symbol;
      const parameters = parametersOf(methodsOf(group).find((each) => each.name === camelCase(name)) as ts.Symbol);
      const count = expected.arguments?.length ?? 0;

      assert.deepEqual(parameters.slice(0, count).map((each) => each.name), (expected.arguments ?? []).map(camelCase));
      assert.deepEqual(parameters.slice(count).flatMap(fieldsOf), [...(expected.fields ?? [])].sort());
    });
  }
}

test("names the folder in which it looked for a sandbox, and what to do", (context) => {
  const place = mkdtempSync(join(tmpdir(), "sluice-"));
  context.after(() => { rmSync(place, { recursive: true }); });
  const told = (folder: string) => (problem: unknown) =>
    problem instanceof NoCredentials && problem.message.includes(`in ${folder}. Set SANDBOX_DATA to`);

  assert.throws(() => Sluice.fromSandbox(place), told(place));
  assert.throws(() => Sluice.fromSandbox("no/such"), told(join(process.cwd(), "no", "such")));
});

test("refuses the keys of a sandbox on another machine", (context) => {
  const place = mkdtempSync(join(tmpdir(), "sluice-"));
  context.after(() => { rmSync(place, { recursive: true }); });
  for (const address of ["https://evil.example", "http://127.0.0.1@evil.example", "http://["]) {
    writeFileSync(join(place, "credentials.json"), JSON.stringify({ base_url: address, api_key: "pk_1", secret_key: "sk_1" }));
    assert.throws(() => Sluice.fromSandbox(place), (problem) => problem instanceof NoCredentials && problem.message.includes("not on this machine"));
  }
});

test("is made and called as the surface says", () => {
  const statics = checker.getPropertiesOfType(checker.getTypeOfSymbolAtLocation(sluice, source));
  const names = (method: ts.Symbol) => parametersOf(method).map(({ name }) => name).filter((name) => name !== "options");
  const factories = statics.filter(({ name }) => name.startsWith("from")).map((each) => [each.name, names(each)] as const);
  const call = checker.getPropertyOfType(checker.getDeclaredTypeOfSymbol(sluice), "call") as ts.Symbol;

  assert.deepEqual(
    Object.fromEntries(factories),
    Object.fromEntries(Object.entries(surface.factories).map(([name, given]) => [camelCase(name), given])),
  );
  assert.deepEqual(names(call), surface.call);
});

for (const [groupName, methods] of Object.entries(surface.groups)) {
  for (const [name, method] of Object.entries(methods).filter(([, { operations }]) => operations.length === 1)) {
    test(`repeats after a lost answer of ${groupName}.${name} what the surface says`, async (context) => {
      context.mock.method(Math, "random", () => 0); // waits take no time
      let sent = 0;
      const client = new Sluice("https://pay.example", "pk", "sk", {
        fetch: () => { sent += 1; return Promise.reject(new TypeError("fetch failed")); },
      });
      const group = client[camelCase(groupName) as "payments"] as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
      const known: Record<string, unknown> = { request: { reference: "r" }, timeout: 1, changes: undefined };
      const positional = (method.arguments ?? []).map((each) => each in known ? known[each] : "x");
      const fields = method.fields ? [Object.fromEntries(method.fields.map((field) => [field, "x"]))] : [];

      await assert.rejects(group[camelCase(name)]?.(...positional, ...fields) ?? Promise.resolve(), OutcomeUnknown);

      assert.equal(sent, method.once ? 1 : 3);
    });
  }
}
