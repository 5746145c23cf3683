/**
 * What an editor shows of the facade: every exported name and member has a description, every method
 * names its errors, and a field is described as over HTTP.
 */
import { catalogue } from "@messaging-service/core"
import { dirname, join } from "node:path"
import { readFileSync } from "node:fs"
import ts from "typescript"
import { assert, describe, it } from "vitest"

const src = join(import.meta.dirname, "../src")

/** A name that callers reach, with its hover text. */
interface Reached {
  readonly name: string
  readonly text: string
  readonly method: ts.FunctionTypeNode | ts.SignatureDeclaration | undefined
}

const parsed = (file: string, text = readFileSync(file, "utf8")) =>
  ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)

const getHover = (node: ts.Node): string =>
  ts
    .getJSDocCommentsAndTags(node)
    .flatMap((each) => (ts.isJSDoc(each) ? [each, ...(each.tags ?? [])] : []))
    .filter((each) => ts.isJSDoc(each) || each.tagName.text === "description")
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "")
    .join("\n")
    .replaceAll(/\s+/g, " ")
    .trim()

/** The function that a type is, also in parentheses or in a union with `undefined`. */
const functionIn = (type: ts.TypeNode | undefined): ts.FunctionTypeNode | undefined => {
  if (type === undefined) return undefined
  if (ts.isFunctionTypeNode(type)) return type
  if (ts.isParenthesizedTypeNode(type)) return functionIn(type.type)
  return ts.isUnionTypeNode(type) ? type.types.map(functionIn).find(Boolean) : undefined
}

const toMethod = (node: ts.Node): Reached["method"] => {
  if (ts.isFunctionDeclaration(node) || ts.isMethodSignature(node)) return node
  if (ts.isMethodDeclaration(node)) return node
  if (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) return functionIn(node.type)
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return undefined
  return ts.isArrowFunction(node.initializer) ? node.initializer : undefined
}

/** Nodes with a hover. The declarations omit internal ones. */
const isVisible = (node: ts.Node): node is ts.Declaration & { readonly name: ts.Node } =>
  (ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isTypeElement(node) ||
    ts.isClassElement(node)) &&
  node.name !== undefined

/** Everything below a node, but what functions do inside. */
const reachedIn = (node: ts.Node, place = ""): ReadonlyArray<Reached> => {
  if (ts.isBlock(node)) return []
  const name = isVisible(node) ? `${place}${node.name.getText()}` : undefined
  const below: Array<Reached> = []
  node.forEachChild((child) => {
    below.push(...reachedIn(child, name === undefined ? place : `${name}.`))
  })
  return name === undefined
    ? below
    : [{ name, text: getHover(node), method: toMethod(node) }, ...below]
}

/** Exports of a file, and of the files that it re-exports in full. */
const reachedFrom = (file: string, names?: ReadonlyArray<string>): ReadonlyArray<Reached> =>
  parsed(file).statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined) {
      const target = join(dirname(file), statement.moduleSpecifier.getText().slice(1, -1))
      const { exportClause } = statement
      return exportClause !== undefined && ts.isNamedExports(exportClause)
        ? reachedFrom(
            target,
            exportClause.elements.map(({ name }) => name.text),
          )
        : reachedFrom(target)
    }
    const found = reachedIn(statement)
    const [first] = found
    if (names !== undefined) return names.includes(first?.name ?? "") ? found : []
    return ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) ? found : []
  })

/** Functions that callers pass: they may fail in any way. */
const args = ["Transaction.query", "PostgresPool.connect", "HandlerOptions.clientAddress"]

const getMethods = (reached: ReadonlyArray<Reached>) =>
  reached.filter(({ method, name }) => method !== undefined && !args.includes(name))

/** How a text names errors: by codes, by a method that fails the same way, or that there are none. */
const failures =
  /\bFails (?:with (?:`[a-z_]+`|nothing of its own)|as `[\w.]+` does)[^.]*(?:\.\w[^.]*)*/

const withoutText = (reached: ReadonlyArray<Reached>) =>
  reached.filter(({ text }) => text === "").map(({ name }) => name)

const withoutFailures = (reached: ReadonlyArray<Reached>) =>
  getMethods(reached)
    .filter(({ text }) => !failures.test(text))
    .map(({ name }) => name)

const codes: ReadonlyArray<string> = [...Object.keys(catalogue), "closed", "cannot_start"]

/** Unknown codes in the sentence on errors. */
const unknownCodes = (reached: ReadonlyArray<Reached>) =>
  getMethods(reached).flatMap(({ name, text }) =>
    [...(failures.exec(text)?.[0] ?? "").matchAll(/`([a-z]+(?:_[a-z0-9]+)+)`/g)]
      .filter(([, code = ""]) => !codes.includes(code))
      .map(([, code]) => `${name}: ${code}`),
  )

