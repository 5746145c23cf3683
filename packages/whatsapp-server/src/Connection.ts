/**
 * One client's web socket: frames from bytes, the handshake, then binary nodes in order. Listeners decide
 * what a node means.
 */
import { decodeBinaryNode, encodeBinaryNode, NOISE_WA_HEADER } from "baileys"
import type { BinaryNode, proto } from "baileys"
import type { WebSocket } from "ws"
import { answerHello } from "./noise.ts"
import type { NoiseKeys, Transport } from "./noise.ts"

export interface Connection {
  /** The key that the client has proved to hold. */
  readonly clientKey: Uint8Array
  /** The socket stays open without reading or writing. */
  silent: boolean
  readonly isOpen: () => boolean
  readonly send: (node: BinaryNode) => void
  /** Says goodbye, as a server does after a stream error. */
  readonly close: () => void
  /** Sends a frame that no key opens. */
  readonly garble: () => void
  /** Drops the connection silently. */
  readonly drop: () => void
}

export interface Listeners {
  readonly opened: (connection: Connection, payload: proto.ClientPayload) => void
  readonly received: (connection: Connection, node: BinaryNode) => Promise<void>
  readonly closed: (connection: Connection) => void
  readonly failed: (what: string, error: unknown) => void
}

/** The client's first bytes: optional routing information, then four that name the protocol. */
const introLength = (bytes: Buffer) => {
  const routed = bytes.length > 7 && bytes[0] === 2 && bytes[1] === 3
  return (routed ? 7 + bytes.readUIntBE(4, 3) : 0) + NOISE_WA_HEADER.length
}

const framed = (data: Uint8Array) => {
  const frame = Buffer.alloc(3 + data.length)
  frame.writeUIntBE(data.length, 0, 3)
  frame.set(data, 3)
  return frame
}

/** Cuts a stream of bytes into frames; skips the intro. */
const makeFrames = () => {
  let pending = Buffer.alloc(0)
  let isIntroRead = false
  return (bytes: Buffer): ReadonlyArray<Buffer> => {
    pending = Buffer.concat([pending, bytes])
    if (!isIntroRead) {
      pending = pending.subarray(introLength(pending))
      isIntroRead = true
    }
    const frames: Array<Buffer> = []
    while (pending.length >= 3 && pending.length >= 3 + pending.readUIntBE(0, 3)) {
      const end = 3 + pending.readUIntBE(0, 3)
      frames.push(pending.subarray(3, end))
      pending = pending.subarray(end)
    }
    return frames
  }
}

const makeConnection = (
  socket: WebSocket,
  clientKey: Uint8Array,
  transport: Transport,
): Connection => {
  const isOpen = () => socket.readyState === socket.OPEN
  const connection: Connection = {
    clientKey,
    silent: false,
    isOpen,
    send: (node) => {
      if (isOpen() && !connection.silent) {
        socket.send(framed(transport.encrypt(encodeBinaryNode(node))))
      }
    },
    garble: () => socket.send(framed(Buffer.alloc(40, 7))),
    close: () => socket.close(),
    drop: () => socket.terminate(),
  }
  return connection
}

export const accept = (socket: WebSocket, keys: NoiseKeys, listeners: Listeners) => {
  const frames = makeFrames()
  let handshake: ReturnType<typeof answerHello> | undefined
  let opened: { readonly connection: Connection; readonly transport: Transport } | undefined
  let work = Promise.resolve()

  const take = async (frame: Buffer) => {
    if (handshake === undefined) {
      handshake = answerHello(frame, keys)
      socket.send(framed(handshake.answer))
    } else if (opened === undefined) {
      const { clientKey, payload, transport } = handshake.finish(frame)
      opened = { connection: makeConnection(socket, clientKey, transport), transport }
      listeners.opened(opened.connection, payload)
    } else {
      const { connection, transport } = opened
      const node = await decodeBinaryNode(transport.decrypt(frame))
      if (!connection.silent) await listeners.received(connection, node)
    }
  }

  socket.on("message", (bytes: Buffer) => {
    for (const frame of frames(bytes)) {
      work = work
        .then(() => take(frame))
        .catch((error: unknown) => {
          listeners.failed("a frame", error)
          socket.terminate()
        })
    }
  })
  socket.on("error", () => socket.terminate())
  socket.on("close", () => {
    work = work.then(() => (opened === undefined ? undefined : listeners.closed(opened.connection)))
  })
}
