/** Addresses of persons and groups, as WhatsApp spells them. Pure. */
import type { Phone } from "@messaging-service/core"
import { getBinaryNodeChild, getBinaryNodeChildren, S_WHATSAPP_NET } from "baileys"
import type { BinaryNode, WASocket } from "baileys"

/** `4915112345678:3@s.whatsapp.net` is a device of `4915112345678`. */
export const digitsOf = (address: string): string => /^\d*/.exec(address)?.[0] ?? ""

/** A person, whichever of its devices the address names. */
export const withoutDevice = (address: string): string => address.replace(/:\d+@/, "@")

/**
 * Digits without what some countries' mobile numbers have in one spelling and lack in another, so that
 * an answer is found for the phone that was asked about.
 */
const spelling = (digits: string): string =>
  digits
    // Brazil: a ninth digit before eight others.
    .replace(/^(55\d\d)9(\d{8})$/, "$1$2")
    // Mexico and Argentina: a digit behind the country code.
    .replace(/^(52)1(\d{10})$/, "$1$2")
    .replace(/^(54)9(\d{10})$/, "$1$2")

/**
 * The address under which the far side knows each phone that it knows. It answers with its own
 * spelling and leaves out the others.
 */
export const canonicalAddresses = (
  asked: ReadonlyArray<Phone>,
  answers: ReadonlyArray<{ readonly jid: string; readonly exists: unknown }>,
): ReadonlyMap<Phone, string> => {
  const known = answers.filter(({ exists }) => exists === true)
  const exact = new Map(known.map(({ jid }) => [digitsOf(jid), jid]))
  const spelled = new Map(known.map(({ jid }) => [spelling(digitsOf(jid)), jid]))
  return new Map(
    asked.flatMap((phone) => {
      const digits = phone.slice(1)
      const jid = exact.get(digits) ?? spelled.get(spelling(digits))
      return jid === undefined ? [] : [[phone, withoutDevice(jid)]]
    }),
  )
}

// Asking the far side which phones exist, and which devices they have. The library takes an answer with
// an error in it for one that names no phones, and no devices.

/** The far side's word that it does not answer. */
export class QuestionRefused extends Error {
  readonly code: number
  /** How long it asks to stay away; null when it does not say. */
  readonly pauseMillis: number | null
  constructor({ attrs }: BinaryNode) {
    super(`the far side refused a question (${attrs["code"] ?? ""})`)
    this.code = Number(attrs["code"])
    const seconds = Number(attrs["backoff"])
    this.pauseMillis = seconds > 0 ? seconds * 1000 : null
  }
}

/** The first error in an answer, however deep. */
const errorIn = (node: BinaryNode): BinaryNode | undefined =>
  node.tag === "error"
    ? node
    : Array.isArray(node.content)
      ? node.content.map(errorIn).find((found) => found !== undefined)
      : undefined

/** The library's own way of looking remembers what it saw, and would not see what is changed here. */
const childOf = (node: BinaryNode | undefined, tag: string): BinaryNode | undefined =>
  Array.isArray(node?.content) ? node.content.find((child) => child.tag === tag) : undefined

/**
 * Lets the library see that the far side refused to name devices: it would hand over a message that is
 * sealed for none of them, and the far side acknowledges that. The error is put where it does look.
 */
export const showRefusedDevices = (answer: BinaryNode): void => {
  if (answer.tag !== "iq") return
  const result = childOf(childOf(answer, "usync"), "result")
  const refused = childOf(result, "devices") ?? childOf(result, "error")
  const error = refused === undefined ? undefined : errorIn(refused)
  if (result === undefined || error === undefined) return
  const devices = { tag: "devices", attrs: {}, content: [error] }
  const user = { tag: "user", attrs: { jid: S_WHATSAPP_NET }, content: [devices] }
  const list = { tag: "list", attrs: {}, content: [user] }
  answer.content = [{ tag: "usync", attrs: {}, content: [result, list] }]
}

/**
 * What the far side says of phones (`+` and digits), by its own spelling of their addresses; undefined
 * when it does not answer. Fails with `QuestionRefused`.
 */
export const askPhones = async (
  socket: Pick<WASocket, "query" | "generateMessageTag">,
  phones: ReadonlyArray<string>,
): Promise<ReadonlyArray<{ readonly jid: string; readonly exists: boolean }> | undefined> => {
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
  return getBinaryNodeChildren(list, "user").map((user) => ({
    jid: user.attrs["jid"] ?? "",
    exists: getBinaryNodeChild(user, "contact")?.attrs["type"] === "in",
  }))
}

// The groups that a number belongs to, by their names, asked for when a name is needed.

export interface Groups {
  /**
   * The addresses of the groups of exactly that name. What is known is asked for again when it has no
   * such name, and when it is old; null when the far side does not answer.
   */
  named(name: string, now: number): Promise<ReadonlyArray<string> | null>
  /** They have changed. */
  forget(): void
}

/** How long the answer holds for names that are in it, and for others: a group may be new. */
const heldMillis = 10 * 60_000
const missingMillis = 2000

interface Known {
  readonly at: number
  readonly byName: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Whether what is said of a group may give its name to another, or take it away. */
export const changesNames = (notification: BinaryNode): boolean =>
  ["subject", "create", "delete"].some(
    (change) => getBinaryNodeChild(notification, change) !== undefined,
  )

export const makeGroups = (socket: Pick<WASocket, "query">): Groups => {
  let known: Known | null = null

  const ask = async (now: number): Promise<Known | null> => {
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
      if (found !== undefined || age >= missingMillis) known = (await ask(now)) ?? null
      return known === null ? null : (known.byName.get(name) ?? [])
    },
    forget: () => {
      known = null
    },
  }
}
