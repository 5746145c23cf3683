/** What attackers do to a server on this machine; each attack leaves no connection behind. */
import { sharedLimits } from "@messaging-service/core"
import { once } from "node:events"
import { connect } from "node:net"
import type { Socket } from "node:net"

const get = (path: string, token: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => undefined)
  await once(socket, "connect")
  return socket
}

/** Reads `answers` responses and counts their statuses. */
const readStatuses = async (socket: Socket, answers: number): Promise<Record<string, number>> => {
  const statuses: Record<string, number> = {}
  let received = 0
  let rest = ""
  for await (const chunk of socket.setEncoding("latin1")) {
    const text = rest + String(chunk)
    for (const [, status = ""] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
      statuses[status] = (statuses[status] ?? 0) + 1
      received++
    }
    if (received === answers) break
    // What may be the start of the next status line.
    rest =
      /(?:HTTP\/1\.1 \d{0,2}|HTTP\/1\.1|HTTP\/1\.|HTTP\/1|HTTP\/|HTTP|HTT|HT|H)$/.exec(text)?.[0] ??
      ""
  }
  return statuses
}

/** Pipelines `requests` requests with that key on each of 20 connections, and reads all answers. */
export const pipelineWrongKey = async (
  port: number,
  requests: number,
  key: string,
): Promise<Record<string, number>> => {
  const all: Record<string, number> = {}
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(port)))
  const each = sockets.map((socket) => {
    socket.write(get("/api/v2/me", key).repeat(requests))
    return readStatuses(socket, requests)
  })
  for (const statuses of await Promise.all(each)) {
    for (const [status, count] of Object.entries(statuses)) all[status] = (all[status] ?? 0) + count
  }
  for (const socket of sockets) socket.destroy()
  return all
}

/** Pipelines twice the requests that a connection may, for the largest document, and reads no answer. */
export const slowReadAttack = async (port: number): Promise<{ readonly leave: () => void }> => {
  const sockets = await Promise.all(Array.from({ length: 100 }, () => open(port)))
  for (const socket of sockets) {
    socket.pause()
    socket.write(get("/docs", "none").repeat(2 * sharedLimits.pipelinedRequests.whole))
  }
  return { leave: () => sockets.forEach((socket) => socket.destroy()) }
}

/** Opens more connections than one address may have, and returns how many were served. */
export const connectionFlood = async (port: number): Promise<number> => {
  const sockets = await Promise.all(
    Array.from({ length: sharedLimits.connections.share.most + 50 }, () => open(port)),
  )
  const answered = await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<number>((resolve) => {
          socket.once("data", () => resolve(1))
          socket.once("close", () => resolve(0))
          if (socket.destroyed) resolve(0)
          socket.write(get("/health/live", "none"))
        }),
    ),
  )
  for (const socket of sockets) socket.destroy()
  return answered.reduce((sum, one) => sum + one, 0)
}
