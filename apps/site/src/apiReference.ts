/** Pages on the front door, made from its types: each exported name with its text and its members. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript-6"
import { toSlug } from "./markdown.ts"
import { referencePages } from "./outline.ts"

type Page = (typeof referencePages)[number]

/** What a page is for, and the files that it shows. */
const sources: Readonly<Record<Page, readonly [title: string, files: ReadonlyArray<string>]>> = {
  open: ["open, and its errors", ["open.ts", "MessagingError.ts"]],
  Messaging: ["The open service", ["api/Messaging.ts"]],
  messages: ["Messages", ["api/messages.ts"]],
  numbers: ["Numbers, checks and media", ["api/numbers.ts"]],
  reminders: ["Reminders", ["api/reminders.ts"]],
  campaigns: ["Campaigns", ["api/campaigns.ts"]],
  chats: ["Received messages and chats", ["api/chats.ts"]],
  webhooks: ["Webhooks", ["api/webhooks.ts"]],
  operator: ["Workspaces and what operators do", ["api/operator.ts"]],
  options: ["Options of open", ["api/options.ts"]],
  common: ["What several operations share", ["api/common.ts"]],
  testing: ["openTest", ["testing/TestMessaging.ts", "testing/openTest.ts"]],
}

const src = join(import.meta.dirname, "../../../packages/service/src")

type View =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableStatement

const isExported = (node: ts.Statement): node is View =>
  (ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isVariableStatement(node)) &&
  (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)

const toName = (node: View): string =>
  ts.isVariableStatement(node)
    ? (node.declarationList.declarations[0]?.name.getText() ?? "")
    : (node.name?.text ?? "")

/** Text of the comment before a node; angle brackets outside code are words, not tags. */
const getText = (node: ts.Node): string =>
  ts
    .getJSDocCommentsAndTags(node)
    .filter((each) => ts.isJSDoc(each))
    .map((each) => ts.getTextOfJSDocComment(each.comment) ?? "")
    .join("\n\n")
    .split(/(`[^`]*`)/)
    .map((piece, location) => (location % 2 === 1 ? piece : piece.replaceAll("<", "&lt;")))
    .join("")
    .trim()

const isNamed = (node: ts.Node): node is ts.TypeElement | ts.ClassElement =>
  (ts.isTypeElement(node) || ts.isClassElement(node)) && node.name !== undefined

/** A declaration's own text: without comments, keywords of modules, and what functions do inside. */
const getCode = (node: ts.Node): string => {
  let text = node.getText()
  const cut: Array<readonly [number, number]> = []
  const visit = (child: ts.Node) => {
    for (const comment of ts.getJSDocCommentsAndTags(child)) {
      if (comment.parent === child && child !== node) cut.push([comment.pos, comment.end])
    }
    if (ts.isBlock(child)) cut.push([child.pos, child.end])
    else child.forEachChild(visit)
  }
  visit(node)
  const start = node.getStart()
  for (const [from, to] of cut.toSorted(([a], [b]) => b - a)) {
    text = text.slice(0, from - start) + text.slice(to - start)
  }
  return text.replaceAll(/^(?:export|declare) /gm, "").replaceAll(/\n\s*\n/g, "\n")
}

/** A value's type is what readers want, not how it is made. */
const sign = (node: View): string => {
  if (!ts.isVariableStatement(node)) return getCode(node)
  return getCode(node).replace(/ => [^]*$/, "")
}

const getMembers = (node: View): ReadonlyArray<ts.TypeElement | ts.ClassElement> => {
  if (ts.isInterfaceDeclaration(node)) return node.members.filter(isNamed)
  if (ts.isClassDeclaration(node)) return node.members.filter(isNamed)
  if (!ts.isTypeAliasDeclaration(node)) return []
  const members: Array<ts.TypeElement> = []
  const visit = (child: ts.Node): void => {
    if (ts.isTypeLiteralNode(child)) members.push(...child.members.filter(isNamed))
    else child.forEachChild(visit)
  }
  visit(node.type)
  return members
}

const getSection = (node: View): string => {
  const members = getMembers(node).map((member) => {
    const lines = getText(member).split("\n")
    return `- **${member.name?.getText() ?? ""}**: ${lines.join("\n  ")}`
  })
  return [
    `## ${toName(node)}`,
    getText(node),
    `\`\`\`ts\n${sign(node)}\n\`\`\``,
    members.join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

const declarationsIn = (file: string): ReadonlyArray<View> =>
  ts
    .createSourceFile(file, readFileSync(join(src, file), "utf8"), ts.ScriptTarget.Latest, true)
    .statements.filter(isExported)

/** Where each name is explained, so that sections can lead to each other. */
const pagesByName = (): ReadonlyMap<string, Page> =>
  new Map(
    referencePages.flatMap((page) =>
      sources[page][1].flatMap(declarationsIn).map((node) => [toName(node), page] as const),
    ),
  )

const getUses = (node: View, known: ReadonlyMap<string, Page>): string => {
  const words = new Set(sign(node).match(/\b[A-Z]\w+/g) ?? [])
  words.delete(toName(node))
  const links = [...words].flatMap((word) => {
    const page = known.get(word)
    return page === undefined ? [] : [`[${word}](${page}.md#${toSlug(word)})`]
  })
  return links.length === 0 ? "" : `\n\nSee ${links.join(", ")}.`
}

const getEntry = (page: Page): string =>
  page === "testing" ? "@messaging-service/service/testing" : "@messaging-service/service"

/** Markdown of each page, by its name. */
export const apiReference = (): ReadonlyMap<string, string> => {
  const known = pagesByName()
  return new Map(
    referencePages.map((page) => {
      const [title, files] = sources[page]
      const opening = `Look up here what \`${getEntry(page)}\` exports, with the text that your editor shows too.`
      const sections = files
        .flatMap(declarationsIn)
        .map((node) => getSection(node) + getUses(node, known))
      return [page, `# ${title}\n\n${opening}\n\n${sections.join("\n\n")}\n`] as const
    }),
  )
}
