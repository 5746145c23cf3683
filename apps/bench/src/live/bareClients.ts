/**
 * The library for Telegram alone, with as little around it as can be: a client for each account, all that it
 * keeps in memory, and a loop that sends. It is what the worker with its live transport is measured against.
 */
import { MemoryStorage, TelegramClient } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { NodeCryptoProvider, addPublicKey, randomLong } from "@mtcute/node/utils.js"
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { runBare } from "./bareSending.ts"
import type { LinkedAccount } from "./commands.ts"

const {
  KEYS_FILE = "",
  TELEGRAM_API_HASH = "",
  TELEGRAM_API_ID = "0",
  TELEGRAM_DC = "",
  TELEGRAM_PUBLIC_KEY = "",
} = process.env

const [ipAddress = "", port] = TELEGRAM_DC.split(":")
const dc = { id: 2, ipAddress, port: Number(port) }

const crypto = new NodeCryptoProvider()
addPublicKey(crypto, readFileSync(TELEGRAM_PUBLIC_KEY, "utf8"))

const read = new DatabaseSync(KEYS_FILE, { readOnly: true }).prepare(
  "select value from keys where device = ? and type = 'creds' and id = ''",
)

const open = async (device: number): Promise<TelegramClient> => {
  const storage = new MemoryStorage()
  const { key } = JSON.parse(String(read.get(device)?.["value"])) as LinkedAccount
  storage.authKeys.set(dc.id, Buffer.from(key, "base64"))
  const client = new TelegramClient({
    apiId: Number(TELEGRAM_API_ID),
    apiHash: TELEGRAM_API_HASH,
    crypto,
    storage,
    defaultDcs: { main: dc, media: dc },
    updates: { catchUp: true },
    network: { floodControl: false },
    logLevel: 0,
  })
  await client.connect()
  await client.startUpdatesLoop()
  return client
}

runBare(
  async (device) => ({ client: await open(device), peers: new Map<string, tl.TypeInputPeer>() }),
  async ({ client, peers }, to) => {
    // Asked for once, as the service does.
    const peer = peers.get(to) ?? (await client.resolvePhoneNumber(to))
    peers.set(to, peer)
    const message = "Hello from the benchmark"
    await client.call({ _: "messages.sendMessage", peer, message, randomId: randomLong() })
  },
)
