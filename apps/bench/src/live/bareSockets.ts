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
import { runBare } from "./bareSending.ts"

const { KEYS_FILE = "", WHATSAPP_URL = "" } = process.env

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

const toKeys = (device: number) => ({
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
    auth: { creds, keys: toKeys(device) },
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

let sent = 0

runBare(open, async ({ acknowledged, socket }, to) => {
  const messageId = `BARE${String(process.pid)}N${String(++sent).padStart(10, "0")}`
  const word = new Promise<void>((resolve) => {
    acknowledged.set(messageId, resolve)
  })
  await socket.sendMessage(
    `${to}@s.whatsapp.net`,
    { text: "Hello from the benchmark" },
    { messageId },
  )
  await word
  acknowledged.delete(messageId)
})