/** Methods of that type with a text that omits what the type implies. */
const unsaid = (reached: ReadonlyArray<Reached>, type: RegExp, said: RegExp) =>
  getMethods(reached)
    .filter(({ method, text }) => type.test(method?.getText() ?? "") && !said.test(text))
    .map(({ name }) => name)

describe.each(["index.ts", "testing/index.ts"])("what %s exports", (entry) => {
  const reached = reachedFrom(join(src, entry))

  it("has a text, with every member of it", () => {
    assert.isAbove(reached.length, 50)
    assert.deepStrictEqual(withoutText(reached), [])
  })

  it("says of every method what it fails with", () => {
    assert.isAbove(getMethods(reached).length, 15)
    assert.deepStrictEqual(withoutFailures(reached), [])
  })

  it("names codes that there are", () => {
    assert.deepStrictEqual(unknownCodes(reached), [])
  })

  it("says of every list that its cursor may be wrong, and of what can be repeated that its key may be", () => {
    assert.deepStrictEqual(unsaid(reached, /\): ?Listing<|=> Listing</, /`invalid_cursor`/), [])
    assert.deepStrictEqual(
      unsaid(
        reached,
        /\b(?:Repeat|Send)Options\b/,
        /`idempotencyKey`|as `create` does|as `send` does/,
      ),
      [],
    )
  })
})

/** The types of the HTTP interface with other names: there, names of answers and requests share one list. */
const httpNames: Readonly<Record<string, string>> = {
  BeginTelegramLogin: "TelegramLoginRequest",
  CampaignRowInput: "RowInput",
  CancelledMessages: "MessagesCancelled",
  ConversationSettings: "Conversations",
  CreateCampaign: "CampaignInput",
  CreatePortalLink: "CreatePortalSession",
  HeldCount: "Held",
  LastReminderRun: "LastRun",
  LinkView: "OperatedConnect",
  LoggedReminderRun: "ReminderRun",
  Message: "WorkspaceMessage",
  MessageContent: "SendWorkspaceMessage",
  NumberConnection: "Connection",
  PortalLink: "NewPortalSession",
  ReminderTimes: "ScheduleInput",
  SelectWaiting: "CancelMessages",
}

/** Fields with another text than over HTTP, and why. */
const otherTexts: Readonly<Record<string, string>> = {
  "CancelFilter.since": "JSON's times are text, a program's may be a `Date`",
  "CancelFilter.until": "the same",
  "HeldFilter.since": "the same",
  "HeldFilter.until": "the same",
  "Key.numberIds": "null here, an empty list over HTTP",
  "NumberConnection.worker": "null for a portal, which calls over HTTP alone",
  "Reminder.nextRunAt": "a `Date` has no time zone",
}

const toJsonName = (name: string): string =>
  name.replace("Millis", "Ms").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

it("says of a field what the HTTP document says of it, and may then say more", () => {
  const types = join(src, "../../client/src/openapi.ts")
  const ofHttp = new Map<string, string>()
  for (const { name, text } of reachedFrom(types)) {
    const own = text.replace(/^Format: \S+ ?/, "").replace(/^UTC, whole seconds\.$/, "")
    if (own !== "" && !ofHttp.has(name)) ofHttp.set(name, own)
  }
  const compared = new Map<string, boolean>()
  for (const { name, text } of reachedFrom(join(src, "index.ts"))) {
    const [type = "", ...path] = name.split(".")
    const http = ofHttp.get([httpNames[type] ?? type, ...path.map(toJsonName)].join("."))
    if (http === undefined || path.length === 0 || compared.has(name)) continue
    compared.set(name, text.replaceAll(/`\w+`/g, toJsonName).startsWith(http))
  }
  assert.isAbove(compared.size, 150)
  assert.deepStrictEqual(
    [...compared].flatMap(([name, isSame]) => (isSame ? [] : name)).toSorted(),
    Object.keys(otherTexts),
  )
})

it("what has no text, says no failure or names an unknown code is found", () => {
  const text = `
/** A thing. */
export interface Thing {
  readonly id: number
  /** Says nothing of failures. */
  readonly get: (by: { readonly name: string }) => Promise<void>
  /** Fails with \`not_a_code\`. */
  readonly list: (() => Listing<string>) | undefined
}`
  const reached = reachedIn(parsed("thing.ts", text))
  assert.deepStrictEqual(withoutText(reached), ["Thing.id", "Thing.get.name"])
  assert.deepStrictEqual(withoutFailures(reached), ["Thing.get"])
  assert.deepStrictEqual(unknownCodes(reached), ["Thing.list: not_a_code"])
  assert.deepStrictEqual(unsaid(reached, /=> Listing</, /`invalid_cursor`/), ["Thing.list"])
})
