/**
 * The library alone, with as little around it as can be: a socket for each device, keys and
 * credentials in one SQLite file that waits for no disk, and a loop that sends. It is what the worker
 * with its live transport is measured against.
 */
import { BufferJSON, makeWASocket, proto } from "baileys"
import type {
  AuthenticationCreds,
  BinaryNode,
  SignalDataSet,
  SignalDataTypeMap,
  WASocket,
} from "baileys"
import { DatabaseSync } from "node:sqlite"
import { answering } from "./answering.ts"
import { steadyMillis } from "./orders.ts"
import type { MeasuredOrder, SendOrder, Sent } from "./orders.ts"

const { KEYS_FILE = "", SOCKETS = "0", WHATSAPP_URL = "" } = process.env

const database = new DatabaseSync(KEYS_FILE)
database.exec("pragma journal_mode = wal; pragma synchronous = off")
const read = database.prepare("select value from keys where device = ? and type = ? and id = ?")
const write = database.prepare("insert or replace into keys values (?, ?, ?, ?)")
const forget = database.prepare("delete from keys where device = ? and type = ? and id = ?")

const toText = (value: unknown) => JSON.stringify(value, BufferJSON.replacer)

const valueOf = (device: number, type: string, id: string): unknown => {
  const text = read.get(device, type, id)?.["value"]
  return typeof text === "string" ? JSON.parse(text, BufferJSON.reviver) : undefined
}

const keysOf = (device: number) => ({
  get: <T extends keyof SignalDataTypeMap>(type: T, ids: Array<string>) => {
    const found: Record<string, SignalDataTypeMap[T]> = {}
    for (const id of ids) {
      const value = valueOf(device, type, id)
      if (value === undefined) continue
      found[id] = (
        type === "app-state-sync-key"
          ? proto.Message.AppStateSyncKeyData.fromObject(value as Record<string, unknown>)
          : value
      ) as SignalDataTypeMap[T]
    }
    return found
  },
  set: (data: SignalDataSet) => {
    database.exec("begin")
    for (const [type, values] of Object.entries(data)) {
      for (const [id, value] of Object.entries(values ?? {})) {
        if (value === null) forget.run(device, type, id)
        else write.run(device, type, id, toText(value))
      }
    }
    database.exec("commit")
  },
})

const nothing = () => undefined

const silent = {
  level: "silent",
  child: () => silent,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}

// libsignal prints session keys.
for (const level of ["log", "info", "warn", "error"] as const) console[level] = nothing

interface Open {
  readonly socket: WASocket
  readonly acknowledged: Map<string, () => void>
}

const open = async (device: number): Promise<Open> => {
  const creds = valueOf(device, "creds", "") as AuthenticationCreds
  const socket = makeWASocket({
    auth: { creds, keys: keysOf(device) },
    waWebSocketUrl: WHATSAPP_URL,
    logger: silent,
    emitOwnEvents: false,
  })
  socket.ev.on("creds.update", (update) => {
    Object.assign(creds, update)
    write.run(device, "creds", "", toText(creds))
  })
  const acknowledged = new Map<string, () => void>()
  socket.ws.on("CB:ack,class:message", ({ attrs }: BinaryNode) => {
    acknowledged.get(attrs["id"] ?? "")?.()
  })
  await new Promise<void>((resolve) => {
    socket.ev.on("connection.update", ({ connection }) => {
      if (connection === "open") resolve()
    })
  })
  return { socket, acknowledged }
}

/** So many are opened side by side: all at once would keep one another waiting for too long. */
const atOnce = 8

const sockets: Array<Open> = []
let next = 0

const openOthers = async () => {
  while (next < Number(SOCKETS)) {
    const device = next++
    sockets[device] = await open(device)
  }
}

for (let place = 0; place < atOnce; place++) void openOthers()

let sent = 0

const sendOne = async ({ acknowledged, socket }: Open, to: string) => {
  const messageId = `BARE${String(process.pid)}N${String(++sent).padStart(10, "0")}`
  const began = steadyMillis()
  const word = new Promise<number>((resolve) => {
    acknowledged.set(messageId, () => resolve(steadyMillis()))
  })
  await socket.sendMessage(to, { text: "Hello from the benchmark" }, { messageId })
  const heard = await word
  acknowledged.delete(messageId)
  return { began, acknowledged: heard }
}

const sendAll = async ({ each, first, sockets: count, to }: SendOrder): Promise<Sent> => {
  const texts: Array<Sent["texts"][number]> = []
  await Promise.all(
    sockets.slice(first, first + count).map(async (one) => {
      for (let message = 0; message < each; message++) texts.push(await sendOne(one, to))
    }),
  )
  return { texts }
}

answering(async (order: MeasuredOrder | SendOrder) =>
  order.ask === "send" ? sendAll(order) : undefined,
)
