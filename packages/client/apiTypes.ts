/** The types of version 2 and of the operator API, from the OpenAPI document that a service in memory answers with. */
import { PublicUrl } from "@messaging-service/core"
import { layerPorts, layerService } from "@messaging-service/emulator"
import { toWebHandler } from "@messaging-service/http"
import { emulatorControls } from "@messaging-service/http/emulator"
import { layerQrCodeImages, realTimeLayer } from "@messaging-service/node"
import * as StoreMemory from "@messaging-service/store-memory"
import { isJson } from "@messaging-service/testkit/openapi"
import type { DocumentObject, Json } from "@messaging-service/testkit/openapi"
import { Layer, Redacted } from "effect"
import openapiTS, { astToString } from "openapi-typescript"
import ts from "typescript"

/** Failures are one error object, and only the client itself reads headers. */
const withoutFailures = (operation: Json): Json => {
  const { parameters, requestBody, responses, ...rest } = operation
  const { operationId, summary } = rest
  const isNeeded = (parameter: unknown) =>
    isJson(parameter) &&
    (parameter["in"] === "query" ||
      parameter["in"] === "path" ||
      parameter["$ref"] === "#/components/parameters/Idempotency-Key")
  return {
    operationId,
    summary,
    parameters: (parameters as ReadonlyArray<unknown>).filter(isNeeded),
    requestBody,
    responses: Object.fromEntries(
      Object.entries(responses as Record<string, Json>)
        .filter(([status]) => status.startsWith("2"))
        .map(([status, { content, description }]) => [status, { content, description }]),
    ),
  }
}

/** The schemas of those names, and those that they refer to. */
const reached = (schemas: Readonly<Record<string, Json>>, from: unknown): Record<string, Json> => {
  const found = new Map<string, Json>()
  const visit = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      const schema = schemas[name]
      if (schema === undefined || found.has(name)) continue
      found.set(name, schema)
      visit(schema)
    }
  }
  visit(from)
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** What the client needs of the document. */
const findPart = ({ components, openapi, paths }: DocumentObject): Json => {
  const remaining = Object.entries(paths)
    .filter(([path]) => /^\/(?:api\/v2|admin\/v1)\//.test(path))
    .map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, operation]) => [
          method,
          withoutFailures(operation as unknown as Json),
        ]),
      ),
    ])
  return {
    openapi,
    info: { title: "Messaging Service", version: "2.0.0" },
    paths: Object.fromEntries(remaining),
    components: {
      schemas: reached(components["schemas"] ?? {}, [remaining, "#/components/schemas/ErrorCode"]),
      parameters: { "Idempotency-Key": components["parameters"]?.["Idempotency-Key"] },
    },
  }
}

/** Names that JavaScript uses itself. */
const otherNames: Readonly<Record<string, string>> = { Number: "SendingNumber" }

const toName = ({ name }: ts.TypeElement): string =>
  name !== undefined && (ts.isStringLiteral(name) || ts.isIdentifier(name)) ? name.text : ""

/** The member with its type changed, if it has that name. */
const changing =
  (name: string, change: (type: ts.TypeNode) => ts.TypeNode) =>
  (member: ts.TypeElement): ts.TypeElement =>
    ts.isPropertySignature(member) && member.type !== undefined && toName(member) === name
      ? ts.setSyntheticLeadingComments(
          ts.factory.createPropertySignature(
            member.modifiers,
            member.name,
            member.questionToken,
            change(member.type),
          ),
          ts.getSyntheticLeadingComments(member),
        )
      : member

/** A type of fields with its members changed; any other type unchanged. */
const within =
  (change: (member: ts.TypeElement) => ts.TypeElement) =>
  (type: ts.TypeNode): ts.TypeNode =>
    ts.isTypeLiteralNode(type) ? ts.factory.createTypeLiteralNode(type.members.map(change)) : type

/**
 * Schemas and queries as their own declarations. Editors then show a name with its fields' texts, not
 * the whole message at every method.
 */
const withNames = (nodes: ReadonlyArray<ts.Node>): Array<ts.Node> => {
  const declarations: Array<ts.Node> = []
  const declare = (name: string, type: ts.TypeNode, of?: ts.Node): ts.TypeNode => {
    const exported = [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)]
    const declaration = ts.isTypeLiteralNode(type)
      ? ts.factory.createInterfaceDeclaration(exported, name, [], [], type.members)
      : ts.factory.createTypeAliasDeclaration(exported, name, [], type)
    const comments = of && ts.getSyntheticLeadingComments(of)
    declarations.push(ts.setSyntheticLeadingComments(declaration, comments))
    return ts.factory.createTypeReferenceNode(name)
  }
  const schemas = within((member) => {
    const name = toName(member)
    return changing(name, (type) => declare(otherNames[name] ?? name, type, member))(member)
  })
  const query = (operation: ts.TypeElement) => {
    const name = toName(operation)
    return changing(
      name,
      within(
        changing(
          "parameters",
          within(
            changing("query", (type) =>
              ts.isTypeLiteralNode(type)
                ? declare(`${name.charAt(0).toUpperCase()}${name.slice(1)}Query`, type)
                : type,
            ),
          ),
        ),
      ),
    )(operation)
  }
  const parts: Readonly<Record<string, (member: ts.TypeElement) => ts.TypeElement>> = {
    components: changing("schemas", schemas),
    operations: query,
  }
  const changed = nodes.map((node) => {
    const change = ts.isInterfaceDeclaration(node) ? parts[node.name.text] : undefined
    return ts.isInterfaceDeclaration(node) && change !== undefined
      ? ts.factory.createInterfaceDeclaration(
          node.modifiers,
          node.name,
          node.typeParameters,
          node.heritageClauses,
          node.members.map(change),
        )
      : node
  })
  return [...changed, ...declarations]
}

const publicUrl = "https://messages.test"

/** The document of a service with all parts. */
const servedDocument = async (): Promise<DocumentObject> => {
  const services = layerService.pipe(
    Layer.provideMerge(
      layerPorts(
        Layer.merge(StoreMemory.layer, StoreMemory.layerMediaFiles),
        Layer.merge(layerQrCodeImages, Layer.succeed(PublicUrl, publicUrl)),
      ),
    ),
    Layer.provide(realTimeLayer),
  )
  const { dispose, handler } = toWebHandler(services, {
    operatorToken: Redacted.make("an operator token for the document"),
    dashboard: () => Promise.resolve(new Map()),
    emulator: emulatorControls,
    publicUrl,
    trustProxy: false,
  })
  try {
    const answer = await handler(new Request(`${publicUrl}/openapi.json`))
    return (await answer.json()) as DocumentObject
  } finally {
    await dispose()
  }
}

/** The generated text of the types for today's document. */
export const apiTypes = async (): Promise<string> => {
  const types = await openapiTS(JSON.stringify(findPart(await servedDocument())), {
    immutable: true,
    // A field with a default is optional.
    defaultNonNullable: false,
    alphabetize: false,
  })
  return `/**
 * The types of version 2 and of the operator API. Made from the OpenAPI document by \`pnpm generate\`,
 * with openapi-typescript: change the document's schemas instead.
 */
${astToString(withNames(types))}`
}
