/** A small name server on loopback, over UDP and TCP, while its scope is open. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createSocket } from "node:dgram"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { once } from "node:events"
import { isIPv4 } from "node:net"

export interface Question {
  readonly name: string
  readonly type: "A" | "AAAA"
  readonly over: "udp" | "tcp"
}

/** Addresses, filtered by the asked type; or an error. */
export type Answer =
  | { readonly addresses: ReadonlyArray<string>; readonly alias?: string }
  | "silence"
  | "truncated"
  | "SERVFAIL"
  | "NXDOMAIN"

export interface NameServer {
  /** `127.0.0.1:port` */
  readonly address: string
  /** In order of arrival. */
  readonly questions: ReadonlyArray<Question>
  /** Completes after that many questions. */
  readonly requests: (count: number) => Effect.Effect<void>
}

const codes = { SERVFAIL: 2, NXDOMAIN: 3 } as const
const types = { 1: "A", 28: "AAAA" } as const

const nameBytes = (name: string) =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ])

const addressBytes = (address: string) => {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number))
  const [left = "", right = ""] = address.split("::")
  const groups = (text: string) => (text === "" ? [] : text.split(":"))
  const missing = 8 - groups(left).length - groups(right).length
  const all = [...groups(left), ...Array.from({ length: missing }, () => "0"), ...groups(right)]
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex")
}

const resourceRecord = (name: string, type: number, data: Buffer) => {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameBytes(name), fixed, data])
}

/** Only the question: additional records do not matter to a test. */
const readQuestion = (query: Buffer) => {
  const labels: Array<string> = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  return { name: labels.join(".").toLowerCase(), type, bytes: query.subarray(12, at + 5) }
}

const reply = (query: Buffer, answer: Exclude<Answer, "silence">): Buffer => {
  const { bytes, name, type } = readQuestion(query)
  const records: Array<Buffer> = []
  if (typeof answer === "object") {
    const { addresses, alias } = answer
    if (alias !== undefined) records.push(resourceRecord(name, 5, nameBytes(alias)))
    for (const address of addresses) {
      if ((type === 1) === isIPv4(address)) {
        records.push(resourceRecord(alias ?? name, type, addressBytes(address)))
      }
    }
  }
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  const code = answer === "SERVFAIL" || answer === "NXDOMAIN" ? codes[answer] : 0
  // A response of a recursive server; 0x0200 marks it as truncated.
  head.writeUInt16BE(0x8180 | code | (answer === "truncated" ? 0x0200 : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, bytes, ...records])
}

export const aNameServer = (
  answer: (question: Question) => Answer,
): Effect.Effect<NameServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const questions: Array<Question> = []
    const waiting: Array<() => void> = []
    const answerTo = (query: Buffer, over: Question["over"]): Buffer | null => {
      const { name, type } = readQuestion(query)
      const question = { name, type: types[type as keyof typeof types], over }
      questions.push(question)
      for (const check of waiting) check()
      const input = answer(question)
      return input === "silence" ? null : reply(query, input)
    }

    const sockets: Array<Socket> = []
    const tcp = createServer((socket) => {
      sockets.push(socket)
      socket.on("error", () => undefined)
      let unread = Buffer.alloc(0)
      socket.on("data", (data) => {
        unread = Buffer.concat([unread, data])
        while (unread.length >= 2 && unread.length >= 2 + unread.readUInt16BE(0)) {
          const end = 2 + unread.readUInt16BE(0)
          const replied = answerTo(unread.subarray(2, end), "tcp")
          unread = unread.subarray(end)
          if (replied === null) continue
          const length = Buffer.alloc(2)
          length.writeUInt16BE(replied.length)
          socket.write(Buffer.concat([length, replied]))
        }
      })
    })
    const udp = createSocket("udp4")
    udp.on("message", (query, from) => {
      const replied = answerTo(query, "udp")
      if (replied !== null) udp.send(replied, from.port, from.address)
    })
    const listen = async () => {
      tcp.listen(0, "127.0.0.1")
      await once(tcp, "listening")
      const { port } = tcp.address() as AddressInfo
      udp.bind(port, "127.0.0.1")
      await once(udp, "listening")
      return port
    }
    const port = yield* Effect.acquireRelease(Effect.promise(listen), () =>
      Effect.promise(async () => {
        for (const socket of sockets) socket.destroy()
        await Promise.all([
          new Promise((resolve) => tcp.close(resolve)),
          new Promise<void>((resolve) => udp.close(resolve)),
        ])
      }),
    )
    return {
      address: `127.0.0.1:${port}`,
      questions,
      requests: (count) =>
        Effect.callback<void>((resume) => {
          const check = () => {
            if (questions.length >= count) resume(Effect.void)
          }
          waiting.push(check)
          check()
        }),
    }
  })
