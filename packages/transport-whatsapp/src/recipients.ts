/** Finds the WhatsApp addresses of phones and groups, and asks which phones are registered. */
import type { Phone } from "@messaging-service/core"
import { areJidsSameUser, getBinaryNodeChild, getBinaryNodeChildren, S_WHATSAPP_NET } from "baileys"
import type { BinaryNode, WASocket } from "baileys"

/** The digits of `4915112345678:3@s.whatsapp.net`, a device of `4915112345678`. */
export const toDigits = (address: string): string => /^\d*/.exec(address)?.[0] ?? ""

export const withoutDevice = (address: string): string => address.replace(/:\d+@/, "@")

/** One spelling for mobile numbers that some countries write with or without a digit. */
const spelling = (digits: string): string =>
  digits
    // Brazil: a ninth digit before eight others, unless these are a landline's.
    .replace(/^(55\d\d)9([6-9]\d{7})$/, "$1$2")
    // Mexico and Argentina: a digit behind the country code.
    .replace(/^(52)1(\d{10})$/, "$1$2")
    .replace(/^(54)9(\d{10})$/, "$1$2")

/** What WhatsApp says of one phone. */
interface PhoneAnswer {
  /** In WhatsApp's own spelling of the phone. */
  readonly jid: string
  readonly exists: boolean
  /** Digits of the phone that was asked for; empty when WhatsApp does not repeat them. */
  readonly requests: string
}

/**
 * WhatsApp's address of each registered phone. The answer for a phone holds, registered or not; that for another
 * spelling counts only for a phone without an answer.
 */
export const canonicalAddresses = (
  requests: ReadonlyArray<Phone>,
  answers: ReadonlyArray<PhoneAnswer>,
): ReadonlyMap<Phone, string> => {
  const byDigits = new Map(answers.map((answer) => [toDigits(answer.jid), answer]))
  for (const answer of answers) byDigits.set(answer.requests, answer)
  const known = answers.filter(({ exists }) => exists)
  const bySpelling = new Map(known.map((answer) => [spelling(toDigits(answer.jid)), answer]))
  return new Map(
    requests.flatMap((phone) => {
      const digits = phone.slice(1)
      const answer = byDigits.get(digits) ?? bySpelling.get(spelling(digits))
      return answer?.exists === true ? [[phone, withoutDevice(answer.jid)]] : []
    }),
  )
}

// Queries: the library takes an answer with an error for one without phones or devices

export class QuestionRefused extends Error {
  readonly code: number
  /** The pause that WhatsApp asks for; null without one. */
  readonly pauseMillis: number | null
  constructor({ attrs }: BinaryNode) {
    super(`WhatsApp refused a query (${attrs["code"] ?? ""})`)
    this.code = Number(attrs["code"])
    const seconds = Number(attrs["backoff"])
    this.pauseMillis = seconds > 0 ? seconds * 1000 : null
  }
}

const errorIn = (node: BinaryNode): BinaryNode | undefined =>
  node.tag === "error"
    ? node
    : Array.isArray(node.content)
      ? node.content.map(errorIn).find((found) => found !== undefined)
      : undefined

/** Reads without the library's cache, which would hide the change below. */
const findChild = (node: BinaryNode | undefined, tag: string): BinaryNode | undefined =>
  Array.isArray(node?.content) ? node.content.find((child) => child.tag === tag) : undefined

/**
 * Moves WhatsApp's refusal to name devices to where the library looks for errors. Otherwise the library
 * sends a message that is encrypted for no device, and WhatsApp acknowledges it.
 */
export const showRefusedDevices = (answer: BinaryNode): void => {
  if (answer.tag !== "iq") return
  const result = findChild(findChild(answer, "usync"), "result")
  const refused = findChild(result, "devices") ?? findChild(result, "error")
  const error = refused === undefined ? undefined : errorIn(refused)
  if (result === undefined || error === undefined) return
  const devices = { tag: "devices", attrs: {}, content: [error] }
  const user = { tag: "user", attrs: { jid: S_WHATSAPP_NET }, content: [devices] }
  const list = { tag: "list", attrs: {}, content: [user] }
  answer.content = [{ tag: "usync", attrs: {}, content: [result, list] }]
}

/**
 * Asks which phones (`+` and digits) are registered; undefined without an answer. Rejects with
 * `QuestionRefused`.
 */
