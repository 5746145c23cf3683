/**
 * Asking the far side which phones exist, and which devices they have. The library takes an answer with
 * an error in it for one that names no phones, and no devices.
 */
import { S_WHATSAPP_NET, getBinaryNodeChild, getBinaryNodeChildren } from "baileys"
import type { BinaryNode, WASocket } from "baileys"

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
