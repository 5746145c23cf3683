/** A valid request of an operation, from its example or its schemas, with its body changed or not. */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json, MediaObject, Operation } from "@messaging-service/testkit/openapi"
import type { Chance } from "../Chance.ts"
import { fieldValue } from "./fieldValues.ts"
import { brokenForm, encodeForm, toFields, mutateFields } from "./forms.ts"
import { authorization } from "./headers.ts"
import { brokenText, mutateNode, toNode, getText } from "./jsonNode.ts"
import { multipart, getParts, someFile, strangeMultipart } from "./multipart.ts"
import { sample, sampleField } from "./sample.ts"
import type { Sampling } from "./sample.ts"
import type { Shot } from "./Shot.ts"
import { strangeValue, withQuery } from "./targets.ts"

interface Content {
  readonly about: string
  readonly contentType: string
  readonly body: Buffer
}

const toPath = (sampling: Sampling): string => {
  const { chance, operation, inventory } = sampling
  // Only a link from the service leads anywhere.
  const prefix = /^\/(?:media|qr)\//.exec(operation.path)?.[0] ?? "?"
  const link = chance.pick(inventory.links.filter((each) => each.startsWith(prefix)))
  const isLink = chance.is(0.8)
  if (link !== undefined && isLink) return link
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = fieldValue(chance, inventory, { operation, name })?.value
    return encodeURIComponent(String(value ?? "x"))
  })
}

const getQuery = (sampling: Sampling): ReadonlyArray<readonly [string, unknown]> => {
  const { chance, operation } = sampling
  return operation.parameters.flatMap((parameter) => {
    const isThere = chance.is(parameter.required === true ? 0.97 : 0.2)
    const isStrange = chance.is(0.05)
    const strange = strangeValue(chance)
    if (parameter.in !== "query" || !isThere) return []
    const value = isStrange ? strange : sampleField(sampling, parameter.name, parameter.schema)
    return value === undefined ? [] : [[parameter.name, value] as const]
  })
}

/** Optional fields without which few requests succeed. */
const requested = new Set(["from", "whatsapp_client", "text", "msg", "api_key", "message"])

/** The document's example with this cell's values, or one generated from the schema. */
const valueOf = (sampling: Sampling, { examples, schema }: MediaObject): Json => {
  const { chance, document } = sampling
  const example = Object.values(examples ?? {})[0]?.value
  const isSampled = chance.is(0.4)
  const sampled = sample(sampling, schema)
  const created = isJson(sampled) ? sampled : {}
  const resolved = document.resolve(schema)
  const fields = isJson(resolved["properties"]) ? resolved["properties"] : {}
  const known = isJson(example) ? Object.keys(example) : []
  const needed = known.length > 0 ? known : ((resolved["required"] ?? []) as ReadonlyArray<string>)
  const base = isSampled || !isJson(example) ? created : example
  const filled = Object.entries(fields).flatMap(([name, field]) => {
    const isRequested = chance.is(0.85)
    const value = sampleField(sampling, name, field as Json)
    const isClaimed =
      name in base || ((needed.includes(name) || requested.has(name)) && isRequested)
    return isClaimed && !isJson(base[name])
      ? [[name, name in base && Array.isArray(base[name]) ? base[name] : value]]
      : []
  })
  return fitting(sampling, { ...base, ...Object.fromEntries(filled) })
}

/** Usually repairs contradictions: two recipients or none, a number of the wrong platform. */
const fitting = (sampling: Sampling, value: Json): Json => {
  const { chance, credentials, operation, inventory } = sampling
  const fixed: Record<string, unknown> = { ...value }
  const isFixed = chance.is(0.9)
  const wrongKey = chance.pick([
    "x",
    "0123456789abcdef0123456789abcdef01234567",
    inventory.keys.live,
  ])
  if (credentials === "none") delete fixed["api_key"]
  else if (credentials !== "v1" && "api_key" in fixed) fixed["api_key"] = wrongKey
  if (!isFixed) return fixed
  if (operation.part === "v1") fitVersion1(sampling, fixed)
  const recipients = [fixed["to"]].flat().filter(isJson)
  if (!("from" in fixed) || recipients.length === 0) return fixed
  const names = new Set(recipients.flatMap((to) => Object.keys(to)))
  if (names.has("group") || names.has("phone")) fixed["from"] = inventory.whatsapp
  if (names.has("username")) fixed["from"] = inventory.telegram
  return fixed
}

const fitVersion1 = ({ operation, inventory }: Sampling, fixed: Record<string, unknown>): void => {
  const isSend = /v1(?:SendMsg|ScheduleMsg|ReminderCreate)$/.test(operation.id)
  if (isSend && !("group_name" in fixed)) fixed["phone"] ??= "5550100001"
  if ("phone" in fixed) {
    delete fixed["group_name"]
    fixed["country_code"] = "1"
  }
  if ("msg" in fixed) delete fixed["message"]
  if (fixed["msg_type"] === 1) fixed["img_url"] = `${inventory.receiver}/a.png`
  if (fixed["msg_type"] === 2) fixed["file_url"] = `${inventory.receiver}/a.txt`
}