export const askPhones = async (
  socket: Pick<WASocket, "query" | "generateMessageTag">,
  phones: ReadonlyArray<string>,
): Promise<ReadonlyArray<PhoneAnswer> | undefined> => {
  const answer = (await socket.query({
    tag: "iq",
    attrs: { to: S_WHATSAPP_NET, type: "get", xmlns: "usync" },
    content: [
      {
        tag: "usync",
        attrs: {
          context: "interactive",
          mode: "query",
          sid: socket.generateMessageTag(),
          last: "true",
          index: "0",
        },
        content: [
          { tag: "query", attrs: {}, content: [{ tag: "contact", attrs: {} }] },
          {
            tag: "list",
            attrs: {},
            content: phones.map((phone) => ({
              tag: "user",
              attrs: {},
              content: [{ tag: "contact", attrs: {}, content: phone }],
            })),
          },
        ],
      },
    ],
  })) as BinaryNode | undefined
  if (answer === undefined) return undefined
  const error = errorIn(answer)
  if (error !== undefined) throw new QuestionRefused(error)
  const list = getBinaryNodeChild(getBinaryNodeChild(answer, "usync"), "list")
  if (list === undefined) return undefined
  return getBinaryNodeChildren(list, "user").map((user) => {
    const contact = getBinaryNodeChild(user, "contact")
    const { content = "" } = contact ?? {}
    return {
      jid: user.attrs["jid"] ?? "",
      exists: contact?.attrs["type"] === "in",
      requests: Array.isArray(content) ? "" : Buffer.from(content).toString().replaceAll(/\D/g, ""),
    }
  })
}

// Groups

export interface Groups {
  /** The addresses of all groups of exactly that name; null when WhatsApp does not answer. */
  named(name: string, now: number): Promise<ReadonlyArray<string> | null>
  forget(): void
}

/** How long an answer holds for its names, and for missing names: a group may be new. */
const heldMillis = 10 * 60_000
const missingMillis = 2000

interface Known {
  readonly at: number
  readonly byName: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Whether the change may affect which group has which name. */
export const changesNames = (notification: BinaryNode): boolean =>
  ["subject", "create", "delete"].some(
    (change) => getBinaryNodeChild(notification, change) !== undefined,
  )

export const makeGroups = (socket: Pick<WASocket, "query">): Groups => {
  let known: Known | null = null

  const request = async (now: number): Promise<Known | null> => {
    const answer = await socket.query({
      tag: "iq",
      attrs: { to: "@g.us", xmlns: "w:g2", type: "get" },
      content: [
        {
          tag: "participating",
          attrs: {},
          content: [
            { tag: "participants", attrs: {} },
            { tag: "description", attrs: {} },
          ],
        },
      ],
    })
    const groups = answer === undefined ? undefined : getBinaryNodeChild(answer, "groups")
    if (groups === undefined) return null
    const byName = new Map<string, Array<string>>()
    for (const { attrs } of getBinaryNodeChildren(groups, "group")) {
      const { id, subject } = attrs
      if (id === undefined || subject === undefined) continue
      const ofName = byName.get(subject) ?? []
      ofName.push(id.includes("@") ? id : `${id}@g.us`)
      byName.set(subject, ofName)
    }
    return { at: now, byName }
  }

  return {
    named: async (name, now) => {
      const found = known?.byName.get(name)
      const age = known === null ? Infinity : now - known.at
      if (found !== undefined && age < heldMillis) return found
      if (found !== undefined || age >= missingMillis) known = (await request(now)) ?? null
      return known === null ? null : (known.byName.get(name) ?? [])
    },
    forget: () => {
      known = null
    },
  }
}

export interface Administrators {
  /** Whether one of the addresses is an administrator's. False also when WhatsApp does not answer. */
  has(group: string, addresses: ReadonlyArray<string>, now: number): Promise<boolean>
  forget(group: string): void
}

/** How long the question may take, in real time: what comes later waits for it. */
const administratorsMillis = 5000

/** Groups with cached administrators. */
const maxAdministered = 100

export const makeAdministrators = (socket: Pick<WASocket, "query">): Administrators => {
  const known = new Map<string, { readonly at: number; readonly jids: ReadonlyArray<string> }>()

  const request = async (group: string): Promise<ReadonlyArray<string> | null> => {
    const query = {
      tag: "iq",
      attrs: { to: group, xmlns: "w:g2", type: "get" },
      content: [{ tag: "query", attrs: { request: "interactive" } }],
    }
    const answer = await socket.query(query, administratorsMillis).catch(() => undefined)
    const found = answer === undefined ? undefined : getBinaryNodeChild(answer, "group")
    if (found === undefined) return null
    return getBinaryNodeChildren(found, "participant").flatMap(({ attrs }) => {
      const { jid, lid, phone_number: phone, type } = attrs
      const isOne = type === "admin" || type === "superadmin"
      return isOne ? [jid, lid, phone].filter((address) => address !== undefined) : []
    })
  }

  return {
    has: async (group, addresses, now) => {
      const cached = known.get(group)
      const isFresh = cached !== undefined && now - cached.at < heldMillis
      const jids = isFresh ? cached.jids : await request(group)
      if (jids === null) return false
      if (!isFresh) {
        if (known.size >= maxAdministered) known.clear()
        known.set(group, { at: now, jids })
      }
      return addresses.some((address) => jids.some((jid) => areJidsSameUser(jid, address)))
    },
    forget: (group) => void known.delete(group),
  }
}
