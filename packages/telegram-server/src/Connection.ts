/**
 * One client's TCP connection: length-prefixed frames (the intermediate transport), which carry first the key
 * exchange and then encrypted messages.
 */
import type { Socket } from "node:net"

export interface Connection {
  readonly dcId: number
  /** It stays open, and everything it receives is ignored. */
  isSilent: boolean
  /** It has called a method that subscribes it to updates. */
  hasHeardUpdates: boolean
  readonly send: (frame: Uint8Array) => void
  /** Raw bytes without a frame. */
  readonly write: (bytes: Uint8Array) => void
  /** Reports a protocol error to the client as a negative number. */
  readonly fail: (code: number) => void
  readonly drop: () => void
  /** Drops it after that time, which replaces an earlier one. */
  readonly dropAfter: (millis: number) => void
}

export interface Listeners {
  readonly opened: (connection: Connection) => void
  readonly frame: (connection: Connection, frame: Buffer) => void
  readonly closed: (connection: Connection) => void
}

const tag = 0xee_ee_ee_ee

/** No client sends more at once. */
const longestFrame = 2 * 1024 * 1024

const lengthBefore = (body: Uint8Array): Uint8Array => {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return Buffer.concat([head, body])
}

export const accept = (socket: Socket, dcId: number, listeners: Listeners): void => {
  let waiting = Buffer.alloc(0)
  let isTagged = false
  let timer: NodeJS.Timeout | undefined
  const connection: Connection = {
    dcId,
    isSilent: false,
    hasHeardUpdates: false,
    send: (frame) => {
      if (!connection.isSilent && socket.writable) socket.write(lengthBefore(frame))
    },
    write: (bytes) => {
      if (socket.writable) socket.write(bytes)
    },
    fail: (code) => {
      const frame = Buffer.alloc(4)
      frame.writeInt32LE(code)
      connection.send(frame)
    },
    drop: () => socket.destroy(),
    dropAfter: (millis) => {
      clearTimeout(timer)
      timer = setTimeout(connection.drop, millis)
    },
  }
  const take = () => {
    if (!isTagged) {
      if (waiting.length < 4) return
      isTagged = true
      if (waiting.readUInt32LE(0) !== tag) return connection.drop()
      waiting = waiting.subarray(4)
    }
    while (waiting.length >= 4) {
      const length = waiting.readUInt32LE(0)
      if (length > longestFrame) return connection.drop()
      if (waiting.length < 4 + length) return
      const frame = waiting.subarray(4, 4 + length)
      waiting = waiting.subarray(4 + length)
      if (!connection.isSilent) listeners.frame(connection, frame)
    }
  }
  socket.setNoDelay(true)
  socket.on("data", (chunk) => {
    waiting = Buffer.concat([waiting, chunk])
    take()
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    clearTimeout(timer)
    listeners.closed(connection)
  })
  listeners.opened(connection)
}
