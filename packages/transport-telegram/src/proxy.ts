/**
 * The way out of one account's connections: its proxy, for its messages and its files alike, or the
 * network itself. A proxy that does not answer is never gone around. Nothing leaves once the account is
 * another process's, and nothing stays open once its client is gone: the library itself forgets
 * connections that end with an error, or that are opened too late.
 */
import { HttpProxyTcpTransport, SocksProxyTcpTransport, TcpTransport } from "@mtcute/node"
import type { TelegramTransport } from "@mtcute/node"

/** Ports that need not stand in a URL. */
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

const transportOf = (proxyUrl: string | null): TelegramTransport => {
  if (proxyUrl === null) return new TcpTransport()
  const { hostname, password, port, protocol, username } = new URL(proxyUrl)
  const settings = {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (usualPorts[protocol] ?? 80) : Number(port),
    ...(username === ""
      ? {}
      : { user: decodeURIComponent(username), password: decodeURIComponent(password) }),
  }
  return protocol === "socks5:"
    ? new SocksProxyTcpTransport({ ...settings, version: 5 })
    : new HttpProxyTcpTransport({ ...settings, tls: protocol === "https:" })
}

type Codec = ReturnType<TelegramTransport["packetCodec"]>

/** No frame of the far side is longer, in bytes. */
const longestFrame = 16 * 1024 * 1024

/** The length before a frame is not signed: on its word alone the library would keep up to 4 GiB. */
const bounded = (codec: Codec): Codec => {
  const decode = codec.decode.bind(codec)
  codec.decode = (reader, isOver) => {
    if (reader.available >= 4) {
      const length = Buffer.from(reader.readSync(4)).readUInt32LE(0)
      reader.rewind(4)
      if (length > longestFrame) throw new Error("a frame of the far side is too long")
    }
    return decode(reader, isOver)
  }
  return codec
}

type Connection = Awaited<ReturnType<TelegramTransport["connect"]>>

/** Fails when it takes too long; what comes after that is closed. */
const inTime = async (millis: number, opening: Promise<Connection>): Promise<Connection> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("the connection took too long to open"))
      opening.then(
        (connection) => connection.close(),
        () => undefined,
      )
    }, millis)
  })
  try {
    return await Promise.race([opening, late])
  } finally {
    clearTimeout(timer)
  }
}

export interface WayOut {
  readonly transport: TelegramTransport
  /** Closes what is open, and lets nothing be opened any more. */
  readonly close: () => void
}

interface Bounds {
  /** How long a connection may take until it is open. */
  readonly openingMillis: number
  /** Whether the account is this process's at this very moment. */
  readonly mayWrite: () => boolean
}

export const wayOut = (proxyUrl: string | null, { mayWrite, openingMillis }: Bounds): WayOut => {
  const inner = transportOf(proxyUrl)
  const open = new Set<Connection>()
  let isClosed = false
  const closing = (connection: Connection) => {
    open.delete(connection)
    connection.close()
    return new Error("the connection may not be used any more")
  }
  return {
    transport: {
      packetCodec: (dc) => bounded(inner.packetCodec(dc)),
      connect: async (dc) => {
        const connection = await inTime(openingMillis, inner.connect(dc))
        if (isClosed || !mayWrite()) throw closing(connection)
        open.add(connection)
        const { read, write } = connection
        return Object.assign(connection, {
          read: async (into: Uint8Array) => {
            try {
              return await read.call(connection, into)
            } catch (error) {
              open.delete(connection)
              throw error
            }
          },
          write: (bytes: Uint8Array) =>
            mayWrite() ? write.call(connection, bytes) : Promise.reject(closing(connection)),
        })
      },
    },
    close: () => {
      isClosed = true
      for (const connection of open) connection.close()
      open.clear()
    },
  }
}