const jsonContent = (sampling: Sampling, media: MediaObject, changes: number): Content => {
  const { chance, inventory } = sampling
  const node = toNode(valueOf(sampling, media))
  const isBroken = changes > 0 && chance.is(0.25)
  const done = Array.from({ length: changes - (isBroken ? 1 : 0) }, () =>
    mutateNode(node, chance, inventory.receiver),
  )
  const text = getText(node)
  const [how, body] = isBroken ? brokenText(text, chance) : ["", Buffer.from(text)]
  return {
    about: [...done, ...(isBroken ? [how] : [])].join(", "),
    contentType: "application/json",
    body,
  }
}

const formContent = (sampling: Sampling, media: MediaObject, changes: number): Content => {
  const { chance } = sampling
  let fields = toFields(valueOf(sampling, media))
  const done: Array<string> = []
  const isBroken = changes > 0 && chance.is(0.3)
  for (let left = changes - (isBroken ? 1 : 0); left > 0; left--) {
    const [about, changed] = mutateFields(fields, chance)
    done.push(about)
    fields = changed
  }
  const plain = encodeForm(fields)
  const [how, body] = isBroken ? brokenForm(plain, chance) : ["", plain]
  return {
    about: [...done, ...(isBroken ? [how] : [])].join(", "),
    contentType: "application/x-www-form-urlencoded",
    body,
  }
}

const multipartContent = (sampling: Sampling, media: MediaObject, changes: number): Content => {
  const { chance, operation } = sampling
  const { file, media_file: other, ...value } = valueOf(sampling, media)
  const isFile =
    operation.id === "uploadMedia" || file !== undefined || other !== undefined || chance.is(0.3)
  const fields = getParts(toFields(value))
  const parts = isFile ? [...fields, someFile(chance)] : fields
  if (changes === 0) return { about: "", ...multipart(parts) }
  const [about, created] = strangeMultipart(parts, chance)
  return { about, ...created }
}

const getContent = (sampling: Sampling, changes: number): Content | null => {
  const { chance, operation } = sampling
  const types = Object.entries(operation.bodies)
  const [type, media] = chance.pick(types) ?? []
  const isLeftOut = chance.is(operation.bodyRequired ? 0.01 : 0.4)
  if (type === undefined || media === undefined || isLeftOut) return null
  switch (type) {
    case "multipart/form-data":
      return multipartContent(sampling, media, changes)
    case "application/x-www-form-urlencoded":
      return formContent(sampling, media, changes)
    default:
      return jsonContent(sampling, media, changes)
  }
}

/** Headers that the operation describes, sometimes. */
const getHeaders = (chance: Chance, { parameters }: Operation): Shot["headers"] =>
  parameters.flatMap(({ in: path, name }): Shot["headers"] => {
    const isThere = chance.is(name === "Acting-Role" ? 0.08 : 0.15)
    const value = {
      "Idempotency-Key": chance.pick(["k1", "k2", "k3", "k4"]),
      "X-Request-Id": "client-1",
      "Acting-Role": chance.pick(["owner", "administrator", "member"]),
      Range: chance.pick(["bytes=0-3", "bytes=-5", "bytes=2-"]),
    }[name]
    return path === "header" && isThere && value !== undefined ? [[name, value]] : []
  })

/** Version 1 also takes its key in the body, which every body here has unless it is sent without one. */
const format = ({ chance, credentials, operation, inventory }: Sampling): Shot["headers"] => {
  const isInBody = operation.part === "v1" && credentials === "v1" && operation.method === "POST"
  const isLeftOut = isInBody && chance.is(0.5) && !operation.path.includes("/verification/")
  const headers = authorization(credentials, chance, inventory)
  return isLeftOut ? [] : headers
}

/** The whole request; `bodyChanges` is the number of changes to its body. */
export const makeShot = (sampling: Sampling, bodyChanges: number): Shot => {
  const { chance, credentials, operation } = sampling
  const target = withQuery(toPath(sampling), getQuery(sampling))
  const headers = getHeaders(chance, operation)
  const content = getContent(sampling, bodyChanges)
  const framing = chance.is(0.1) ? "chunked" : "length"
  const isRepeated = chance.is(0.5)
  return {
    about: content === null || content.about === "" ? "plain" : content.about,
    aim: operation,
    method: operation.method,
    target,
    headers: [
      ...format(sampling),
      ...(content === null ? [] : [["Content-Type", content.contentType] as const]),
      ...headers,
    ],
    body: content?.body ?? null,
    framing,
    credentials,
    expectation: "answer",
    repeated:
      isRepeated && bodyChanges === 0 && headers.some(([name]) => name === "Idempotency-Key"),
  }
}
